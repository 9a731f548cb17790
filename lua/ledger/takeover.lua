#!lua flags=allow-oom
--[[ ledger/takeover: continue a partition whose Redis lost its newest records, under a higher leader epoch.

A broker that remembers a higher end than the stored one calls it before any other call. No offset that was answered before
is assigned again: the log continues above the remembered end, behind a gap, because another broker may have answered a few more.

    offset   0 ... 41 | 42 ... 99 |  gap  | marker | records of the new epoch
                      ^ stored end        ^ first offset of the new epoch
                                  ^ remembered end: 42 to 99 are lost

The marker moves readers over the gap, so that a reader that reads up to the end offset arrives there. It belongs to no
producer. The history of epochs is one text, oldest first, an item for each epoch above the first one:

    epoch:first offset:end of the log before it:remembered end:time

KEYS        1 state  2 log
ARGV        1 topic_id  2 leader epoch in which the broker learned the end  3 remembered end  4 gap  5 now_ms
            6 channel of (leader epoch, next offset, stable offset)  7 most items of the history
RETURNS     {OK, taken over (1 or 0), leader epoch, where the remembered epoch ends, next offset} | {UNKNOWN_TOPIC}
COMPLEXITY  O(items)
WRITES      nothing if the stored end is not lower, or if another broker has continued the log above the remembered end
SOURCE      KIP-101, KIP-320 "leader epoch"; docs/decisions/0028
]]
--- @include "include/deadline"
--- @include "include/status"
--- @include "include/partition"
local state = KEYS[1]
local held = redis.call("HMGET", state, "topic_id", "epoch", "next", "stable", "epochs", "newest")
if held[1] ~= ARGV[1] then return { UNKNOWN_TOPIC } end
stored.check("The state of the partition", { held[2], held[3], held[4], held[6] })
local epoch, next_offset, history = tonumber(held[2]), tonumber(held[3]), held[5] or ""
local known_epoch, known_end = tonumber(ARGV[2]), tonumber(ARGV[3])

local ended, following = next_offset, nil -- of the remembered epoch, and the first offset of the one after it
for e, first, before in string.gmatch(history, "(%d+):(%d+):(%d+):%d+:%d+") do
  if tonumber(e) > known_epoch then
    ended, following = tonumber(before), tonumber(first)
    break
  end
end
local is_lower = known_epoch > epoch or (ended < known_end and (not following or following < known_end))
if not is_lower then return { OK, 0, held[2], whole(ended), held[3] } end

local new_epoch, first = whole(math.max(epoch, known_epoch) + 1), math.max(next_offset, known_end) + tonumber(ARGV[4])
local items = {}
for item in string.gmatch(history, "%S+") do items[#items + 1] = item end
items[#items + 1] = table.concat({ new_epoch, whole(first), held[3], ARGV[3], ARGV[5] }, ":")
local kept = table.concat(items, " ", math.max(1, #items - tonumber(ARGV[7]) + 1))
local following_text = whole(first + 1)
local stable = held[4] == held[3] and following_text or held[4]

redis.call("XADD", KEYS[2], whole(first) .. "-1", "l", "0", "e", "0", "b", whole(first), "n", "1", "s", "0", "p", "-1",
  "v", "-1", "q", "-1", "f", "3", "t", ARGV[5], "m", held[6])
redis.call("HSET", state, "epoch", new_epoch, "next", following_text, "stable", stable, "epochs", kept)
redis.call("SPUBLISH", ARGV[6], new_epoch .. " " .. following_text .. " " .. stable)
return { OK, 1, new_epoch, whole(ended), following_text }
