#!lua flags=allow-oom
--[[ group/store: store the members of a group; only its owner may.

It runs at maxmemory too, since members are few and small: consumers must be able to rebalance and consume.

KEYS        1 state
ARGV        1 broker  2 generation  the last one that was sent to members
            3 membership  4 members  their new number  5 whole  1: these rows replace all others; else 0
            6 now_ms  7.. pairs: member id, row ("" deletes it)
RETURNS     {OK} | {NOT_OWNER, owner or ""}
COMPLEXITY  O(rows given), and O(n) for n rows stored if they are replaced
WRITES      only when it returns OK; a repeated call writes the same again; `empty` is the time when the last member left
SOURCE      docs/decisions/0018; Kafka's GroupMetadataValue
]]
--- @include "include/deadline"
--- @include "include/status"
local state = KEYS[1]
local owner = redis.call("HGET", state, "owner")
if owner ~= ARGV[1] then return { NOT_OWNER, owner or "" } end

local gone, stored = {}, {}
for i = 7, #ARGV, 2 do
  local field = "m:" .. ARGV[i]
  if ARGV[i + 1] == "" then
    gone[#gone + 1] = field
  else
    stored[#stored + 1], stored[#stored + 2] = field, ARGV[i + 1]
  end
end
if ARGV[5] == "1" then
  local kept = {}
  for i = 1, #stored, 2 do kept[stored[i]] = true end
  for _, field in ipairs(redis.call("HKEYS", state)) do
    if string.sub(field, 1, 2) == "m:" and not kept[field] then gone[#gone + 1] = field end
  end
end

for i = 1, #gone, 4000 do redis.call("HDEL", state, unpack(gone, i, math.min(i + 3999, #gone))) end
for i = 1, #stored, 4000 do redis.call("HSET", state, unpack(stored, i, math.min(i + 3999, #stored))) end
redis.call("HSET", state, "told", ARGV[2], "membership", ARGV[3], "members", ARGV[4])
if ARGV[4] == "0" then redis.call("HSETNX", state, "empty", ARGV[6]) else redis.call("HDEL", state, "empty") end
return { OK }
