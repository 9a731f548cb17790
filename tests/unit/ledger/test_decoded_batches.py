"""ledger/decoded_batches: batches that were decoded are kept within a bound, and never taken for others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from redis_ledger.ledger.decoded_batches import APART_MS, RECORD_BYTES, DecodedBatches
from redis_ledger.ledger.entries import LogEntry
from redis_ledger.records.read import Record


def partition(topic_id: str = "t", number: int = 0, epoch: int = 0) -> Any:
    return SimpleNamespace(topic_id=topic_id, number=number, offsets=SimpleNamespace(leader_epoch=epoch))


def entry(base: int, *, size: int = 100, at: int = 1_000) -> LogEntry:
    return LogEntry(1, 1, base, 1, size, -1, -1, -1, 0, at, -1)


def records(size: int = 10) -> list[Record]:
    return [Record(0, 0, b"k", b"v" * size, [])]


def test_a_batch_is_found_again_also_with_the_time_that_its_broker_knows():
    kept = DecodedBatches()
    some = records()
    kept.put(partition(), entry(5), some)
    assert kept.get(partition(), entry(5)) is some
    assert kept.get(partition(), entry(5, at=1_000 + APART_MS)) is some


def test_another_batch_is_not_taken_for_it():
    kept = DecodedBatches()
    kept.put(partition(), entry(5), records())
    others = [
        (partition("u"), entry(5)), (partition(number=1), entry(5)), (partition(epoch=1), entry(5)),
        (partition(), entry(6)), (partition(), entry(5, size=101)), (partition(), entry(5, at=1_001 + APART_MS)),
    ]  # fmt: skip
    assert [kept.get(*other) for other in others] == [None] * len(others)


def test_the_batches_used_last_stay_within_the_bound():
    size = RECORD_BYTES + 11
    kept = DecodedBatches(4 * size)
    for base in range(4):
        kept.put(partition(), entry(base), records())
    assert kept.get(partition(), entry(0)) is not None
    kept.put(partition(), entry(4), records())
    assert [kept.get(partition(), entry(base)) is not None for base in range(5)] == [True, False, True, True, True]


def test_a_batch_is_replaced_and_counted_once():
    kept = DecodedBatches(4 * (RECORD_BYTES + 11))
    for _ in range(10):
        kept.put(partition(), entry(0), records())
    for base in range(1, 4):
        kept.put(partition(), entry(base), records())
    assert all(kept.get(partition(), entry(base)) is not None for base in range(4))


def test_a_very_large_batch_is_not_kept_and_displaces_nothing():
    kept = DecodedBatches(4 * (RECORD_BYTES + 11))
    kept.put(partition(), entry(0), records())
    kept.put(partition(), entry(1), records(1_000))
    assert kept.get(partition(), entry(1)) is None
    assert kept.get(partition(), entry(0)) is not None


def test_keys_values_and_headers_count():
    header = Record(0, 0, None, None, [("name", b"x" * 500)])
    kept = DecodedBatches(4 * 400)
    kept.put(partition(), entry(0), [header])
    assert kept.get(partition(), entry(0)) is None
