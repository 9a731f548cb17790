"""A topic is deleted while a transaction is open on it and a snapshot of its transaction buffer is taken.

The deletion comes before each call to Redis of the snapshot, and a snapshot, writes and an end before each call of the
deletion.  No key of the topic is left, and one made again under its name hides nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.errors import LedgerError, TransactionError
from redis_ledger.ids import TxnId
from tests.support.acks import at
from tests.support.broker import begun, heads, live_transactions, receive_values, records, two, values_of
from tests.support.buffer_snapshots import checked, find, take, written
from tests.support.kafka_client import KafkaClient, listening
from tests.support.kafka_transactional import OLD, Transactional

STEPS_MAX = 40
Act = Callable[[], Awaitable[Any]]


class Interrupted:
    """Something happens before the n-th call of a broker to Redis; `is_over`: there were fewer."""

    def __init__(self, broker: Broker, n: int, act: Act) -> None:
        self._store, self._n, self._act = broker.store, n, act
        self.is_over = True
        self._call: asyncio.Future[Any] | None = None

    async def __aenter__(self) -> Interrupted:
        self._before = {name: getattr(self._store, name) for name in ("call", "command", "multi")}
        for name, method in self._before.items():
            setattr(self._store, name, self._counting(method))
        return self

    async def __aexit__(self, *_: object) -> None:
        for name, method in self._before.items():
            setattr(self._store, name, method)
        if self._call is not None:  # it may be one of the background, which nothing else waits for
            await asyncio.wait([self._call])

    def _counting(self, method: Any) -> Any:
        def counted(*args: Any, **options: Any) -> Any:
            self._n -= 1
            if self._n:
                return method(*args, **options)
            self.is_over = False

            async def act_first() -> Any:
                await self._act()
                return await method(*args, **options)

            self._call = asyncio.ensure_future(act_first())
            return self._call

        return counted


@pytest.fixture(params=[True, False], ids=["in one call", "in steps"])
async def pair(request, redis_url, prefix):
    """Without background work: it would be counted."""
    settings: dict[str, Any] = {"coordinators": 1, "one_call_transactions": request.param, "auto_create_topics": False}
    async with two(redis_url, prefix, end_overdue_ms=60_000, **settings) as brokers:
        for broker in brokers:
            await broker.maintenance.close()
        yield brokers


@contextlib.asynccontextmanager
async def producing(broker: Broker) -> AsyncIterator[Transactional]:
    """A Kafka producer that keeps its id and epoch from one transaction to the next."""
    async with listening(broker) as address, KafkaClient(address) as client:
        yield await Transactional(client, "pay", OLD).init()


async def used(broker: Broker, topic: str, producer: Transactional, *, has_snapshot: bool) -> TxnId:
    """A topic with aborted transactions, one at offset 0 and one behind its snapshot, and what an open one holds."""
    await broker.topics.create(topic)
    producer.sequences.clear()
    assert await producer.send(topic, "never") == 0
    assert await producer.end(commit=False) == 0
    await broker.subscriptions.create(topic, "s")
    await broker.records.produce(topic, records("plain"))
    if has_snapshot:
        await take(broker, topic)
    await broker.transactions.abort(await begun(broker, "never", topic=topic))
    assert len(await receive_values(broker, topic, "s")) == 1
    txn = await begun(broker, "open", topic=topic)
    await broker.subscriptions.ack(topic, "s", "c1", at(2), transaction=txn)
    return txn


async def keys_of(broker: Broker, topic: str) -> list[bytes]:
    replies = await broker.store.everywhere("KEYS", f"{broker.store.prefix}:{{{topic}:*")
    return [key for reply in replies for key in reply]


async def renew(broker: Broker, topic: str, producer: Transactional) -> None:
    """Makes it again, and writes with the same ids at the offsets that were aborted before."""
    await broker.topics.create(topic)
    producer.sequences.clear()
    assert await producer.send(topic, "again") == 0
    assert await producer.end() == 0
    await broker.transactions.commit(await begun(broker, "new", topic=topic))


async def check_renewed(broker: Broker, topic: str, old: TxnId) -> None:
    """Nothing of the earlier topic hides anything, and the end of its transaction changes nothing."""
    for _ in range(2):
        assert await values_of(broker, topic) == ["again", "new"]
        assert await heads(broker, topic) == (0, 4, 4, 0)
        with contextlib.suppress(TransactionError):  # it has ended
            await broker.transactions.commit(old)
    topic_id = (await broker.catalog.get(topic)).id
    snapshot = await find(broker, topic)
    assert snapshot is None or snapshot.index.topic_id == topic_id
    assert (await checked(broker, full=True)).left == []
    await take(broker, topic)
    assert (await checked(broker, full=True)).left == []
    assert await live_transactions(broker) == 0


FIRST = pytest.mark.parametrize("has_snapshot", [False, True], ids=["first", "next"])


@FIRST
@pytest.mark.parametrize(
    "is_renewed", [pytest.param(False, id="deleted", marks=pytest.mark.full), pytest.param(True, id="made again")]
)
async def test_topic_is_deleted_before_each_step_of_a_snapshot(pair, is_renewed, has_snapshot):
    """TB-24"""
    broker, other = pair
    async with producing(other) as producer:
        for n in range(1, STEPS_MAX):
            topic = f"t{n}"
            txn = await used(broker, topic, producer, has_snapshot=has_snapshot)
            place = await written(broker, topic)

            async def delete(topic: str = topic) -> None:
                await other.topics.delete(topic)
                if is_renewed:
                    await renew(other, topic, producer)

            async with Interrupted(broker, n, delete) as interrupted:
                with contextlib.suppress(LedgerError):  # the next one is taken of what is there then
                    await broker.buffer_snapshots.take(place)
            if interrupted.is_over:
                break
            if not is_renewed:
                assert await keys_of(broker, topic) == []
                await renew(other, topic, producer)
            await check_renewed(other, topic, txn)
        assert 4 < n < STEPS_MAX - 1


@FIRST
async def test_a_snapshot_writes_and_an_end_come_before_each_step_of_a_deletion(pair, has_snapshot):
    """TB-24: each is carried out, or refused, and the deletion is not half-done."""
    broker, other = pair
    async with producing(other) as producer:
        for n in range(1, STEPS_MAX):
            topic = f"t{n}"
            txn = await used(broker, topic, producer, has_snapshot=has_snapshot)
            place, second = await written(broker, topic), (await other.transactions.begin()).id

            async def interfere(
                topic: str = topic, txn: TxnId = txn, place: Any = place, second: TxnId = second
            ) -> None:
                for act in (
                    lambda: other.buffer_snapshots.take(place),
                    lambda: other.records.produce(topic, records("late"), transaction=txn),
                    lambda: other.records.produce(topic, records("late"), transaction=second),
                    lambda: other.records.produce(topic, records("late")),
                    lambda: receive_values(other, topic, "s", "c2"),
                    lambda: other.subscriptions.create(topic, "late"),
                    lambda: other.transactions.commit(txn),
                    lambda: other.buffer_snapshots.take(place),
                ):
                    with contextlib.suppress(LedgerError):
                        await act()

            async with Interrupted(broker, n, interfere) as interrupted:
                await broker.topics.delete(topic)
            assert await keys_of(broker, topic) == []
            await other.transactions.abort(second)
            await renew(other, topic, producer)
            await check_renewed(other, topic, txn)
            if interrupted.is_over:
                break
        assert 4 < n < STEPS_MAX - 1
