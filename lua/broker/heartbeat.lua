#!lua flags=allow-oom
--[[ broker/heartbeat: store a broker's heartbeat, assign its node id at the first one, and list the live brokers.

A broker takes the node id of an earlier broker with the same Kafka address, or else the lowest free one.
A broker is live until it has sent no heartbeat for silent_ms.  Of the time between two heartbeats, of any brokers, at
most every_ms counts as silence.  After silent_ms without any heartbeat, when Redis was down or unreachable, every
broker that was live before has a full interval again.

KEYS        1 brokers  2 addresses  3 state
ARGV        1 broker  2 silent_ms  3 every_ms  4 main Kafka address, "" for none  5 addresses (JSON)
            6 now_ms ("" the server's clock: brokers pass this, so that a delayed call carries no old time)
            7 cluster id of the broker, "" at its first heartbeat
            8 channel to publish to when the caller was not live, or has other addresses than before (its name)
RETURNS     {OK, now_ms, cluster id, node id, 1 if the caller was live until now else 0, broker, addresses, ...} live brokers,
            the caller first, with their addresses (JSON), node id included
            | {OTHER_CLUSTER, cluster id or ""} it differs from the broker's: this Redis lost its data
COMPLEXITY  O(n log n) for n known brokers
WRITES      heartbeat and addresses; those of an earlier broker of the same address are removed, and its heartbeat stays until
            everything else of it is removed (broker/maintenance); heartbeats of other live brokers move forward by the
            time that does not count as silence
SOURCE      KIP-500 "broker registration"
]]
--- @include "include/deadline"
--- @include "include/status"
local silent, every, now = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[6])
if not now then
  local time = redis.call("TIME")
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
local now_text = string.format("%d", now)
local cluster = redis.call("HGET", KEYS[3], "cluster")
if ARGV[7] ~= "" and cluster ~= ARGV[7] then return { OTHER_CLUSTER, cluster or "" } end
local mine = redis.call("HGET", KEYS[2], ARGV[1])
local node = mine and tonumber(string.match(mine, '"node":(%d+)'))
local names = redis.call("ZRANGE", KEYS[1], 0, -1, "WITHSCORES")
local rows = #names > 0 and redis.call("HGETALL", KEYS[2]) or {}
local newest = tonumber(names[#names] or now)
local gap = now - newest

-- Returns the heartbeat of another broker, moved forward by the time that does not count as silence.
local function excused(beaten)
  if newest - beaten >= silent then return beaten end -- it was not live before the gap
  if gap < 0 or gap >= silent then return now end -- the clock was set back, or Redis was away
  return beaten + math.max(gap - every, 0)
end

local addresses, taken, replaced, live, moved, was_live = {}, {}, nil, {}, {}, false
for i = 1, #rows, 2 do addresses[rows[i]] = rows[i + 1] end
for i = 1, #names, 2 do
  local name, address = names[i], addresses[names[i]]
  if name == ARGV[1] then
    was_live = now - excused(tonumber(names[i + 1])) < silent
  elseif address then
    local id, kafka = string.match(address, '"node":(%d+)'), string.match(address, '"kafka":"([^"]*)"')
    local stored = tonumber(names[i + 1])
    local beaten = excused(stored)
    if ARGV[4] ~= "" and kafka == ARGV[4] then
      replaced, node = name, tonumber(id) -- also if its first heartbeat came before its listener
    elseif now - beaten < silent then
      taken[tonumber(id)] = true
      live[#live + 1], live[#live + 2] = name, address
      if beaten ~= stored then moved[#moved + 1], moved[#moved + 2] = string.format("%d", beaten), name end
    end
  end
end
if not node or taken[node] then
  node = 1
  while taken[node] do node = node + 1 end
end
local own = '{"node":' .. node .. "," .. string.sub(ARGV[5], 2)

if not cluster then
  cluster = string.sub(redis.sha1hex(ARGV[1] .. now_text), 1, 22)
  redis.call("HSET", KEYS[3], "cluster", cluster)
end
if replaced then redis.call("HDEL", KEYS[2], replaced) end
redis.call("ZADD", KEYS[1], now_text, ARGV[1], unpack(moved))
redis.call("HSET", KEYS[2], ARGV[1], own)
if not was_live or own ~= mine then redis.call("SPUBLISH", ARGV[8], ARGV[1]) end
return { OK, now_text, cluster, node, was_live and 1 or 0, ARGV[1], own, unpack(live) }
