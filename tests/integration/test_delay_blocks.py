"""The setting for compressed blocks of late due times: fewer bytes, same behaviour."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import NewRecord, ScheduledRef
from redis_ledger.errors import AlreadyCancelled
from redis_ledger.ids import ScheduledId
from tests.support.broker import eventually, one, receive_values, values_of

FAR_MS = 3_600_000


@pytest.fixture
async def broker(redis_url, prefix):
    async with one(redis_url, prefix, delayed_delivery_block_after_ms=60_000) as broker:
        await broker.topics.create("t", 1, {})
        yield broker


async def schedule(broker: Broker, *values: str, in_ms: int = FAR_MS, **more) -> list[ScheduledRef]:
    """Each a second later than the one before."""
    now = broker.delayed.now_ms()
    records = [NewRecord(None, v.encode(), deliver_at_ms=now + in_ms + 1000 * i) for i, v in enumerate(values)]
    return [placed for appended in await broker.records.produce("t", records, **more) for placed in appended.scheduled]


async def soon(broker: Broker, *some: ScheduledRef) -> None:
    for placed in some:
        await broker.delayed.reschedule("t", placed.id, deliver_after_ms=30)


async def test_records_that_are_due_late_share_a_block(broker):
    placed = await schedule(broker, *(f"v{i}" for i in range(70)))
    assert [p.id for p in placed[:2]] == [ScheduledId(0, 1, 0), ScheduledId(0, 1, 1)]
    assert placed[69].id == ScheduledId(0, 2, 5), "a block holds 64"
    [stats] = await broker.delayed.counts("t")
    assert (stats.records, stats.entries) == (70, 2)
    listed, _ = await broker.delayed.list("t", limit=100)
    assert [(each.id, each.deliver_at_ms) for each in listed] == [(p.id, p.deliver_at_ms) for p in placed]
    assert [each.value for each in listed] == [b"v%d" % i for i in range(70)]
    assert sum(n for _, _, n in await broker.delayed.histogram("t", bins=3)) == 70


async def test_records_due_soon_are_not_packed_into_blocks(broker):
    placed = await schedule(broker, "a", "b", in_ms=10_000)
    assert [p.id for p in placed] == [ScheduledId(0, 1, 0), ScheduledId(0, 2, 0)]


async def test_a_record_of_a_block_fires_alone_and_every_reader_gets_it_whole(broker):
    # Given a block of three, and a subscription
    await broker.subscriptions.create("t", "s", "shared")
    placed = await schedule(broker, "a", "b", "c")
    # When two of them become due, out of order
    await soon(broker, placed[2])
    await eventually(lambda: values_of(broker, "t"), ["c"])
    await soon(broker, placed[0])
    # Then they are in the log in that order, and the third waits on
    assert await eventually(lambda: values_of(broker, "t"), ["c", "a"]) == ["c", "a"]
    assert list((await receive_values(broker, "t", "s")).values()) == ["c", "a"]
    assert [each.value for each in (await broker.delayed.list("t"))[0]] == [b"b"]


async def test_a_record_of_a_block_is_cancelled_and_the_others_fire(broker):
    placed = await schedule(broker, "a", "b", "c")
    assert await broker.delayed.cancel("t", [placed[1].id]) == [None]
    with pytest.raises(AlreadyCancelled):
        await broker.delayed.get("t", placed[1].id)
    await soon(broker, placed[0], placed[2])
    assert sorted(await eventually(lambda: values_of(broker, "t"), ["a", "c"])) == ["a", "c"]
    [stats] = await broker.delayed.counts("t")
    assert (stats.records, stats.entries) == (0, 0)


@pytest.mark.parametrize("commit", [True, False])
async def test_a_block_of_a_transaction_is_scheduled_at_its_commit(broker, commit):
    txn = (await broker.transactions.begin()).id
    placed = await schedule(broker, "a", "b", transaction=txn)
    assert (await broker.delayed.list("t"))[0] == []
    await (broker.transactions.commit(txn) if commit else broker.transactions.abort(txn))
    listed, _ = await broker.delayed.list("t")
    assert [each.id for each in listed] == ([p.id for p in placed] if commit else [])
    assert (await broker.delayed.counts("t"))[0].records == (2 if commit else 0)


async def test_index_of_blocks_is_rebuilt_from_its_ledgers(redis_url, prefix):
    async with one(
        redis_url, prefix, delayed_delivery_block_after_ms=60_000, delayed_delivery_min_index_count_per_bucket=10
    ) as broker:
        await broker.topics.create("t", 1, {})
        # Given a sealed bucket of blocks, one record of which was moved, and one cancelled
        placed = await schedule(broker, *(f"v{i}" for i in range(12)))
        waiting = await broker.delayed.messages("t", 0)
        await eventually(lambda: sealed(waiting), 1)
        await broker.delayed.reschedule("t", placed[3].id, deliver_at_ms=placed[11].deliver_at_ms + 5_000)
        await broker.delayed.cancel("t", [placed[4].id])
        # When its snapshot is lost
        [bucket] = await waiting.index.storage.buckets()
        await broker.store.command(
            "DEL", waiting.index.scripts.delay.snapshot(bucket.snapshot), key=waiting.index.scripts.keys.state
        )
        waiting.index.storage._metadata.clear()
        # Then looking finds it out, and it is made again
        listed, _ = await broker.delayed.list("t")
        assert [each.value for each in listed] == [b"v%d" % i for i in (0, 1, 2, 5, 6, 7, 8, 9, 10, 11, 3)]


async def sealed(waiting) -> int:
    return len(await waiting.index.storage.buckets())


async def test_blocks_take_less_memory_than_entries(redis_url, prefix):
    used = {}
    for name, after_ms in (("blocks", 60_000), ("entries", 0)):
        async with one(redis_url, f"{prefix}{name}", delayed_delivery_block_after_ms=after_ms) as broker:
            await broker.topics.create("t", 1, {})
            for _ in range(5):
                await schedule(
                    broker, *(f'{{"user": {i}, "event": "reminder", "channel": "mail"}}' for i in range(200))
                )
                await asyncio.sleep(0)
            partition = await broker.catalog.partition("t", 0)
            used[name] = int(await broker.store.command("MEMORY", "USAGE", partition.keys.data(-1), "SAMPLES", 0))
    assert used["blocks"] < used["entries"] / 3, used
