from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.client.deliveries import Delivery, delivery_of, positions
from redis_ledger.client.models import RecordPosition, ScheduledPosition
from redis_ledger.errors import InvalidDelay
from redis_ledger.ids import ScheduledId

SOON = datetime(2027, 1, 31, 9, tzinfo=UTC)
SOON_MS = 1_801_386_000_000


@pytest.mark.parametrize(
    ("deliver_at", "deliver_after", "expected"),
    [
        (None, None, None),
        (17, None, Delivery(at_ms=17)),
        (0, None, Delivery(at_ms=0)),
        (SOON, None, Delivery(at_ms=SOON_MS)),
        (SOON.astimezone(timezone(timedelta(hours=2))), None, Delivery(at_ms=SOON_MS)),
        (SOON + timedelta(microseconds=1), None, Delivery(at_ms=SOON_MS + 1)),
        (None, 5, Delivery(after_ms=5)),
        (None, 0, Delivery(after_ms=0)),
        (None, timedelta(seconds=5), Delivery(after_ms=5_000)),
        (None, timedelta(microseconds=1), Delivery(after_ms=1)),
    ],
)
def test_times_become_milliseconds_and_are_never_rounded_down(deliver_at, deliver_after, expected):
    assert delivery_of(deliver_at, deliver_after) == expected


@pytest.mark.parametrize(
    ("deliver_at", "deliver_after", "why"),
    [
        (1, 1, "both"),
        (datetime(2027, 1, 31), None, "no zone"),
        (-1, None, "no moment"),
        (datetime(1969, 12, 31, tzinfo=UTC), None, "no moment"),
        ("2027-01-31", None, "no moment"),
        (1.5, None, "no moment"),
        (None, -1, "no delay"),
        (None, timedelta(seconds=-1), "no delay"),
        (None, "PT5S", "no delay"),
    ],
)
def test_invalid_timestamps_are_refused(deliver_at, deliver_after, why):
    with pytest.raises(InvalidDelay, match=why):
        delivery_of(deliver_at, deliver_after)


def waiting(number: int, due_ms: int = 0) -> ScheduledPosition:
    return ScheduledPosition(ScheduledId(3, number, 0), due_ms)


@pytest.mark.parametrize(
    ("deliveries", "offsets", "waits", "expected"),
    [
        # All of it waits, all of it was due, or delivery is switched off.
        ([Delivery(9), Delivery(5)], [], [1, 2], ["1", "2"]),
        ([Delivery(5), Delivery(after_ms=0)], [7, 8], [], [7, 8]),
        ([Delivery(9), Delivery(after_ms=9)], [7, 8], [], [7, 8]),
        # What was due soonest is in the log.
        ([Delivery(9), Delivery(5), Delivery(8)], [7], [1, 2], ["1", 7, "2"]),
        ([Delivery(after_ms=3), Delivery(after_ms=0), Delivery(4)], [7, 8], [1], ["1", 7, 8]),
        ([Delivery(after_ms=3), Delivery(4)], [7], [1], ["1", 7]),
        # The outcome is unknown.
        ([Delivery(9), Delivery(5)], [], [], [-1, -1]),
    ],
)
def test_every_record_finds_where_it_went(deliveries, offsets, waits, expected):
    found = positions(3, deliveries, offsets, [waiting(number) for number in waits])
    shown = [str(p.scheduled.entry) if p.scheduled is not None else p.offset for p in found]
    assert (shown, {position.partition for position in found}) == (expected, {3})


@given(
    st.lists(st.builds(Delivery, st.integers(0, 20)) | st.builds(Delivery, st.none(), st.integers(0, 20))),
    st.integers(0, 20),
)
def test_the_answer_of_a_broker_is_taken_apart_as_it_was_put_together(deliveries, now):
    dues = [each.at_ms if each.at_ms is not None else now + (each.after_ms or 0) for each in deliveries]
    offsets = [100 + place for place in range(sum(due <= now for due in dues))]
    waits = [waiting(place, due) for place, due in enumerate(dues) if due > now]
    found = positions(3, deliveries, offsets, waits)
    assert [p.deliver_at_ms for p in found] == [due if due > now else None for due in dues]
    assert [p.offset for p in found if p.scheduled is None] == offsets


def test_a_position_of_a_record_that_waits_has_its_id_and_no_offset():
    position = waiting(17, 5)
    partition, offset = position
    assert (partition, offset) == (3, -1)
    assert (position.scheduled, position.deliver_at_ms) == (ScheduledId(3, 17, 0), 5)
    written = RecordPosition(3, 9)
    assert (written.scheduled, written.deliver_at_ms) == (None, None)
