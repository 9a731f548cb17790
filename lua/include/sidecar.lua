-- The sidecar buffer of a partition: batches of transactions that are open, or committed as one log entry.
--
--   open      producer → "epoch coordinator serial first s records bytes batches newest ledger:entries,..."
--   firsts    producer, score -2 - first: no reader waits for it, so its score is below those of the other buffer
--   sidecar   members with score 0, by name:
--             "<coordinator>-<serial> <records before it, 12 digits> ledger entry records bytes flags"   a batch
--             "!A <coordinator>-<serial>"   aborted: ledger/release_sidecar deletes its batches and their payload
--             "!T <coordinator>-<serial>"   trimmed: likewise
-- The payload is in delay ledgers (negative numbers), where it counts as unlogged until the commit.
-- A committed transaction of one batch has a log entry like any other batch.  Of several: "l coordinator e serial", from 0.
--- @include "include/partition"
local sidecar = { FLAG = 32, PAGE = 500 }

-- Parses a row of `open`; nil if the transaction is not in the sidecar buffer.
function sidecar.parse(text)
  local epoch, c, s, first, records, bytes, batches, newest, spread =
    string.match(text, "^(%-?%d+) (%d+) (%d+) (%d+) s (%d+) (%d+) (%d+) (%-?%d+) (%S+)$")
  if not epoch then return nil end
  return {
    epoch = epoch, coordinator = c, serial = s, first = first, records = tonumber(records), bytes = tonumber(bytes),
    batches = tonumber(batches), newest = tonumber(newest), spread = spread, name = c .. "-" .. s,
  }
end

function sidecar.text(txn)
  return table.concat({
    txn.epoch, txn.coordinator, txn.serial, txn.first, "s", whole(txn.records), whole(txn.bytes), whole(txn.batches),
    whole(txn.newest), txn.spread,
  }, " ")
end

-- Returns the first `most` batches of a transaction.
function sidecar.batches(key, name, most)
  return redis.call("ZRANGEBYLEX", key, "[" .. name .. " ", "(" .. name .. "!", "LIMIT", "0", most)
end
