#!lua flags=allow-oom
--[[ txn/apply: apply a batch of operations to one coordinator and write one log entry for all of them (PIP-160).

A transaction is packed as "state deadline started timeout owner nonce|positions|participants": state O open,
C committing, A aborting, T aborting after its timeout; positions "entry:index,..." are its log records (index from 1),
with what they say: include/trace;
participants are separated by spaces, and those beyond 4 KiB are in `wide`: include/participants.  The decision table is
redis_ledger/txn/states.py.

KEYS        1 state  2 txns  3 order  4 deadlines  5 outcomes  6 forget  7 nonces  8 calls  9 log  10 live  11 ids  12 steps
            13 wide
ARGV        1 now_ms  2 broker  3 call number of that broker  4 retention of outcomes in ms  5 most outcomes to keep
            (negative: no limit)  6 most open transactions (0 no limit)  7 a decided transaction is overdue after ms
            8 batched entries (1 or 0)  9 retention of committed steps in ms  10 most steps to keep: include/ended_transactions
            11.. operations, three arguments each: name, subject, rest
              begin        timeout  "owner nonce participant..."  "-" for no owner or nonce
              add          serial   "participant..."              topic/topic id/partition or .../subscription
              end          serial   "C" or "A"                    commit or abort
              expire       serial   ""                            abort if the deadline has passed; take over an overdue end
              complete     serial   "used,ended;..."              all participants are done: include/trace
              allocate     ""       ""                            a producer id
              forget_step  nonce    ""                            the response of the step is stored
              commit_all, forget_number                           include/commit_all
              init_id, add_by_id, verify_by_id, end_by_id, forget_id    include/transactional_ids
RETURNS     {OK, lowest live serial or "", next serial, replies, last log entry ("0" in a repeated reply)}
            replies: an array in MessagePack (Redis converts nested tables slowly) with a reply for each operation, first its status:
            {OK, ...}  begin: serial, ["again" or "committed"];  add: nothing;  allocate: producer id;  forget_step: nothing
                       end, expire: state, "@number:epoch:transactional id" or "", "participant... [+]" (+ more are in wide)
                       complete: outcome or "more" (call it again);  expire: "-" when nothing is due
                       end, complete of a transaction that has ended: "ended", outcome
            | {TXN_NOT_FOUND} | {TXN_STATUS, state} | {TXN_STATUS, "ended", outcome} | {TOO_MANY}
            or, for all of them, {TXN_NOT_FOUND}: there is no such coordinator, since Redis has lost its data
COMPLEXITY  O(operations + transactions they name + participants they add); a call deletes at most 1000 log records and
            participants of finished transactions
WRITES      after everything was read and checked; a repeated call that allocates a serial or a producer id returns the
            reply stored in `calls`
SOURCE      PIP-31 "transaction coordinator"; PIP-160; docs/decisions/0003
]]
--- @include "include/deadline"
local first_op, last_op = 11, #ARGV - 2
--- @include "include/txn_apply"

-- Everything below writes.
--- @include "include/txn_write"
return { OK, lowest, following_text, packed, logged }
