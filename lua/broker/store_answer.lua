#!lua flags=allow-oom
--[[ broker/store_answer: store the answer to a request with an Idempotency-Key, unless another attempt has taken over.

KEYS        1 record  2 run  the token of the attempt that holds the lease
ARGV        1 token of the caller  2 record without an answer  3 record with the answer  4 keep_ms
RETURNS     {OK, 1 if the answer is stored and the lease was the caller's until then, else 0}
COMPLEXITY  O(1)
WRITES      nothing if another attempt holds the lease or has answered; else the answer, and the lease is released
SOURCE      draft-ietf-httpapi-idempotency-key-header; docs/decisions/0008
]]
--- @include "include/deadline"
--- @include "include/status"
local holder, record = redis.call("GET", KEYS[2]), redis.call("GET", KEYS[1])
local is_ours = holder == ARGV[1]
if holder and not is_ours then return { OK, 0 } end
if record and record ~= ARGV[2] then return { OK, 0 } end

redis.call("SET", KEYS[1], ARGV[3], "PX", ARGV[4])
if is_ours then redis.call("DEL", KEYS[2]) end
return { OK, is_ours and 1 or 0 }
