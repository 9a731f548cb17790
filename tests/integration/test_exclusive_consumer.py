"""Exclusive subscriptions: one owner for all partitions, in order, and no loss with a lost response."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger import AsyncClient
from redis_ledger.cursor import scripts
from redis_ledger.errors import ConsumerBusy, LedgerError, NotYourMessage, StoreUnavailable
from redis_ledger.ids import MessageId
from tests.support.broker import one, receive_values, records, two, values_of
from tests.support.threaded_broker import LosesFirstAnswers, threaded_broker


@pytest.fixture(params=["redis_url", "cluster_url"])
async def pair(request, prefix):
    url = request.getfixturevalue(request.param)
    async with two(url, prefix, consumer_session_ms=3_000) as brokers:
        yield brokers


async def filled(broker, partitions, count=4, kind="exclusive"):
    await broker.topics.create("t", partitions)
    await broker.subscriptions.create("t", "x", kind)
    for number in range(partitions):
        await broker.records.produce("t", records(*[f"{number}-{n}" for n in range(count)], partition=number))


async def leased(broker):
    return [cursor.leased for cursor in (await broker.subscriptions.stats("t", "x")).cursors]


@pytest.mark.parametrize("prefetch", [0, 20])
async def test_nothing_is_lost_when_the_answer_of_a_receive_is_lost(redis_url, prefix, prefetch):
    losing = LosesFirstAnswers()
    with threaded_broker(redis_url, prefix) as broker:
        async with AsyncClient(broker.urls, http=losing) as client:
            async with client.producer("orders") as producer:
                for n in range(60):
                    await producer.send(n)
            seen, answers_lost = list[int](), 0
            async with client.consumer("orders", "billing", kind="exclusive", prefetch=prefetch) as consumer:
                while len(seen) < 60:
                    messages = await consumer.receive(5, wait_ms=5_000)
                    # When every other answer to a receive is lost, and all up to the last message is acknowledged
                    answers_lost += len(losing.lost)
                    losing.lost.clear()
                    assert messages
                    assert {message.redelivery_count for message in messages} == {0}
                    seen += [message.json() for message in messages]
                    await consumer.ack_cumulative(messages[-1])
            # Then every message came once, in order
            assert seen == list(range(60))
            assert (await client.subscriptions.stats("orders", "billing")).backlog == 0
            assert answers_lost > 5


@pytest.mark.parametrize("partitions", [3, 12])
async def test_of_two_consumers_that_race_one_owns_all_partitions(pair, partitions):
    await filled(pair[0], partitions)
    # When both ask at once, each at a broker of its own, first for different partitions
    asked = await asyncio.gather(
        *(
            pair[n % 2].subscriptions.receive("t", "x", "ab"[n % 2], partitions=[n % partitions, (n + 1) % partitions])
            for n in range(2 * partitions)
        ),
        return_exceptions=True,
    )
    # Then one of them has got messages, and the other was refused every time and holds nothing
    got = {"ab"[n % 2] for n, answer in enumerate(asked) if isinstance(answer, list)}
    assert len(got) == 1
    name, loser = ("a", "b") if got == {"a"} else ("b", "a")
    owner, other = pair if name == "a" else pair[::-1]
    assert {type(answer) for answer in asked if not isinstance(answer, list)} == {ConsumerBusy}
    assert len(await receive_values(owner, "t", "x", name)) == 4 * partitions
    with pytest.raises(ConsumerBusy) as busy:
        await other.subscriptions.receive("t", "x", loser)
    assert busy.value.facts["consumer"] == name
    # And once the owner is silent, the other gets everything, every partition in order
    await asyncio.sleep(busy.value.facts["retry_after_ms"] / 1000 + 0.01)
    taken = await receive_values(other, "t", "x", loser)
    assert {number: [at.offset for at in taken if at.partition == number] for number in range(partitions)} == {
        number: [0, 1, 2, 3] for number in range(partitions)
    }
    with pytest.raises(ConsumerBusy):
        await owner.subscriptions.receive("t", "x", name)
    with pytest.raises(NotYourMessage):
        await owner.subscriptions.ack_cumulative("t", "x", name, MessageId(partitions - 1, 3))


async def test_acknowledging_at_any_broker_keeps_the_session_alive(pair):
    await filled(pair[0], 3)
    await receive_values(pair[0], "t", "x", "a")
    for offset in range(4):  # on the last partition, through the broker that has not seen the receive
        await asyncio.sleep(0.9)
        await pair[1].subscriptions.ack("t", "x", "a", [MessageId(2, offset)])
    with pytest.raises(ConsumerBusy):
        await receive_values(pair[1], "t", "x", "b")


async def test_a_partition_that_is_added_belongs_to_the_owner(pair):
    await filled(pair[0], 1)
    await receive_values(pair[0], "t", "x", "a")
    await pair[0].topics.grow("t", 3)
    await pair[0].records.produce("t", records("new", partition=2))
    await pair[1].catalog.refresh()
    with pytest.raises(ConsumerBusy):
        await pair[1].subscriptions.receive("t", "x", "b", partitions=[2])
    got = await receive_values(pair[0], "t", "x", "a", after=[MessageId(0, 3)])
    assert list(got.values()) == ["new"]


@pytest.mark.parametrize("kind", ["exclusive", "shared"])
async def test_leases_of_a_failed_receive_are_released_without_counting(redis_url, prefix, kind, monkeypatch):
    async with one(redis_url, prefix) as broker:
        await filled(broker, 5, kind=kind)
        receive, failing = scripts.receive, ["t:3"]

        async def failed(store, keys, *args, **more):
            if failing and failing[0].encode() in keys.state:
                raise StoreUnavailable
            return await receive(store, keys, *args, **more)

        monkeypatch.setattr(scripts, "receive", failed)
        # When one partition cannot be reached, at first and again
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                await broker.subscriptions.receive("t", "x", "a", max_records=1_000)
        # Then another consumer, or the owner, gets everything at once and for the first time
        failing.clear()
        messages = await broker.subscriptions.receive("t", "x", "b" if kind == "shared" else "a", max_records=1_000)
        assert len(messages) == 20
        assert {message.deliveries for message in messages} == {0}
        assert await leased(broker) == [4] * 5


async def test_an_ack_that_one_partition_refuses_is_over_on_the_others_when_it_is_raised(
    redis_url, prefix, monkeypatch
):
    async with one(redis_url, prefix) as broker:
        await filled(broker, 3, kind="shared")
        await broker.subscriptions.receive("t", "x", "a")
        ack = scripts.ack

        async def slow(store, keys, *args, **more):
            if b"t:0" in keys.state:
                raise StoreUnavailable
            await asyncio.sleep(0.05)
            return await ack(store, keys, *args, **more)

        monkeypatch.setattr(scripts, "ack", slow)
        with pytest.raises(LedgerError):
            await broker.subscriptions.ack("t", "x", "a", [MessageId(number, 0) for number in range(3)])
        assert await leased(broker) == [4, 3, 3]


async def test_dead_letters_of_an_exclusive_subscription_that_stay_are_looked_at_once_when_put_back(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await filled(broker, 1)
        assert await broker.dead_letters.put_back("t", "x", 100) == {}  # they do not say where they came from
        (message, *_) = await broker.subscriptions.receive("t", "x", "put-back")
        assert message.deliveries == 0
        assert await values_of(broker, "t") == ["0-0", "0-1", "0-2", "0-3"]


async def test_messages_that_the_owner_has_are_not_delivered_again_beside_nacked_ones(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await filled(broker, 3, count=20)
        # Given an owner that has all messages, and returned the first 10 of one partition
        got = await broker.subscriptions.receive("t", "x", "a", max_records=100)
        assert len(got) == 60
        await broker.subscriptions.nack("t", "x", "a", [each.id for each in got if each.id < (0, 10)])
        # When it asks for more, so that these do not fit into the first share of their partition
        after = [MessageId(number, 19) for number in range(3)]
        more = await broker.subscriptions.receive("t", "x", "a", max_records=15, after=after)
        # Then it gets these again, and none that it has
        assert [(each.id, each.deliveries) for each in more] == [(MessageId(0, n), 1) for n in range(10)]


async def test_a_prefetching_consumer_gets_each_message_once_and_in_order_when_some_are_returned(redis_url, prefix):
    with threaded_broker(redis_url, prefix) as broker:
        async with AsyncClient(broker.urls) as client:
            await client.topics.create("orders", partitions=3)
            async with client.producer("orders") as producer:
                for n in range(600):
                    await producer.send(n, partition=n % 3)
            first, again = list[MessageId](), list[MessageId]()
            async with client.consumer("orders", "billing", kind="exclusive", prefetch=50) as consumer:
                while len(first) < 600:
                    messages = await consumer.receive(20, wait_ms=5_000)
                    assert messages
                    assert len({each.id for each in messages}) == len(messages)
                    first += [each.id for each in messages if not each.redelivery_count]
                    again += [each.id for each in messages if each.redelivery_count]
                    # When half of the messages are returned at their first delivery
                    returned = [each for each in messages if not each.redelivery_count and each.offset % 2]
                    if returned:
                        await consumer.nack(returned)
                    await consumer.ack([each for each in messages if each not in returned])
                while len(again) < 300:
                    messages = await consumer.receive(20, wait_ms=5_000)
                    again += [each.id for each in messages]
                    await consumer.ack(messages)
    # Then each message came once for the first time, in order, and the returned ones once more
    assert {number: [at.offset for at in first if at.partition == number] for number in range(3)} == {
        number: list(range(200)) for number in range(3)
    }
    assert sorted(again) == sorted(at for at in first if at.offset % 2)
