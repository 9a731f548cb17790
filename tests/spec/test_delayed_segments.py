"""Segments of sealed buckets, loaded in order shortly before they are due; and the live bits of pending entries."""

from __future__ import annotations

import asyncio

from redis_ledger.delay.bucket_storage import BucketStorage
from redis_ledger.errors import AlreadyDelivered
from tests.support.broker import eventually
from tests.support.scheduled import HOUR_MS, LATE_MS_MAX, PATIENCE_S, Witness, scheduling

# -- DD-24: loading ----------------------------------------------------------------------------------------------------


async def test_a_segment_is_loaded_before_it_is_needed_and_the_next_one_not_before_there_is_room(redis_url, prefix):
    """DD-24: the first is due in an hour, which here is near; nothing of it is due, so the second stays where it is."""
    async with scheduling(redis_url, prefix, delayed_delivery_load_ahead_ms=2 * HOUR_MS) as topic:
        due = topic.in_ms(HOUR_MS)
        values = await topic.fill_buckets(1, due)

        async def loaded():
            return [bucket.loaded for bucket in await topic.buckets()], (await topic.stats()).loaded

        assert await eventually(loaded, ([1], 5), PATIENCE_S) == ([1], 5)
        index = await topic.index()
        for _ in range(3):
            await index.scripts.fire(500, due - 1)
        assert await loaded() == ([1], 5)
        assert await topic.values() == []
        assert await topic.release(due + 30) == values[:4]
        assert await topic.release(due + 50) == values[4:6]
        assert (await loaded())[0] == [2]


async def test_the_last_entry_of_a_segment_brings_the_next_one_and_slow_storage_loses_and_hastens_nothing(
    redis_url, prefix, monkeypatch
):
    """DD-24: reading a segment takes 0.5 s.  No segment is read before the one in front of it has fired."""
    read, segment = list[tuple[int, int]](), BucketStorage.segment

    async def slowly(storage, bucket, number):
        fired = 0 if (state := await storage._scripts.state()) is None else state.fired
        read.append((number, fired))
        await asyncio.sleep(0.5)
        return await segment(storage, bucket, number)

    monkeypatch.setattr(BucketStorage, "segment", slowly)
    async with scheduling(redis_url, prefix, delayed_delivery_load_ahead_ms=5_000) as topic:
        start = topic.in_ms(3_000)
        dues = {f"r{n}": start + 120 * n for n in range(20)}
        await topic.schedule(dues)
        await topic.sealed(1)
        witness = Witness(topic)
        await witness.watch(20)
        assert await topic.values() == list(dues)
        assert witness.early(list(dues.values())) == []
        assert witness.latest_ms(list(dues.values())) < LATE_MS_MAX
    assert list(dict.fromkeys(number for number, _ in read)) == [0, 1, 2, 3]
    assert [fired for number, fired in read if fired < 5 * number] == []


# -- DD-25: contains ---------------------------------------------------------------------------------------------------


async def test_the_log_holds_nothing_that_waits_and_the_bits_tell_what_does(redis_url, prefix):
    """DD-25: ten messages of which eight are delayed: a reader meets the first and the last, and no other payload."""
    async with scheduling(redis_url, prefix, delayed_delivery_min_index_count_per_bucket=8) as topic:
        due = topic.in_ms(HOUR_MS)
        await topic.schedule({"0": 0, **{str(n): due + n for n in range(1, 9)}, "9": 0})
        (bucket,) = await topic.sealed(1)
        index = await topic.index()
        log = await topic.broker.store.command("XRANGE", index.scripts.keys.log, "-", "+", key=index.scripts.keys.state)
        records = sum(int(fields[fields.index(b"n") + 1]) for _, fields in log)
        assert (await topic.values(), records) == (["0", "9"], 2)
        waiting, metadata = {each.id.entry for each in await topic.listed()}, await index.storage.metadata(bucket)
        known = {entry for entry in range(100) if metadata.contains(entry)}
        live = await index.storage.live(range(100))
        assert known == waiting == {entry for entry in range(100) if live.holds(entry)}
        assert metadata.alive(live) == len(waiting) == 8


async def test_the_bits_serve_cancelling_and_rebuilding_so_that_nothing_is_indexed_or_delivered_twice(topic):
    """DD-25: each bit goes once: with the delivery or with the cancellation, whichever comes first; made anew, the
    index holds what still has its bit, however often that is done."""
    due = topic.in_ms(HOUR_MS)
    values = await topic.fill_buckets(1, due)
    waiting = await topic.listed()
    assert await topic.release(due + 40) == values[:5]
    cancelled = await topic.broker.delayed.cancel("t", [each.id for each in waiting[3:8]])
    assert [type(outcome) for outcome in cancelled] == [AlreadyDelivered] * 2 + [type(None)] * 3
    for _ in range(3):
        await topic.broker.delayed.rebuild("t")
        stats = await topic.stats()
        assert (stats.records, stats.entries, await topic.listed_values()) == (12, 12, values[8:])
    assert await topic.release(due + HOUR_MS) == values[8:]
    assert (await topic.stats()).records == 0


# -- DD-26: expired but contained --------------------------------------------------------------------------------------


async def test_an_entry_that_is_added_again_after_its_time_is_delivered_and_counted_off_once(topic):
    """DD-26: tracked at 2 000, it is 2 500 when it is added again: it is delivered, nothing is left of it, and one more
    addition, as of a broker that had read it before, delivers nothing."""
    base = topic.in_ms(HOUR_MS)
    entry = (await topic.schedule({"a": base + 2_000}))["a"].entry
    index = await topic.index()
    (indexed,) = [each async for each in index.storage.from_ledgers(-1, -1)]
    assert (indexed.entry, indexed.due_ms, (await topic.stats()).records) == (entry, base + 2_000, 1)
    await index.scripts.put_back([indexed])
    assert await topic.release(base + 2_500) == ["a"]
    stats = await topic.stats()
    assert (stats.records, stats.entries, (await index.storage.live([entry])).holds(entry)) == (0, 0, False)
    await index.scripts.put_back([indexed])
    assert await topic.release(base + 2_600) == []
    stats = await topic.stats()
    assert (stats.records, stats.entries, await topic.values()) == (0, 0, ["a"])
