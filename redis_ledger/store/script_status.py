"""Statuses in the replies of scripts; twin of lua/include/status.lua, compared by tests/tidy."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    OK = 0
    DUPLICATE = 1  # an idempotent batch that is already in the log: the first reply again
    UNKNOWN_TOPIC = -1  # the partition does not exist, or belongs to another topic id
    LEDGER_MOVED = -2  # the named ledger is sealed; the reply names the active one; nothing was accepted
    HEALED = -3  # leftovers of a lost call were deleted; nothing was accepted, send again
    SEQUENCE_GAP = -4
    STALE_EPOCH = -5
    DUPLICATE_SEQUENCE = -6  # older than the window of five batches
    TXN_ENDED = -7  # tombstone, or at or below the low watermark
    NOT_VERIFIED = -8  # not open here: register the partition with the coordinator first
    OTHER_OPEN = -9  # this producer id has another transaction open here
    TXN_NOT_FOUND = -10
    TXN_STATUS = -11  # the transaction's state does not allow the operation; the reply names the state
    TXN_CONFLICT = -12
    TOO_MANY = -13
    NOT_OWNER = -14
    EXISTS = -15
    UNKNOWN_SUB = -16
    WRONG_KIND = -17
    CONSUMER_BUSY = -18
    NOT_LEASED = -19  # leased to another consumer
    NOT_DELIVERED = -20
    BAD_OFFSET = -21
    UNKNOWN_PRODUCER = -22
    STALE = -23  # the caller's view is outdated; the reply has the current one
    FENCED = -24  # the generation is below the highest one seen here
    OTHER_CLUSTER = -25  # the stored cluster id is not the caller's: Redis lost its data
    OTHER_BUFFER = -26  # the transaction is in the other buffer here (marker, sidecar): its batches go there too
