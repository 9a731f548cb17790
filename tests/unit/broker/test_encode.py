"""How the records of a request are cut into batches, the same way in every attempt."""

from __future__ import annotations

import pytest

from redis_ledger.broker.produce.encode import Layout, by_due_times, layout_of
from redis_ledger.broker.produce.split_by_due import BATCH_DUES_MAX, check_due_times
from redis_ledger.broker.types import NewRecord
from redis_ledger.config import Config
from redis_ledger.errors import RequestTooLarge
from redis_ledger.ledger.topic_entry import TopicEntry
from redis_ledger.records.split_by_due import Later


def due(at_ms: int | None) -> NewRecord:
    return NewRecord(None, b"", deliver_at_ms=at_ms)


def test_few_due_times_stay_together():
    records = [due(5), due(None), due(5), due(7)]
    assert list(by_due_times(records, 2)) == [records]


def test_a_batch_of_the_cut_has_a_bounded_number_of_due_times():
    records = [due(n // 2) for n in range(42)]
    parts = list(by_due_times(records, 10))
    assert [len({record.deliver_at_ms for record in part}) for part in parts] == [10, 10, 1]
    assert [record for part in parts for record in part] == records


def test_records_due_now_stay_in_one_batch():
    records = [*map(due, range(4)), due(None), due(None), due(4)]
    assert [len(part) for part in by_due_times(records, 4)] == [6, 1]


def test_a_delay_and_a_time_of_delivery_are_different_times():
    records = [due(5), NewRecord(None, b"", deliver_after_ms=5)]
    assert [len(part) for part in by_due_times(records, 1)] == [1, 1]


async def test_a_repeated_request_has_the_layout_of_its_first_attempt_in_each_topic():
    first: dict[str, bytes] = {}

    async def agree(topic_id: str, proposed: bytes) -> bytes:
        return first.setdefault(topic_id, proposed)

    async def layout(topic_id: str, partitions: int, **settings: int) -> Layout:
        return await layout_of(TopicEntry("t", topic_id, partitions, "ready", 0, settings), Config(), agree)

    assert await layout("a", 2, batch_bytes_max=500) == Layout(2, 500)
    assert await layout("a", 5, batch_bytes_max=100) == Layout(2, 500)
    assert await layout("b", 3) == Layout(3, Config().batch_bytes_max)


@pytest.mark.parametrize("dues", [(), (1, 2, 3)])
def test_a_batch_with_too_many_due_times_is_refused_by_name(dues):
    each = Later(b"", max(len(dues), 1), 0, 1, dues)
    check_due_times([each] * (BATCH_DUES_MAX // max(len(dues), 1)))
    with pytest.raises(RequestTooLarge, match=r"can be scheduled together; send smaller batches"):
        check_due_times([each] * (BATCH_DUES_MAX // max(len(dues), 1) + 1))
