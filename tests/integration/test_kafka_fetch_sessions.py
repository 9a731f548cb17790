"""Fetch sessions of many partitions: the cost of a fetch is that of its changes, and none is missed."""

from __future__ import annotations

import pytest

from redis_ledger.kafka.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from redis_ledger.ledger import waiters as waiting
from tests.support.broker import eventually, one, records
from tests.support.kafka_client import KafkaClient, listening

PARTITIONS = 60
UNKNOWN_TOPIC = 3
VERSION = 12


@pytest.fixture
async def broker(redis_url, prefix, monkeypatch):
    monkeypatch.setattr(waiting, "CHECK_S", 600.0)  # what is not published is not found
    async with one(redis_url, prefix) as opened:
        await opened.topics.create("t", PARTITIONS)
        await opened.topics.create("other", 2)
        yield opened


@pytest.fixture
async def client(broker):
    async with listening(broker) as address, KafkaClient(address) as found:
        yield found


class Session:
    def __init__(self, client, topics):
        self._client, self._id, self._epoch = client, 0, 0
        self._first = [(topic, number, 0) for topic, count in topics.items() for number in range(count)]

    async def fetch(self, *changed, wait_ms=200):
        """(topic, partition) → records' bytes, or the error."""
        wanted: dict[str, list[FetchPartition]] = {}
        for topic, number, offset in changed or (self._first if not self._epoch else ()):
            asked = FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=1 << 20)
            wanted.setdefault(topic, []).append(asked)
        request = FetchRequest(
            max_wait_ms=wait_ms, min_bytes=1, max_bytes=50 << 20, isolation_level=1, session_id=self._id,
            session_epoch=self._epoch, topics=[FetchTopic(topic=t, partitions=p) for t, p in wanted.items()],
        )  # fmt: skip
        answer = await self._client.ask(request, VERSION)
        assert answer.error_code == 0
        self._id, self._epoch = answer.session_id, self._epoch + 1
        return {
            (topic.topic, part.partition_index): part.error_code or len(part.records or b"")
            for topic in answer.responses
            for part in topic.partitions
        }


@pytest.fixture
async def session(client):
    """One that knows that it has everything."""
    made = Session(client, {"t": PARTITIONS, "other": 2})
    await made.fetch()
    assert await made.fetch() == {}
    return made


def counted(broker, monkeypatch):
    """The number of commands that have read state or log since."""
    count = [0]
    real = broker.store.command

    def command(*arguments, **how):
        count[0] += arguments[0] in ("HMGET", "XRANGE")
        return real(*arguments, **how)

    monkeypatch.setattr(broker.store, "command", command)
    return count


async def heard(broker, partition, end):
    keys = (await broker.catalog.partition("t", partition)).keys

    async def known():
        head = broker.waiters.head(keys)
        return head is None or head.end_offset >= end

    assert await eventually(known, True)


async def test_a_fetch_of_one_partition_that_is_behind_reads_that_one(broker, session, monkeypatch):
    for _ in range(10):
        await broker.records.produce("t", records("x" * 100, partition=7))
    await heard(broker, 7, 10)
    count = counted(broker, monkeypatch)
    for offset in range(9):
        found = await session.fetch(("t", 7, offset))
        assert list(found) == [("t", 7)]
    assert count[0] <= 9 * 3


async def test_a_partition_at_rest_is_answered_as_soon_as_it_has_something_though_others_always_have(broker, session):
    await broker.records.produce("t", records("a", partition=7))
    await heard(broker, 7, 1)
    assert list(await session.fetch(("t", 7, 0))) == [("t", 7)]
    await broker.records.produce("t", records("b", partition=8))
    await heard(broker, 8, 1)
    # The client has not moved on in 7, so it gets that again, and 8
    assert set(await session.fetch()) == {("t", 7), ("t", 8)}
    # It has got on: there is nothing more
    assert set((await session.fetch(("t", 7, 1), ("t", 8, 1))).values()) <= {0}
    assert await session.fetch() == {}


async def test_a_client_that_goes_back_gets_what_is_there(broker, session):
    await broker.records.produce("t", records("a", partition=7))
    await session.fetch(("t", 7, 0))
    await session.fetch(("t", 7, 1))
    await session.fetch()
    assert (await session.fetch(("t", 7, 0)))["t", 7] > 0


async def test_committed_records_are_answered_when_they_are_committed(broker, session):
    await broker.records.produce("t", records("a", partition=7))
    txn = (await broker.transactions.begin()).id
    await broker.records.produce("t", records("b", partition=8), transaction=txn)
    await heard(broker, 8, 1)
    assert not (await session.fetch(("t", 7, 0))).get(("t", 8))
    await broker.transactions.commit(txn)
    await heard(broker, 8, 2)
    assert (await session.fetch())["t", 8] > 0


async def test_deleted_topic_raises_although_another_has_records(broker, session):
    await broker.records.produce("t", records("a", partition=7))
    await heard(broker, 7, 1)
    await broker.topics.delete("other")
    found = await session.fetch(("t", 7, 0))
    assert found["t", 7] > 0
    assert {found["other", 0], found["other", 1]} == {UNKNOWN_TOPIC}
