from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import pytest

from redis_ledger.broker.produce.encode import PreparedBatch, PreparedRecords
from redis_ledger.broker.transactions import single_append
from redis_ledger.broker.transactions.single_append import SingleAppend, is_single_append
from redis_ledger.broker.types import Appended, ExecuteAcks, NewRecord
from redis_ledger.errors import OutcomeUnknown, SequenceGap, StoreUnavailable, UnknownProducer
from redis_ledger.ids import MessageId

RECORD = NewRecord(None, b"x")
ACKS = [ExecuteAcks("in", "s", "c", [MessageId(0, 1)])]


class Place(NamedTuple):
    """A partition, as far as it is used here."""

    topic: str
    topic_id: str
    number: int


def prepared(*batches: PreparedBatch) -> PreparedRecords:
    return PreparedRecords("t", list(batches))


def batch(number: int = 0, records: int = 1, dues: Any = None) -> PreparedBatch:
    partition: Any = Place("t", "id", number)
    return PreparedBatch(partition, [RECORD] * records, -1, dues)


@pytest.mark.parametrize(
    ("acks", "outgoing", "nonce", "expected"),
    [
        ([], [prepared(batch())], "", True),
        ([], [prepared(batch(records=10))], "", True),
        (ACKS, [prepared(batch())], "", False),
        (ACKS, [], "", False),
        ([], [prepared(batch())], "n", False),
        ([], [prepared(batch(0), batch(1))], "", False),
        ([], [prepared(batch()), prepared(batch())], "", False),
        ([], [prepared(batch(dues=[5]))], "", False),
    ],
)
def test_only_records_of_one_batch_that_are_due_need_no_transaction(acks, outgoing, nonce, expected):
    assert is_single_append(acks, outgoing, nonce) is expected


class Log:
    """Appends, and the errors of the next ones."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []
        self.tried: list[tuple[int, int, str]] = []  # producer id, sequence, owner
        self.ids = 100

    async def append_prepared(self, prepared: PreparedRecords, transaction: Any, producer: Any) -> list[Appended]:
        (one,) = prepared.batches
        assert (transaction, one.sequence) == (None, producer.sequence)
        self.tried.append((producer.producer_id, producer.sequence, producer.owner))
        await asyncio.sleep(0)
        if self.errors:
            raise self.errors.pop(0)
        return [Appended(one.partition.number, 0, len(one.records))]

    async def allocate(self) -> int:
        self.ids += 1
        return self.ids


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def single(log):
    return SingleAppend(log, log.allocate)


async def test_a_producer_continues_with_the_next_sequence_in_its_partition(log, single):
    for number, records in ((0, 3), (0, 2), (1, 1), (0, 1)):
        await single.append(prepared(batch(number, records)))
    assert log.tried == [(101, 0, "~600"), (101, 3, "~600"), (102, 0, "~600"), (101, 5, "~600")]


async def test_appends_at_once_have_a_producer_each(log, single):
    await asyncio.gather(*(single.append(prepared(batch())) for _ in range(3)))
    assert sorted(log.tried) == [(101, 0, "~600"), (102, 0, "~600"), (103, 0, "~600")]


@pytest.mark.parametrize("error", [UnknownProducer(), SequenceGap()])
async def test_a_producer_that_the_partition_has_forgotten_is_replaced(log, single, error):
    await single.append(prepared(batch()))
    log.errors.append(error)
    assert await single.append(prepared(batch())) == [Appended(0, 0, 1)]
    assert [producer_id for producer_id, _, _ in log.tried] == [101, 101, 102]


@pytest.mark.parametrize("error", [OutcomeUnknown(), StoreUnavailable()])
async def test_a_producer_whose_append_failed_is_not_used_again(log, single, error):
    await single.append(prepared(batch()))
    log.errors.append(error)
    with pytest.raises(type(error)):
        await single.append(prepared(batch()))
    await single.append(prepared(batch()))
    assert [each[:2] for each in log.tried] == [(101, 0), (101, 1), (102, 0)]


async def test_of_more_producers_than_are_kept_the_one_unused_for_longest_is_forgotten(log, single, monkeypatch):
    """So partitions that are not written to any more, or are gone, take none from those that are."""
    monkeypatch.setattr(single_append, "FREE_MAX", 2)
    for number in (0, 1, 2, 2, 1, 0):
        await single.append(prepared(batch(number)))
    assert [each[:2] for each in log.tried] == [(101, 0), (102, 0), (103, 0), (103, 1), (102, 1), (104, 0)]


async def test_of_one_partition_no_more_producers_are_kept_than_allowed(log, single, monkeypatch):
    monkeypatch.setattr(single_append, "FREE_MAX", 2)
    for _ in range(2):
        await asyncio.gather(*(single.append(prepared(batch())) for _ in range(3)))
    assert len({producer_id for producer_id, _, _ in log.tried}) == 4
