-- Creates the index of scheduled records of a partition, with its first delay ledger, -1: a partition is made without it.
-- For scripts whose KEYS are 10 delay data  11 delay state  12..21 as in ledger/schedule.
local function create_delay_index(ledgers, now)
  for _, k in ipairs({ 13, 16, 17, 18, 20, 21 }) do redis.call("HSET", KEYS[k], "", "") end
  for _, k in ipairs({ 12, 14, 15, 19 }) do redis.call("ZADD", KEYS[k], -1, "") end
  create_stream(KEYS[10])
  redis.call("XTRIM", KEYS[10], "MAXLEN", "0") -- the XADDs of this call; entries count from 1
  redis.call("XSETID", KEYS[10], "0-0")
  redis.call("HSET", ledgers, "-1", "0 0 0 -1 0 0 " .. now)
  redis.call("HSET", KEYS[11], "ledger", "-1", "first", "-1", "open", "0", "records", "0", "entries", "0", "held", "0",
    "closing", "", "decided", "", "fired", "0", "cancelled", "0")
end
