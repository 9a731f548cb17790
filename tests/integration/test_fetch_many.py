"""A fetch of many partitions: bytes go to those with records, and unchanged ones are not read."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from redis_ledger.broker.fetch.many import PartitionRequest
from redis_ledger.errors import OffsetOutOfRange, UnknownTopic
from redis_ledger.ledger import waiters as waiting
from redis_ledger.ledger.read import Read
from tests.support.broker import eventually, one, records, two
from tests.support.busy_machine import within

PARTITIONS = 80  # more than broker.fetch.WIDE
SOON_S = 5.0


@pytest.fixture(autouse=True)
def without_net(monkeypatch):
    """Disables the periodic check, so that only notifications wake waiters."""
    monkeypatch.setattr(waiting, "CHECK_S", 600.0)


@pytest.fixture
async def broker(redis_url, prefix):
    async with one(redis_url, prefix) as opened:
        await opened.topics.create("t", PARTITIONS)
        yield opened


@pytest.fixture
async def pair(redis_url, prefix):
    async with two(redis_url, prefix) as brokers:
        await brokers[0].topics.create("t", PARTITIONS)
        yield brokers


async def poll(broker, offsets=None, *, wait_ms=300, bytes_max=1 << 20, committed=True, numbers=range(PARTITIONS)):
    wanted = [
        PartitionRequest(await broker.catalog.partition("t", number), (offsets or {}).get(number, 0), 1 << 20)
        for number in numbers
    ]
    async with within(SOON_S):
        return await broker.partition_fetch.poll(
            wanted, committed=committed, bytes_min=1, bytes_max=bytes_max, wait_ms=wait_ms
        )  # fmt: skip


def found(polled):
    """Partition → values' count of those that have something."""
    return {
        number: sum(entry.records for entry in read.entries)
        for number, read in enumerate(polled)
        if isinstance(read, Read) and read.entries
    }


class Reads:
    """Commands that read the state of a partition."""

    def __init__(self, broker, monkeypatch):
        self._real, self.count = broker.store.command, 0
        monkeypatch.setattr(broker.store, "command", self._command)

    def _command(self, *arguments, **how):
        self.count += arguments[0] == "HMGET"
        return self._real(*arguments, **how)


@pytest.mark.parametrize("wait_ms", [0, 300])
async def test_a_partition_that_alone_has_something_gets_all_the_room(broker, wait_ms):
    for _ in range(20):
        await broker.records.produce("t", records("x" * 1_000, partition=7))
    assert found(await poll(broker, bytes_max=30_000, wait_ms=wait_ms)) == {7: 20}


async def test_partitions_share_the_room_in_the_order_they_are_asked_for(broker):
    for number in (3, 50, 79):
        for _ in range(3):
            await broker.records.produce("t", records("x" * 1_000, partition=number))
    first = found(await poll(broker, bytes_max=4_250))
    assert first == {3: 3, 50: 1}
    # A batch that is larger than all the room is returned, but it alone
    assert found(await poll(broker, bytes_max=10)) == {3: 1}
    # Those for which there is no room are answered with where they end
    polled = await poll(broker, bytes_max=4_250)
    assert (polled[79].entries, polled[79].head.end_offset) == ([], 3)


async def test_a_consumer_that_has_everything_reads_nothing_while_nothing_happens(broker, monkeypatch):
    await broker.records.produce("t", records("a", partition=7))
    await poll(broker, {7: 1})
    reads = Reads(broker, monkeypatch)
    for _ in range(3):
        assert found(await poll(broker, {7: 1}, wait_ms=50)) == {}
    assert reads.count == 0


@pytest.mark.parametrize("numbers", [range(PARTITIONS), range(3)])
async def test_a_known_head_follows_what_other_brokers_append_and_end(pair, numbers):
    first, second = pair
    count = len(numbers)
    for _ in range(2):  # known after the first
        assert found(await poll(second, wait_ms=50, numbers=numbers)) == {}
    # An append is there for the poll that waits, and for the one that comes after it
    waits = asyncio.create_task(poll(second, numbers=numbers, wait_ms=4_000))
    await asyncio.sleep(0.05)
    await first.records.produce("t", records("a", partition=count - 1))
    assert found(await waits) == {count - 1: 1}
    assert found(await poll(second, numbers=numbers)) == {count - 1: 1}
    # A committed reader gets what is committed, when it is committed
    txn = (await first.transactions.begin()).id
    await first.records.produce("t", records("b", partition=0), transaction=txn)
    at = {count - 1: 1}
    assert found(await poll(second, at, numbers=numbers, wait_ms=100)) == {}
    assert found(await poll(second, at, numbers=numbers, committed=False)) == {0: 1}
    waits = asyncio.create_task(poll(second, at, numbers=numbers, wait_ms=4_000))
    await asyncio.sleep(0.05)
    await first.transactions.commit(txn)
    assert list(found(await waits)) == [0]
    head = second.waiters.head((await second.catalog.partition("t", 0)).keys)
    assert (head.stable_offset, head.end_offset) == (2, 2)


async def test_recreated_topic_is_not_mistaken_for_the_old_one(pair):
    first, second = pair
    for _ in range(3):
        await first.records.produce("t", records("a", partition=0))
    assert found(await poll(second, {0: 3}, wait_ms=50)) == {}
    await first.topics.delete("t")
    await first.topics.create("t", PARTITIONS)
    old = [PartitionRequest(p, 3 if p.number == 0 else 0, 1000) for p in second.catalog.opened_partitions()]
    waits = asyncio.create_task(
        second.partition_fetch.poll(old, committed=True, bytes_min=1, bytes_max=1000, wait_ms=4_000)
    )  # fmt: skip
    await asyncio.sleep(0.05)
    await first.records.produce("t", records("b", partition=0))
    async with within(SOON_S):
        assert any(isinstance(read, UnknownTopic) for read in await waits)
    assert found(await poll(second)) == {0: 1}


async def test_an_offset_that_was_trimmed_is_refused_although_the_head_is_known(pair):
    first, second = pair
    for _ in range(3):
        await first.records.produce("t", records("a", partition=0))
    await poll(second, {0: 3}, wait_ms=50)
    await first.topics.delete_records("t", 0, 2)
    polled = await poll(second, {0: 1})
    assert isinstance(polled[0], OffsetOutOfRange)
    assert isinstance((await poll(second, {0: 4}))[0], OffsetOutOfRange)


async def test_records_that_this_broker_has_appended_are_read_without_redis(broker, monkeypatch):
    await poll(broker, wait_ms=50, numbers=[7])
    reads, keys = Reads(broker, monkeypatch), (await broker.catalog.partition("t", 7)).keys

    async def published():
        head = broker.waiters.head(keys)
        return head and head.end_offset

    for n in range(3):
        await broker.records.produce("t", records("a", partition=7))
        assert await eventually(published, n + 1, 5) == n + 1
        (read,) = await poll(broker, {7: n}, numbers=[7])
        assert [entry.base_offset for entry in read.entries] == [n]
        assert (read.head.stable_offset, read.head.end_offset) == (n + 1, n + 1)
    assert found(await poll(broker, {7: 0}, numbers=[7])) == {0: 3}
    assert reads.count == 0


async def test_an_offset_that_this_broker_has_trimmed_is_refused_although_its_cache_has_it(broker):
    for _ in range(3):
        await broker.records.produce("t", records("a", partition=0))
    assert found(await poll(broker, numbers=[0])) == {0: 3}
    await poll(broker, {0: 3}, wait_ms=50, numbers=[0])
    await broker.topics.delete_records("t", 0, 2)
    assert isinstance((await poll(broker, {0: 1}, numbers=[0]))[0], OffsetOutOfRange)


async def test_a_published_head_that_is_older_than_what_was_answered_is_not_used(broker, monkeypatch):
    for _ in range(3):
        await broker.records.produce("t", records("a", partition=0))
    await poll(broker, {0: 3}, wait_ms=50, numbers=[0])
    partition = await broker.catalog.partition("t", 0)
    head = await partition.offsets.head()
    older = head._replace(end_offset=2)
    read = await partition.reader.read(0, committed=False, bytes_max=1 << 20, head=older)
    assert read.head == head
    assert len(read.entries) == 3
    read = await partition.reader.read(0, committed=True, bytes_max=1 << 20, head=head._replace(stable_offset=2))
    assert read.head == head


async def test_a_head_whose_log_start_is_old_is_read_again(broker, monkeypatch):
    monkeypatch.setattr(waiting, "FRESH_S", 0.0)
    await broker.records.produce("t", records("a", partition=0))
    await poll(broker, {0: 1}, wait_ms=50, numbers=[0])
    reads = Reads(broker, monkeypatch)
    assert found(await poll(broker, numbers=[0])) == {0: 1}
    assert reads.count == 1


async def test_a_reader_that_goes_on_gets_the_offsets_of_what_is_published(pair, monkeypatch):
    first, second = pair
    for _ in range(40):
        await first.records.produce("t", records("x" * 1_000, partition=0))
    reads, offset, counts = Reads(second, monkeypatch), 0, []
    while offset < 40:
        (read,) = await poll(second, {0: offset}, bytes_max=3_500, numbers=[0])
        offset = read.entries[-1].last_offset + 1
        assert read.head.end_offset == 40
        counts.append(reads.count)
        # Its client works, and the next ones are read: Redis has answered that when it answers a later command.
        await asyncio.sleep(0.02)
        await second.store.command("PING")
        await asyncio.sleep(0.02)
    # One for what is read in advance, and none for what is answered
    assert counts[-1] - counts[3] <= len(counts) - 4


async def test_another_leader_epoch_of_the_client_is_compared_with_the_state(broker, monkeypatch):
    await poll(broker, wait_ms=50)
    reads = Reads(broker, monkeypatch)
    wanted = [PartitionRequest(await broker.catalog.partition("t", 0), 0, 1000, leader_epoch=5)]
    await broker.partition_fetch.poll(wanted, committed=True, bytes_min=1, bytes_max=1000, wait_ms=0)
    assert reads.count == 1


async def test_after_a_lost_connection_nothing_is_known(broker):
    await poll(broker, wait_ms=50)
    keys = (await broker.catalog.partition("t", 0)).keys
    assert broker.waiters.head(keys) is not None
    mark = broker.waiters.mark(keys)
    head = broker.waiters.head(keys)
    broker.waiters._channels[keys.wake].on_lost()
    assert broker.waiters.head(keys) is None
    # Also not by a read that began before
    broker.waiters.learn(mark, head)
    assert broker.waiters.head(keys) is None
    broker.waiters.learn(broker.waiters.mark(keys), head)
    assert broker.waiters.head(keys) == head


async def test_a_read_that_is_older_than_what_was_published_is_not_learned(broker):
    await poll(broker, wait_ms=50)
    keys = (await broker.catalog.partition("t", 0)).keys
    mark, old = broker.waiters.mark(keys), broker.waiters.head(keys)
    await broker.records.produce("t", records("a", partition=0))
    async with within(SOON_S):
        while broker.waiters._channels[keys.wake].end < 1:
            await asyncio.sleep(0.001)
    broker.waiters.learn(mark, old)
    known = broker.waiters.head(keys)
    assert known is None or known.end_offset == 1


async def test_the_net_looks_at_a_few_partitions_at_a_time_and_at_all_in_turn(redis_url, prefix, monkeypatch):
    monkeypatch.setattr(waiting, "CHECK_S", 0.05)
    monkeypatch.setattr(waiting, "CHECKED_MAX", 8)
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", PARTITIONS)
        await poll(broker, wait_ms=50)
        # Given a change of a partition that was not published
        keys = (await broker.catalog.partition("t", 70)).keys
        waits = asyncio.create_task(poll(broker, wait_ms=4_000))
        await asyncio.sleep(0.3)
        with contextlib.suppress(KeyError):
            monkeypatch.setattr(broker.waiters._channels[keys.wake], "on_message", lambda message: None)
        await broker.store.command("HSET", keys.state, "next", 7, "stable", 7, key=keys.state)
        # Then it is found within a round over all partitions
        async with within(3):
            while (head := broker.waiters.head(keys)) is None or head.end_offset < 7:
                await asyncio.sleep(0.01)
        assert head.end_offset == 7
        waits.cancel()
        await asyncio.gather(waits, return_exceptions=True)


async def test_a_record_between_the_first_look_and_the_subscription_is_found(broker, monkeypatch):
    listen = broker.waiters.listen

    @contextlib.asynccontextmanager
    async def late(partitions, **how):
        await broker.records.produce("t", records("just now"), partition=0)
        async with listen(partitions, **how) as listener:
            yield listener

    monkeypatch.setattr(broker.waiters, "listen", late)
    assert found(await poll(broker, numbers=[0], wait_ms=1_000)) == {0: 1}
