-- Variadic commands with lists of any length: unpack takes fewer than 8000.
local function call_chunked(command, key, list)
  for i = 1, #list, 4000 do redis.call(command, key, unpack(list, i, math.min(i + 3999, #list))) end
end

local function hmget_chunked(key, fields)
  if #fields <= 4000 then return redis.call("HMGET", key, unpack(fields)) end
  local found = {}
  for i = 1, #fields, 4000 do
    for _, value in ipairs(redis.call("HMGET", key, unpack(fields, i, math.min(i + 3999, #fields)))) do
      found[#found + 1] = value
    end
  end
  return found
end
