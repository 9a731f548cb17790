-- An empty stream that exists: scripts may then name it on a cluster whose slots move, and NOMKSTREAM finds it.
local function create_stream(key)
  if redis.call("EXISTS", key) == 0 then
    redis.call("XGROUP", "CREATE", key, "made", "$", "MKSTREAM")
    redis.call("XGROUP", "DESTROY", key, "made")
  end
end
