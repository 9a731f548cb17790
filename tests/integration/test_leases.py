"""Leases follow the handler: what counts as a delivery, extensions, and how consumers share a backlog.

The applications are consumers of the SDK with its defaults, unless a test says otherwise.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter

import pytest

from redis_ledger import AsyncClient, Client
from redis_ledger.client.models import Kind
from redis_ledger.clock import ManualClock
from redis_ledger.errors import ConsumerBusy, NotYourMessage
from redis_ledger.ids import MessageId
from tests.support.broker import one, records, two
from tests.support.stub_broker import hurry
from tests.support.threaded_broker import LosesFirstAnswers

KINDS = ("shared", "key_shared", "exclusive", "failover")


@pytest.fixture
async def client(brokers):
    async with AsyncClient(brokers.urls) as client:
        yield client


async def jobs(client: AsyncClient, topic: str, count: int, kind: Kind = "shared") -> None:
    """Jobs for the subscription "work", of which each becomes a dead letter after three deliveries."""
    await client.topics.create(topic)
    await client.subscriptions.create(topic, "work", kind)
    await client.subscriptions.set_dead_letters(topic, "work", 3, f"{topic}.dead")
    async with client.producer(topic) as producer:
        for n in range(count):
            await producer.send(n, key=f"k{n % 7}")


async def dead_letters(client: AsyncClient, topic: str) -> list[int]:
    return [message.json() async for message in client.read(f"{topic}.dead")]


@pytest.mark.parametrize("kind", KINDS)
async def test_no_job_that_was_not_handed_out_becomes_a_dead_letter_in_restarts(client, kind):
    topic = f"restarts-{kind}"
    await jobs(client, topic, 60, kind)
    done = list[int]()
    # When a worker that has fetched ahead is closed three times, once in the middle of a batch that it handles
    for stop in (5, 10, 20, 60):
        async with client.consumer(topic, "work", kind=kind) as consumer:
            hurry(consumer, 1_000)
            async for message in consumer:
                assert message.redelivery_count == 0
                done.append(message.json())
                await consumer.ack(message)
                if len(done) >= stop:
                    break
    # Then each job was done once, and none is a dead letter
    assert sorted(done) == list(range(60))
    assert await dead_letters(client, topic) == []


async def test_jobs_behind_one_that_ends_its_worker_do_not_count_and_it_becomes_a_dead_letter(client, brokers):
    await jobs(client, "poison", 30)
    done, deliveries, workers = list[int](), list[int](), 0
    # When job 3 ends each worker at once, without a word to the broker
    while not (dead := await dead_letters(client, "poison")) and workers < 8:
        workers += 1
        worker = AsyncClient(brokers.urls)
        consumer = worker.consumer("poison", "work", ack_timeout_ms=400)
        hurry(consumer, 15)
        while messages := await consumer.receive(1, wait_ms=1_500):
            if messages[0].json() == 3:
                deliveries.append(messages[0].redelivery_count)
                break
            assert messages[0].redelivery_count == 0, "it was handed out for the first time"
            done.append(messages[0].json())
            await consumer.ack(messages)
        for each in (consumer._prefetching._worker, consumer._keeper._worker):
            if each is not None:
                each._task.cancel()
        await worker._transport.close()
    # Then the others are done once, and it is a dead letter after three deliveries
    assert sorted(done) == [n for n in range(30) if n != 3]
    assert (deliveries, dead) == ([0, 1, 2], [3])


def test_a_job_that_takes_longer_than_the_ack_timeout_is_done_once(brokers):
    topic, started = "long", list[str]()
    with Client(brokers.urls) as client:
        client.topics.create(topic)
        client.producer(topic).send({"job": 1}).result()

        def work(name: str) -> None:
            with client.consumer(topic, "work", name=name, ack_timeout_ms=2_000) as consumer:
                while not acked.is_set():
                    for message in consumer.receive(1, wait_ms=100):
                        started.append(name)
                        time.sleep(5)  # the job
                        consumer.ack(message)
                        acked.set()

        acked = threading.Event()
        workers = [threading.Thread(target=work, args=(name,)) for name in "ab"]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert len(started) == 1


async def test_a_job_is_extended_for_the_longest_time_and_no_longer(client):
    await jobs(client, "bounded", 1)
    async with (
        client.consumer("bounded", "work", ack_timeout_ms=1_000, lease_max_ms=3_000) as slow,
        client.consumer("bounded", "work") as other,
    ):
        began = time.monotonic()
        (job,) = await slow.receive(1)
        while not (again := await other.receive(1, wait_ms=200)):
            pass
        assert time.monotonic() - began > 3.0
        assert again[0].redelivery_count == 1
        assert await slow.extend(job) == [job.id]
        with pytest.raises(NotYourMessage):
            await slow.ack(job)


async def test_a_consumer_that_extends_by_itself_keeps_its_messages(client):
    await jobs(client, "extends", 3)
    async with (
        client.consumer("extends", "work", ack_timeout_ms=2_500, lease_max_ms=0) as slow,
        client.consumer("extends", "work") as other,
    ):
        messages = await slow.receive(3)
        for _ in range(4):
            await asyncio.sleep(0.9)
            assert await slow.extend(messages[:2]) == []
        (lost,) = await other.receive(3)
        assert lost.id == messages[2].id
        found = await client.subscriptions.extend("extends", "work", slow.name, [each.id for each in messages])
        assert (found.extended, found.lost) == (2, (str(lost.id),))
        assert (await client.subscriptions.extend("extends", "work", slow.name)).extended == 2


@pytest.mark.parametrize("seconds", [0.02, pytest.param(0.1, marks=pytest.mark.full)])
async def test_four_workers_share_a_backlog(client, seconds):
    topic, count = f"shared-{seconds}", 200
    await jobs(client, topic, count)
    done = Counter[int]()

    async def work(number: int) -> None:
        async with client.consumer(topic, "work") as consumer:
            while messages := await consumer.receive(1, wait_ms=1_000):
                await asyncio.sleep(seconds)
                await consumer.ack(messages)
                done[number] += 1

    await asyncio.gather(*map(work, range(4)))
    assert done.total() == count
    assert min(done[number] for number in range(4)) >= 30
    assert await dead_letters(client, topic) == []


async def test_a_slow_worker_makes_no_dead_letters_of_what_waits_at_it(client):
    """200 jobs of a second, an ack timeout of 30 seconds and three restarts, thirty times as fast."""
    await jobs(client, "slow", 60)
    done = list[int]()
    for stop in (15, 30, 45, 60):
        async with client.consumer("slow", "work", ack_timeout_ms=1_000) as consumer:
            while len(done) < stop and (messages := await consumer.receive(1, wait_ms=3_000)):
                await asyncio.sleep(0.033)
                await consumer.ack(messages)
                done.append(messages[0].json())
    assert sorted(done) == list(range(60))
    assert await dead_letters(client, "slow") == []


async def test_an_abort_counts_what_was_handed_out_and_nothing_else(client):
    await jobs(client, "aborts", 10)
    async with client.consumer("aborts", "work") as consumer:
        hurry(consumer, 15)
        (first,) = await consumer.receive(1)
        async with client.transaction() as txn:
            await txn.begin()
            await txn.ack(consumer, first)
            await txn.abort()
        counts = {first.json(): 0}
        while messages := await consumer.receive(1, wait_ms=300):
            counts[messages[0].json()] = messages[0].redelivery_count
    assert counts == {n: int(n == first.json()) for n in range(10)}


@pytest.mark.parametrize("kind", ["shared", "key_shared", "exclusive"])
async def test_a_consumer_whose_answers_are_lost_hands_out_each_message_once(brokers, kind):
    topic = f"lost-{kind}"
    async with AsyncClient(brokers.urls) as client:
        await jobs(client, topic, 40, kind)
    losing = LosesFirstAnswers()
    async with AsyncClient(brokers.urls, http=losing) as client, client.consumer(topic, "work", kind=kind) as consumer:
        hurry(consumer, 15)
        got = list[int]()
        while messages := await consumer.receive(1, wait_ms=1_000):
            assert messages[0].redelivery_count == 0
            got.append(messages[0].json())
            await consumer.ack(messages)
    assert sorted(got) == list(range(40))
    assert any(path.endswith(":extend") for path in map(str, losing.lost))


async def test_a_seek_ends_the_leases_that_a_consumer_would_extend(client):
    await jobs(client, "seeks", 5)
    async with client.consumer("seeks", "work", ack_timeout_ms=300) as consumer:
        before = await consumer.receive(5)
        await client.subscriptions.seek("seeks", "work", "earliest")
        assert sorted(await consumer.extend(before)) == sorted(each.id for each in before)
        assert [each.redelivery_count for each in await consumer.receive(5)] == [0] * 5


async def test_another_broker_extends_a_lease_and_repeats_an_answer(redis_url, prefix):
    async with two(redis_url, prefix) as (one_, other):
        await one_.topics.create("t")
        await one_.subscriptions.create("t", "s")
        await one_.records.produce("t", records(*"abc"))
        ids = list[MessageId]()
        for subscriptions, attempt in ((one_.subscriptions, 0), (other.subscriptions, 1)):
            got = await subscriptions.receive(
                "t", "s", "c", request="r", attempt=attempt, is_reserved=True, ack_timeout_ms=500
            )
            assert [each.deliveries for each in got] == [0, 0, 0]
            ids = [each.id for each in got]
        for subscriptions in (one_.subscriptions, other.subscriptions):
            assert await subscriptions.extend("t", "s", "c", ids[:1], ack_timeout_ms=60_000) == (1, [])
        await asyncio.sleep(0.6)
        again = await one_.subscriptions.receive("t", "s", "d")
        assert [(each.id, each.deliveries) for each in again] == [(ids[1], 0), (ids[2], 0)]


async def test_an_extension_keeps_the_session_of_an_exclusive_consumer(redis_url, prefix):
    """A job may take longer than consumer_session_ms."""
    clock = ManualClock()
    async with one(redis_url, prefix, clock=clock, consumer_session_ms=30_000) as broker:
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s", "exclusive")
        await broker.records.produce("t", records("a"))
        (message,) = await broker.subscriptions.receive("t", "s", "c")
        for _ in range(2):
            clock.advance(20_000)
            broker.subscriptions.forget_owners()  # as if the session had been claimed a third of its time ago
            await broker.subscriptions.extend("t", "s", "c", [message.id])
        with pytest.raises(ConsumerBusy):
            await broker.subscriptions.receive("t", "s", "d")
