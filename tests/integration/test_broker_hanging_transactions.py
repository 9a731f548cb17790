"""Hanging transactions: a partition holds them and no coordinator does; only these are ended."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.transactions import hanging
from redis_ledger.broker.transactions.hanging import SLACK_MS
from redis_ledger.broker.types import NewRecord
from redis_ledger.clock import ManualClock, SystemClock
from redis_ledger.ids import TxnId
from redis_ledger.telemetry import exposition
from tests.support.broker import one, receive_values, records, values_of
from tests.support.kafka_client import BrokerClient, listening
from tests.support.kafka_transactional import NEW, OLD, Transactional

TIMEOUT_MS = 30_000
OLD_MS = TIMEOUT_MS + SLACK_MS + 1_000  # numbers may be ahead of the clock by a little
WEEK_MS = 604_800_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(SystemClock().now_ms())


@pytest.fixture
async def broker(redis_url: str, prefix: str, clock: ManualClock) -> AsyncIterator[Broker]:
    async with one(redis_url, prefix, clock=clock, coordinators=1, max_transaction_timeout_ms=TIMEOUT_MS) as broker:
        await broker.maintenance.close()  # rounds are made by the tests, and timeouts by none
        await broker.topics.create("t", 1)
        yield broker


async def begun(broker: Broker) -> TxnId:
    return (await broker.transactions.begin(TIMEOUT_MS)).id


async def lose(broker: Broker, txn: TxnId) -> None:
    """As a coordinator does whose Redis came back older."""
    k = broker.coordinators.of(txn).keys
    assert await broker.store.command("HDEL", k.txns, txn.serial, key=k.state) == 1
    await broker.store.command("ZREM", k.order, f"{txn.serial:015}", key=k.state)
    await broker.store.command("ZREM", k.deadlines, txn.serial, key=k.state)


def ended() -> list[float]:
    name = "redis_ledger_transactions_forgotten_total"
    return [exposition.REGISTRY.get_sample_value(name, {"outcome": outcome}) or 0.0 for outcome in ("commit", "abort")]


async def test_an_open_transaction_that_its_coordinator_lost_is_aborted_when_it_is_old(broker, clock):
    commits, aborts = ended()
    txn = await begun(broker)
    await broker.records.produce("t", records("lost"), transaction=txn)
    await broker.records.produce("t", records("behind it"))
    await lose(broker, txn)
    clock.advance(TIMEOUT_MS)
    await broker.hanging.look()
    assert await values_of(broker, "t") == []
    clock.advance(OLD_MS)
    for _ in range(2):  # the second round finds nothing left to do
        await broker.hanging.look()
        assert await values_of(broker, "t") == ["behind it"]
        assert ended() == [commits, aborts + 1]


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_lost_transaction_of_a_kafka_client_is_aborted_under_its_producer_id(broker, clock, version):
    async with listening(broker) as address, BrokerClient(broker, address) as client:
        producer = await Transactional(client, "pay", version).init(TIMEOUT_MS)
        assert await producer.send("t", "lost") == 0
        (txn,) = [each.id for each in await broker.transactions.list("open")]
        await lose(broker, txn)
        clock.advance(OLD_MS)
        await broker.hanging.look()
        assert await broker.topics.open_transactions("t") == []
        # Its successor is not held up
        successor = await Transactional(client, "pay", version).init(TIMEOUT_MS)
        assert await successor.send("t", "new") == 0
        assert await successor.end() == 0
        assert await values_of(broker, "t") == ["new"]


async def test_acknowledgements_of_a_lost_transaction_come_back(broker, clock):
    name = "a subscription: 1"
    await broker.subscriptions.create("t", name, "shared")
    await broker.records.produce("t", records("a"))
    found = await receive_values(broker, "t", name, "c1")
    txn = await begun(broker)
    await broker.subscriptions.ack("t", name, "c1", list(found), transaction=txn)
    await lose(broker, txn)
    clock.advance(OLD_MS)
    await broker.hanging.look()
    assert (await broker.subscriptions.stats("t", name)).cursors[0].pending == 0
    assert list((await receive_values(broker, "t", name, "c2")).values()) == ["a"]


async def test_scheduled_records_of_a_lost_transaction_are_deleted(broker, clock):
    txn = await begun(broker)
    await broker.records.produce("t", [NewRecord(None, b"never", deliver_after_ms=3_600_000)], transaction=txn)
    partition = await broker.catalog.partition("t", 0)
    k, held = partition.keys, str(txn)
    assert await broker.store.command("HEXISTS", k.delay.state, held, key=k.state) == 1
    await lose(broker, txn)
    clock.advance(OLD_MS)
    await broker.hanging.look()
    assert await broker.store.command("HEXISTS", k.delay.state, held, key=k.state) == 0
    assert int(await broker.store.command("HGET", k.delay.state, "held", key=k.state)) == 0


@pytest.mark.parametrize(("commit", "seen"), [(True, ["a"]), (False, [])])
async def test_a_transaction_that_has_ended_is_ended_the_same_way_where_its_end_was_lost(broker, clock, commit, seen):
    txn = await begun(broker)
    await broker.records.produce("t", records("a"), transaction=txn)
    await broker.coordinators.decide(txn, commit=commit)
    await broker.coordinators.done(txn, lazy=False)
    clock.advance(OLD_MS)
    await broker.hanging.look()
    assert await values_of(broker, "t") == seen
    assert await broker.topics.open_transactions("t") == []


async def test_a_transaction_that_its_coordinator_has_is_left_alone_however_old_it_is(broker, clock):
    before = ended()
    txns = [await begun(broker) for _ in range(2)]
    for txn in txns:
        await broker.records.produce("t", records("a"), transaction=txn)
    await broker.coordinators.decide(txns[0], commit=True)  # its end is still to be carried
    clock.advance(10 * OLD_MS)
    await broker.hanging.look()
    assert await values_of(broker, "t") == []
    for txn in txns:
        await broker.transactions.commit(txn)
    assert await values_of(broker, "t") == ["a", "a"]
    assert ended() == before


async def test_a_transaction_of_a_coordinator_that_is_not_there_is_left_alone(broker):
    k = (await broker.catalog.partition("t", 0)).keys
    await broker.records.produce("t", records("a"))
    await broker.store.command("HSET", k.open, "5", "0 7 1 0", key=k.state)
    await broker.store.command("ZADD", k.firsts, 0, "5", key=k.state)
    await broker.hanging.look()
    assert await broker.store.command("HGET", k.open, "5", key=k.state) == b"0 7 1 0"


async def test_round_checks_some_partitions_and_the_next_one_continues_after_them(broker, clock, monkeypatch):
    monkeypatch.setattr(hanging, "PARTITIONS_MAX", 2)
    await broker.topics.create("wide", 3)
    for number in range(3):
        txn = await begun(broker)
        await broker.records.produce("wide", records("a", partition=number), transaction=txn)
        await lose(broker, txn)
    clock.advance(OLD_MS)
    left = []
    for _ in range(4):  # there are five partitions at most: a topic of ours is among them
        await broker.hanging.look()
        left.append(len(await broker.topics.open_transactions("wide")))
    assert 0 < left[0] < 3
    assert left[-1] == 0


async def test_a_lost_transaction_with_an_id_of_the_future_is_aborted_and_one_that_is_open_stays(broker, clock):
    """The clock was ahead by a week when they began, and their coordinator counts on from there."""
    clock.advance(WEEK_MS)
    txn = await begun(broker)
    await broker.records.produce("t", records("lost"), transaction=txn)
    clock.advance(-WEEK_MS)
    later = await begun(broker)
    await broker.records.produce("t", records("open"), transaction=later)
    await lose(broker, txn)
    await broker.hanging.look()
    assert [each.transaction for each in await broker.topics.open_transactions("t")] == [later]
