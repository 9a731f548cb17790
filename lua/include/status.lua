-- Statuses, the first element of every reply; twin of redis_ledger/store/script_status.py (tests/tidy compares them).
local OK, DUPLICATE = 0, 1
local UNKNOWN_TOPIC, LEDGER_MOVED, HEALED, SEQUENCE_GAP, STALE_EPOCH, DUPLICATE_SEQUENCE = -1, -2, -3, -4, -5, -6
local TXN_ENDED, NOT_VERIFIED, OTHER_OPEN, TXN_NOT_FOUND, TXN_STATUS, TXN_CONFLICT = -7, -8, -9, -10, -11, -12
local TOO_MANY, NOT_OWNER, EXISTS, UNKNOWN_SUB, WRONG_KIND, CONSUMER_BUSY = -13, -14, -15, -16, -17, -18
local NOT_LEASED, NOT_DELIVERED, BAD_OFFSET, UNKNOWN_PRODUCER, STALE = -19, -20, -21, -22, -23
local FENCED, OTHER_CLUSTER, OTHER_BUFFER = -24, -25, -26
