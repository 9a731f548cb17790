from __future__ import annotations

import pytest

from redis_ledger.client.batches import RECORD_OVERHEAD, RECORDS_MAX, Entry
from redis_ledger.client.deferral import (
    HOLD_S_MAX,
    HOLD_S_MIN,
    HOLD_S_UNKNOWN,
    BeginReason,
    Limits,
    Waiting,
    begin_reason,
    begin_reason_of_ack,
    hold_s,
)
from redis_ledger.client.deliveries import Delivery
from redis_ledger.client.models import Message
from redis_ledger.ids import MessageId

LIMITS = Limits(batch_bytes=1_000, buffer_bytes=5_000)
NONE = Waiting()
SOME = Waiting(frozenset({("t", 1)}), records=3, size=300)
STEP = SOME._replace(places=frozenset({("t", 1), ("u", 0)}), ids=5)
PACKED = SOME._replace(is_batch_only=True)
REPEATED = (("h", b"1"), ("h", b"2"))


def entry(size: int = 100, delivery: Delivery | None = None, headers=()) -> Entry:
    return Entry(None, b"x" * (size - RECORD_OVERHEAD), headers, 1, delivery)


LATER = Delivery(at_ms=5)


@pytest.mark.parametrize(
    ("waiting", "topic", "partition", "record", "buffered", "reason"),
    [
        (NONE, "t", 1, entry(), 0, None),
        (SOME, "t", 1, entry(), 300, None),
        (SOME, "t", 0, entry(), 300, None),
        (SOME, "u", 1, entry(), 300, None),
        (STEP, "v", 1, entry(), 300, None),
        (NONE, "t", 1, entry(1_000), 0, None),
        (NONE, "t", 1, entry(1_001), 0, BeginReason.TOO_LARGE),
        (SOME, "t", 1, entry(700), 300, None),
        (SOME, "t", 1, entry(701), 300, BeginReason.FULL),
        (SOME, "u", 1, entry(701), 300, BeginReason.FULL),
        (SOME._replace(records=RECORDS_MAX - 1), "t", 1, entry(), 300, None),
        (SOME._replace(records=RECORDS_MAX), "t", 1, entry(), 300, BeginReason.FULL),
        (STEP._replace(records=RECORDS_MAX - 6), "t", 1, entry(), 300, None),
        (STEP._replace(records=RECORDS_MAX - 5), "t", 1, entry(), 300, BeginReason.FULL),
        (NONE, "t", 1, entry(), 4_900, None),
        (NONE, "t", 1, entry(), 4_901, BeginReason.BUFFER_FULL),
        (NONE, "t", 1, entry(delivery=LATER), 0, BeginReason.SCHEDULED),
        (SOME, "t", 1, entry(delivery=LATER), 300, BeginReason.SCHEDULED),
        (SOME, "t", 1, entry(headers=REPEATED), 300, None),
        (SOME, "u", 1, entry(headers=REPEATED), 300, None),
        (PACKED, "t", 1, entry(), 300, None),
        (PACKED, "t", 0, entry(), 300, BeginReason.BATCH_ONLY),
    ],
)
def test_records_wait_while_they_fit_one_request(waiting, topic, partition, record, buffered, reason):
    assert begin_reason(waiting, topic, partition, record, False, LIMITS, buffered) is reason


@pytest.mark.parametrize(("waiting", "reason"), [(SOME, None), (STEP, BeginReason.BATCH_ONLY)])
def test_compressed_records_wait_for_an_append_only(waiting, reason):
    assert begin_reason(waiting, "t", 1, entry(), True, LIMITS, 300) is reason


@pytest.mark.parametrize(
    ("waiting", "ids", "held_s", "reason"),
    [
        (NONE, 1, 1.0, None),
        (STEP, 100, 1.0, None),
        (NONE, RECORDS_MAX, 1.0, None),
        (NONE, RECORDS_MAX + 1, 1.0, BeginReason.FULL),
        (STEP, RECORDS_MAX - 8, 1.0, None),
        (STEP, RECORDS_MAX - 7, 1.0, BeginReason.FULL),
        (PACKED, 1, 1.0, BeginReason.BATCH_ONLY),
        (NONE, 1, HOLD_S_MIN, None),
        (NONE, 1, HOLD_S_MIN - 0.01, BeginReason.LEASE_SHORT),
        (NONE, 1, -5.0, BeginReason.LEASE_SHORT),
    ],
)
def test_acknowledgements_wait_while_their_lease_allows(waiting, ids, held_s, reason):
    assert begin_reason_of_ack(waiting, ids, held_s) is reason


def message(leased_until_s: float) -> Message:
    return Message("t", 0, 1, None, b"x", {}, 1, leased_until_s=leased_until_s)


@pytest.mark.parametrize(
    ("messages", "seconds"),
    [
        (message(104.0), 2.0),
        ([message(108.0), message(106.0)], 3.0),
        ([message(1_000.0)], HOLD_S_MAX),
        ([message(99.0)], -0.5),
        ([message(104.0), message(0.0)], HOLD_S_UNKNOWN),
        ([message(104.0), "0:1"], HOLD_S_UNKNOWN),
        ("0:1", HOLD_S_UNKNOWN),
        (MessageId(0, 1), HOLD_S_UNKNOWN),
        ([MessageId(0, 1)], HOLD_S_UNKNOWN),
        ([], HOLD_S_UNKNOWN),
    ],
)
def test_an_acknowledgement_waits_for_half_of_what_is_left_of_the_shortest_lease(messages, seconds):
    assert hold_s(messages, 100.0) == pytest.approx(seconds)
