-- Ends transactions on one partition; KEYS and ARGV are those of txn/end.
-- room: ranges of acknowledgements that the call may still settle.  leftovers: those of ended transactions that it may
-- settle for each subscription in any case.  Returns the reply, and the room that is left.
--- @include "include/status"
--- @include "include/serial_order"
--- @include "include/partition"
--- @include "include/end_pending_acks"
--- @include "include/sidecar"
local ROOM, LEFTOVERS = 300, 32 -- of one call
sidecar.ONLY_BATCH = "^%S+ %d+ (%-%d+) (%d+) %d+ %d+ (%d+)$" -- in the sidecar buffer: ledger, entry, flags

local function end_transactions(KEYS, ARGV, room, leftovers)
  local state, log, open_key, firsts, aborted, ended, watermarks = KEYS[1], KEYS[3], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
  local now, count = tonumber(ARGV[2]), tonumber(ARGV[4])
  local held = redis.call("HMGET", state, "topic_id", "next", "epoch", "newest", "bytes", "committed", "aborted")
  if held[1] ~= ARGV[1] then return { UNKNOWN_TOPIC }, room end
  stored.check("The state of the partition", { held[2], held[3], held[4], held[5] or "0", held[6] or "0", held[7] or "0" })
  for k = 13, #KEYS, 6 do
    if KEYS[k + 1] == KEYS[k] and (redis.call("HGET", KEYS[k], "kind") or "kafka") ~= "kafka" then return { STALE }, room end
  end
  local next_offset, before = tonumber(held[2]), held[2]
  local delay, buffer = KEYS[11], KEYS[12]
  local newest, bytes = tonumber(held[4]), tonumber(held[5] or 0)
  local decided, waiting = "", redis.call("HGET", delay, "decided") or ""
  local opened, returned = {}, 0 -- cursors by their place in KEYS; offsets that other consumers may get now, or those behind them
  local marks, touched = {}, {} -- coordinator → its watermark; coordinators whose watermark rose
  local tombstones, forgotten, outcomes = {}, {}, { committed = 0, aborted = 0 } -- writes that operations share
  local opens, gone = {}, {} -- place of an operation → its row of `open`; producers whose row is deleted
  local asides, rows = {}, {} -- place → its transaction of the sidecar buffer, to commit; ledger → its row, as it is now

  local function watermark_of(coordinator)
    if marks[coordinator] == nil then marks[coordinator] = redis.call("HGET", watermarks, coordinator) or "" end
    return marks[coordinator]
  end

  -- Ends a transaction of the sidecar buffer; returns its last offset and the number of its records, "-1" if it was aborted.
  local function end_aside(pid, txn, commit)
    gone[pid] = true
    redis.call("HDEL", open_key, pid)
    redis.call("ZREM", firsts, pid)
    local outcome = commit and "committed" or "aborted"
    outcomes[outcome] = outcomes[outcome] + 1
    if not commit then
      redis.call("ZADD", buffer, "0", "!A " .. txn.name)
      return "-1"
    end
    local base, last = whole(next_offset), whole(next_offset + txn.records - 1)
    local ledger, entry, flags = txn.coordinator, txn.serial, sidecar.FLAG
    newest, bytes, next_offset = math.max(newest, txn.newest), bytes + txn.bytes, next_offset + txn.records
    if txn.batches == 1 then
      local kind
      ledger, entry, kind = string.match(txn.only, sidecar.ONLY_BATCH)
      flags = flags + tonumber(kind)
      redis.call("ZREM", buffer, txn.only)
    end
    redis.call("XADD", log, last .. "-1", "l", ledger, "e", entry, "b", base, "n", whole(txn.records), "s", whole(txn.bytes),
      "p", pid, "v", txn.epoch, "q", "-1", "f", whole(flags), "t", ARGV[2], "m", whole(newest))
    for number, count in string.gmatch(txn.spread, "(%-%d+):(%d+)") do
      local row = rows[number]
      row.max, row.unlogged = next_offset - 1, row.unlogged - tonumber(count)
      redis.call("HSET", KEYS[2], number, ledger_text(row))
    end
    return last .. "+" .. whole(txn.records)
  end

  local function write_marker(pid, epoch, first, commit)
    local offset = whole(next_offset)
    redis.call("XADD", log, offset .. "-1", "l", "0", "e", "0", "b", offset, "n", "1", "s", "0", "p", pid, "v", epoch,
      "q", "-1", "f", commit and "7" or "3", "t", ARGV[2], "m", whole(newest))
    gone[pid] = true
    redis.call("HDEL", open_key, pid)
    redis.call("ZREM", firsts, pid)
    next_offset = next_offset + 1
    if not commit then
      redis.call("ZADD", aborted, offset, pid .. " " .. first .. " " .. whole(stable_offset(firsts, next_offset)))
    end
    local outcome = commit and "committed" or "aborted"
    outcomes[outcome] = outcomes[outcome] + 1
    return offset
  end

  -- Reads a cursor; operations share it, so it is read and written once.  An absent cursor has nothing pending.
  local function cursor_at(k)
    if opened[k] == nil then
      opened[k] = cursors.read(KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], KEYS[k + 4], KEYS[k + 5]) or false
    end
    return opened[k]
  end

  -- Settles what the operation at `place` holds on its subscriptions; returns whether that was all, and when it first
  -- acknowledged on each, as text.
  local function settle_all(place, txn, commit)
    local used = ""
    for j = 1, tonumber(ARGV[place + 6]) do
      local c, since = cursor_at(13 + 6 * tonumber(ARGV[place + 6 + j])), nil
      if c then
        if room <= 0 and c.kind ~= "kafka" and redis.call("HEXISTS", c.pending, txn) == 1 then return false end
        local offsets, ranges, is_left, at_ms = settle(c, txn, commit, now, room)
        since = at_ms
        room = room - ranges
        if not commit or cursors.has_keys(c.kind) then returned = returned + offsets end
        if is_left then return false end
      end
      used = used .. "," .. (since or "_")
    end
    return true, used
  end

  -- Reads what end_aside needs for a commit: the rows of its ledgers, and its batch if it has one.
  local function read_aside(txn)
    for number in string.gmatch(txn.spread, "(%-%d+):") do
      rows[number] = rows[number] or ledger_row(redis.call("HGET", KEYS[2], number))
    end
    if txn.batches == 1 then
      txn.only = sidecar.batches(buffer, txn.name, 1)[1]
      if not string.match(txn.only or "", sidecar.ONLY_BATCH) then stored.damaged("The sidecar buffer of the partition") end
    end
    return txn
  end

  -- Reads the queues and rows that the operations change.  An error there must come before the first write: behind it, a
  -- log entry would be above the end of the log, and acknowledgements neither pending nor settled.
  local function read_all()
    local place, left, known = 6, room, {}
    for _ = 1, count do
      local open = redis.call("HGET", open_key, ARGV[place])
      local aside = open and sidecar.parse(open)
      local first, mark = string.match(open or "", "^%-?%d+ %d+ %d+ (%d+)( ?s?)")
      if open and (not first or (mark == " s" and not aside)) then stored.damaged("An open transaction of the partition") end
      if aside and ARGV[place + 3] == "1" and aside.name == ARGV[place + 1] .. "-" .. ARGV[place + 2] then
        asides[place] = read_aside(aside)
      end
      opens[place] = open
      local txn, indexes = ARGV[place + 1] .. "-" .. ARGV[place + 2], tonumber(ARGV[place + 6])
      for j = 1, indexes do
        local index = ARGV[place + 6 + j]
        local c, name = cursor_at(13 + 6 * tonumber(index)), index .. " " .. txn
        if c and c.kind == "kafka" then
          registers.check(c.cursor, c.pending, txn)
        elseif c and left > 0 and not known[name] then
          left = left - cursors.before_release(c, txn, left)
        end
        known[name] = true
      end
      place = place + 7 + indexes
    end
  end

  local function finish(place, txn)
    local pid, coordinator, serial, commit = ARGV[place], ARGV[place + 1], ARGV[place + 2], ARGV[place + 3] == "1"
    local watermark, native = ARGV[place + 4], ARGV[place + 5] == "1"
    local open, marker, used = opens[place], "-1", "_"
    if open and not gone[pid] then
      local epoch, c, s, first, aside = string.match(open, "^(%-?%d+) (%d+) (%d+) (%d+)( ?s?)")
      if c == coordinator and s == serial then
        used = aside == "" and "o" .. first or "?" -- the sidecar buffer has neither offsets nor times
        marker = aside == "" and write_marker(pid, epoch, first, commit) or end_aside(pid, asides[place] or sidecar.parse(open), commit)
      end
    end
    local aside = redis.call("HGET", delay, txn)
    if aside and string.sub(aside, 1, 1) == "O" then
      redis.call("HSET", delay, txn, (commit and "C" or "A") .. string.sub(aside, 2))
      decided = decided .. " " .. txn
    end
    if native then forgotten[#forgotten + 1] = pid end
    tombstones[#tombstones + 1], tombstones[#tombstones + 2] = ARGV[2], txn
    local mark = watermark_of(coordinator)
    if watermark ~= "" and (mark == "" or not serial_at_most(watermark, mark)) then
      redis.call("HSET", watermarks, coordinator, watermark)
      marks[coordinator], touched[coordinator] = watermark, true
    end
    return marker, used
  end

  read_all()
  local reply, at = { OK }, 6
  for i = 1, count do
    local txn = ARGV[at + 1] .. "-" .. ARGV[at + 2]
    local is_settled, acked_at = settle_all(at, txn, ARGV[at + 3] == "1")
    if is_settled then
      local marker, used = finish(at, txn)
      reply[#reply + 1] = marker .. " " .. used .. acked_at
    else
      reply[#reply + 1] = "more"
    end
    at = at + 7 + tonumber(ARGV[at + 6])
  end

  cursors.call_chunked("HDEL", KEYS[4], forgotten)
  cursors.call_chunked("ZADD", ended, tombstones)

  local function is_over(c, s) return touched[c] and serial_at_most(s, marks[c]) end
  for _, c in pairs(opened) do
    if c then
      if next(touched) then returned = returned + settle_leftovers(c, is_over, now, math.max(room, leftovers)) end
      settle_save(c)
    end
  end

  local pids = next(touched) and redis.call("ZRANGEBYSCORE", firsts, "0", "+inf", "LIMIT", "0", "128") or {}
  for _, pid in ipairs(next(touched) and redis.call("ZREVRANGEBYSCORE", firsts, "-2", "-inf", "LIMIT", "0", "128") or {}) do
    pids[#pids + 1] = pid
  end
  if #pids > 0 then
    for i, row in ipairs(redis.call("HMGET", open_key, unpack(pids))) do
      local epoch, c, s, first, aside = string.match(row or "", "^(%-?%d+) (%d+) (%d+) (%d+)( ?s?)")
      local txn = aside and aside ~= "" and sidecar.parse(row)
      if is_over(c, s) and aside == "" then write_marker(pids[i], epoch, first, false) end
      if is_over(c, s) and txn then end_aside(pids[i], txn, false) end
    end
  end
  local looked, passed = 2 * count + 2, {} -- more than this call adds; reading one costs as much as a small write
  local function look(some)
    for i = 1, #some, 2 do
      local c, s = string.match(some[i], "^(%d+)%-(%d+)$")
      local mark = c and watermark_of(c) or ""
      if (mark ~= "" and serial_at_most(s, mark)) or (c and tonumber(some[i + 1]) < now - tonumber(ARGV[3])) then
        passed[#passed + 1] = some[i]
      end
    end
    return #some == 2 * looked
  end
  -- Looks at the oldest, and at a random range if there are many: tombstones of a coordinator with an old open transaction
  -- stay, and must not hide those that other coordinators no longer need.
  if look(redis.call("ZRANGEBYSCORE", ended, "0", "+inf", "WITHSCORES", "LIMIT", "0", whole(looked))) then
    local from = now % redis.call("ZCARD", ended)
    look(redis.call("ZRANGE", ended, whole(from), whole(from + looked - 1), "WITHSCORES"))
  end
  if #passed > 0 then redis.call("ZREM", ended, unpack(passed)) end
  for outcome, number in pairs(outcomes) do
    if number > 0 then redis.call("HINCRBY", state, outcome, whole(number)) end
  end
  if whole(next_offset) ~= before then
    local stable = whole(stable_offset(firsts, next_offset))
    redis.call("HSET", state, "next", whole(next_offset), "stable", stable, "newest", whole(newest), "bytes", whole(bytes))
    redis.call("SPUBLISH", ARGV[5], held[3] .. " " .. whole(next_offset) .. " " .. stable)
  end
  if decided ~= "" then redis.call("HSET", delay, "decided", waiting .. decided) end
  if returned > 0 then redis.call("SPUBLISH", ARGV[5], "look again") end
  if waiting .. decided ~= "" then reply[#reply + 1] = waiting .. decided end
  return reply, room
end
