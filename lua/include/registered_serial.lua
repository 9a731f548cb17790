-- The serial of the transaction that a coordinator's call has registered the partition with; nil if it was refused, or if it
-- is not the broker's newest call.
local function registered_serial(text)
  local key, call, place, broker = string.match(text, "^(%d+):(%d+):(%d+):(.*)$")
  local stored = redis.call("HGET", KEYS[tonumber(key)], broker)
  local number, replies = string.match(stored or "", "^(%d+) %d* %d+\n(.*)$")
  if number ~= call then return nil end
  local reply = cmsgpack.unpack(replies)[tonumber(place)]
  return reply and reply[1] == OK and reply[2] or nil
end
