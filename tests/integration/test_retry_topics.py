"""Retry topics and dead letters by rule: messages are moved with their origin, attempt and reason, atomically, and put
back by reason, origin and time."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from redis_ledger import AsyncClient
from redis_ledger.broker.subscriptions.dead_letters import PutBackFilter
from redis_ledger.broker.types import NewRecord
from redis_ledger.clock import ManualClock
from redis_ledger.errors import InvalidRequest, NotDelivered, NotYourMessage, TransactionConflict
from redis_ledger.ids import MessageId
from tests.support.acks import at
from tests.support.broker import backlog, eventually, one, receive_values, records, two, visible
from tests.support.redis_servers import redis_server
from tests.support.threaded_broker import threaded_broker

RULE = {"retry_topic": "retry", "max_attempts": 2}


async def ready(broker):
    """Topic `in` with subscription `work`, whose rule has a retry topic; `dead` with subscription `look`."""
    await broker.topics.create("in")
    await broker.topics.create("dead")
    await broker.subscriptions.create("in", "work")
    await broker.subscriptions.create("dead", "look")
    await broker.dead_letters.set("in", "work", 100, "dead", **RULE)


@pytest.fixture
async def pair(redis_url, prefix):
    async with two(redis_url, prefix) as brokers:
        await ready(brokers[0])
        await brokers[1].dead_letters.rules.refresh()
        yield brokers


async def later(broker, ids, delay_ms=0, topic="in", consumer="c1", **more):
    with broker.partition_fetch.budget() as budget:
        done = await broker.reconsume.later(topic, "work", consumer, ids, delay_ms, budget, **more)
        return tuple(done)


async def kill(broker, ids, topic="in", **more):
    with broker.partition_fetch.budget() as budget:
        return tuple(await broker.reconsume.dead_letter(topic, "work", "c1", ids, budget, **more))


async def received(broker, topic="in", name="work", **more):
    return await broker.subscriptions.receive(topic, name, "c1", wait_ms=3_000, **more)


async def values(broker, topic):
    return (await visible(broker, topic)).get(0, [])


def headers_of(message, *without):
    return {header: (value or b"").decode() for header, value in message.headers if header not in without}


async def test_a_message_comes_again_by_the_retry_topic_with_its_attempt_origin_and_reason(pair):
    first, second = pair
    await first.records.produce("in", records("before"))
    await first.records.produce("in", [NewRecord(b"k", b"v", [("a", b"1")], timestamp_ms=17)])
    assert len(await received(first)) == 2
    began = asyncio.get_running_loop().time()
    assert await later(second, at(1), 500, reason="the bank is closed") == (1, 0)
    assert await backlog(first, "in", "work") == 1, "it is acknowledged"
    (again,) = await received(first, "retry")
    assert asyncio.get_running_loop().time() - began > 0.4
    assert (again.key, again.value, again.timestamp_ms) == (b"k", b"v", 17)
    assert headers_of(again) == {
        "a": "1", "RECONSUMETIMES": "1", "DELAY_TIME": "500", "RETRY_TOPIC": "retry", "REAL_TOPIC": "in",
        "REAL_SUBSCRIPTION": "work", "ORIGIN_MESSAGE_ID": "0:1", "RECONSUME_REASON": "the bank is closed",
    }  # fmt: skip


async def test_a_message_that_was_retried_max_attempts_times_becomes_a_dead_letter(pair):
    broker, _ = pair
    await broker.records.produce("in", records("x", "bad"))
    await received(broker)
    assert await later(broker, at(1)) == (1, 0)
    for expected in ((1, 0), (0, 1)):
        (again,) = await received(broker, "retry")
        assert await later(broker, [again.id], topic="retry", reason="still closed") == expected
    assert await backlog(broker, "retry", "work") == 0
    (letter,) = await broker.subscriptions.receive("dead", "look")
    assert headers_of(letter, "dead-letter-time-ms", "DELAY_TIME", "RETRY_TOPIC", "REAL_TOPIC") == {
        "RECONSUMETIMES": "2", "REAL_SUBSCRIPTION": "work", "ORIGIN_MESSAGE_ID": "0:1",
        "RECONSUME_REASON": "still closed",
        "dead-letter-topic": "in", "dead-letter-partition": "0", "dead-letter-offset": "1",
        "dead-letter-subscription": "work", "dead-letter-deliveries": "1", "dead-letter-reason": "max_attempts",
        "dead-letter-detail": "still closed",
    }  # fmt: skip


async def test_a_letter_that_is_put_back_from_a_retry_topic_goes_to_its_first_topic_and_begins_anew(pair):
    broker, _ = pair
    await broker.records.produce("in", [NewRecord(None, b"bad", [("a", b"1")])])
    await received(broker)
    await later(broker, at(0))
    (again,) = await received(broker, "retry")
    assert await kill(broker, [again.id], "retry") == (0, 1)
    assert await broker.dead_letters.put_back("dead", "look", 10) == {"in": 1}
    (back,) = await received(broker)
    assert (back.value, headers_of(back)) == (b"bad", {"a": "1"})


async def test_a_message_is_a_dead_letter_at_once_if_its_consumer_says_so(pair):
    broker, _ = pair
    await broker.records.produce("in", records("a", "b", "c"))
    await received(broker)
    await broker.subscriptions.nack("in", "work", "c1", at(2))
    await received(broker)
    assert await kill(broker, at(0, 2, 2), reason="no order") == (0, 2)
    letters = await broker.subscriptions.receive("dead", "look")
    shown = [(each.value, headers_of(each)["dead-letter-reason"], headers_of(each)["dead-letter-detail"],
              headers_of(each)["dead-letter-deliveries"]) for each in letters]  # fmt: skip
    assert shown == [(b"a", "explicit", "no order", "1"), (b"c", "explicit", "no order", "2")]
    assert await backlog(broker, "in", "work") == 1


async def test_a_message_that_is_too_old_is_a_dead_letter_instead_of_being_delivered(redis_url, prefix):
    clock = ManualClock()
    async with one(redis_url, prefix, clock=clock) as broker:
        await ready(broker)
        await broker.dead_letters.set("in", "work", 100, "dead", expire_ms=60_000)
        await broker.records.produce("in", records("old"))
        clock.advance(59_000)
        await broker.records.produce("in", records("new"))
        clock.advance(1_000)
        assert list((await receive_values(broker, "in", "work")).values()) == ["new"]
        (letter,) = await broker.subscriptions.receive("dead", "look")
        assert (letter.value, headers_of(letter)["dead-letter-reason"]) == (b"old", "expired")


# -- all or nothing ----------------------------------------------------------------------------------------------------


async def test_messages_that_cannot_be_moved_together_are_not_moved(pair):
    broker, _ = pair
    await broker.records.produce("in", records("a", "b", "c", "d"))
    assert len(await received(broker, max_records=2)) == 2
    (others,) = await broker.subscriptions.receive("in", "work", "c2", max_records=1)
    for error, ids in (
        (NotYourMessage, [*at(0), others.id]),
        (NotDelivered, at(0, 3)),
        (NotDelivered, [*at(0), MessageId(0, 99)]),
        (InvalidRequest, at(*range(1_001))),
    ):
        with pytest.raises(error):
            await later(broker, ids)
        with pytest.raises(error):
            await kill(broker, ids)
    await broker.subscriptions.ack("in", "work", "c1", at(1))
    with pytest.raises(TransactionConflict):
        await later(broker, at(0, 1))
    assert (await values(broker, "retry"), await values(broker, "dead")) == ([], [])
    assert await later(broker, at(0)) == (1, 0)


async def test_without_a_rule_or_a_retry_topic_nothing_is_moved(pair):
    broker, _ = pair
    await broker.records.produce("in", records("a"))
    await received(broker)
    await broker.dead_letters.set("in", "work", 100, "dead")
    with pytest.raises(InvalidRequest, match="no retry topic"):
        await later(broker, at(0))
    await broker.dead_letters.rules.remove("in", "work")
    for move in (later, kill):
        with pytest.raises(InvalidRequest, match="no dead-letter rule"):
            await move(broker, at(0))
    assert await backlog(broker, "in", "work") == 1


async def test_headers_that_a_producer_wrote_do_not_choose_another_topic(pair):
    """Its REAL_TOPIC has a rule, which names another retry topic."""
    broker, _ = pair
    await broker.topics.create("own")
    await broker.subscriptions.create("own", "work")
    await broker.dead_letters.set("own", "work", 100, "own.dead", retry_topic="own.retry", max_attempts=1)
    forged = [("REAL_TOPIC", b"in"), ("RECONSUMETIMES", b"x" * 20), ("ORIGIN_MESSAGE_ID", b"?")]
    await broker.records.produce("own", [NewRecord(None, b"v", forged)])
    await received(broker, "own")
    assert await later(broker, at(0), topic="own") == (1, 0)
    (again,) = await received(broker, "own.retry")
    assert (headers_of(again)["REAL_TOPIC"], headers_of(again)["ORIGIN_MESSAGE_ID"]) == ("own", "0:0")
    assert (await values(broker, "retry"), await values(broker, "dead")) == ([], [])


async def test_a_rule_makes_its_retry_topic_and_the_subscription_there(pair):
    broker, _ = pair
    assert [name for name, _ in await broker.subscriptions.list("retry")] == ["work"]
    for more in ({"retry_topic": "in"}, {"retry_topic": "dead"}, {"max_attempts": 1}, {"expire_ms": -1}):
        with pytest.raises(InvalidRequest):
            await broker.dead_letters.set("in", "work", 3, "dead", **more)


async def test_a_repeated_request_moves_nothing_twice(pair):
    """The response was lost: the client repeats the request with its Idempotency-Key, at another broker."""
    first, second = pair
    await first.records.produce("in", records("a"))
    await received(first)
    assert await later(first, at(0), 200, nonce="n1") == (1, 0)
    assert await later(second, at(0), 200, nonce="n1") == (1, 0)
    assert await eventually(lambda: values(first, "retry"), ["a"], 5) == ["a"]
    await asyncio.sleep(0.3)  # a second copy would be due as well
    assert await values(second, "retry") == ["a"]


async def test_waiting_messages_survive_a_restart_of_redis(prefix):
    with redis_server(appendonly="yes", appendfsync="always") as redis:
        async with two(redis.url, prefix) as (first, second):
            await ready(first)
            await first.records.produce("in", records("a"))
            await received(first)
            await later(first, at(0), 1_500)
            redis.kill()
            redis.start()
            (again,) = await second.subscriptions.receive("retry", "work", "c1", wait_ms=8_000)
            assert (again.value, headers_of(again)["RECONSUMETIMES"]) == (b"a", "1")
            assert await backlog(second, "in", "work") == 0


# -- putting back by rule ----------------------------------------------------------------------------------------------


async def test_letters_are_put_back_by_reason_origin_and_time_up_to_a_limit(redis_url, prefix):
    clock = ManualClock()
    async with one(redis_url, prefix, clock=clock) as broker:
        await ready(broker)
        await broker.topics.create("in2")
        await broker.subscriptions.create("in2", "work")
        await broker.dead_letters.set("in2", "work", 1, "dead")
        for topic, letters in (("in", ("a", "b", "c")), ("in2", ("d",))):
            await broker.records.produce(topic, records(*letters))
            assert len(await receive_values(broker, topic, "work")) == len(letters)
        began = clock.now_ms()
        await kill(broker, at(0))
        clock.advance(1_000)
        await kill(broker, at(1, 2))
        await broker.subscriptions.nack("in2", "work", "c1", None)
        assert await receive_values(broker, "in2", "work") == {}
        assert await values(broker, "dead") == ["a", "b", "c", "d"]

        async def put_back(limit=10, **only):
            return dict(await broker.dead_letters.put_back("dead", "look", limit, only=PutBackFilter(**only)))

        assert await put_back(reason="expired") == {}
        assert await put_back(topic="in", reason="max_deliveries") == {}
        assert await put_back(from_ms=began + 1_001) == {}
        assert await put_back(reason="max_deliveries", topic="in2") == {"in2": 1}
        assert await put_back(until_ms=began + 1) == {"in": 1}
        assert await put_back(1, from_ms=began + 1_000, until_ms=began + 1_001) == {"in": 1}
        assert (await values(broker, "in"))[3:] == ["a", "b"]
        left = await broker.subscriptions.receive("dead", "look")
        assert [(each.value, each.deliveries) for each in left] == [(b"c", 0)], "looking does not count as a delivery"


async def test_a_consumer_of_the_sdk_reconsumes_later_and_gives_up_over_two_brokers(redis_url, prefix):
    with threaded_broker(redis_url, prefix, brokers=2) as served:
        async with AsyncClient(served.urls) as client, contextlib.AsyncExitStack() as stack:
            await client.topics.create("in")
            await client.subscriptions.create("in", "work")
            ruled = await client.subscriptions.set_dead_letters(
                "in", "work", 9, "dead", retry_topic="retry", max_attempts=1, expire_ms=3_600_000
            )
            assert ruled.dead_letters is not None
            assert (ruled.dead_letters.retry_topic, ruled.dead_letters.max_attempts) == ("retry", 1)
            async with client.producer("in") as producer:
                for n in range(3):
                    await producer.send(n)
            consumer = await stack.enter_async_context(client.consumer("in", "work"))
            again = await stack.enter_async_context(client.consumer("retry", "work"))
            one_, two_, three = [await anext(aiter(consumer)) for _ in range(3)]
            assert (await consumer.reconsume_later([one_, two_], 300, "busy")).retried == 2
            assert (await consumer.dead_letter(three, "wrong")).dead == 1
            retried = [await anext(aiter(again)) for _ in range(2)]
            assert {each.headers["RECONSUMETIMES"] for each in retried} == {b"1"}
            assert (await again.reconsume_later(retried, 300)).dead == 2
            await client.subscriptions.create("dead", "look")
            assert await client.subscriptions.put_back("dead", "look", reason="explicit", origin_topic="in") == 1
            assert await client.subscriptions.put_back("dead", "look", reason="explicit") == 0
            assert (await client.subscriptions.stats("dead", "look")).backlog == 2
