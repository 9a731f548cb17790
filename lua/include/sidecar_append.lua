-- Adds batches to the sidecar buffer.  For scripts with include/producers; only sidecar.save writes.
--- @include "include/sidecar"
local added, noted = {}, {} -- producer → its transaction, if it has grown

-- first: the next offset.  entry: of the batch in the delay ledger.  flags: of its log entry, "16" for a chunk.
function sidecar.take(pid, epoch, coordinator, serial, first, batch)
  local txn = added[pid]
  if not txn then
    txn = asides[pid] and sidecar.parse(asides[pid])
      or {
        epoch = epoch, coordinator = coordinator, serial = serial, first = first, records = 0, bytes = 0, batches = 0,
        newest = -1, spread = "", name = coordinator .. "-" .. serial,
      }
    txn.is_new = not asides[pid]
    added[pid], asides[pid], opens[pid] = txn, asides[pid] or true, coordinator .. " " .. serial
  end
  noted[#noted + 1] = "0"
  noted[#noted + 1] = string.format("%s %012d %s %d %d %d %s", txn.name, txn.records, batch.ledger, batch.entry,
    batch.records, batch.bytes, batch.flags)
  txn.records, txn.bytes, txn.batches = txn.records + batch.records, txn.bytes + batch.bytes, txn.batches + 1
  txn.newest = math.max(txn.newest, batch.newest)
  local before, count = string.match(txn.spread, "^(.-)" .. string.gsub(batch.ledger, "%-", "%%-") .. ":(%d+)$")
  if before then
    txn.spread = before .. batch.ledger .. ":" .. whole(tonumber(count) + 1)
  else
    txn.spread = txn.spread .. (txn.spread ~= "" and "," or "") .. batch.ledger .. ":1"
  end
end

function sidecar.save(key)
  for i = 1, #noted, 4000 do redis.call("ZADD", key, unpack(noted, i, math.min(i + 3999, #noted))) end
  for pid, txn in pairs(added) do
    redis.call("HSET", KEYS[5], pid, sidecar.text(txn))
    if txn.is_new then redis.call("ZADD", KEYS[6], whole(-2 - tonumber(txn.first)), pid) end
  end
end
