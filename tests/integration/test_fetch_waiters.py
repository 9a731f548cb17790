"""Waiting readers are woken only by relevant changes, and always by those."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.errors import StoreUnavailable
from redis_ledger.ids import TxnId
from redis_ledger.ledger import waiters as waiting
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.waiters import Listener, Waiters
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Decision, Participant
from redis_ledger.txn.participants import Participants
from redis_ledger.txn.states import TxnState
from tests.support.busy_machine import within
from tests.support.stores import open_store

SOON, NEVER = 5.0, 0.05  # how long a wake-up may take, and how long one that must not come is waited for


@pytest.fixture(params=["redis_url", "cluster_url"])
async def store(request, prefix) -> AsyncIterator[Store]:
    opened = await open_store(request.getfixturevalue(request.param), prefix=prefix, retry_ms=300)
    yield opened
    await opened.close()


@pytest.fixture
async def waiters(store) -> AsyncIterator[Waiters]:
    made = Waiters(store)
    yield made
    await made.close()


@pytest.fixture
async def partition(store) -> Partition:
    return await made(store, "t-1")


async def made(store: Store, topic_id: str, number: int = 0) -> Partition:
    partition = Partition(store, "orders", number, topic_id, Config(), ManualClock())
    assert await partition.create()
    return partition


async def append(partition: Partition, txn: TxnId | None = None) -> None:
    pid = -1 if txn is None else txn.producer_id
    await partition.append(AppendRequest(b"x", 1, 0, producer_id=pid, epoch=0), txn)


async def end(partition: Partition, store: Store, txn: TxnId, state: TxnState) -> None:
    where = [Participant(partition.topic, partition.topic_id, partition.number)]
    await Participants(store, Config(), ManualClock()).end(Decision(txn, state, where, -1))


async def settled(listener: Listener) -> None:
    """Takes a wake-up that may still be under way from before."""
    while await listener.wait(NEVER):
        continue


async def test_an_append_wakes_both_kinds_of_readers(waiters, partition):
    async with waiters.listen([partition.keys], committed=True) as one:
        async with waiters.listen([partition.keys], committed=False) as two:
            await append(partition)
            assert (await one.wait(SOON), await two.wait(SOON)) == (True, True)
            assert (await one.wait(NEVER), await two.wait(NEVER)) == (False, False)


async def test_a_committed_reader_sleeps_while_only_the_end_moves_and_wakes_at_the_commit(waiters, partition, store):
    txn = TxnId(0, 1)
    async with waiters.listen([partition.keys], committed=True) as committed:
        async with waiters.listen([partition.keys], committed=False) as uncommitted:
            await append(partition, txn)
            assert await uncommitted.wait(SOON)
            await settled(committed)
            await append(partition, txn)
            await append(partition)
            assert await uncommitted.wait(SOON)
            assert not await committed.wait(NEVER)
            await end(partition, store, txn, TxnState.COMMITTING)
            assert await committed.wait(SOON)


async def test_a_reader_of_several_partitions_hears_each(waiters, store):
    all_of_them = [await made(store, "t-1", number) for number in range(4)]
    async with waiters.listen([p.keys for p in all_of_them], committed=True) as listener:
        for partition in all_of_them:
            await append(partition)
            assert await listener.wait(SOON)
            await settled(listener)


async def test_events_between_subscribe_and_wait_are_not_missed(waiters, partition):
    async with waiters.listen([partition.keys], committed=True) as listener:
        await append(partition)
        await await_message(waiters, partition, end=1)
        assert await listener.wait(SOON)


async def await_message(waiters: Waiters, partition: Partition, *, end: int) -> None:
    async with within(SOON):
        while waiters._channels[partition.keys.wake].end < end:
            await asyncio.sleep(0.001)


async def test_a_cached_head_follows_messages_of_its_leader_epoch_only(waiters, partition, store):
    async with waiters.listen([partition.keys], committed=True):
        await append(partition)
        await await_message(waiters, partition, end=1)
        waiters.learn(waiters.mark(partition.keys), await partition.offsets.head())
        for message, end_, known in (("0 2 2", 2, (0, 2)), ("1 9 9", 9, None)):
            await store.command("SPUBLISH", partition.keys.wake, message, key=partition.keys.state)
            await await_message(waiters, partition, end=end_)
            head = waiters.head(partition.keys)
            assert (head and (head.leader_epoch, head.end_offset)) == known


async def test_a_poke_wakes_readers_of_another_broker(waiters, partition, store):
    other = Waiters(store)
    async with waiters.listen([partition.keys], committed=True) as listener:
        await other.poke(partition.keys)
        assert await listener.wait(SOON)
    await other.close()


async def test_recreated_topic_wakes_its_readers_from_offset_0(waiters, partition, store):
    # Given a channel that has heard of offset 50
    async with waiters.listen([partition.keys], committed=True):
        for _ in range(50):
            await append(partition)
        await await_message(waiters, partition, end=50)
    # When the topic is deleted, made again, and a reader waits for it on the same channel
    await partition.delete()
    again = await made(store, "t-2")
    async with waiters.listen([again.keys], committed=True) as listener:
        await append(again)
        # Then the first record wakes it, and so does the second
        assert await listener.wait(SOON)
        await settled(listener)
        await append(again)
        assert await listener.wait(SOON)
    assert waiters.missed == 0


async def test_polling_finds_appends_without_a_wake_up_and_counts_them(monkeypatch, store, partition):
    monkeypatch.setattr(waiting, "CHECK_S", 0.02)
    waiters = Waiters(store)
    async with waiters.listen([partition.keys], committed=True) as listener:
        await append(partition)
        await await_message(waiters, partition, end=1)
        await settled(listener)
        # When the state moves without a message, forward and then, as for a new topic, back
        for end_ in (7, 3):
            await store.command("HSET", partition.keys.state, "next", end_, "stable", end_, key=partition.keys.state)
            assert await listener.wait(SOON)
    assert waiters.missed == 2
    await waiters.close()


async def test_an_idle_reader_asks_redis_nothing_that_wakes_it(monkeypatch, store, partition):
    monkeypatch.setattr(waiting, "CHECK_S", 0.01)
    waiters = Waiters(store)
    async with waiters.listen([partition.keys], committed=True) as listener:
        await append(partition)
        await await_message(waiters, partition, end=1)
        await settled(listener)
        assert not await listener.wait(0.15)
    assert waiters.missed == 0
    await waiters.close()


async def test_a_reader_that_gives_up_while_subscribing_takes_no_other_with_it(waiters, partition):
    # Given three concurrent readers of a channel without a subscription
    async def wait() -> bool:
        async with waiters.listen([partition.keys], committed=True) as listener:
            woken: bool = await listener.wait(SOON)
        return woken

    readers = [asyncio.create_task(wait()) for _ in range(3)]
    await asyncio.sleep(0)
    # When the first goes away
    readers[0].cancel()
    while len(waiters._channels) == 0 or len(waiters._channels[partition.keys.wake].listeners) < 2:
        await asyncio.sleep(0.001)
    await append(partition)
    # Then the others are served
    assert await asyncio.gather(*readers[1:]) == [True, True]


async def test_close_returns_nothing_to_every_reader(store, partition):
    waiters = Waiters(store)
    async with waiters.listen([partition.keys], committed=True) as listener:
        waiting_reader = asyncio.create_task(listener.wait(60))
        await asyncio.sleep(0)
        await waiters.close()
        assert await waiting_reader is False


async def test_an_unused_channel_is_unsubscribed_after_a_while(monkeypatch, store, partition):
    monkeypatch.setattr(waiting, "CHECK_S", 0.01)
    monkeypatch.setattr(waiting, "LINGER_S", 0.03)
    waiters = Waiters(store)
    async with waiters.listen([partition.keys], committed=True):
        await asyncio.sleep(0.08)  # longer than a channel lingers
        assert len(waiters._channels) == 1
    async with within(SOON):
        while waiters._channels:
            await asyncio.sleep(0.01)
    async with waiters.listen([partition.keys], committed=True) as listener:
        await append(partition)
        assert await listener.wait(SOON)
    await waiters.close()


async def test_failed_channel_subscription_raises_and_is_retried_by_the_next(monkeypatch, waiters, partition, store):
    async def refuse(*_: object) -> None:
        raise StoreUnavailable()

    with monkeypatch.context() as patch:
        patch.setattr(store, "subscribe", refuse)
        with pytest.raises(StoreUnavailable):
            async with waiters.listen([partition.keys], committed=True):
                raise AssertionError("listening without a subscription")
    async with waiters.listen([partition.keys], committed=True) as listener:
        await append(partition)
        assert await listener.wait(SOON)
