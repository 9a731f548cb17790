-- Sets a cursor to an offset, and drops leases, acknowledgements and pending acknowledgements.  ahead: the end of the
-- acknowledgements that the caller adds afterwards.  KEYS: as of cursor/seek.
local function reset_cursor(at, ahead)
  redis.call("HSET", KEYS[2], "mark", at, "read", at, "leased", 0, "returned", 0, "held", 0, "taken", at, "tracked", -1,
    "ahead", ahead)
  redis.call("UNLINK", KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7])
  for _, key in ipairs({ KEYS[3], KEYS[4], KEYS[7] }) do redis.call("HSET", key, "", "") end
  for _, key in ipairs({ KEYS[5], KEYS[6] }) do redis.call("ZADD", key, -1, "") end
end
