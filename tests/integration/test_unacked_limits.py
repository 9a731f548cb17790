"""Limits of unacknowledged messages: a receive gives what is left, says why, and goes on after acks."""

from __future__ import annotations

import asyncio
import time

import pytest

from redis_ledger import AsyncClient
from tests.support.broker import one, records, two
from tests.support.busy_machine import busy_machine
from tests.support.threaded_broker import threaded_broker

CONSUMER, SUBSCRIPTION = "max_unacked_per_consumer", "max_unacked_per_subscription"


async def filled(broker, count=30, kind="shared", **settings):
    await broker.topics.create("t", 1, settings=settings)
    await broker.subscriptions.create("t", "x", kind)
    await broker.records.produce("t", records(*[str(n) for n in range(count)], partition=0))


async def receive(broker, consumer="a", wait_ms=0, **more):
    reasons: set[str] = set()
    found = await broker.subscriptions.receive("t", "x", consumer, wait_ms=wait_ms, reasons=reasons, **more)
    return found, reasons


async def test_a_topics_own_limit_overrides_the_brokers(redis_url, prefix):
    async with one(redis_url, prefix, max_unacked_per_consumer=3) as broker:
        await filled(broker)
        found, reasons = await receive(broker)
        assert (len(found), reasons) == (3, {CONSUMER})
        await broker.topics.grow("t", settings={"max_unacked_per_consumer": 10, SUBSCRIPTION: 12})
        found, reasons = await receive(broker)
        assert (len(found), reasons) == (7, {CONSUMER})
        found, reasons = await receive(broker, "b")
        assert (len(found), reasons) == (2, {SUBSCRIPTION})
        await broker.topics.grow("t", settings={"max_unacked_per_consumer": 0, SUBSCRIPTION: 0})
        found, reasons = await receive(broker, "b")
        assert (len(found), reasons) == (18, set())


@pytest.mark.parametrize("limit", [CONSUMER, SUBSCRIPTION])
async def test_a_poll_that_a_limit_has_stopped_goes_on_after_an_ack_at_another_broker(redis_url, prefix, limit):
    async with two(redis_url, prefix) as (first, second):
        await filled(first, **{limit: 5})
        found, _ = await receive(first)
        assert len(found) == 5
        waiting = asyncio.create_task(receive(first, wait_ms=10_000))
        await asyncio.sleep(0.3)  # it waits
        assert not waiting.done()
        begun = time.monotonic()
        async with busy_machine(second) as machine:
            await second.subscriptions.ack("t", "x", "a", [found[0].id, found[1].id])
            more, reasons = await waiting
        assert (len(more), reasons) == (2, {limit})
        assert time.monotonic() - begun < 1 + machine.lost_s


async def test_a_consumer_at_its_limit_does_not_hold_up_another_one_whose_poll_waits_behind_it(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await filled(broker, 5, max_unacked_per_consumer=5)
        assert len((await receive(broker))[0]) == 5
        first, second = (asyncio.create_task(receive(broker, name, wait_ms=3_000)) for name in ("a", "b"))
        await asyncio.sleep(0.3)  # both wait
        await broker.records.produce("t", records("new", partition=0))
        found, _ = await second
        assert [each.value for each in found] == [b"new"]
        assert await first == ([], {CONSUMER}) or (await first)[0] == []


async def test_acks_in_a_transaction_count_until_it_commits(redis_url, prefix):
    """AK-25: a transactional acknowledgement frees room when the transaction commits, and none before."""
    async with one(redis_url, prefix) as broker:
        await filled(broker, max_unacked_per_consumer=10)
        found, _ = await receive(broker)
        for commit in (False, True):
            txn = (await broker.transactions.begin(60_000)).id
            await broker.subscriptions.ack("t", "x", "a", [each.id for each in found[:5]], transaction=txn)
            assert await receive(broker) == ([], {CONSUMER})
            await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
            more, _ = await receive(broker)
            # An abort returns them, and a commit makes room for new ones
            assert [each.id.offset for each in more] == ([10, 11, 12, 13, 14] if commit else [0, 1, 2, 3, 4])


async def test_the_repeat_of_a_lost_receive_returns_its_messages_at_the_limit(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await filled(broker, max_unacked_per_consumer=4, max_unacked_per_subscription=4)
        found, _ = await receive(broker, request="r1")
        again, _ = await receive(broker, request="r1", attempt=1)
        assert [each.id for each in again] == [each.id for each in found]
        assert len(found) == 4


@pytest.mark.parametrize("prefetch", [0, 20])
async def test_the_sdk_says_why_there_are_no_more_messages(redis_url, prefix, prefetch):
    with threaded_broker(redis_url, prefix, max_unacked_per_consumer=5) as broker:
        async with AsyncClient(broker.urls) as client:
            async with client.producer("orders") as producer:
                for n in range(20):
                    await producer.send(n)
            async with client.consumer("orders", "billing", prefetch=prefetch) as consumer:
                found = await consumer.receive(20, wait_ms=5_000)
                assert len(found) == 5
                assert await consumer.receive(20, wait_ms=700) == []
                assert consumer.reason == CONSUMER
                seen = [each.json() for each in found]
                while len(seen) < 20:
                    await consumer.ack(found)
                    found = await consumer.receive(20, wait_ms=5_000)
                    seen += [each.json() for each in found]
                assert seen == list(range(20))
