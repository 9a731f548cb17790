"""Dead letters through brokers: messages move once after max_deliveries, and back on request."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import (
    InvalidRequest,
    OffloadedUnavailable,
    TopicForbidden,
    UnknownSubscription,
    UnknownTopic,
    WrongSubscriptionKind,
)
from redis_ledger.telemetry import metrics
from tests.support.broker import backlog, eventually, one, receive_values, records, two, visible
from tests.support.redis_servers import redis_server


@pytest.fixture
async def pair(redis_url, prefix):
    async with two(redis_url, prefix) as brokers:
        await brokers[0].topics.create("in")
        await brokers[0].topics.create("dead")
        await brokers[0].subscriptions.create("in", "work")
        await brokers[0].subscriptions.create("dead", "look")
        yield brokers


async def fail(broker, *, times=1, topic="in", name="work"):
    """The deliveries to a consumer that nacks everything, one list per receive."""
    given = []
    for _ in range(times):
        given.append(list((await receive_values(broker, topic, name)).values()))
        await broker.subscriptions.nack(topic, name, "c1", None)
    return given


async def values(broker, topic):
    return (await visible(broker, topic)).get(0, [])


async def test_a_message_is_moved_after_it_was_delivered_as_often_as_the_rule_says(pair):
    broker, _ = pair
    await broker.dead_letters.set("in", "work", 3, "dead")
    headers = [("a", b"1"), ("a", None), ("b", b"\xff")]
    await broker.records.produce("in", [NewRecord(b"k", b"bad", headers, timestamp_ms=17)])
    counted = metrics.topics.of("in")
    dead, out, again = counted.dead, counted.records_out, counted.redelivered
    assert await fail(broker, times=3) == [["bad"]] * 3
    assert await values(broker, "dead") == []
    assert await receive_values(broker, "in", "work") == {}
    assert (await backlog(broker, "in", "work"), counted.dead) == (0, dead + 1)
    assert (counted.records_out, counted.redelivered) == (out + 3, again + 2)  # the move itself delivers nothing
    (letter,) = await broker.subscriptions.receive("dead", "look")
    assert (letter.key, letter.value, letter.timestamp_ms) == (b"k", b"bad", 17)
    assert list(letter.headers) == [
        *headers,
        ("dead-letter-topic", b"in"),
        ("dead-letter-partition", b"0"),
        ("dead-letter-offset", b"0"),
        ("dead-letter-subscription", b"work"),
        ("dead-letter-deliveries", b"3"),
        ("dead-letter-reason", b"max_deliveries"),
        ("dead-letter-time-ms", dict(letter.headers)["dead-letter-time-ms"]),
    ]
    assert 0 <= time.time() * 1_000 - int(dict(letter.headers)["dead-letter-time-ms"] or 0) < 60_000


async def test_messages_below_max_deliveries_come_in_order_in_the_same_call(pair):
    broker, _ = pair
    await broker.dead_letters.set("in", "work", 1, "dead")
    await broker.records.produce("in", records("x", "y"))
    assert await fail(broker) == [["x", "y"]]
    await broker.records.produce("in", records(*"abcd"))
    assert list((await receive_values(broker, "in", "work", max_records=1)).values()) == ["a"]
    assert list((await receive_values(broker, "in", "work")).values()) == ["b", "c", "d"]
    assert await values(broker, "dead") == ["x", "y"]


async def test_receive_keeps_waiting_after_moving_its_messages_to_the_dead_letters(pair):
    broker, _ = pair
    await broker.dead_letters.set("in", "work", 1, "dead")
    await broker.records.produce("in", records("bad"))
    await fail(broker)
    waiting = asyncio.create_task(receive_values(broker, "in", "work", wait_ms=20_000))
    assert await eventually(lambda: values(broker, "dead"), ["bad"]) == ["bad"]
    await broker.records.produce("in", records("good"))
    assert list((await waiting).values()) == ["good"]


async def test_two_brokers_that_receive_at_once_move_each_message_once(pair):
    """Leases that end at once are taken over in the middle of a move."""
    first, second = pair
    await first.dead_letters.set("in", "work", 1, "dead")
    await second.dead_letters.rules.refresh()
    bad = [str(n) for n in range(40)]
    await first.records.produce("in", records(*bad))
    await fail(first)

    async def work(broker, consumer):
        while await backlog(broker, "in", "work"):
            assert await receive_values(broker, "in", "work", consumer, max_records=7, ack_timeout_ms=1) == {}

    await asyncio.wait_for(asyncio.gather(*(work(b, f"c{n}") for n, b in enumerate((first, second) * 2))), 30)
    assert sorted(await values(second, "dead"), key=int) == bad


async def test_an_abort_counts_as_a_delivery(pair):
    """AK-29: without a nack, and the message is moved once."""
    broker, other = pair
    await broker.dead_letters.set("in", "work", 2, "dead")
    await broker.records.produce("in", records("bad"))
    for _ in range(2):
        txn = (await broker.transactions.begin()).id
        ids = list(await receive_values(broker, "in", "work", wait_ms=1_000))
        assert len(ids) == 1
        await broker.subscriptions.ack("in", "work", "c1", ids, transaction=txn)
        await broker.transactions.abort(txn)
    for each in (broker, other, broker):
        assert await receive_values(each, "in", "work") == {}
    assert await values(broker, "dead") == ["bad"]


async def test_undeliverable_dead_letters_stay_and_move_later(redis_url, prefix):
    """Of several only the one that is refused."""
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("in")
        await broker.topics.create("dead", settings={"batch_bytes_max": 1_500})
        await broker.subscriptions.create("in", "work")
        await broker.dead_letters.set("in", "work", 1, "dead")
        await broker.records.produce("in", records("a", "b" * 3_000, "c"))
        await fail(broker)
        assert await receive_values(broker, "in", "work", ack_timeout_ms=100) == {}
        assert await values(broker, "dead") == ["a", "c"]
        assert await backlog(broker, "in", "work") == 1
        await broker.topics.grow("dead", settings={"batch_bytes_max": 10_000})
        assert await receive_values(broker, "in", "work", "c2", wait_ms=300) == {}
        assert await values(broker, "dead") == ["a", "c", "b" * 3_000]


async def test_unreadable_batches_do_not_count_as_delivered(pair, monkeypatch):
    """While offloaded data is unreachable, undelivered records must not become dead letters."""
    broker, _ = pair
    await broker.dead_letters.set("in", "work", 1, "dead")
    await broker.records.produce("in", records("good"))
    partition = await broker.catalog.partition("in", 0)

    async def cannot(_entries):
        raise OffloadedUnavailable("The home of history does not answer.")

    with monkeypatch.context() as away:
        away.setattr(partition.reader, "payloads", cannot)
        for _ in range(3):
            with pytest.raises(OffloadedUnavailable):
                await broker.subscriptions.receive("in", "work", "c1")
    (good,) = await broker.subscriptions.receive("in", "work", "c1")
    assert (good.value, good.deliveries) == (b"good", 0)
    assert await values(broker, "dead") == []


async def test_a_cumulative_acknowledgement_takes_nothing_along_that_could_not_be_moved(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("in")
        await broker.topics.create("dead", settings={"batch_bytes_max": 1_500})
        await broker.subscriptions.create("in", "work", "exclusive")
        await broker.dead_letters.set("in", "work", 1, "dead")
        big = "b" * 3_000
        await broker.records.produce("in", records("a", big))
        await fail(broker)
        await broker.records.produce("in", records("c"))
        given = await receive_values(broker, "in", "work")
        assert list(given.values()) == [big, "c"], "an acknowledgement of c covers everything before it"
        await broker.subscriptions.ack_cumulative("in", "work", "c1", list(given)[-1])
        assert (await values(broker, "dead"), await backlog(broker, "in", "work")) == (["a"], 0)


async def test_a_full_redis_moves_nothing_loses_nothing_and_lets_topics_and_subscriptions_be_deleted(prefix):
    with redis_server(unix=True) as full:
        async with one(full.url, prefix) as broker:
            await broker.topics.create("in")
            await broker.subscriptions.create("in", "work")
            await broker.subscriptions.create("in", "other")
            await broker.dead_letters.set("in", "work", 1, "dead")
            await broker.dead_letters.set("in", "other", 1, "dead")
            await broker.records.produce("in", records("bad"))
            await fail(broker)
            full.ask("CONFIG", "SET", "maxmemory", "1mb")
            assert await receive_values(broker, "in", "work") == {}
            assert await backlog(broker, "in", "work") == 1
            await broker.subscriptions.delete("in", "other")
            full.ask("CONFIG", "SET", "maxmemory", "0")
            await broker.subscriptions.nack("in", "work", "c1", None)
            assert await receive_values(broker, "in", "work") == {}
            assert await values(broker, "dead") == ["bad"]
            full.ask("CONFIG", "SET", "maxmemory", "1mb")
            await broker.topics.delete("in")
            assert ([each.name for each in await broker.topics.list()], broker.dead_letters.rules.by_subscription) == (
                ["dead"],
                {},
            )


# -- rules -----------------------------------------------------------------------------------------------------------


async def test_a_rule_counts_on_the_other_broker_within_two_seconds_and_goes_with_its_subscription(pair):
    first, second = pair

    async def known(broker=second):
        return {where: rule.max_deliveries for where, rule in broker.dead_letters.rules.by_subscription.items()}

    await first.subscriptions.create("in", "other")
    await first.dead_letters.set("in", "work", 3, "dead")
    await first.dead_letters.set("in", "other", 4, "dead")
    both = {("in", "work"): 3, ("in", "other"): 4}
    assert await known(first) == both
    assert await eventually(known, both, 2.0) == both
    await second.subscriptions.delete("in", "other")
    assert await eventually(lambda: known(first), {("in", "work"): 3}, 2.0) == {("in", "work"): 3}
    await first.topics.delete("in")
    assert await eventually(known, {}, 2.0) == {}


async def test_a_rule_that_is_removed_lets_messages_come_again(pair):
    broker, _ = pair
    await broker.dead_letters.set("in", "work", 1, "dead")
    await broker.records.produce("in", records("bad"))
    await fail(broker)
    assert await broker.dead_letters.rules.remove("in", "work")
    assert not await broker.dead_letters.rules.remove("in", "work")
    assert await fail(broker, times=2) == [["bad"]] * 2


async def test_a_rule_counts_for_the_topic_it_was_made_for(pair):
    broker, _ = pair
    row = {"max_deliveries": 1, "topic": "dead", "source_id": "an earlier topic"}
    await broker.dead_letters.rules._write({("in", "work"): json.dumps(row)})
    await broker.records.produce("in", records("bad"))
    assert await fail(broker, times=2) == [["bad"]] * 2


async def test_rules_that_cannot_be_are_refused(pair):
    broker, _ = pair
    await broker.external_offsets.note("group", "in", {0: 0})
    for error, *rule in (
        (InvalidRequest, "in", "work", 0, "dead"),
        (InvalidRequest, "in", "work", 3, "in"),
        (UnknownSubscription, "in", "unknown", 3, "dead"),
        (UnknownTopic, "nowhere", "work", 3, "dead"),
        (WrongSubscriptionKind, "in", "group", 3, "dead"),
    ):
        with pytest.raises(error):
            await broker.dead_letters.set(*rule)
    with pytest.raises(TopicForbidden):
        await broker.dead_letters.set("in", "work", 3, "new", may_create=lambda: False)
    assert broker.dead_letters.rules.by_subscription == {}
    await broker.dead_letters.set("in", "work", 3, "new")
    assert (await broker.topics.describe("new"))[0].name == "new"


# -- putting back ----------------------------------------------------------------------------------------------------


async def test_replayed_dead_letters_are_restored_unchanged_and_removed(pair):
    broker, other = pair
    await broker.dead_letters.set("in", "work", 1, "dead")
    await broker.records.produce("in", [NewRecord(b"k", b"bad", [("a", b"1")], timestamp_ms=17)])
    await fail(broker)
    await receive_values(broker, "in", "work")
    assert await other.dead_letters.put_back("dead", "look", 10) == {"in": 1}
    (back,) = await broker.subscriptions.receive("in", "work")
    assert (back.key, back.value, list(back.headers), back.timestamp_ms) == (b"k", b"bad", [("a", b"1")], 17)
    assert back.deliveries == 0
    assert await backlog(broker, "dead", "look") == 0
    assert await broker.dead_letters.put_back("dead", "look", 10) == {}


async def test_dead_letters_without_a_permitted_source_topic_stay(pair):
    broker, _ = pair
    for topic in ("in2", "closed", "gone"):
        await broker.topics.create(topic)
        await broker.subscriptions.create(topic, "work")
    for topic in ("in", "in2", "closed", "gone"):
        await broker.dead_letters.set(topic, "work", 1, "dead")
    await broker.topics.delete("gone")
    said = [("stray", None), ("1", "in"), ("2", "in2"), ("3", "closed"), ("4", "gone"), ("5", "in")]
    letters = [NewRecord(None, v.encode(), [("dead-letter-topic", to.encode())] if to else []) for v, to in said]
    await broker.records.produce("dead", letters)
    put = await broker.dead_letters.put_back("dead", "look", 5, may_write=lambda topic: topic != "closed")
    assert put == {"in": 1, "in2": 1}, "the fifth of them could not, the sixth was not asked for"
    assert (await values(broker, "in"), await values(broker, "in2"), await values(broker, "closed")) == (
        ["1"],
        ["2"],
        [],
    )
    assert "gone" not in [each.name for each in await broker.topics.list()]
    left = await broker.subscriptions.receive("dead", "look")
    assert [(each.value, each.deliveries) for each in left] == [(v, 0) for v in (b"stray", b"3", b"4", b"5")]
