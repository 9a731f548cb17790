#!lua flags=allow-oom
--[[ broker/beat: a broker's heartbeat; gives it a node id at its first, and tells who lives.

A broker gets the id of a silent or earlier one of the same Kafka address, else the lowest that no live broker has.

KEYS        1 brokers  2 addresses  3 state
ARGV        1 broker  2 now_ms (Redis's clock)  3 silent_ms  4 main Kafka address, "" for none  5 addresses (JSON)
RETURNS     {OK, cluster id, node id, broker, addresses, ...} live brokers with their addresses (JSON), node id included
COMPLEXITY  O(n) for n known brokers
WRITES      heartbeat and addresses; the heartbeat of an earlier broker of the same address goes
SOURCE      KIP-500 "broker registration"
]]
--- @include "include/status"
local now, silent = tonumber(ARGV[2]), tonumber(ARGV[3])
local cluster = redis.call("HGET", KEYS[3], "cluster")
local mine = redis.call("HGET", KEYS[2], ARGV[1])
local node = mine and tonumber(string.match(mine, '"node":(%d+)'))
local names = redis.call("ZRANGE", KEYS[1], 0, -1, "WITHSCORES")
local rows = #names > 0 and redis.call("HGETALL", KEYS[2]) or {}
local addresses, taken, replaced, live = {}, {}, nil, {}
for i = 1, #rows, 2 do addresses[rows[i]] = rows[i + 1] end
for i = 1, #names, 2 do
  local name, address = names[i], addresses[names[i]]
  if name ~= ARGV[1] and address then
    local id, kafka = string.match(address, '"node":(%d+)'), string.match(address, '"kafka":"([^"]*)"')
    if ARGV[4] ~= "" and kafka == ARGV[4] then
      replaced, node = name, tonumber(id) -- also of one that has beaten before it listened
    elseif tonumber(names[i + 1]) > now - silent then
      taken[tonumber(id)] = true
      live[#live + 1], live[#live + 2] = name, address
    end
  end
end
if not node or taken[node] then
  node = 1
  while taken[node] do node = node + 1 end
end
local own = '{"node":' .. node .. "," .. string.sub(ARGV[5], 2)

if not cluster then
  cluster = string.sub(redis.sha1hex(ARGV[1] .. ARGV[2]), 1, 22)
  redis.call("HSET", KEYS[3], "cluster", cluster)
end
if replaced then redis.call("ZREM", KEYS[1], replaced) end
redis.call("ZADD", KEYS[1], now, ARGV[1])
redis.call("HSET", KEYS[2], ARGV[1], own)
return { OK, cluster, node, ARGV[1], own, unpack(live) }
