from __future__ import annotations

import pytest

from redis_ledger.client.batches import RECORD_OVERHEAD, RECORDS_MAX, Entry
from redis_ledger.client.deferral import BeginReason, Limits, Waiting, begin_reason
from redis_ledger.client.deliveries import Delivery

LIMITS = Limits(batch_bytes=1_000, buffer_bytes=5_000)
SOME = Waiting("t", 1, records=3, size=300)


def entry(size: int = 100, delivery: Delivery | None = None) -> Entry:
    return Entry(None, b"x" * (size - RECORD_OVERHEAD), (), 1, delivery)


LATER = Delivery(at_ms=5)


@pytest.mark.parametrize(
    ("waiting", "topic", "partition", "record", "buffered", "reason"),
    [
        (None, "t", 1, entry(), 0, None),
        (SOME, "t", 1, entry(), 300, None),
        (SOME, "t", 0, entry(), 300, BeginReason.OTHER_PARTITION),
        (SOME, "u", 1, entry(), 300, BeginReason.OTHER_PARTITION),
        (None, "t", 1, entry(1_000), 0, None),
        (None, "t", 1, entry(1_001), 0, BeginReason.TOO_LARGE),
        (SOME, "t", 1, entry(700), 300, None),
        (SOME, "t", 1, entry(701), 300, BeginReason.BATCH_FULL),
        (SOME._replace(records=RECORDS_MAX - 1), "t", 1, entry(), 300, None),
        (SOME._replace(records=RECORDS_MAX), "t", 1, entry(), 300, BeginReason.BATCH_FULL),
        (None, "t", 1, entry(), 4_900, None),
        (None, "t", 1, entry(), 4_901, BeginReason.BUFFER_FULL),
        (None, "t", 1, entry(delivery=LATER), 0, BeginReason.SCHEDULED),
        (SOME, "t", 1, entry(delivery=LATER), 300, BeginReason.SCHEDULED),
    ],
)
def test_records_wait_while_they_fit_one_batch_of_one_partition(waiting, topic, partition, record, buffered, reason):
    assert begin_reason(waiting, topic, partition, record, LIMITS, buffered) is reason
