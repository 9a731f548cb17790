#!lua flags=allow-oom
--[[ broker/release_key: release the lease of an Idempotency-Key if it is still the caller's; with it, keys of the request.

KEYS        1 run  the token of the attempt that holds the lease
            2.. keys that are deleted with it: those of a request that changed nothing
ARGV        1 token of the caller
RETURNS     {OK, 1 if the lease was the caller's, else 0}
COMPLEXITY  O(keys)
WRITES      nothing if another attempt holds the lease: it may have answered under the key
SOURCE      draft-ietf-httpapi-idempotency-key-header; docs/decisions/0008
]]
--- @include "include/deadline"
--- @include "include/status"
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return { OK, 0 } end

redis.call("DEL", unpack(KEYS))
return { OK, 1 }
