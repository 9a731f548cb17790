"""Back-off between deliveries of a message, by the subscription's rule; delays of a nack; delivery counts."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest

from redis_ledger import AsyncClient
from redis_ledger.broker.subscriptions.redelivery_rules import RedeliveryRule
from redis_ledger.client.redelivery_models import Backoff
from redis_ledger.clock import ManualClock
from redis_ledger.errors import InvalidRequest, UnknownSubscription, UnknownTopic, WrongSubscriptionKind
from tests.support.acks import ack, at, cursor, filled, offsets
from tests.support.broker import begun, eventually, one, records, two
from tests.support.busy_machine import busy_machine
from tests.support.console_browser import browser_of, forms
from tests.support.principals import ROOT
from tests.support.redis_servers import redis_server
from tests.support.secured_rest import secured
from tests.support.threaded_broker import threaded_broker

TIMEOUT_MS = 20_000  # SHORT's ack timeout


@asynccontextmanager
async def clocked(redis_url, prefix, kind="shared"):
    """A broker whose clock stands still, with one message of subscription s that c1 has received."""
    clock = ManualClock()
    async with one(redis_url, prefix, clock=clock) as broker:
        await broker.maintenance.close()  # it works by the clock, too
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s", kind)
        await broker.records.produce("t", records("a"))
        yield broker, clock


async def wait_until_delivered(broker, clock, step_ms=100, most_ms=400_000, name="s"):
    """By how much the clock has to advance, and how often the message was delivered before."""
    for waited in range(0, most_ms, step_ms):
        if messages := await broker.subscriptions.receive("t", name, "c1"):
            return waited, messages[0].deliveries
        clock.advance(step_ms)
    return None


async def test_each_nack_of_a_message_waits_longer_up_to_the_longest_wait(redis_url, prefix):
    async with clocked(redis_url, prefix) as (broker, clock):
        await broker.redelivery.set("t", "s", 1_000, 3, 10_000)
        assert await wait_until_delivered(broker, clock) == (0, 0)
        waits = []
        for _ in range(4):
            await broker.subscriptions.nack("t", "s", "c1", at(0))
            waits.append(await wait_until_delivered(broker, clock))
        assert waits == [(1_000, 1), (3_000, 2), (9_000, 3), (10_000, 4)]


async def test_the_wait_of_a_message_that_was_not_acknowledged_begins_when_its_time_is_over(redis_url, prefix):
    async with clocked(redis_url, prefix) as (broker, clock):
        await broker.redelivery.set("t", "s", 1_000, 2, 60_000)
        assert await wait_until_delivered(broker, clock) == (0, 0)
        assert await wait_until_delivered(broker, clock) == (TIMEOUT_MS + 1_000, 1)
        assert await wait_until_delivered(broker, clock) == (TIMEOUT_MS + 2_000, 2)
        clock.advance(TIMEOUT_MS + 500)
        assert await ack(broker, [0]) == 1, "until it is delivered again, its consumer can acknowledge it"
        assert await wait_until_delivered(broker, clock) is None


async def test_without_a_rule_a_message_comes_again_at_once(redis_url, prefix):
    async with clocked(redis_url, prefix) as (broker, clock):
        await broker.redelivery.set("t", "s", 1_000, 2, 60_000)
        await broker.redelivery.set("t", "s", 0, 2, 0)
        assert await wait_until_delivered(broker, clock) == (0, 0)
        await broker.subscriptions.nack("t", "s", "c1", at(0))
        assert await wait_until_delivered(broker, clock) == (0, 1)
        assert await wait_until_delivered(broker, clock) == (TIMEOUT_MS, 2)


async def test_the_delay_of_a_nack_takes_the_place_of_the_rule(redis_url, prefix):
    async with clocked(redis_url, prefix) as (broker, clock):
        await broker.redelivery.set("t", "s", 1_000, 2, 60_000)
        waits = []
        for delay_ms in (0, 5_000, 300):
            await wait_until_delivered(broker, clock)
            await broker.subscriptions.nack("t", "s", "c1", at(0), delay_ms=delay_ms)
            waits.append(await wait_until_delivered(broker, clock))
            await broker.subscriptions.nack("t", "s", "c1", at(0), delay_ms=0)
        assert [waited for waited, _ in waits] == [0, 5_000, 300]


async def test_messages_that_did_not_reach_their_consumer_do_not_wait_and_do_not_count(redis_url, prefix):
    async with clocked(redis_url, prefix) as (broker, clock):
        await broker.redelivery.set("t", "s", 1_000, 2, 60_000)
        assert await wait_until_delivered(broker, clock) == (0, 0)
        await broker.subscriptions.nack("t", "s", "c1", None, unseen=True)
        assert await wait_until_delivered(broker, clock) == (0, 0)


async def test_an_abort_delivers_again_at_once_and_counts_towards_the_next_wait(redis_url, prefix):
    """AK-04: also where the subscription has a back-off."""
    async with clocked(redis_url, prefix) as (broker, clock):
        await broker.redelivery.set("t", "s", 1_000, 2, 60_000)
        assert await wait_until_delivered(broker, clock) == (0, 0)
        txn = await begun(broker)
        await ack(broker, [0], txn)
        await broker.transactions.abort(txn)
        assert await wait_until_delivered(broker, clock) == (0, 1)
        await broker.subscriptions.nack("t", "s", "c1", at(0))
        assert await wait_until_delivered(broker, clock) == (2_000, 2)


async def test_while_a_message_waits_newer_ones_are_delivered(redis_url, prefix):
    async with clocked(redis_url, prefix) as (broker, clock):
        await broker.redelivery.set("t", "s", 1_000, 2, 60_000)
        assert await offsets(broker) == [0]
        await broker.subscriptions.nack("t", "s", "c1", at(0))
        await broker.records.produce("t", records("b"))
        assert await offsets(broker) == [1]
        clock.advance(1_000)
        assert await offsets(broker) == [0]


async def test_one_nack_of_messages_with_different_counts_gives_each_its_own_wait(redis_url, prefix):
    async with clocked(redis_url, prefix) as (broker, clock):
        await broker.redelivery.set("t", "s", 1_000, 10, 60_000)
        assert await offsets(broker) == [0]
        await broker.subscriptions.nack("t", "s", "c1", at(0), delay_ms=0)
        await broker.records.produce("t", records("b"))
        assert await offsets(broker) == [0, 1]
        await broker.subscriptions.nack("t", "s", "c1", at(0, 1))
        clock.advance(1_000)
        assert await offsets(broker) == [1]
        clock.advance(9_000)
        assert await offsets(broker) == [0]


async def test_a_repeated_request_gets_the_leases_of_a_rule_again_with_the_same_count(redis_url, prefix):
    """A lost reply: the broker repeats the receive, and both have one deadline for each count."""
    async with clocked(redis_url, prefix) as (broker, clock):
        await broker.redelivery.set("t", "s", 1_000, 2, 60_000)
        await offsets(broker)
        await broker.subscriptions.nack("t", "s", "c1", at(0), delay_ms=0)
        (first,) = await broker.subscriptions.receive("t", "s", "c1", request="r1")
        (again,) = await broker.subscriptions.receive("t", "s", "c1", request="r1", attempt=1)
        assert (first.deliveries, again.deliveries) == (1, 1)
        clock.advance(TIMEOUT_MS)
        assert await offsets(broker, consumer="c2") == []
        clock.advance(2_000)
        assert await offsets(broker, consumer="c2") == [0]


async def test_a_receive_whose_reply_was_lost_finds_its_leases_by_their_deadlines(redis_url, prefix):
    """Without a name of the request, as the broker itself repeats it."""
    async with clocked(redis_url, prefix) as (broker, _):
        await broker.redelivery.set("t", "s", 1_000, 2, 60_000)
        await offsets(broker)
        await broker.subscriptions.nack("t", "s", "c1", at(0), delay_ms=0)
        assert await offsets(broker) == [0]
        (again,) = await broker.subscriptions.receive("t", "s", "c1", attempt=1)
        assert (again.id.offset, again.deliveries) == (0, 1)


async def test_an_exclusive_consumer_waits_for_a_nacked_message_and_gets_it_in_order_after(redis_url, prefix):
    async with clocked(redis_url, prefix, "exclusive") as (broker, clock):
        await broker.redelivery.set("t", "s", 1_000, 2, 60_000)
        await broker.records.produce("t", records("b"))
        assert await offsets(broker) == [0, 1]
        await broker.subscriptions.nack("t", "s", "c1", at(0, 1))
        assert await offsets(broker) == []
        clock.advance(1_000)
        assert await offsets(broker) == [0, 1]


# -- rules -----------------------------------------------------------------------------------------------------------


async def test_rules_without_sense_are_refused(pair):
    broker, _ = pair
    await broker.subscriptions.create("t", "s")
    await broker.external_offsets.note("group", "t", {0: 0})
    for error, *rule in (
        (InvalidRequest, "t", "s", 1_000, 2, 999),
        (InvalidRequest, "t", "s", -1, 2, 999),
        (InvalidRequest, "t", "s", 1, 2, 86_400_001),
        (InvalidRequest, "t", "s", 1, 0.5, 10),
        (InvalidRequest, "t", "s", 1, 101, 10),
        (InvalidRequest, "t", "s", 1, float("nan"), 10),
        (UnknownSubscription, "t", "unknown", 1, 2, 3),
        (UnknownTopic, "nowhere", "s", 1, 2, 3),
        (WrongSubscriptionKind, "t", "group", 1, 2, 3),
    ):
        with pytest.raises(error):
            await broker.redelivery.set(*rule)
    assert broker.redelivery.rules.by_subscription == {}


async def test_a_rule_reaches_the_other_broker_and_goes_with_its_subscription_or_topic(pair):
    first, second = pair

    async def known():
        return set(second.redelivery.rules.by_subscription)

    for name in ("s", "x"):
        await first.subscriptions.create("t", name)
        await first.redelivery.set("t", name, 1, 2, 3)
    assert await eventually(known, {("t", "s"), ("t", "x")}) == {("t", "s"), ("t", "x")}
    await first.subscriptions.delete("t", "x")
    assert await eventually(known, {("t", "s")}) == {("t", "s")}
    await first.topics.delete("t")
    assert await eventually(known, set()) == set()


async def test_a_rule_of_an_earlier_topic_of_the_name_does_not_count(broker):
    await broker.subscriptions.create("t", "s")
    await broker.redelivery.rules.set("t", "s", RedeliveryRule(60_000, 2, 60_000, "an earlier topic"))
    await filled(broker, 1)
    await broker.subscriptions.nack("t", "s", "c1", None)
    assert await offsets(broker) == [0]


async def test_rules_waits_and_counts_survive_a_restart_of_redis(prefix):
    with redis_server(appendonly="yes", appendfsync="always") as redis:
        async with two(redis.url, prefix) as (first, second):
            await first.topics.create("t")
            await first.subscriptions.create("t", "s")
            await first.redelivery.set("t", "s", 1_500, 2, 60_000)
            await filled(first, 2)
            await first.subscriptions.nack("t", "s", "c1", at(0))
            await first.subscriptions.nack("t", "s", "c1", at(1), delay_ms=0)
            redis.kill()
            redis.start()
            assert await offsets(second, consumer="c2", wait_ms=1_000) == [1]
            (late,) = await second.subscriptions.receive("t", "s", "c2", wait_ms=5_000)
            assert (late.id.offset, late.deliveries) == (0, 1)
            assert (await cursor(second)).redelivered == 2


async def test_a_consumer_of_the_sdk_nacks_by_the_rule_and_closes_without_a_wait(redis_url, prefix):
    with threaded_broker(redis_url, prefix) as served:
        async with AsyncClient(served.urls) as client:
            await client.topics.create("t")
            await client.subscriptions.create("t", "s")
            ruled = await client.subscriptions.set_redelivery("t", "s", 60_000, 1.5)
            assert ruled.redelivery == Backoff(60_000, 1.5, 3_840_000)
            async with client.producer("t") as producer:
                for value in ("a", "b", "c"):
                    await producer.send(value)
            consumer = client.consumer("t", "s")
            nacked, delayed, kept = await consumer.receive(3)
            await consumer.nack(nacked)
            await consumer.nack(delayed, delay_ms=0)
            assert [each.id for each in await consumer.receive(3)] == [delayed.id]
            await consumer.close()
            async with client.consumer("t", "s") as other:
                assert [each.id for each in await other.receive(3)] == [delayed.id, kept.id]


async def test_a_back_off_is_set_and_removed_in_the_console(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await world.broker.topics.create("orders")
        await world.broker.subscriptions.create("orders", "billing")
        browser = await browser_of(world, ROOT)
        page = "/subscription?topic=orders&name=billing"
        assert "subscription/redelivery" in forms((await browser.get(page)).text)
        form: dict[str, Any] = {"topic": "orders", "name": "billing"}
        await browser.post("/subscription/redelivery", **form, min_ms=500, factor=2, max_ms=8_000)
        assert await browser.said() == "billing waits 500 ms before the first redelivery of a message, at most 8000 ms."
        assert "then 2.0 times as long each time, at most 8" in (await browser.get(page)).text
        await browser.post("/subscription/redelivery", **form, min_ms=0)
        assert await browser.said() == "Removed the redelivery back-off of billing."
        assert "redelivery after" not in (await browser.get(page)).text


async def test_a_long_poll_wakes_when_the_wait_is_over(broker):
    await broker.subscriptions.create("t", "s")
    await broker.redelivery.set("t", "s", 400, 2, 60_000)
    await filled(broker, 1)
    poll = asyncio.create_task(offsets(broker, consumer="c2", wait_ms=10_000))
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with busy_machine(broker) as machine:
        await broker.subscriptions.nack("t", "s", "c1", None)
        assert await poll == [0]
    assert 0.3 < loop.time() - began < 5 + machine.lost_s
