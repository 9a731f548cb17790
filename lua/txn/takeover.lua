#!lua flags=allow-oom
--[[ txn/takeover: continue a coordinator whose Redis lost its newest writes.

A broker that remembers higher numbers than the stored ones calls it before any other call. Serials and producer ids follow the
clock and cannot repeat; entry numbers go on above the remembered one. Epochs of transactional ids could repeat, so every
id that was written before is fenced: its producer has to be initialized again (include/transactional_ids).

KEYS        1 state
ARGV        1 remembered next serial  2 remembered log entry  3 gap of log entries
RETURNS     {OK, taken over (1 or 0), stored next serial, stored log entry} | {TXN_NOT_FOUND} there is no such coordinator
COMPLEXITY  O(1)
WRITES      only if a stored number is lower
SOURCE      KIP-360 "producer epoch"; docs/decisions/0028
]]
--- @include "include/deadline"
--- @include "include/status"
local held = redis.call("HMGET", KEYS[1], "next", "entry")
if not held[1] then return { TXN_NOT_FOUND } end
local following, entry = tonumber(held[1]), tonumber(held[2])
local known_next, known_entry = tonumber(ARGV[1]), tonumber(ARGV[2])
if known_next <= following and known_entry <= entry then return { OK, 0, held[1], held[2] } end

redis.call("HSET", KEYS[1], "next", string.format("%d", math.max(following, known_next)),
  "entry", string.format("%d", math.max(entry, known_entry) + tonumber(ARGV[3])))
redis.call("HINCRBY", KEYS[1], "rollbacks", 1)
return { OK, 1, held[1], held[2] }
