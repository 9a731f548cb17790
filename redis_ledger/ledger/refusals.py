"""Why a partition did not take a batch: what its scripts answered, as the error a caller gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis_ledger.errors import DuplicateSequence, SequenceGap, StaleEpoch, TransactionEnded, UnknownTopic
from redis_ledger.ids import TxnId
from redis_ledger.ledger.scheduling import Batch
from redis_ledger.store.replies import Status


class NotVerified(Exception):
    """The transaction is not open here yet: register the partition with its coordinator, then append as verified."""


class OtherOpen(Exception):
    """The producer id has another transaction open here, which has to be ended first."""

    def __init__(self, txn: TxnId) -> None:
        super().__init__()
        self.txn = txn


def refusal(topic: str, number: int, item: Batch, reply: Sequence[Any]) -> Exception:
    """reply: a status, and what the script told with it."""
    status, where = Status(reply[0]), f"{topic}:{number}"
    producer = f"producer {item.producer_id}, {where}"
    match status:
        case Status.UNKNOWN_TOPIC:
            return UnknownTopic.gone(topic)
        case Status.SEQUENCE_GAP:
            expected = int(reply[1])
            return SequenceGap(
                f"{producer}: sequence {item.sequence} was sent, {expected} is next; send what is missing first.",
                expected=expected,
            )
        case Status.STALE_EPOCH:
            return StaleEpoch(f"{producer}: epoch {item.epoch} was fenced by epoch {int(reply[1])}.")
        case Status.DUPLICATE_SEQUENCE:
            return DuplicateSequence(f"{producer}: sequence {item.sequence} was written long ago.")
        case Status.TXN_ENDED:
            return TransactionEnded(f"Transaction {item.txn} has ended; begin a new one.", transaction=str(item.txn))
        case Status.NOT_VERIFIED:
            return NotVerified()
        case Status.OTHER_OPEN:
            return OtherOpen(TxnId(int(reply[1]), int(reply[2])))
    raise AssertionError(f"append answered {reply!r} for {where}")
