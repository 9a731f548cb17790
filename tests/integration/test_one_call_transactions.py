"""Transactions of brokers on one Redis: decided, ended and completed in one call (docs/decisions/0035)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import ExecuteAcks, ExecuteRecords, NewRecord
from redis_ledger.ids import TxnId
from redis_ledger.telemetry.transaction_metrics import ENDS
from tests.support.broker import (
    behind_a_proxy,
    eventually,
    one,
    receive_values,
    records,
    status,
    two,
    values_of,
    visible,
)
from tests.support.proxy import Proxy
from tests.support.transactional_producer import TransactionalProducer


@contextlib.asynccontextmanager
async def with_topic(redis: Any, prefix: str, **settings: Any) -> AsyncIterator[tuple[Broker, Proxy]]:
    async with behind_a_proxy(redis, prefix, **settings) as (broker, relay):
        await broker.topics.create("t", 3)
        yield broker, relay


async def settled(broker: Broker) -> None:
    async def is_idle() -> bool:
        return all(coordinator.is_idle for coordinator in broker.coordinators)

    assert await eventually(is_idle, True)


@pytest.mark.parametrize(("in_one_call", "round_trips"), [(True, 3), (False, 5)])
async def test_a_kafka_transaction_of_one_record_takes_no_round_trip_more(redis, prefix, in_one_call, round_trips):
    """AddPartitions, Produce, EndTxn; in several calls: an end and the completion as well."""
    async with with_topic(redis, prefix, one_call_transactions=in_one_call) as (broker, relay):
        producer = TransactionalProducer(broker, asks=True)
        await producer.init()
        taken = []
        for n in range(6):
            before = len(relay.requests)
            await producer.add()
            await producer.produce(str(n))
            await producer.end()
            await settled(broker)
            taken.append(len(relay.requests) - before)
        assert min(taken) == round_trips  # a heartbeat may be among some of them
        assert await values_of(broker, "t", isolation="read_uncommitted") == [
            each for n in range(6) for each in (str(n), "[marker]")
        ]


@pytest.mark.parametrize(("in_one_call", "round_trips"), [(True, 3), (False, 5)])
async def test_a_step_takes_no_round_trip_more(redis, prefix, in_one_call, round_trips):
    """Begin with all participants; append and acknowledge; decide and end.  Three partitions and a subscription."""
    async with with_topic(redis, prefix, one_call_transactions=in_one_call) as (broker, relay):
        await broker.topics.create("in")
        await broker.subscriptions.create("in", "s")
        await broker.records.produce("in", records(*map(str, range(6))))
        ids = list(await receive_values(broker, "in", "s"))
        taken = []
        for n, id_ in enumerate(ids):
            before = len(relay.requests)
            output = [NewRecord(None, str(n).encode(), partition=number) for number in range(3)]
            await broker.execute.run([ExecuteAcks("in", "s", "c1", [id_])], [ExecuteRecords("t", output)])
            await settled(broker)
            taken.append(len(relay.requests) - before)
        assert min(taken) == round_trips  # a heartbeat may be among some of them
        expected = [str(n) for n in range(6)]
        assert await visible(broker, "t") == {0: expected, 1: expected, 2: expected}


async def test_what_was_registered_by_another_broker_is_ended_as_well(redis_url, prefix):
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t", 3)
        txn = (await first.transactions.begin()).id
        for number, broker in enumerate((first, second, first)):
            await broker.records.produce("t", records("x", partition=number), transaction=txn)
        assert (await second.transactions.commit(txn)).status == "committed"
        assert await visible(first, "t") == {0: ["x"], 1: ["x"], 2: ["x"]}
        assert await eventually(lambda: status(first, txn), "committed") == "committed"


@pytest.mark.usefixtures("both_ways")
async def test_a_kafka_transaction_that_is_named_by_its_serial_is_aborted(redis_url, prefix):
    """As the console does, and Kafka's WriteTxnMarkers (kafka-transactions --abort)."""
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", 3)
        for abort in (None, broker.producers.abort_hanging):
            producer = TransactionalProducer(broker, asks=True)
            await producer.init()
            await producer.add()
            await producer.produce("in doubt")
            await broker.records.produce("t", records("behind", partition=0))
            partition = await broker.catalog.partition("t", 0)
            found = await partition.offsets.open_transaction(producer.pid)
            assert found is not None
            before = await visible(broker, "t")
            if abort is None:
                assert (await broker.transactions.abort(found[0])).status == "aborted"
            else:
                await abort("t", 0, producer.pid, producer.epoch)
            assert await partition.offsets.open_transaction(producer.pid) is None
            assert await visible(broker, "t") == {**before, 0: [*before.get(0, []), "behind"]}


@pytest.mark.parametrize("commit", [True, False])
async def test_every_transaction_is_counted_once(redis_url, prefix, commit):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t")
        life = ENDS["committed" if commit else "aborted"].life
        before = sum(life.counts)
        txn = (await broker.transactions.begin()).id
        await broker.records.produce("t", records("x"), transaction=txn)
        for _ in range(3):
            await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
        assert sum(life.counts) == before + 1


async def test_the_marker_is_in_the_tail_cache(redis_url, prefix):
    """A consumer at the end of the log needs no read of it."""
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t")
        txn = (await broker.transactions.begin()).id
        await broker.records.produce("t", records("x"), transaction=txn)
        await broker.transactions.commit(txn)
        partition = await broker.catalog.partition("t", 0)
        assert partition.tail.holds(1)


async def test_a_transaction_with_more_participants_than_one_call_takes_is_ended(redis_url, prefix, monkeypatch):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", 40)
        txn = (await broker.transactions.begin()).id
        for number in range(40):
            await broker.records.produce("t", records("x", partition=number), transaction=txn)
        called = names_of_calls(broker, monkeypatch)
        await broker.transactions.commit(txn)
        assert called.count("txn/end") == 40
        assert "txn/apply_and_end" not in called
        assert await visible(broker, "t") == {number: ["x"] for number in range(40)}


async def test_a_cluster_gets_no_call_over_several_slots(cluster_url, prefix, monkeypatch):
    async with one(cluster_url, prefix) as broker:
        await broker.topics.create("t", 3)
        txn = (await broker.transactions.begin()).id
        await broker.records.produce("t", records("x", partition=1), transaction=txn)
        called = names_of_calls(broker, monkeypatch)
        await broker.transactions.commit(txn)
        assert "txn/end" in called
        assert "txn/apply_and_end" not in called


@pytest.mark.parametrize("commit", [True, False])
async def test_scheduled_records_of_a_transaction_are_settled_before_the_answer(redis_url, prefix, monkeypatch, commit):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t")
        txn: TxnId = (await broker.transactions.begin()).id
        await broker.records.produce("t", [NewRecord(None, b"later", deliver_after_ms=3_600_000)], transaction=txn)
        called = names_of_calls(broker, monkeypatch)
        await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
        assert called[:2] == ["txn/apply_and_end", "txn/end"]


def names_of_calls(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of scripts that are called from now on."""
    called, call = list[str](), broker.store.call

    def noted(script: Any, keys: Any, args: Any, *, retry: bool = True) -> Any:
        called.append(script.name)
        return call(script, keys, args, retry=retry)

    monkeypatch.setattr(broker.store, "call", noted)
    return called
