#!lua flags=no-writes
--[[ fsck/read: the replies of several reads, all of one moment.

A full Redis refuses reads in a MULTI; it runs this.

KEYS        1.. the keys
ARGV        1.. the reads, one behind the other: command ("XINFO STREAM" for one of two words)  index of its key in KEYS,
            from 1  number of further arguments  and these arguments
RETURNS     a reply for each read; of one that fails, for example because the key has another type, the error
COMPLEXITY  O(what is read); the caller bounds it
SOURCE      docs/decisions/0029
]]
local replies, at = {}, 1
while at <= #ARGV do
  local count = tonumber(ARGV[at + 2])
  local key = KEYS[tonumber(ARGV[at + 1])]
  local command, second = string.match(ARGV[at], "^(%S+) ?(%S*)$")
  if second ~= "" then
    local info = redis.pcall(command, second, key)
    replies[#replies + 1] = info.err and info or { info[2], info[8] }
  else
    replies[#replies + 1] = redis.pcall(command, key, unpack(ARGV, at + 3, at + 2 + count))
  end
  at = at + 3 + count
end
return replies
