-- Creates an empty stream, so that scripts can name it during a slot migration and NOMKSTREAM finds it.
local function create_stream(key)
  if redis.call("EXISTS", key) == 0 then
    redis.call("XGROUP", "CREATE", key, "made", "$", "MKSTREAM")
    redis.call("XGROUP", "DESTROY", key, "made")
  end
end
