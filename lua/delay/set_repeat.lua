#!lua flags=allow-oom
--[[ delay/set_repeat: store the recurrence of an entry that an open transaction has scheduled.

Only while the transaction is open: its abort deletes the row with the entry, so a row written later would stay forever.

KEYS        1 state  2 delay state  3 repeats
ARGV        1 topic_id  2 transaction "coordinator-serial"  3 entry  4 its recurrence
RETURNS     {OK} | {TXN_ENDED} | {UNKNOWN_TOPIC}
COMPLEXITY  O(1)
WRITES      only when it returns OK
SOURCE      docs/decisions/0012
]]
--- @include "include/deadline"
--- @include "include/status"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local row = redis.call("HGET", KEYS[2], ARGV[2])
if not row or string.sub(row, 1, 1) ~= "O" then return { TXN_ENDED } end
redis.call("HSET", KEYS[3], ARGV[3], ARGV[4])
return { OK }
