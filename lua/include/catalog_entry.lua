--- @include "include/status"
--- @include "include/stored_values"
-- Changes one topic's catalog entry if it is still the one the caller read, and raises the version.  The version is at
-- least the time in ms, so that a Redis that has lost its newest writes does not reuse a version: brokers compare
-- versions and would keep deleted topics.  If the caller's cluster id is not the stored one, Redis has lost all its
-- data: nothing changes.
local function change_entry(topics, state, topic, known, wanted, now_ms, cluster)
  local found = redis.call("HGET", state, "cluster") or ""
  if cluster ~= "" and found ~= cluster then return { OTHER_CLUSTER, found } end
  local now = redis.call("HGET", topics, topic) or ""
  if now == wanted then return { OK, tonumber(redis.call("HGET", state, "version") or 0) } end
  if now ~= known then return { STALE, now } end
  stored.check_counters("The version of the catalog", state, "version")
  local version = math.max(tonumber(redis.call("HGET", state, "version") or 0) + 1, tonumber(now_ms))

  if wanted == "" then
    redis.call("HDEL", topics, topic)
  else
    redis.call("HSET", topics, topic, wanted)
  end
  redis.call("HSET", state, "version", string.format("%d", version))
  return { OK, version }
end
