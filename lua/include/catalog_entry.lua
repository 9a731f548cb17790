--- @include "include/status"
-- Changes one topic's catalog entry if it is still the one the caller read, and raises the version.  The version is at
-- least the time in ms, so that a Redis that has lost its newest writes does not reuse a version: brokers compare
-- versions and would keep deleted topics.  If the caller's cluster id is not the stored one, Redis has lost all its
-- data: nothing changes.
local function change_entry(topics, state, topic, known, wanted, now_ms, cluster)
  local stored = redis.call("HGET", state, "cluster") or ""
  if cluster ~= "" and stored ~= cluster then return { OTHER_CLUSTER, stored } end
  local now = redis.call("HGET", topics, topic) or ""
  if now == wanted then return { OK, tonumber(redis.call("HGET", state, "version") or 0) } end
  if now ~= known then return { STALE, now } end

  if wanted == "" then
    redis.call("HDEL", topics, topic)
  else
    redis.call("HSET", topics, topic, wanted)
  end
  local version = math.max(tonumber(redis.call("HGET", state, "version") or 0) + 1, tonumber(now_ms))
  redis.call("HSET", state, "version", string.format("%d", version))
  return { OK, version }
end
