"""The state of one record in a subscription.

    Pulsar's positionStatsInPendingAck   here
    PendingAck                           pending_ack
    MarkDelete                           acknowledged, by mark_delete
    NotInPendingAck                      acknowledged one by one, delivered, not_delivered, not_acknowledged, hidden
    InvalidPosition                      invalid_position
    PendingAckNotReady                   none: nothing is loaded, so the state is known at once

Pure: facts of one moment go in, the state comes out.  Source: requirements AK-31, OB-13.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from redis_ledger.cursor.unacked import Lease
from redis_ledger.ledger.entries import LogEntry

State = Literal[
    "pending_ack", "acknowledged", "delivered", "not_delivered", "not_acknowledged", "hidden", "invalid_position"
]
Reason = Literal[
    "mark_delete",  # acknowledged: everything below the mark-delete position
    "individual",  # acknowledged by itself, beyond that position
    "leased",  # delivered: a consumer has it
    "returned",  # delivered: returned by a nack or an abort, and waits for redelivery
    "aborted",  # hidden: of an aborted transaction
    "above_stable_offset",  # hidden: it is undecided, or behind an open transaction
    "marker",  # hidden: a transaction marker, or one that begins a leader epoch
    "gap",  # hidden: the log has no record with this offset
    "removed",  # hidden: below the log start
    "beyond_end",  # invalid_position: at or above the log end
    "batch_index",  # invalid_position: the batch has fewer records
    "",
]


class RecordFacts(NamedTuple):
    """mark: -1 for a Kafka group without an offset.  entry: that holds the offset or is the next one.  is_aborted: if
    it is of an aborted transaction.  is_acked: its bit beyond the mark.  lease: that holds the offset."""

    kind: str
    start: int
    stable: int
    end: int
    mark: int
    read: int
    entry: LogEntry | None
    is_aborted: bool
    is_acked: bool
    lease: Lease | None


class RecordState(NamedTuple):
    state: State
    reason: Reason = ""


def decide(offset: int, facts: RecordFacts) -> RecordState:
    """Every offset below `read` is in exactly one place, so what is not acknowledged and not leased is pending."""
    if offset >= facts.end:
        return RecordState("invalid_position", "beyond_end")
    if offset < facts.start:
        return RecordState("acknowledged", "mark_delete") if offset < facts.mark else RecordState("hidden", "removed")
    if hidden := _hidden(offset, facts):
        return RecordState("hidden", hidden)
    if offset < facts.mark:
        return RecordState("acknowledged", "mark_delete")
    if facts.kind == "kafka":
        return RecordState("not_acknowledged")
    if facts.is_acked:
        return RecordState("acknowledged", "individual")
    if offset >= facts.read:
        return RecordState("not_delivered")
    if facts.lease is not None:
        return RecordState("delivered", "leased" if facts.lease.consumer else "returned")
    return RecordState("pending_ack")


def _hidden(offset: int, facts: RecordFacts) -> Reason:
    """Why no reader of committed records gets the record; "" if one does."""
    entry = facts.entry
    if entry is None or offset < entry.base_offset:
        return "gap" if offset < facts.stable else "above_stable_offset"
    if entry.is_marker:
        return "marker"
    if facts.is_aborted:
        return "aborted"
    return "above_stable_offset" if offset >= facts.stable else ""
