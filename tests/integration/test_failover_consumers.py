"""Failover subscriptions: a stand-by takes over without asking again, in order, and no message is lost."""

from __future__ import annotations

import asyncio
import time

import pytest

from redis_ledger import AsyncClient
from redis_ledger.errors import LedgerError, NotYourMessage
from redis_ledger.ids import MessageId
from tests.support.broker import one, receive_values, records, two
from tests.support.busy_machine import busy_machine
from tests.support.threaded_broker import threaded_broker

SESSION_MS = 1_500


@pytest.fixture(params=["redis_url", "cluster_url"])
async def pair(request, prefix):
    url = request.getfixturevalue(request.param)
    async with two(url, prefix, consumer_session_ms=SESSION_MS) as brokers:
        yield brokers


async def filled(broker, partitions=3, count=4):
    await broker.topics.create("t", partitions)
    await broker.subscriptions.create("t", "x", "failover")
    for number in range(partitions):
        await broker.records.produce("t", records(*[f"{number}-{n}" for n in range(count)], partition=number))


def polling(broker, name, wait_ms=10_000, **more):
    return asyncio.create_task(broker.subscriptions.receive("t", "x", name, wait_ms=wait_ms, **more))


def by_partition(messages):
    found: dict[int, list[int]] = {}
    for each in messages:
        found.setdefault(each.id.partition, []).append(each.id.offset)
    return found


async def test_a_stand_by_at_another_broker_takes_over_when_the_active_consumer_closes(pair):
    await filled(pair[0])
    got = await pair[0].subscriptions.receive("t", "x", "a", max_records=7)
    await pair[0].subscriptions.ack("t", "x", "a", [got[0].id])
    # Given a stand-by whose poll waits at the other broker
    standing = polling(pair[1], "b")
    await asyncio.sleep(0.3)  # it has joined and waits
    assert not standing.done()
    # When the active consumer closes
    begun = time.monotonic()
    async with busy_machine(pair[1]) as machine:
        assert await pair[0].subscriptions.close_consumer("t", "x", "a") == 6
        messages = await standing
    # Then the poll is answered at once, with everything that is not acknowledged, in order
    assert time.monotonic() - begun < 1.0 + machine.lost_s
    everything = {number: [0, 1, 2, 3] for number in range(3)}
    everything[got[0].id.partition].remove(got[0].id.offset)
    assert by_partition(messages) == everything
    with pytest.raises(NotYourMessage):
        await pair[0].subscriptions.ack("t", "x", "a", [messages[0].id])


async def test_a_stand_by_takes_over_within_the_session_of_an_active_consumer_that_is_silent(pair):
    await filled(pair[0])
    joined = time.monotonic()
    async with busy_machine(pair[1]) as machine:
        await pair[0].subscriptions.receive("t", "x", "a")
        messages = await polling(pair[1], "b")
    assert SESSION_MS / 1000 - 0.3 < time.monotonic() - joined < SESSION_MS / 1000 + 0.6 + machine.lost_s
    assert by_partition(messages) == {number: [0, 1, 2, 3] for number in range(3)}
    assert {each.deliveries for each in messages} == {1}


async def test_an_active_consumer_that_waits_for_messages_stays_active(pair):
    await pair[0].topics.create("t", 2)
    await pair[0].subscriptions.create("t", "x", "failover")
    active = polling(pair[0], "a")
    await asyncio.sleep(0.2)  # it is the first to join
    standing = polling(pair[1], "b", wait_ms=3 * SESSION_MS)
    assert await standing == []
    await pair[1].records.produce("t", records("new", partition=1))
    assert [each.value for each in await active] == [b"new"]


async def test_stand_bys_take_over_in_the_order_in_which_they_joined(pair):
    await filled(pair[0])
    await pair[0].subscriptions.receive("t", "x", "a", max_records=1)
    polls = {}
    for n, name in enumerate(("second", "first", "third")):
        polls[name] = polling(pair[n % 2], name)
        await asyncio.sleep(0.1)  # so that they join one after the other
    order, last = [], "a"
    while polls:
        await pair[0].subscriptions.close_consumer("t", "x", last)
        done, _ = await asyncio.wait(polls.values(), timeout=5, return_when=asyncio.FIRST_COMPLETED)
        (last,) = (name for name, poll in polls.items() if poll in done)
        order.append(last)
        assert len(await polls.pop(last)) == 12
    assert order == ["second", "first", "third"]


async def test_a_stand_by_that_does_not_wait_gets_nothing(pair):
    await filled(pair[0])
    await receive_values(pair[0], "t", "x", "a")
    assert await pair[1].subscriptions.receive("t", "x", "b") == []


async def test_every_message_is_processed_in_order_while_consumers_come_and_go(pair):
    partitions, count = 2, 150
    await pair[0].topics.create("t", partitions)
    await pair[0].subscriptions.create("t", "x", "failover")
    seen: dict[int, list[int]] = {number: [] for number in range(partitions)}
    is_over = False

    async def consumer(broker, name, most):
        """Acknowledges what it has processed; after `most` messages it closes, or falls silent."""
        left = most
        while not is_over and left > 0:
            got = await broker.subscriptions.receive("t", "x", name, max_records=7, wait_ms=500)
            for each in got:
                at = each.id
                try:
                    await broker.subscriptions.ack_cumulative("t", "x", name, at)
                except LedgerError:
                    break  # another consumer is active
                seen[at.partition].append(at.offset)
                left -= 1
        if most % 2:
            await broker.subscriptions.close_consumer("t", "x", name)

    async def run(n):
        k = 0
        while not is_over:
            await consumer(pair[n % 2], f"c{n}-{k}", 20 + n)
            k += 1

    running = [asyncio.create_task(run(n)) for n in range(3)]
    for n in range(count):
        for number in range(partitions):
            await pair[n % 2].records.produce("t", records(f"{n}", partition=number))
    async with asyncio.timeout(40):
        while any(len(offsets) < count for offsets in seen.values()):
            await asyncio.sleep(0.05)  # until all are processed
    is_over = True
    await asyncio.gather(*running)
    assert seen == {number: list(range(count)) for number in range(partitions)}


async def test_a_lost_answer_of_a_take_over_is_repeated_with_the_same_messages(pair):
    await filled(pair[0], 1)
    await pair[0].subscriptions.receive("t", "x", "a")
    await pair[0].subscriptions.close_consumer("t", "x", "a")
    first = await pair[1].subscriptions.receive("t", "x", "b", max_records=2, request="r1")
    again = await pair[0].subscriptions.receive("t", "x", "b", max_records=2, request="r1", attempt=1)
    assert [(each.id, each.deliveries) for each in again] == [(each.id, each.deliveries) for each in first]


async def test_closing_a_consumer_of_a_shared_subscription_returns_its_messages(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", 2)
        await broker.subscriptions.create("t", "x", "shared")
        await broker.records.produce("t", records("a", "b", partition=1))
        await receive_values(broker, "t", "x", "a")
        waiting = polling(broker, "b")
        await asyncio.sleep(0.1)  # it waits
        assert await broker.subscriptions.close_consumer("t", "x", "a") == 2
        assert [each.value for each in await waiting] == [b"a", b"b"]
        assert await broker.subscriptions.close_consumer("t", "x", "a") == 0


async def test_a_closed_consumer_may_come_back(pair):
    await filled(pair[0], 1)
    await pair[0].subscriptions.receive("t", "x", "a", max_records=1)
    await pair[0].subscriptions.close_consumer("t", "x", "a")
    messages = await pair[1].subscriptions.receive("t", "x", "a", max_records=9)
    assert [each.id for each in messages] == [MessageId(0, n) for n in range(4)]


@pytest.mark.parametrize("kind", ["exclusive", "failover"])
async def test_closing_a_consumer_of_the_sdk_lets_the_next_one_in_at_once(redis_url, prefix, kind):
    with threaded_broker(redis_url, prefix, consumer_session_ms=30_000) as broker:
        async with AsyncClient(broker.urls) as client, AsyncClient(broker.urls) as other:
            async with client.producer("orders") as producer:
                for n in range(20):
                    await producer.send(n)
            first = client.consumer("orders", "billing", kind=kind, prefetch=10)
            got = await first.receive(5, wait_ms=5_000)
            await first.ack_cumulative(got[-1])
            second = other.consumer("orders", "billing", kind=kind, prefetch=0)
            if kind == "failover":
                waiting = asyncio.create_task(second.receive(100, wait_ms=10_000))
                await asyncio.sleep(0.2)  # it stands by
                await first.close()
                messages = await waiting
            else:
                await first.close()
                messages = await second.receive(100)
            assert [each.json() for each in messages] == list(range(len(got), 20))
            await second.close()
