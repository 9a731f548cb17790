#!lua flags=allow-oom
--[[ broker/witness: raise the counter of a node, and note where each life of the node began.

Every broker calls it twice a second. A counter that is lower than before tells that the node has lost writes. A broker that
comes back late, when others have raised the counter past its own, finds in the list of lives that an earlier life ended lower.

    life     run id and replication id of the server
    lives    "life count" for each life, oldest first; count is what the counter was when the life began

KEYS        1 count  2 lives
ARGV        1 life  2 most lives to keep
RETURNS     {OK, count}
COMPLEXITY  O(1)
WRITES      the counter, and the life if it is another one than the last
SOURCE      docs/decisions/0028
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/stored_values"
local count = redis.call("GET", KEYS[1]) or "0"
stored.check("The count of a witness", { count })
local newest = redis.call("LINDEX", KEYS[2], -1)
if not newest or string.match(newest, "^(.*) %d+$") ~= ARGV[1] then
  redis.call("RPUSH", KEYS[2], ARGV[1] .. " " .. count)
  redis.call("LTRIM", KEYS[2], "-" .. ARGV[2], "-1")
end
return { OK, redis.call("INCR", KEYS[1]) }
