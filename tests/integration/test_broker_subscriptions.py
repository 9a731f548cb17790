"""Subscriptions through a broker: delivery, waiting, growth, kinds."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.cursor import registration, scripts
from redis_ledger.errors import (
    ConsumerBusy,
    SubscriptionExists,
    UnknownSubscription,
)
from tests.support.acks import ack, at, cursor, offsets
from tests.support.broker import backlog, begun, eventually, receive_values, records, two, vanish
from tests.support.busy_machine import busy_machine, within


@pytest.fixture
async def broker(broker):
    await broker.subscriptions.create("t", "s")
    return broker


@pytest.fixture
async def pair(pair):
    await pair[0].subscriptions.create("t", "s")
    return pair


async def test_aborted_records_and_markers_never_hold_a_subscription_back(broker):
    """TB-06, TB-30: also for one that is made afterwards, and after a seek to the beginning."""
    for commit in (True, False) * 10:
        txn = await begun(broker)
        await broker.records.produce("t", records("yes" if commit else "no"), transaction=txn)
        await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
    for name in ("s", "later"):
        await broker.subscriptions.create("t", name)
        found = await receive_values(broker, "t", name)
        assert list(found.values()) == ["yes"] * 10
        assert await broker.subscriptions.ack("t", name, "c1", list(found)) == 10
        stats = await cursor(broker, name)
        assert (stats.backlog, stats.mark_delete) == (0, stats.end)
    await broker.subscriptions.seek("t", "s", to="earliest")
    assert len(await offsets(broker)) == 10


@pytest.mark.parametrize("kind", ["shared", "exclusive"])
async def test_a_repeated_receive_of_several_partitions_has_each_message_once(broker, kind):
    """The first round asks every partition for its share.  The next one asks those with more, and must go on there."""
    await broker.topics.create("several", 3)
    await broker.subscriptions.create("several", "s", kind)
    for partition, count in ((0, 1), (1, 6), (2, 1)):
        values = (f"{partition}-{n}" for n in range(count))
        await broker.records.produce("several", records(*values, partition=partition))
    receive = broker.subscriptions.receive
    first = await receive("several", "s", "c1", max_records=6, request="r")
    again = await receive("several", "s", "c1", max_records=6, request="r", attempt=1)
    assert sorted(m.id for m in again) == sorted(m.id for m in first)
    assert len({m.id for m in again}) == 6


async def test_messages_that_are_handed_back_between_two_rounds_are_in_the_answer_once(broker, monkeypatch):
    """As by the first attempt of the same request, when its client is gone."""
    await broker.topics.create("several", 2)
    await broker.subscriptions.create("several", "s")
    for partition, count in ((0, 1), (1, 5)):
        await broker.records.produce("several", records(*"abcde"[:count], partition=partition))
    rounds, receive = [], scripts.receive

    async def handing_back(*args, **more):
        rounds.append(args)
        if len(rounds) == 3:
            await broker.subscriptions.nack("several", "s", "c1", None, unseen=True)
        return await receive(*args, **more)

    monkeypatch.setattr(scripts, "receive", handing_back)
    messages = await broker.subscriptions.receive("several", "s", "c1", max_records=6)
    assert len(rounds) > 2
    assert len({m.id for m in messages}) == len(messages) == 6


async def test_a_receive_that_waits_is_woken_by_produce_commit_nack_and_abort_at_another_broker(pair):
    """TB-33, AK-04: never by the safety net."""
    first, second = pair

    async def woken(act):
        waiting = asyncio.create_task(offsets(second, wait_ms=10_000, consumer="w"))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await act
        async with within(10):  # the safety net would count what it finds
            return await waiting

    assert await woken(first.records.produce("t", records("a"))) == [0]
    txn = await begun(first)
    await first.records.produce("t", records("b"), transaction=txn)
    assert await woken(first.transactions.commit(txn)) == [1]
    assert await woken(first.subscriptions.nack("t", "s", "w", at(0))) == [0]
    holder = await begun(first)
    await ack(first, [1], holder, consumer="w")
    assert await woken(first.transactions.abort(holder)) == [1]
    assert (first.waiters.missed, second.waiters.missed) == (0, 0)


async def test_unacknowledged_message_is_redelivered_to_a_waiting_receive(pair):
    """AK-08: at the moment its lease runs out, to another consumer at another broker."""
    first, second = pair
    await first.records.produce("t", records("a"))
    await first.subscriptions.receive("t", "s", "gone", ack_timeout_ms=300)
    await vanish(first)
    loop = asyncio.get_running_loop()
    started = loop.time()
    async with busy_machine(second) as machine:
        (message,) = await second.subscriptions.receive("t", "s", "other", wait_ms=20_000)
    assert loop.time() - started < 1.0 + machine.lost_s
    assert message.deliveries == 1


async def test_two_brokers_never_deliver_a_message_twice_and_none_is_forgotten(pair):
    """CL-19: four consumers over two brokers drain a shared subscription."""
    first, second = pair
    await first.topics.grow("t", 3)
    for n in range(300):
        await first.records.produce("t", records(str(n), key=str(n)))
    seen: list[str] = []

    async def drain(broker, consumer):
        while found := await receive_values(broker, "t", "s", consumer, max_records=7):
            seen.extend(found.values())
            assert await broker.subscriptions.ack("t", "s", consumer, list(found)) == len(found)

    await asyncio.gather(*(drain(b, f"c{n}") for n, b in enumerate((first, second, first, second))))
    assert sorted(seen, key=int) == [str(n) for n in range(300)]
    assert await backlog(second, "t", "s") == 0


async def test_a_subscription_grows_with_its_topic_and_misses_nothing(pair):
    """Records of new partitions are delivered, also by a broker that did not grow the topic."""
    first, second = pair
    await second.subscriptions.receive("t", "s")
    await first.topics.grow("t", 4)
    for number in range(4):
        await first.records.produce("t", records(f"p{number}"), partition=number)

    async def all_of_them():
        found = await receive_values(second, "t", "s")
        seen.update(found.values())
        return len(seen)

    seen: set[str] = set()
    assert await eventually(all_of_them, 4, 3) == 4
    stats = await second.subscriptions.stats("t", "s")
    assert [c.partition for c in stats.cursors] == [0, 1, 2, 3]


async def test_an_exclusive_subscription_has_one_consumer_until_its_session_ends(redis_url, prefix):
    """AK-08: the next one gets what the first had, in order."""
    async with two(redis_url, prefix, consumer_session_ms=2_000) as (first, second):
        await first.topics.create("t")
        await first.subscriptions.create("t", "x", "exclusive")
        await first.records.produce("t", records("a", "b", "c"))
        assert await offsets(first, "x", "one") == [0, 1, 2]
        with pytest.raises(ConsumerBusy) as busy:
            await offsets(second, "x", "two")
        assert busy.value.retriable
        await asyncio.sleep(2.05)  # longer than the session
        assert await offsets(second, "x", "two") == [0, 1, 2]


async def test_a_subscription_keeps_its_kind_and_can_be_listed_and_deleted(pair):
    """AK-26"""
    first, second = pair
    await first.subscriptions.create("t", "a/b c|d", "exclusive")
    assert await second.subscriptions.list("t") == [("a/b c|d", "exclusive"), ("s", "shared")]
    with pytest.raises(SubscriptionExists):
        await second.subscriptions.create("t", "s", "exclusive")
    assert (await second.subscriptions.create("t", "s"))[1] is False
    await second.subscriptions.delete("t", "a/b c|d")
    with pytest.raises(UnknownSubscription):
        await first.subscriptions.receive("t", "a/b c|d")
    keys = await first.store.command("KEYS", f"{first.store.prefix}:*a%2Fb*")
    assert keys == []


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("kind", ["shared", "exclusive", "failover", "key_shared"])
@pytest.mark.parametrize("deleted", ["subscription", "topic"])
async def test_deletion_takes_pending_acks_along_and_their_transaction_ends(pair, deleted, kind, commits):
    """AK-26: no key is left, and the subscription that is created again has nothing of the old one."""
    first, second = pair
    await first.topics.create("u")
    await first.subscriptions.create("u", "name", kind)
    await first.records.produce("u", records(*"abc"))
    ids = list(await receive_values(first, "u", "name"))
    txn = await begun(first)
    await first.subscriptions.ack("u", "name", "c1", ids[:2], transaction=txn)

    async def keys() -> list[bytes]:
        return list(await first.store.command("KEYS", f"{first.store.prefix}:*name*"))

    assert await keys() != []
    await (second.subscriptions.delete("u", "name") if deleted == "subscription" else second.topics.delete("u"))
    assert await keys() == []
    ended = await (first.transactions.commit if commits else first.transactions.abort)(txn)
    assert ended.status == ("committed" if commits else "aborted")
    assert await keys() == []
    if deleted == "topic":
        await first.topics.create("u")
        await first.records.produce("u", records(*"xyz"))
    await first.subscriptions.create("u", "name", kind)
    expected = list("abc" if deleted == "subscription" else "xyz")
    assert list((await receive_values(first, "u", "name")).values()) == expected


async def test_subscription_recreated_after_an_interrupted_delete_starts_anew(pair):
    """AK-26: the broker died when the subscription was gone from the first partition and not yet from the others."""
    first, second = pair
    await second.catalog.get("t")  # it does not know yet that the topic has grown
    await first.topics.grow("t", 3)
    for number in range(3):
        await first.records.produce("t", records(f"p{number}"), partition=number)
    found = await receive_values(first, "t", "s")
    await first.subscriptions.ack("t", "s", "c1", list(found))
    register = await first.catalog.partition("t", 0)
    await registration.delete(first.store, register.keys, register.topic_id, "s")
    await vanish(first)
    _, made = await second.subscriptions.create("t", "s", "exclusive")
    assert made
    assert sorted((await receive_values(second, "t", "s")).values()) == ["p0", "p1", "p2"]


async def test_trimmed_records_are_not_waited_for(broker):
    """TB-21, TB-30: leased, pending or not yet delivered: the subscription goes on behind it."""
    await broker.records.produce("t", records("held"))
    await broker.records.produce("t", records("leased"))
    (held,) = await receive_values(broker, "t", "s", max_records=1)
    await receive_values(broker, "t", "s", max_records=1)
    for value in ("unseen", "kept"):
        await broker.records.produce("t", records(value))
    txn = (await broker.transactions.begin()).id
    await broker.subscriptions.ack("t", "s", "c1", [held], transaction=txn)
    partition = await broker.catalog.partition("t", 0)
    await partition.trim(retention_ms=-1, retention_bytes=-1, below_offset=3)
    assert await backlog(broker, "t", "s") == 1
    await broker.transactions.abort(txn)
    assert list((await receive_values(broker, "t", "s")).values()) == ["kept"]
    (cursor,) = (await broker.subscriptions.stats("t", "s")).cursors
    assert (cursor.mark_delete, cursor.leased, cursor.pending) == (3, 1, 0)


async def test_a_subscription_from_the_latest_record_sees_only_what_comes(broker):
    await broker.records.produce("t", records("before"))
    await broker.subscriptions.create("t", "new", start="latest")
    await broker.records.produce("t", records("after"))
    assert list((await receive_values(broker, "t", "new")).values()) == ["after"]


async def test_messages_leased_for_an_abandoned_receive_go_to_the_next_one(broker, monkeypatch):
    """A drained broker or a disconnected caller cancels a receive at any point. Its leases were not delivered, so
    this does not count as a delivery."""
    nack, unseen = scripts.nack, []

    async def noted(*places, **how):
        handed_back = await nack(*places, **how)
        unseen.append(handed_back if how["unseen"] else 0)
        return handed_back

    monkeypatch.setattr(scripts, "nack", noted)
    there = await broker.records.produce("t", records(*[str(n) for n in range(4)]))
    assert there[0].records == 4
    before = -1
    for steps in range(0, 200, 4):
        receiving = asyncio.create_task(broker.subscriptions.receive("t", "s", "c1", wait_ms=5_000))
        for _ in range(steps):
            await asyncio.sleep(0)
        if receiving.cancel():
            await asyncio.gather(receiving, return_exceptions=True)
        else:
            await broker.subscriptions.nack("t", "s", "c1", None)
            before += 1
        messages = await broker.subscriptions.receive("t", "s", "c2")
        assert [message.value for message in messages] == [b"0", b"1", b"2", b"3"], f"cut after {steps} steps"
        before += 1
        assert {message.deliveries for message in messages} == {before}, f"cut after {steps} steps"
        await broker.subscriptions.nack("t", "s", "c2", None)
    assert any(unseen), "it was never cut while messages were on their way"
