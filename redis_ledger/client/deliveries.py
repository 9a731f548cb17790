"""When a record is to be delivered, and where the records of a request went: pure.

    deliver_at     a datetime with a zone, or ms since 1970 UTC       Delivery(at_ms=...)
    deliver_after  a timedelta, or ms from the broker's receipt       Delivery(after_ms=...)

The broker answers for records with a time as two lists, of the offsets of what was due already and of the ids of what
waits.  Both are in the order of the records, and what was due is what was due soonest, so each finds its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from redis_ledger.client.models import RecordPosition, ScheduledPosition
from redis_ledger.errors import InvalidDelay

Moment: TypeAlias = "datetime | int"
Span: TypeAlias = "timedelta | int"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class Delivery(NamedTuple):
    """One of both is set."""

    at_ms: int | None = None
    after_ms: int | None = None

    def members(self) -> dict[str, int]:
        """As the body of a request has it."""
        if self.at_ms is not None:
            return {"deliver_at": self.at_ms}
        assert self.after_ms is not None, "a delivery says when"
        return {"deliver_after": self.after_ms}


def delivery_of(deliver_at: Moment | None, deliver_after: Span | None) -> Delivery | None:
    """Raises InvalidDelay: both, a datetime without a zone, a time before 1970, a negative duration."""
    if deliver_at is None:
        return None if deliver_after is None else Delivery(after_ms=_span_ms(deliver_after))
    if deliver_after is not None:
        raise InvalidDelay("A record has both deliver_at and deliver_after; give one of them.")
    return Delivery(at_ms=moment_ms(deliver_at))


def moment_ms(given: Moment) -> int:
    """Rounded up: nothing is delivered early."""
    ms: Any = given
    if isinstance(given, datetime):
        if given.tzinfo is None:
            raise InvalidDelay(f"{given} has no zone, so it says no moment; give it one, such as datetime.UTC.")
        ms = -((_EPOCH - given) // _MILLISECOND)
    if not isinstance(ms, int) or ms < 0:
        raise InvalidDelay(f"{given!r} is no moment; give a datetime with a zone, or milliseconds since 1970.")
    return ms


def _span_ms(given: Span) -> int:
    ms: Any = -(-given // _MILLISECOND) if isinstance(given, timedelta) else given
    if not isinstance(ms, int) or ms < 0:
        raise InvalidDelay(f"{given!r} is no delay; give a timedelta, or milliseconds, from 0 up.")
    return ms


def positions(
    partition: int, deliveries: Sequence[Delivery], offsets: Sequence[int], waiting: Sequence[ScheduledPosition]
) -> Sequence[RecordPosition]:
    """Where each record went.  offsets: of those that were due; waiting: the others; both in the order of records."""
    count = len(deliveries)
    if len(offsets) + len(waiting) != count:
        return [RecordPosition(partition, -1)] * count  # written by an earlier attempt, too long ago to say where
    soonest = set(sorted(range(count), key=lambda place: _rank(deliveries[place]))[: len(offsets)])
    written, placed = iter(offsets), iter(waiting)
    return [RecordPosition(partition, next(written)) if n in soonest else next(placed) for n in range(count)]


def _rank(delivery: Delivery) -> float:
    """After nothing is before any time; after something is behind every time that is over."""
    if delivery.at_ms is not None:
        return delivery.at_ms
    return float("inf") if delivery.after_ms else -1.0
