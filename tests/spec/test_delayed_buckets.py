"""The index of scheduled records: an open bucket, sealed ones in immutable snapshots, and bounded loading."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from redis_ledger.delay.bucket import bitmaps, decode_metadata, decode_segment
from tests.support.broker import eventually, one
from tests.support.scheduled import BUCKETS, HOUR_MS, PATIENCE_S, ScheduledTopic, scheduling

ROLLS = {"ledger_bytes_max": 1}  # every call fills its ledger: "one message per block"
ENTRIES = 1 << 40  # above every entry there is


async def opened(topic):
    """The open delay ledger, and entries in the open bucket."""
    state = await (await topic.index()).scripts.state()
    return state.ledger, state.open_entries


async def one_by_one(topic, count, due):
    """Each into a ledger of its own."""
    for n in range(count):
        before, _ = (-1, 0) if n == 0 and not await topic.waiting() else await opened(topic)
        await topic.schedule({f"r{before}": due + n})

        async def ask(before=before):
            return (await opened(topic))[0] < before

        assert await eventually(ask, True, PATIENCE_S)


def ledgers_of(segments):
    return {row.ledger for rows in segments for row in rows}


# -- DD-20: structure --------------------------------------------------------------------------------------------------


async def test_loaded_entries_are_bounded_by_buckets_and_not_by_pending_records(redis_url, prefix):
    """DD-20: 4 000 records instead of 5 000 000, in 10 buckets of 400 with segments of 40, and everything near enough
    to be loaded ahead.  Loaded are never more than a segment of each bucket and the open one."""
    settings: dict[str, Any] = {
        "delayed_delivery_min_index_count_per_bucket": 400, "delayed_delivery_max_indexes_per_segment": 40,
        "delayed_delivery_load_ahead_ms": 24 * HOUR_MS,
    }  # fmt: skip
    async with scheduling(redis_url, prefix, **settings) as topic:
        due, bounds = topic.in_ms(HOUR_MS), list[tuple[int, int]]()

        async def bound():
            stats = await topic.stats()
            bounds.append((stats.loaded, 40 * (stats.buckets - 1) + 400))
            return stats

        for number in range(10):
            await topic.fill(400, due, name=f"{number}.")
            await topic.sealed(number + 1)
            await bound()
        await topic.fill(50, due, name="open.")
        stats = await bound()
        assert (stats.records, stats.buckets) == (4_050, 11)

        async def loaded():
            return (await bound()).loaded >= 40 + 50

        assert await eventually(loaded, True, PATIENCE_S)
        buckets = await topic.buckets()
        ranges = [(-b.first_ledger, -b.last_ledger) for b in buckets]
        assert all(first <= last < after for (first, last), (after, _) in pairwise(ranges))
        for at in range(0, 4_001, 500):
            await topic.release(due + at)
            await bound()
        assert [pair for pair in bounds if pair[0] > pair[1]] == []
        assert (await topic.end(), await topic.waiting(), await topic.buckets()) == (4_050, 0, [])


async def test_the_index_is_in_redis_and_a_broker_that_has_just_come_works_on_it(redis_url, prefix):
    """DD-20: what the requirement keeps in memory is an open set, a queue and a list in Redis."""
    async with scheduling(redis_url, prefix) as topic:
        due = topic.in_ms(HOUR_MS)
        values = await topic.fill_buckets(2, due) + await topic.fill(3, due + HOUR_MS, name="open")
        seen = (await topic.buckets(), await opened(topic), (await topic.stats())._replace(overdue=0))
    async with one(redis_url, prefix, **BUCKETS) as broker:
        again = ScheduledTopic(broker, "t")
        assert seen == (await again.buckets(), await opened(again), await again.stats())
        assert await again.release(due + 2 * HOUR_MS) == values


# -- DD-21: seal -------------------------------------------------------------------------------------------------------


async def test_the_open_bucket_is_sealed_when_it_holds_enough_and_a_new_ledger_begins(redis_url, prefix):
    """DD-21: at least 5, one message per ledger: the sixth goes into a new bucket, the five are sealed."""
    settings: dict[str, Any] = {**ROLLS, "delayed_delivery_min_index_count_per_bucket": 5}
    async with scheduling(redis_url, prefix, **settings) as topic:
        due = topic.in_ms(HOUR_MS)
        await one_by_one(topic, 4, due)
        assert (await topic.buckets(), await opened(topic)) == ([], (-5, 4))
        await one_by_one(topic, 1, due)
        (bucket,) = await topic.sealed(1)
        await topic.schedule({"sixth": due})
        assert (bucket.first_ledger, bucket.last_ledger, bucket.entries) == (-1, -5, 5)
        assert (await opened(topic))[1] == 1
        assert ledgers_of(await topic.segments(bucket)) == {-1, -2, -3, -4, -5}


async def test_all_of_a_ledger_is_in_one_bucket(topic):
    """DD-21: calls of 7, sealed from 20 on, so that none of them ends where a bucket is full."""
    due, sealed = topic.in_ms(HOUR_MS), 0
    for number in range(12):
        await topic.fill(7, due, name=f"{number}.")
        if number % 3 == 2:
            sealed += 1
            await topic.sealed(sealed)
    buckets = await topic.buckets()
    assert [bucket.entries for bucket in buckets] == [21] * 4
    for bucket in buckets:
        covered = set(range(bucket.last_ledger, bucket.first_ledger + 1))
        assert ledgers_of(await topic.segments(bucket)) <= covered
        assert not any(covered & set(range(b.last_ledger, b.first_ledger + 1)) for b in buckets if b != bucket)


async def test_a_bucket_can_be_sealed_by_the_number_of_ledgers_it_spans(redis_url, prefix):
    """DD-21: the earlier rule, five ledgers, though a thousand entries are wanted."""
    settings: dict[str, Any] = {**ROLLS, "delayed_delivery_ledger_step_per_bucket": 5}
    settings["delayed_delivery_min_index_count_per_bucket"] = 1_000
    async with scheduling(redis_url, prefix, **settings) as topic:
        due = topic.in_ms(HOUR_MS)
        await one_by_one(topic, 4, due)
        assert await topic.buckets() == []
        await one_by_one(topic, 1, due)
        (bucket,) = await topic.sealed(1)
        assert (bucket.name, bucket.entries) == ("1-5", 5)


# -- DD-22: segments ---------------------------------------------------------------------------------------------------


async def test_a_hundred_and_one_messages_become_five_buckets_of_four_segments(topic):
    """DD-22: at least 20 in a bucket, at most 5 in a segment, an hour's step."""
    due = topic.in_ms(HOUR_MS)
    await topic.fill_buckets(5, due)
    await topic.fill(1, due)
    buckets = await topic.buckets()
    assert [(b.segments, b.entries, b.loaded) for b in buckets] == [(4, 20, 0)] * 5
    assert (await opened(topic))[1] == 1
    for bucket in buckets:
        segments = await topic.segments(bucket)
        assert [len(rows) for rows in segments] == [5, 5, 5, 5]
        dues = [row.due_ms for rows in segments for row in rows]
        assert dues == sorted(dues)


@pytest.mark.parametrize("limit", [5, -1])
async def test_a_segment_spans_less_than_the_time_step(redis_url, prefix, limit):
    """DD-22: steps of 300 s, scheduled in no order, and segments that may be small; without a limit on entries only
    time cuts."""
    settings: dict[str, Any] = {
        "delayed_delivery_min_index_count_per_bucket": 13, "delayed_delivery_max_time_step_per_segment_s": 300,
        "delayed_delivery_max_indexes_per_segment": limit, "delayed_delivery_min_indexes_per_segment": 1,
    }  # fmt: skip
    async with scheduling(redis_url, prefix, **settings) as topic:
        due = topic.in_ms(HOUR_MS)
        at = [300_000, 0, 1, 2, 3, 4, 5, 6, 299_999, 599_999, 600_000, 900_000, 899_999]
        await topic.schedule({str(ms): due + ms for ms in at})
        (bucket,) = await topic.sealed(1)
        found = [[row.due_ms - due for row in rows] for rows in await topic.segments(bucket)]
        spans = {
            -1: [[0, 1, 2, 3, 4, 5, 6, 299_999], [300_000, 599_999], [600_000, 899_999], [900_000]],
            5: [[0, 1, 2, 3, 4], [5, 6, 299_999, 300_000], [599_999, 600_000], [899_999, 900_000]],
        }
        assert found == spans[limit]


# -- DD-23: snapshots --------------------------------------------------------------------------------------------------


async def test_snapshot_metadata_describes_each_segment(topic):
    """DD-23: as it is stored: field 0 metadata, 1 to n the segments.  The bits of all bitmaps are the number of
    entries."""
    due = topic.in_ms(HOUR_MS)
    await topic.fill_buckets(1, due)
    index, (bucket,) = await topic.index(), await topic.buckets()
    command, slot = topic.broker.store.command, index.scripts.keys.state
    row = await command("HGET", index.scripts.delay.buckets, "1-1", key=slot)
    assert row.split(b" ")[0].decode() == bucket.snapshot
    fields = await command("HGETALL", index.scripts.delay.snapshot(bucket.snapshot), key=slot)
    stored = dict(zip(map(int, fields[::2]), fields[1::2], strict=True))
    metadata = decode_metadata(stored.pop(0))
    assert (metadata.first_ledger, metadata.last_ledger, sorted(stored)) == (-1, -1, [1, 2, 3, 4])
    cardinality = 0
    for number, segment in enumerate(metadata.segments, 1):
        rows = decode_segment(stored[number])
        assert (segment.min_due_ms, segment.max_due_ms, segment.entries) == (
            rows[0].due_ms,
            rows[-1].due_ms,
            len(rows),
        )
        bits_of = bitmaps(segment)
        found = {(ledger, entry) for ledger, bits in bits_of.items() for entry in bits.entries(0, ENTRIES)}
        assert found == {(row.ledger, row.entry) for row in rows}
        cardinality += sum(bitmap.count(0, ENTRIES) for bitmap in bits_of.values())
    assert cardinality == bucket.entries == 20
    assert sum(map(len, stored.values())) + len(fields[fields.index(b"0") + 1]) == bucket.size


async def test_a_snapshot_never_changes_and_every_one_there_is_is_listed(topic):
    """DD-23: while its entries are loaded, fired, cancelled and moved; until it goes with its bucket."""
    due = topic.in_ms(HOUR_MS)
    await topic.fill_buckets(2, due)
    index, buckets = await topic.index(), await topic.buckets()
    command, slot = topic.broker.store.command, index.scripts.keys.state

    async def stored():
        names = [index.scripts.delay.snapshot(bucket.snapshot) for bucket in buckets]
        return [sorted(await command("HGETALL", name, key=slot)) for name in names]

    before = await stored()
    assert await topic.snapshots() == await topic.listed_snapshots() == {b.snapshot for b in buckets}
    waiting = await topic.listed()
    await topic.release(due + 60)
    await topic.broker.delayed.cancel("t", [each.id for each in waiting[8:12]])
    await topic.broker.delayed.reschedule("t", waiting[25].id, deliver_at_ms=due + HOUR_MS)
    assert await stored() == before
    await topic.release(due + 2 * HOUR_MS)
    assert await topic.snapshots() == await topic.listed_snapshots() == set()
    assert await topic.end() == 36
