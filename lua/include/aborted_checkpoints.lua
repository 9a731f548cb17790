-- Checkpoints in a partition's aborted set.
-- The set is ordered by abort marker.  Each member has the stable offset at its abort: no later member began below it.
-- While an old transaction is open, the stable offset does not advance, so after thousands of later aborts a reader
-- would have to read all of them for each page of the log:
--     marker   101          103          105    ...  8101               old: 0 to 8102, committed
--     member   "p1 100 0"   "p2 102 0"   "p3 104 0"   "p4001 8100 0"
-- After it has ended, a walk from the newest member down computes the lowest first offset from each member on, and adds it
-- at every 32nd member as a checkpoint.  A checkpoint has no existing producer and begins beyond all offsets, so it
-- matches no record; every reader stops at it:
--     8039     "-8039 9000000000000000 8038"     no member from here on began below 8038
-- The script that needs the walk does it, 300 members a call; its progress is in the partition's state:
--     aborts   "walk next-marker lowest-first floor from" or "done floor": below floor all checkpoints are set
local STEP, EVERY, BEYOND = 300, 32, "9000000000000000"
local checkpoints = {}

-- Returns the offset up to which walks are done, and the current walk or nil.  text: the state's field `aborts`.
function checkpoints.read(text)
  local at, lowest, floor, from = string.match(text or "", "^walk (%S+) (%d+) (%d+) (%d+)$")
  if at then return 0, { at = at, lowest = tonumber(lowest), floor = floor, from = from } end
  return tonumber(string.match(text or "", "^done (%d+)$") or 0), nil
end

local function checkpoints_save(state, walk)
  local text = "done " .. walk.floor
  if walk.at then text = "walk " .. walk.at .. " " .. cursors.whole(walk.lowest) .. " " .. walk.floor .. " " .. walk.from end
  redis.call("HSET", state, "aborts", text)
end

-- Begins a walk down to offset `from`.  Later aborts begin at the stable offset or beyond.
function checkpoints.begin(state, from, stable)
  checkpoints_save(state, { at = "+inf", lowest = stable, floor = cursors.whole(stable), from = cursors.whole(from) })
end

-- Does a step of the walk; returns whether it is done.
function checkpoints.step(state, aborted, walk)
  local high = walk.at == "+inf" and "+inf" or "(" .. walk.at
  local rows, added = redis.call("ZREVRANGEBYSCORE", aborted, high, walk.from, "WITHSCORES", "LIMIT", "0", STEP), {}
  for i = 1, #rows, 2 do
    local producer, first, stable = string.match(rows[i], "^(%S+) (%d+) (%d+)$")
    if string.sub(producer, 1, 1) ~= "-" then
      walk.lowest = math.min(walk.lowest, tonumber(first))
      if i % (2 * EVERY) == 1 and walk.lowest > tonumber(stable) then
        added[#added + 1], added[#added + 2] = rows[i + 1], "-" .. rows[i + 1] .. " " .. BEYOND .. " " .. cursors.whole(walk.lowest)
      end
    end
  end
  walk.at = #rows == 2 * STEP and rows[#rows] or nil
  cursors.call_chunked("ZADD", aborted, added)
  checkpoints_save(state, walk)
  return walk.at == nil
end
