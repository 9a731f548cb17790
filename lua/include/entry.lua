--- @include "include/status"
-- One topic's entry in the catalog, changed if it still is what the caller saw; the version is counted up.
local function change_entry(topics, state, topic, known, wanted)
  local now = redis.call("HGET", topics, topic) or ""
  if now == wanted then return { OK, tonumber(redis.call("HGET", state, "version") or 0) } end
  if now ~= known then return { STALE, now } end

  if wanted == "" then
    redis.call("HDEL", topics, topic)
  else
    redis.call("HSET", topics, topic, wanted)
  end
  return { OK, redis.call("HINCRBY", state, "version", 1) }
end
