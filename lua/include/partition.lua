-- Helpers of partition scripts.  A ledger's row is "issued deleted sealed max_offset unlogged bytes created_ms".
--- @include "include/stored_values"
local function whole(n) return string.format("%d", n) end

-- Raises an error if the row is absent or damaged.
local function ledger_row(text)
  local issued, deleted, sealed, max, unlogged, bytes, created =
    string.match(text or "", "^(%d+) (%d+) (%d) (%-?%d+) (%d+) (%d+) (%d+)$")
  if not issued then stored.damaged("The row of a payload ledger of the partition") end
  return {
    issued = tonumber(issued), deleted = tonumber(deleted), sealed = sealed, max = tonumber(max),
    unlogged = tonumber(unlogged), bytes = tonumber(bytes), created = created,
  }
end

local function ledger_text(row)
  return string.format("%d %d %s %d %d %d %s",
    row.issued, row.deleted, row.sealed, row.max, row.unlogged, row.bytes, row.created)
end

-- Returns whether a ledger's payload may be deleted: all of it is in the log, and below the log start or below `cold`
-- (nil: nothing is offloaded), where it is in Parquet as well.
local function is_spent(row, start, cold)
  return row.sealed == "1" and row.unlogged == 0 and row.max < math.max(start, tonumber(cold or 0))
end

-- Returns the last stable offset: the first offset of the oldest open transaction, or the next offset.
local function stable_offset(firsts, next_offset)
  local oldest = redis.call("ZRANGEBYSCORE", firsts, "0", "+inf", "WITHSCORES", "LIMIT", "0", "1")
  if oldest[2] then return tonumber(oldest[2]) end
  return next_offset
end

-- Stores the new log end, stable offset, newest timestamp and size of a log that has grown, and wakes waiting readers.
local function log_grew(state, wake, epoch, following, stable, newest, bytes)
  redis.call("HSET", state, "next", following, "stable", stable, "newest", newest, "bytes", bytes)
  redis.call("SPUBLISH", wake, epoch .. " " .. following .. " " .. stable)
end

-- Deletes payload that no script has accepted, and corrects the ledger's counts.  A sealed ledger keeps the number of its
-- last entry: where numbers continue from ledger to ledger, the next ledger has the numbers above it.
local function heal(data, ledgers, ledger, row)
  -- A group tells the newest number: XINFO STREAM and XRANGE would copy payload, some milliseconds for each MiB.
  redis.call("XGROUP", "CREATE", data, "newest", "$")
  local group = redis.call("XINFO", "GROUPS", data)[1]
  redis.call("XGROUP", "DESTROY", data, "newest")
  local last = 0
  for i = 1, #group, 2 do
    if group[i] == "last-delivered-id" then last = tonumber(string.match(group[i + 1], "%-(%d+)$")) end
  end
  for at = row.issued + 1, last do redis.call("XDEL", data, "0-" .. whole(at)) end
  if row.sealed ~= "1" then row.issued = last end
  row.deleted = row.issued - redis.call("XLEN", data)
  redis.call("HSET", ledgers, ledger, ledger_text(row))
end
