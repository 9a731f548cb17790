--- @include "include/stored_values"
-- Reads what the operations of a call need (txn/apply): the coordinator's state, transactions, outcomes, transactional ids.
local serials, nonces, is_listed, allocations, names = {}, {}, {}, 0, {}
local BY_NAME = {
  init_id = true, add_by_id = true, verify_by_id = true, end_by_id = true, forget_id = true, commit_all = true,
  forget_number = true,
}
local function list_serial(serial)
  if is_listed[serial] then return end
  is_listed[serial] = true
  serials[#serials + 1] = serial
end
for i = first_op, last_op, 3 do
  local name = ARGV[i]
  if name == "begin" then
    allocations = allocations + 1
    local nonce = match(ARGV[i + 2], "^%S+ (%S+)")
    if nonce ~= "-" then nonces[#nonces + 1] = nonce end
  elseif name == "allocate" then
    allocations = allocations + 1
  elseif BY_NAME[name] then
    if name == "commit_all" then
      for serial in gmatch(match(ARGV[i + 2], "^%S+ ?(.*)$"), "%S+") do list_serial(serial) end
    else
      allocations = allocations + 1
    end
    if not is_listed["id " .. ARGV[i + 1]] then
      is_listed["id " .. ARGV[i + 1]] = true
      names[#names + 1] = ARGV[i + 1]
    end
  elseif name ~= "forget_step" then
    list_serial(ARGV[i + 1])
  end
end

local held = redis.call("HMGET", KEYS[1], "next", "entry", "created", "committed", "aborted", "timeout",
  "rollbacks")
if not held[1] then return { TXN_NOT_FOUND } end
stored.check("The state of the coordinator", { held[1], held[2], held[3], held[4], held[5], held[6] })
local following, entry = tonumber(held[1]), format("%d", tonumber(held[2]) + 1)
local created, committed, aborted, timeout = 0, 0, 0, 0
local active = redis.call("HLEN", KEYS[2]) - 1
local unused = allocations > 0 and id_allocation.lowest(following, now) or following -- the next number this call allocates
local suffix = log_suffix(now, format("%d", math.max(unused + allocations - 1, 0)))
local txns, outcomes, by_nonce = {}, {}, {}

if #nonces > 0 then
  for i, serial in ipairs(hmget_chunked(KEYS[7], nonces)) do
    if serial then
      by_nonce[nonces[i]] = serial
      list_serial(serial)
    end
  end
end
local rows_of_names = #names > 0 and hmget_chunked(KEYS[11], names) or {}
for n = 1, #names do
  local serial = rows_of_names[n] and match(rows_of_names[n], "^%d+ %d+ %d+ (%d+)")
  if serial then list_serial(serial) end
end
if #serials > 0 then
  local rows, ended = hmget_chunked(KEYS[2], serials), nil
  for i = 1, #serials do
    local row = rows[i]
    if row then
      local t = {}
      t.state, t.deadline, t.fixed, t.positions, t.participants = match(row, "^(%u) (%d+) ([^|]*)|([^|]*)|(.*)$")
      if not t.state then stored.damaged("A transaction of the coordinator") end
      txns[serials[i]] = t
    else
      ended = ended or hmget_chunked(KEYS[5], serials)
      if ended[i] then outcomes[serials[i]] = sub(ended[i], 1, 1) end
    end
  end
end
