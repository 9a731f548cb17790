#!lua flags=allow-oom
--[[ ledger/release_sidecar: delete batches of the sidecar buffer that no reader needs: of aborted and of trimmed transactions.

A call deletes one page of one transaction, and is repeated until nothing is left.

KEYS        1 state  2 ledgers  3 sidecar
            4 data  stream  the delay ledger named in ARGV[2], if any
ARGV        1 topic_id  2 delay ledger whose payload the call may delete ("" none: the call finds out which)
RETURNS     {OK, entries deleted, their bytes, more, ledger} more 1: there is more to delete; the next call names this ledger
            ("" none) | {UNKNOWN_TOPIC}
COMPLEXITY  O(n log b) for n batches, at most 500 and 16 MiB, of b in the buffer
WRITES      the buffer, the payload and the row of its ledger
SOURCE      transaction buffer RFC "abort"; docs/decisions/0044
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/sidecar"
local FREED = 16777216
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local ledgers, buffer, ledger = KEYS[2], KEYS[3], ARGV[2]
local due = redis.call("ZRANGEBYLEX", buffer, "[!", '("', "LIMIT", "0", "1")[1]
if not due then return { OK, 0, 0, 0, "" } end
local mark, name = string.match(due, "^!(%a) (%S+)$")

local page, gone, ids, bytes, rows, following = sidecar.batches(buffer, name, sidecar.PAGE), {}, {}, 0, {}, ""
for _, member in ipairs(page) do
  local own, entry, size = string.match(member, "^%S+ %d+ (%-%d+) (%d+) %d+ (%d+)")
  if rows[own] == nil then rows[own] = redis.call("HGET", ledgers, own) or false end
  if rows[own] then -- else the payload went with its ledger
    if own ~= ledger or bytes >= FREED then
      following = own
      break
    end
    ids[#ids + 1], bytes = "0-" .. entry, bytes + tonumber(size)
  end
  gone[#gone + 1] = member
end
if #ids > 0 then
  local row = ledger_row(rows[ledger])
  row.deleted = row.deleted + redis.call("XDEL", KEYS[4], unpack(ids))
  if mark == "A" then row.unlogged = row.unlogged - #ids end
  redis.call("HSET", ledgers, ledger, ledger_text(row))
end
if #gone > 0 then redis.call("ZREM", buffer, unpack(gone)) end
if #gone == #page and #page < sidecar.PAGE then redis.call("ZREM", buffer, due) end
local more = redis.call("ZRANGEBYLEX", buffer, "[!", '("', "LIMIT", "0", "1")[1] and 1 or 0
return { OK, #ids, bytes, more, following }
