#!lua flags=allow-oom
--[[ cursor/leave: remove a consumer from a subscription on one partition, and end its ownership.

On partition 0, another consumer can become the owner at once.  The leases of the consumer are returned by cursor/nack.

KEYS        1 state  2 cursor
ARGV        1 topic_id  2 consumer
RETURNS     {OK} | {UNKNOWN_TOPIC} | {UNKNOWN_SUB} | {WRONG_KIND, kafka}
COMPLEXITY  O(1)
WRITES      fields of the cursor; a repeated call changes nothing
SOURCE      docs/decisions/0045
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/consumers"
if redis.call("HGET", KEYS[1], "topic_id") ~= ARGV[1] then return { UNKNOWN_TOPIC } end
local held = redis.call("HMGET", KEYS[2], "kind", "owner", "consumer", "members_until")
if not held[1] then return { UNKNOWN_SUB } end
if held[1] == "kafka" then return { WRONG_KIND, held[1] } end
-- It stays while open transactions hold what it had leased.
local text = redis.call("HGET", KEYS[2], "@" .. ARGV[2])
local member = consumers.parse(ARGV[2], text or "")
member.ends = 0
if member.unacked > 0 then
  redis.call("HSET", KEYS[2], "@" .. ARGV[2], consumers.text(member))
elseif text then
  redis.call("HDEL", KEYS[2], "@" .. ARGV[2])
end
if held[4] then redis.call("HSET", KEYS[2], "members_until", 0) end -- of kind key_shared: its slots are free
if held[2] == ARGV[2] then redis.call("HSET", KEYS[2], "owner", "", "owner_until", 0) end
if held[3] == ARGV[2] then redis.call("HSET", KEYS[2], "consumer_until", 0) end
return { OK }
