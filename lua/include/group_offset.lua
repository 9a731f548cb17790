-- A Kafka group's offset on one partition: a cursor of kind kafka, which is a register: the last write wins.
--     cursor   kind created offset leader_epoch metadata time write | fence writes seen
--     pending  "coordinator-serial" → "write offset leader_epoch time metadata" of a commit whose transaction is open
-- Writes are numbered in order of arrival.  An offset written in a transaction takes effect at its commit, unless a later
-- write is in effect already (as in Kafka, in the order of its log).  Offsets have 63 bits and stay strings.
--     fence    the highest generation that has committed or fetched here; commits below it are refused
--     seen     time of the last commit or of the last fetch by a member: an idle register expires by it
--- @include "include/stored_values"
local registers = {}
registers.PENDING = "^(%d+) (%-?%d+) (%-?%d+) (%-?%d+) (.*)$"

-- Creates a register without an offset.  It has these two keys of a cursor.
function registers.make(subs, name, now, cursor, pending)
  redis.call("HSET", cursor, "kind", "kafka", "created", now, "offset", "-1", "leader_epoch", "-1", "metadata", "",
    "time", "-1", "write", "0", "fence", "-1", "writes", "0", "seen", now)
  redis.call("HSET", pending, "", "")
  redis.call("HSET", subs, name, "kafka")
end

function registers.text(write, offset, leader_epoch, time, metadata)
  return write .. " " .. offset .. " " .. leader_epoch .. " " .. time .. " " .. metadata
end

-- Raises if `accept` cannot read what a transaction has pending.
function registers.check(cursor, pending, txn)
  local text = redis.call("HGET", pending, txn)
  if not text then return end
  stored.check("The offset of a group", { redis.call("HGET", cursor, "write") })
  if not string.find(text, registers.PENDING) then stored.damaged("The offset of a group") end
end

-- Applies the offset of a transaction that has committed.
function registers.accept(cursor, text)
  local write, offset, leader_epoch, time, metadata = string.match(text, registers.PENDING)
  if tonumber(write) < tonumber(redis.call("HGET", cursor, "write")) then return end
  redis.call("HSET", cursor, "offset", offset, "leader_epoch", leader_epoch, "metadata", metadata, "time", time,
    "write", write)
end

-- Returns the transactions with a pending commit, at most `most`.
function registers.waiting(pending, most)
  local found = {}
  for _, txn in ipairs(redis.call("HKEYS", pending)) do
    if txn ~= "" and #found < most then found[#found + 1] = txn end
  end
  return found
end
