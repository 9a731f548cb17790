-- The trace of a transaction: what happened, and when (txn/apply).  Brokers make its steps of it (redis_ledger/txn/trace.py).
--   txns      with the position of each log record, what it says: "12:1,12:2/p2@15,13:1/s1@18,14:1/C@25,": two partitions were
--             registered 15 ms after the begin, a subscription after 18 ms; committed (C), aborted (A) or timed out (T) after 25 ms
--   outcomes  "... nonce|,/p1@15,/s1@18,/C@25,|orders/0;in/0/job;|o7,=;1763720931019,=": the same; the participants, "+" if there
--             are more; of the first ones first use and end: offset or time, "_" without one, "?" if it is not known, and
--             time, "=" for that of the outcome
-- docs/decisions/0051
-- Uses of txn/apply: now, match, sub, format.
-- BYTES, MAX: of an outcome: bytes of registrations and of names; participants with use and end.
local trace = { BYTES = 80, MAX = 6 }

-- Returns what follows a position.
function trace.position(txn, step)
  txn.started = txn.started or tonumber(match(txn.fixed, "^%d+"))
  return "/" .. step .. "@" .. format("%d", now - txn.started)
end

-- ends: "used,ended;..." with times in ms.  The transaction is decided.
function trace.outcome(txn, ends)
  local steps = string.gsub(txn.positions, "%d+:%d+", "")
  if txn.participants == "" then return "|" .. steps .. "||" end
  local names = string.gsub(txn.participants, "/[^/ ]*/([^ ]*) ?", "/%1;")
  ends = string.gsub(ends, "," .. ARGV[1], ",=")
  if #steps > trace.BYTES then steps = match(sub(steps, 1, trace.BYTES), "^.*,") .. match(steps, "[^,]*,$") end
  if #names > trace.BYTES then names = (match(sub(names, 1, trace.BYTES), "^.*;") or "") .. "+" end
  return "|" .. steps .. "|" .. names .. "|" .. ends
end
