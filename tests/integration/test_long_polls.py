"""Waiting receives: an append costs one attempt to lease for any number of them, and none is forgotten."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from redis_ledger.broker.subscriptions import long_polls
from redis_ledger.cursor import scripts
from redis_ledger.errors import UnknownSubscription
from redis_ledger.ledger import waiters as waiting
from tests.support.broker import one, receive_values, records, two
from tests.support.busy_machine import within

PARTITIONS = 6
WAIT_MS = 20_000
SOON_S = 5.0


class Attempts:
    """The partitions on which a lease was tried, in order."""

    def __init__(self, monkeypatch):
        self._real, self.partitions = scripts.receive, []
        monkeypatch.setattr(scripts, "receive", self._receive)

    async def _receive(self, store, keys, *args, **more):
        self.partitions.append(int(keys.state.partition(b"}")[0].rpartition(b":")[2]))
        return await self._real(store, keys, *args, **more)


@pytest.fixture
def without_net(monkeypatch):
    """Disables the periodic check, so that only notifications wake waiters."""
    monkeypatch.setattr(waiting, "CHECK_S", 600.0)


@pytest.fixture
async def broker(redis_url, prefix, without_net):
    async with one(redis_url, prefix) as opened:
        await opened.topics.create("t", PARTITIONS)
        await opened.subscriptions.create("t", "s")
        yield opened


@pytest.fixture
async def pair(redis_url, prefix, without_net):
    async with two(redis_url, prefix) as brokers:
        await brokers[0].topics.create("t", PARTITIONS)
        await brokers[0].subscriptions.create("t", "s")
        yield brokers


@pytest.fixture
def attempts(monkeypatch):
    return Attempts(monkeypatch)


async def polls(broker, count, **more):
    """So many receives that wait, in their order, when every partition is known to be empty."""
    made = []
    for number in range(count):
        waits = {"wait_ms": WAIT_MS, **more}
        made.append(asyncio.create_task(receive_values(broker, "t", "s", f"c{number}", **waits)))
        await quiet(broker)
    return made


async def quiet(broker):
    """Until nothing is under way any more: a tenth of a second without a call to Redis that is not answered yet."""
    looks = 0
    while looks < 10:
        await asyncio.sleep(0.01)
        links = broker.store.topology.links()
        looks = 0 if any(link.conn is not None and link.conn.queue for link in links) else looks + 1


async def ended(tasks):
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_an_append_costs_one_attempt_on_its_partition_however_many_wait(broker, attempts):
    waiting_ones = await polls(broker, 5)
    attempts.partitions.clear()
    await broker.records.produce("t", records("a", partition=3))
    async with within(SOON_S):
        assert list((await waiting_ones[0]).values()) == ["a"]
    await quiet(broker)
    assert attempts.partitions == [3]
    await ended(waiting_ones)


async def test_a_poll_that_arrives_while_there_is_nothing_costs_no_attempt(broker, attempts):
    waiting_ones = await polls(broker, 1)
    attempts.partitions.clear()
    waiting_ones += await polls(broker, 5)
    assert attempts.partitions == []
    await ended(waiting_ones)


async def test_polls_one_after_the_other_share_what_is_known(broker, attempts):
    await ended(await polls(broker, 1))
    attempts.partitions.clear()
    # Records appended while no poll waited are found by the next poll, on its partition alone
    await broker.records.produce("t", records("a", partition=2))
    await quiet(broker)
    (poll,) = await polls(broker, 1)
    assert list((await poll).values()) == ["a"]
    assert attempts.partitions == [2]


async def test_polls_are_served_in_the_order_in_which_they_came(broker):
    waiting_ones = await polls(broker, 4)
    for number, poll in enumerate(waiting_ones):
        await broker.records.produce("t", records(str(number), partition=number))
        async with within(SOON_S):
            assert list((await poll).values()) == [str(number)]


async def test_messages_left_by_a_poll_go_to_the_next_polls(broker):
    waiting_ones = await polls(broker, 4, max_records=2)
    await broker.records.produce("t", records(*"abcdefg", partition=0))
    async with within(SOON_S):
        shares = [list((await poll).values()) for poll in waiting_ones]
    assert sorted(map(len, shares)) == [1, 2, 2, 2]
    assert sorted(value for share in shares for value in share) == list("abcdefg")


async def test_a_poll_of_some_partitions_gets_no_others_and_blocks_no_other_poll(broker):
    (narrow,) = await polls(broker, 1, partitions=[1])
    (wide,) = await polls(broker, 1)
    await broker.records.produce("t", records("a", partition=4))
    async with within(SOON_S):
        assert list((await wide).values()) == ["a"]
    assert not narrow.done()
    await broker.records.produce("t", records("b", partition=1))
    async with within(SOON_S):
        assert list((await narrow).values()) == ["b"]


async def test_a_lease_that_runs_out_is_looked_for_on_its_partition_alone(broker, attempts):
    await broker.records.produce("t", records("a", partition=5))
    assert await receive_values(broker, "t", "s", "gone", ack_timeout_ms=1_500)
    waiting_ones = await polls(broker, 3)
    attempts.partitions.clear()
    async with within(SOON_S):
        assert list((await waiting_ones[0]).values()) == ["a"]
    assert set(attempts.partitions) == {5}
    await ended(waiting_ones)


async def test_polls_that_find_nothing_end_with_their_time(broker):
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    found = await asyncio.gather(*(receive_values(broker, "t", "s", f"c{n}", wait_ms=200 + n) for n in range(5)))
    assert found == [{}] * 5
    assert 0.2 <= loop.time() - began_s < 10


async def test_leases_of_an_abandoned_poll_go_to_the_next_poll(broker):
    """Wherever it is cut, the record is delivered to another consumer at once."""
    await ended(await polls(broker, 1))
    for steps in range(0, 120, 2):
        first, second = await polls_at_once(broker, 2)
        await broker.records.produce("t", records(str(steps), partition=0))
        for _ in range(steps):
            await asyncio.sleep(0)
        if not first.cancel():
            await broker.subscriptions.nack("t", "s", "p0", list(await first))
        await asyncio.gather(first, return_exceptions=True)
        async with within(SOON_S):
            found = await second
        assert list(found.values()) == [str(steps)], f"cut after {steps} steps"
        await broker.subscriptions.ack("t", "s", "p1", list(found))


async def polls_at_once(broker, count):
    made = [asyncio.create_task(receive_values(broker, "t", "s", f"p{n}", wait_ms=WAIT_MS)) for n in range(count)]
    for _ in range(20):
        await asyncio.sleep(0)
    return made


async def test_a_seek_wakes_the_polls_of_another_broker(pair):
    # Given a poll at a broker that knows that there is nothing
    first, second = pair
    await first.records.produce("t", records("a", partition=0))
    await first.subscriptions.ack("t", "s", "c1", list(await receive_values(first, "t", "s")))
    (poll,) = await polls(second, 1)
    # When the subscription is set back
    await first.subscriptions.seek("t", "s", to="earliest")
    # Then it gets what was acknowledged before
    async with within(SOON_S):
        assert list((await poll).values()) == ["a"]


async def test_recreated_subscription_is_received_from_its_start(pair):
    first, second = pair
    await first.records.produce("t", records("a", partition=0))
    await first.subscriptions.ack("t", "s", "c1", list(await receive_values(first, "t", "s")))
    for _ in range(10):
        # Given a poll at another broker while the subscription is deleted and made again at once
        (poll,) = await polls(second, 1)
        await first.subscriptions.delete("t", "s")
        await first.subscriptions.create("t", "s")
        # Then it fails because the topic was deleted, or receives from the new one; and so does the next poll
        async with within(SOON_S):
            with contextlib.suppress(UnknownSubscription):
                assert list((await poll).values()) == ["a"]
                await second.subscriptions.nack("t", "s", "c0", None)
            assert list((await (await polls(second, 1))[0]).values()) == ["a"]
        await second.subscriptions.seek("t", "s", to="latest")


async def test_polls_of_a_deleted_subscription_get_an_error(pair):
    first, second = pair
    waiting_ones = await polls(second, 3)
    await first.subscriptions.delete("t", "s")
    async with within(SOON_S):
        outcomes = await asyncio.gather(*waiting_ones, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {UnknownSubscription}


async def test_polls_end_when_the_broker_closes(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", 2)
        await broker.subscriptions.create("t", "s")
        waiting_ones = await polls(broker, 3)
    async with within(SOON_S):
        assert await asyncio.gather(*waiting_ones) == [{}] * 3


async def test_unpublished_records_are_found_by_the_periodic_check(broker, monkeypatch):
    """As after a seek at a broker of the release before."""
    monkeypatch.setattr(long_polls, "KNOWN_S", 0.3)
    await broker.records.produce("t", records("a", partition=0))
    await broker.subscriptions.ack("t", "s", "c1", list(await receive_values(broker, "t", "s")))
    (poll,) = await polls(broker, 1)
    p = await broker.catalog.partition("t", 0)
    await scripts.seek(broker.store, p.keys, p.topic_id, "s", "earliest")
    async with within(SOON_S):
        assert list((await poll).values()) == ["a"]


async def test_channels_of_ended_polls_are_unsubscribed(broker, monkeypatch):
    monkeypatch.setattr(long_polls, "LINGER_S", 0.05)
    await ended(await polls(broker, 2))
    async with within(SOON_S):
        while any(channel.listeners for channel in broker.waiters._channels.values()):
            await asyncio.sleep(0.01)
    (poll,) = await polls(broker, 1)
    await broker.records.produce("t", records("a", partition=0))
    async with within(SOON_S):
        assert list((await poll).values()) == ["a"]


async def test_a_topic_that_grows_is_received_from_whole_while_polls_wait(broker):
    waiting_ones = await polls(broker, 1)
    await broker.topics.grow("t", PARTITIONS + 1)
    waiting_ones += await polls(broker, 1)
    await broker.records.produce("t", records("a", partition=PARTITIONS))
    async with within(SOON_S):
        assert list((await waiting_ones[1]).values()) == ["a"]
    await ended(waiting_ones)


async def test_two_brokers_with_many_polls_deliver_everything_once(pair):
    """Workers at both, records that come one by one and in bursts: each is delivered once, at once."""
    got: list[str] = []
    total, over = 300, asyncio.Event()

    async def work(broker, consumer):
        while not over.is_set():
            found = await receive_values(broker, "t", "s", consumer, wait_ms=1_000, max_records=3)
            got.extend(found.values())
            if found:
                await broker.subscriptions.ack("t", "s", consumer, list(found))
            if len(got) >= total:
                over.set()

    workers = [asyncio.create_task(work(pair[n % 2], f"w{n}")) for n in range(10)]
    for number in range(0, total, 10):
        many = [str(number + n) for n in range(10)]
        if number % 20:
            await pair[0].records.produce("t", records(*many, partition=number % PARTITIONS))
        else:
            for each in many:
                await pair[1].records.produce("t", records(each, partition=int(each) % PARTITIONS))
    async with asyncio.timeout(30):
        await asyncio.gather(*workers)
    assert sorted(got, key=int) == [str(n) for n in range(total)]
