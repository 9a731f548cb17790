#!lua flags=allow-oom
--[[ broker/write_allow_oom: one small write to one key, which Redis carries out at its maxmemory too.

Redis refuses HSET, SET or SADD by themselves when it is full.  Brokers start, groups commit and requests that end a
transaction are repeated safely then as well, and these need a few fields that are not payload.

KEYS        1 key
ARGV        1 command  2.. its arguments behind the key
RETURNS     what the command returns
COMPLEXITY  that of the command
WRITES      the key
SOURCE      Redis "script flags": allow-oom
]]
return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))
