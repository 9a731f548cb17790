"""Errors of an append: the status of a script as an error, and the batches that were refused recently.

    in flight    0-5   6-11   12-17     a client sends up to five batches ahead
    refused      0-5                    Redis is unreachable: the client sends 0-5 again
    then               6-11   12-17     a gap to the script, since 0-5 is missing; they get the error of 0-5

Kafka clients treat a gap as lost state.  They raise the producer epoch and send everything under new sequence numbers,
also batches whose reply was lost.  Those are then written twice.  A retriable answer keeps the sequence numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from redis_ledger.errors import (
    DuplicateSequence,
    InvalidProducerId,
    SequenceGap,
    StaleEpoch,
    TransactionEnded,
    Unavailable,
    UnknownProducer,
    UnknownTopic,
)
from redis_ledger.ids import TxnId
from redis_ledger.ledger.append_request import AppendRequest, QueuedAppend
from redis_ledger.records.batch import SEQUENCES
from redis_ledger.store.script_status import Status

PRODUCERS_MAX = 1_000  # remembered by a partition; without an entry a client only gets the script's own answer
REMEMBERED_S = 30.0  # longer than any client waits before it sends a batch again
GAPS = (SequenceGap, UnknownProducer)


class NotVerified(Exception):
    """The transaction is not open here yet: register the partition with its coordinator, then append as verified."""


class OtherOpen(Exception):
    """The producer id has another transaction open here, which has to be ended first."""

    def __init__(self, txn: TxnId) -> None:
        super().__init__()
        self.txn = txn


def refusal(topic: str, number: int, item: QueuedAppend, reply: Sequence[Any]) -> Exception:
    """The error for a script's reply: a status and its values."""
    status, where, request = Status(reply[0]), f"{topic}:{number}", item.request
    producer = f"producer {request.producer_id}, {where}"
    match status:
        case Status.UNKNOWN_TOPIC:
            return UnknownTopic.gone(topic)
        case Status.SEQUENCE_GAP:
            expected = int(reply[1])
            return SequenceGap(
                f"{producer}: sequence {request.sequence} was sent, {expected} is next; send what is missing first.",
                expected=expected,
            )
        case Status.UNKNOWN_PRODUCER:
            return UnknownProducer(
                f"{producer}: no batch of this producer is here, and sequence {request.sequence} is not 0; "
                "begin at 0 under the next epoch or a new producer id.",
                log_start_offset=int(reply[1]),
            )
        case Status.STALE_EPOCH:
            return StaleEpoch(f"{producer}: epoch {request.epoch} was fenced by epoch {int(reply[1])}.")
        case Status.DUPLICATE_SEQUENCE:
            return DuplicateSequence(f"{producer}: sequence {request.sequence} was written long ago.")
        case Status.NOT_OWNER:
            return InvalidProducerId(f"{producer}: another principal writes under this id; use an id of your own.")
        case Status.TXN_ENDED:
            return TransactionEnded(f"Transaction {item.txn} has ended; begin a new one.", transaction=str(item.txn))
        case Status.NOT_VERIFIED:
            return NotVerified()
        case Status.OTHER_OPEN:
            return OtherOpen(TxnId(int(reply[1]), int(reply[2])))
    raise AssertionError(f"append answered {reply!r} for {where}")


class _Refused(NamedTuple):
    """Sequences of one producer that will come again: `length` of them from `first` on.  kind, detail: of the error;
    the error itself would keep its traceback in memory.  until: when this no longer holds, s."""

    epoch: int
    first: int
    length: int
    kind: type[Unavailable]
    detail: str
    until: float

    def joined(self, other: _Refused) -> _Refused:
        """Both as one range if the other continues this one or comes before it; else only the other."""
        ahead, back = (other.first - self.first) % SEQUENCES, (self.first - other.first) % SEQUENCES
        if other.epoch != self.epoch:
            return other
        if ahead <= self.length:
            return other._replace(first=self.first, length=max(self.length, ahead + other.length))
        if back < SEQUENCES // 2:
            return other._replace(length=max(other.length, back + self.length))
        return other

    def explains(self, epoch: int, expected: int, now: float) -> bool:
        """True if the sequence that a script expects is one of these."""
        return now < self.until and epoch == self.epoch and (expected - self.first) % SEQUENCES < self.length


class AppendErrors:
    """The retriable refusals of one partition, by producer id.  now: a clock, s.  Accepted batches cost nothing."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._refused: dict[int, _Refused] = {}

    def __len__(self) -> int:
        return len(self._refused)

    def answer(self, request: AppendRequest, error: BaseException) -> BaseException:
        """The error for a refused batch: `error`, or the answer of an earlier batch that this one has to wait for."""
        _, records, _, producer_id, epoch, sequence, *_ = request
        if isinstance(error, Unavailable):
            until = self._now() + REMEMBERED_S
            self._remember(producer_id, _Refused(epoch, sequence, records, type(error), error.detail, until))
        elif isinstance(error, GAPS):
            earlier = self._refused.get(producer_id)
            expected = error.facts.get("expected", 0)  # of an unknown producer: its first batch
            if earlier is not None and earlier.explains(epoch, expected, self._now()):
                length = (sequence - earlier.first) % SEQUENCES + records
                self._refused[producer_id] = earlier._replace(length=max(earlier.length, length))
                return earlier.kind(
                    f"Sequence {sequence} of producer {producer_id} waits for sequence {expected}, which was refused: "
                    f"{earlier.detail}"
                )
        return error

    def _remember(self, producer_id: int, refused: _Refused) -> None:
        earlier = self._refused.pop(producer_id, None)
        self._refused[producer_id] = refused if earlier is None else earlier.joined(refused)  # the newest is the last
        while True:
            oldest = next(iter(self._refused))
            if len(self._refused) <= PRODUCERS_MAX and self._now() < self._refused[oldest].until:
                return
            del self._refused[oldest]
