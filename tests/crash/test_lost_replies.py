"""The connection to Redis breaks after a request was sent and before its reply: the caller sees one success.

Every operation is tried with the reply of its first round trip lost, then that of its second, and so on, until it
makes no further round trip.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import ExecuteAcks, ExecuteRecords, ProducerSequence
from redis_ledger.errors import LedgerError, TransactionAbortOnly
from redis_ledger.ids import TxnId
from redis_ledger.txn import log as txn_log
from tests.support.broker import (
    backlog,
    behind_a_proxy,
    eventually,
    live_transactions,
    outstanding,
    receive_values,
    records,
    values_of,
    visible,
)
from tests.support.busy_machine import within
from tests.support.proxy import Proxy


async def losing_reply(relay: Proxy, number: int, operation: Awaitable[Any]) -> tuple[Any, bool]:
    """The operation's result, and whether it came to that many requests; the reply to that one is lost, once."""
    before, connected = len(relay.requests), relay.connections

    async def cut() -> None:
        while len(relay.requests) < before + number:
            await asyncio.sleep(0)
        relay.cuts = 1

    cutter = asyncio.create_task(cut())
    try:
        async with within(10):
            result = await operation
    finally:
        cutter.cancel()
        await asyncio.gather(cutter, return_exceptions=True)
    return result, relay.connections > connected


async def at_every_round_trip(relay: Proxy, operation: Callable[[int], Awaitable[Any]], least: int) -> list[Any]:
    """Results of the operation with its n-th reply lost, for n from 1 until nothing was lost any more."""
    results = []
    for number in range(1, 40):
        result, was_cut = await losing_reply(relay, number, operation(number))
        results.append(result)
        if not was_cut:
            assert number > least, f"only {number - 1} replies could be lost"
            return results
    raise AssertionError("the operation never came to its end")


async def status(broker: Broker, txn: TxnId) -> str:
    return (await broker.transactions.get(txn)).status


async def settled(broker: Broker, *topics: str) -> list[int]:
    for coordinator in broker.coordinators:
        while not coordinator.is_idle:
            await asyncio.sleep(0.005)
    return [await live_transactions(broker), *[await outstanding(broker, topic) for topic in topics]]


async def test_a_begin_whose_reply_is_lost_makes_one_transaction(redis, prefix):
    """CL-13, TC-04"""
    async with behind_a_proxy(redis, prefix, coordinators=1) as (broker, relay):
        begun = await at_every_round_trip(relay, lambda n: broker.transactions.begin(), least=1)
        assert len({t.id for t in begun}) == len(begun)
        assert await live_transactions(broker) == len(begun)


@pytest.mark.parametrize(("in_one_call", "round_trips"), [(False, 2), (True, 1)])
async def test_a_commit_whose_reply_is_lost_succeeds_and_is_carried_out_once(redis, prefix, in_one_call, round_trips):
    """CL-13, TS-06, TB-08"""
    async with behind_a_proxy(redis, prefix, coordinators=1, one_call_transactions=in_one_call) as (broker, relay):
        await broker.topics.create("left")
        await broker.topics.create("right")
        values = []

        async def commit(number: int) -> Any:
            return await broker.transactions.commit(ready.pop())

        # Given transactions over two topics, when the replies of their commits are lost
        ready: list[TxnId] = []
        for n in range(6):
            txn = (await broker.transactions.begin()).id
            await broker.records.produce("left", records(str(n)), transaction=txn)
            await broker.records.produce("right", records(str(n)), transaction=txn)
            ready.append(txn)
            values.append(str(n))
        committed = await at_every_round_trip(relay, commit, least=round_trips)
        for txn in ready:
            await broker.transactions.abort(txn)
        # Then every caller received one success, and each output is in the log once
        assert [t.status for t in committed] == ["committed"] * len(committed)
        expected = values[len(ready) :]
        assert await visible(broker, "left") == await visible(broker, "right") == {0: expected}
        markers = (await broker.topics.describe("left"))[1][0].end_offset - len(values)
        assert markers == len(values), "one marker for every transaction"
        assert await settled(broker, "left", "right") == [0, 0, 0]


@pytest.mark.parametrize(("in_one_call", "round_trips"), [(False, 2), (True, 1)])
async def test_an_abort_whose_reply_is_lost_succeeds_and_is_carried_out_once(redis, prefix, in_one_call, round_trips):
    """CL-13, TS-06"""
    async with behind_a_proxy(redis, prefix, coordinators=1, one_call_transactions=in_one_call) as (broker, relay):
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s")
        ready = list[TxnId]()
        for n in range(6):
            txn = (await broker.transactions.begin()).id
            await broker.records.produce("t", records(str(n)), transaction=txn)
            ready.append(txn)

        async def abort(number: int) -> Any:
            return await broker.transactions.abort(ready.pop())

        aborted = await at_every_round_trip(relay, abort, least=round_trips)
        assert [txn.status for txn in aborted] == ["aborted"] * len(aborted)
        for txn in ready:
            await broker.transactions.commit(txn)
        await settled(broker, "t")
        log = await values_of(broker, "t", isolation="read_uncommitted")
        assert log.count("[marker]") == 6, "one marker for every transaction"
        assert await values_of(broker, "t") == [str(n) for n in range(len(ready))]
        assert await settled(broker, "t") == [0, 0]


async def test_a_registration_whose_reply_is_lost_is_made_once(redis, prefix):
    """CL-13: of partitions and of subscriptions."""
    async with behind_a_proxy(redis, prefix, coordinators=1) as (broker, relay):
        await broker.topics.create("t", 20)
        for n in range(20):
            await broker.subscriptions.create("t", f"s{n:02}")
        txn, add = (await broker.transactions.begin()).id, broker.transactions
        partitions = await at_every_round_trip(relay, lambda n: add.add_partitions(txn, [("t", n)]), least=1)
        subscriptions = await at_every_round_trip(
            relay, lambda n: add.add_subscriptions(txn, [("t", f"s{n:02}")]), least=1
        )
        shown = await broker.transactions.get(txn)
        assert shown.partitions == [("t", n) for n in range(1, len(partitions) + 1)]
        assert {name for _, _, name in shown.subscriptions} == {f"s{n:02}" for n in range(1, len(subscriptions) + 1)}
        keys = broker.coordinators.of(txn).keys
        logged = [name async for placed in txn_log.read(broker.store, keys) for name in placed.record.participants]
        assert len(logged) == len(set(logged)) == len(partitions) + 20 * len(subscriptions)
        assert (await broker.transactions.commit(txn)).status == "committed"


async def test_an_acknowledgement_of_a_transaction_whose_reply_is_lost_holds_once(redis, prefix):
    """CL-13, AK-07"""
    async with behind_a_proxy(redis, prefix, coordinators=1) as (broker, relay):
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s")
        await broker.records.produce("t", records(*[str(n) for n in range(20)]))
        ids = list(await receive_values(broker, "t", "s"))
        txn = (await broker.transactions.begin()).id

        async def ack(number: int) -> int:
            return await broker.subscriptions.ack("t", "s", "c1", [ids[number - 1]], transaction=txn)

        done = await at_every_round_trip(relay, ack, least=1)
        assert done == [1] * len(done)
        (cursor,) = (await broker.subscriptions.stats("t", "s")).cursors
        assert (cursor.pending, cursor.mark_delete) == (len(done), 0)
        await broker.transactions.commit(txn)
        (cursor,) = (await broker.subscriptions.stats("t", "s")).cursors
        assert (cursor.pending, cursor.mark_delete) == (0, len(done))


@pytest.mark.parametrize(("in_one_call", "round_trips"), [(False, 4), (True, 3)])
async def test_a_step_whose_reply_is_lost_anywhere_succeeds_once(redis, prefix, in_one_call, round_trips):
    """CL-13, CL-15, TB-13: begin, acknowledge, append, decide, end: whichever reply is lost."""
    async with behind_a_proxy(redis, prefix, coordinators=1, one_call_transactions=in_one_call) as (broker, relay):
        for topic in ("in", "left", "right"):
            await broker.topics.create(topic)
        await broker.subscriptions.create("in", "work")
        await broker.records.produce("in", records(*[str(n) for n in range(1, 21)]))
        ids = list(await receive_values(broker, "in", "work"))

        async def step(number: int) -> Any:
            value = records(str(number))
            return await broker.execute.run(
                [ExecuteAcks("in", "work", "c1", [ids[number - 1]])],
                # The same topic twice: two batches of one transaction in one partition.
                [ExecuteRecords("left", value), ExecuteRecords("right", value), ExecuteRecords("left", value)],
            )

        done = await at_every_round_trip(relay, step, least=round_trips)
        numbers = [str(n) for n in range(1, len(done) + 1)]
        assert await visible(broker, "right") == {0: numbers}
        assert await visible(broker, "left") == {0: [n for n in numbers for _ in range(2)]}
        assert await backlog(broker, "in", "work") == len(ids) - len(done)
        assert await settled(broker, "in", "left", "right") == [0, 0, 0, 0]
        # Nothing of the producers stays behind: a native transaction's identity is used once.
        left = await broker.catalog.partition("left", 0)
        assert await broker.store.command("HLEN", left.keys.producers, key=left.keys.state) == 1


async def test_a_step_of_one_batch_whose_reply_is_lost_anywhere_succeeds_once(redis, prefix):
    """CL-13, CL-17: the allocation of a producer id, the append, and appends under that id."""
    async with behind_a_proxy(redis, prefix) as (broker, relay):
        await broker.topics.create("t")

        async def step(number: int) -> Any:
            return await broker.execute.run([], [ExecuteRecords("t", records(str(number), "x"))])

        done = await at_every_round_trip(relay, step, least=1)
        for _ in range(3):
            result, was_cut = await losing_reply(relay, 1, step(len(done) + 1))
            assert was_cut
            done.append(result)
        assert [step.transaction for step in done] == [None] * len(done)
        expected = [value for n in range(1, len(done) + 1) for value in (str(n), "x")]
        assert await values_of(broker, "t", isolation="read_uncommitted") == expected
        partition = await broker.catalog.partition("t", 0)
        # One producer for all: its row, and the sentinel.
        assert await broker.store.command("HLEN", partition.keys.producers, key=partition.keys.state) == 2


async def test_an_idempotent_produce_whose_reply_is_lost_is_written_once(redis, prefix):
    """TB-13, CL-13"""
    async with behind_a_proxy(redis, prefix, coordinators=1) as (broker, relay):
        await broker.topics.create("t")
        pid, epoch = await broker.producers.allocate()

        async def produce(number: int) -> Any:
            return await broker.records.produce(
                "t", records(str(number)), producer=ProducerSequence(pid, epoch, number - 1)
            )

        written = await at_every_round_trip(relay, produce, least=1)
        assert [where[0].base_offset for where in written] == list(range(len(written)))
        assert await visible(broker, "t") == {0: [str(n) for n in range(1, len(written) + 1)]}
        assert [where[0].duplicate for where in written] == [True] + [False] * (len(written) - 1)


async def test_a_transactional_produce_of_unknown_outcome_aborts_its_transaction(redis, prefix):
    """CL-20: without a sequence the outcome of a write is unknown, so none of it may be visible."""
    async with behind_a_proxy(redis, prefix, coordinators=1) as (broker, relay):
        await broker.topics.create("t")
        txn = (await broker.transactions.begin()).id
        await broker.transactions.add_partitions(txn, [("t", 0)])
        failure: LedgerError | None = None
        try:
            await losing_reply(relay, 1, broker.records.produce("t", records("lost"), transaction=txn))
        except TransactionAbortOnly as error:
            failure = error
        assert failure is not None
        assert await eventually(lambda: status(broker, txn), "aborted") == "aborted"
        await broker.records.produce("t", records("after"))
        assert await visible(broker, "t") == {0: ["after"]}


async def test_a_receive_whose_reply_is_lost_delivers_everything_once_and_in_order(redis, prefix):
    """CL-13: what the lost reply leased is leased again by the same call."""
    async with behind_a_proxy(redis, prefix, coordinators=1) as (broker, relay):
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s")
        # When a call receives, reads the payload and acknowledges, whichever reply is lost
        for number in (1, 2, 3):
            await broker.records.produce("t", records("a", "b", "c"))

            async def receive_and_ack() -> list[str]:
                found = await receive_values(broker, "t", "s")
                assert await broker.subscriptions.ack("t", "s", "c1", list(found)) == 3
                return list(found.values())

            received, was_cut = await losing_reply(relay, number, receive_and_ack())
            # Then it got everything, once
            assert was_cut
            assert received == ["a", "b", "c"]
            assert await receive_values(broker, "t", "s") == {}
            assert await backlog(broker, "t", "s") == 0
