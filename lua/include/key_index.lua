-- Keys of the unacknowledged offsets of a key_shared subscription, in fields of the leases.  A lease is one offset there.
--     leases  "o<offset>" → key, eight hexadecimal digits
--             "k<key>"    → ",17,23,42,": its unacknowledged offsets, ascending
-- The state of an offset is that of its lease: leased to a consumer, without a consumer (it waits, or was returned), or
-- without a lease (a transaction holds it).  An offset that waits has deadline 0, and in `due` a score below -1 which orders
-- such offsets by slot (the last byte of the key), then by offset; one that was returned with a delay gets it later.
cursors.PER_SLOT, cursors.WAITING = 2 ^ 44, 2 ^ 52

-- The lowest score of what waits in a slot, 0 to 255.
function cursors.slot_score(slot) return slot * cursors.PER_SLOT - cursors.WAITING end

-- Makes an offset wait.
function cursors.put_waiting(c, offset, consumer, count, key)
  cursors.put(c, offset, offset, consumer, count, 0)
  c.writes[offset][2] = cursors.whole(cursors.slot_score(tonumber(string.sub(key, -2), 16)) + offset)
end

function cursors.list(c, key)
  local list = c.lists[key]
  if not list then
    list = { text = redis.call("HGET", c.leases, "k" .. key) or "," }
    c.lists[key] = list
  end
  return list
end

-- Reads the lists of many keys, the values of a table, with one command.
function cursors.load_lists(c, keys)
  local names, missing = {}, {}
  for _, key in pairs(keys) do
    if not c.lists[key] then
      c.lists[key] = { text = "," } -- so that a key is read once
      names[#names + 1], missing[#missing + 1] = "k" .. key, c.lists[key]
    end
  end
  for i, text in ipairs(cursors.values_of(c.leases, names)) do
    if text then missing[i].text = text end
  end
end

-- Reads many leases, for cursors.lease_of.
function cursors.load_leases(c, names)
  for i, text in ipairs(cursors.values_of(c.leases, names)) do c.rows[tonumber(names[i])] = text end
end

-- Adds an offset above all others of its key.
function cursors.add_key(c, offset, key)
  local list = cursors.list(c, key)
  list.text, list.changed = list.text .. cursors.whole(offset) .. ",", true
  c.key_of[offset] = key
end

-- Returns the keys of offsets: offset → key.
function cursors.keys_of(c, offsets)
  local found, names = {}, {}
  for i, offset in ipairs(offsets) do names[i] = "o" .. cursors.whole(offset) end
  for i, key in ipairs(cursors.values_of(c.leases, names)) do
    local offset = offsets[i]
    if c.key_of[offset] ~= false then found[offset] = key or c.key_of[offset] end
  end
  return found
end

-- Removes acknowledged or trimmed offsets, at most as many as a call touches leases.
function cursors.forget_keys(c, ranges)
  local offsets = {}
  for i = 1, #ranges, 2 do
    for offset = ranges[i], ranges[i + 1] do offsets[#offsets + 1] = offset end
  end
  local of = cursors.keys_of(c, offsets)
  cursors.load_lists(c, of)
  for _, offset in ipairs(offsets) do
    if of[offset] then
      local list = cursors.list(c, of[offset])
      local text = cursors.whole(offset) .. ","
      local at = string.find(list.text, "," .. text, 1, true)
      if at then list.text, list.changed = string.sub(list.text, 1, at) .. string.sub(list.text, at + #text + 1), true end
      c.key_of[offset] = false
    end
  end
end

-- Returns the lease of one offset, as this call leaves it; nil without one.
function cursors.lease_of(c, offset)
  local row = c.writes[offset]
  if row == false then return nil end
  local text = row and row[1]
  if not text then text = c.rows[offset] end
  if text == nil then text = redis.call("HGET", c.leases, cursors.whole(offset)) end
  return text and cursors.lease(offset, text) or nil
end

-- After an offset was returned: those behind it of the same key are returned as well, so that they are delivered again
-- behind it, and wait as long.  key: nil if it is not known yet.
function cursors.return_followers(c, offset, key, deadline)
  key = key or cursors.keys_of(c, { offset })[offset]
  local text, name = key and cursors.list(c, key).text or ",", cursors.whole(offset)
  local at = string.find(text, "," .. name .. ",", 1, true)
  for behind in string.gmatch(at and string.sub(text, at + #name + 1) or "", "%d+") do
    local lease = cursors.lease_of(c, tonumber(behind))
    if lease and not cursors.is_unassigned(lease.consumer) then
      cursors.drop(c, lease)
      if deadline == 0 then
        cursors.put_waiting(c, lease.first, "", lease.count, key)
      else
        cursors.put(c, lease.first, lease.first, "", lease.count, deadline)
      end
    end
  end
end

-- Writes the changes.  cursors.save calls it.
function cursors.save_keys(c)
  local gone, kept = {}, {}
  for offset, key in pairs(c.key_of) do
    local name = "o" .. cursors.whole(offset)
    if key then
      kept[#kept + 1], kept[#kept + 2] = name, key
    else
      gone[#gone + 1] = name
    end
  end
  for key, list in pairs(c.lists) do
    if list.changed and list.text == "," then
      gone[#gone + 1] = "k" .. key
    elseif list.changed then
      kept[#kept + 1], kept[#kept + 2] = "k" .. key, list.text
    end
  end
  cursors.call_chunked("HDEL", c.leases, gone)
  cursors.call_chunked("HSET", c.leases, kept)
  c.lists, c.key_of, c.rows = {}, {}, {}
end
