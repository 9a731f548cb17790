#!lua flags=allow-oom
--[[ broker/write_allow_oom: one small write to one key, which Redis executes even at maxmemory.

At maxmemory Redis rejects plain HSET, SET and SADD.  Starting a broker, committing group offsets and ending a
transaction write a few fields without payload and must work nevertheless.

KEYS        1 key
ARGV        1 command  2.. its arguments after the key
RETURNS     what the command returns
COMPLEXITY  that of the command
WRITES      the key
SOURCE      Redis "script flags": allow-oom
]]
--- @include "include/deadline"
return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))
