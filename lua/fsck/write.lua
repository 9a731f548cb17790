#!lua flags=allow-oom
--[[ fsck/write: carry out an edit if everything is still as it was when the difference was found.

KEYS        1.. the keys
ARGV        1 number of guards
            2.. the guards: command  index of its key in KEYS, from 1  number of further arguments, these arguments, and the
            expected reply: "=" and a text (of an array, its length), or "-" for nil; then the writes: command ("XGROUP CREATE": make an empty
            stream)  index  number of further arguments, and these arguments
RETURNS     {OK} | {STALE, number of the guard that does not hold, from 1}
COMPLEXITY  O(guards and writes); the caller bounds them
WRITES      everything, or nothing when a guard does not hold
SOURCE      docs/decisions/0029
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/create_stream"
local function whole(number) return string.format("%.0f", number) end

local at = 2
for guard = 1, tonumber(ARGV[1]) do
  local count = tonumber(ARGV[at + 2])
  local reply = redis.pcall(ARGV[at], KEYS[tonumber(ARGV[at + 1])], unpack(ARGV, at + 3, at + 2 + count))
  if type(reply) == "table" then reply = reply.ok or reply.err or whole(#reply) end
  if type(reply) == "number" then reply = whole(reply) end
  local expected = ARGV[at + 3 + count]
  if (reply and "=" .. reply or "-") ~= expected then return { STALE, guard } end
  at = at + 4 + count
end
while at <= #ARGV do
  local count = tonumber(ARGV[at + 2])
  local key = KEYS[tonumber(ARGV[at + 1])]
  if ARGV[at] == "XGROUP CREATE" then
    create_stream(key)
  else
    redis.call(ARGV[at], key, unpack(ARGV, at + 3, at + 2 + count))
  end
  at = at + 3 + count
end
return { OK }
