"""The life of sealed buckets: their entries, their deletion, and their merges."""

from __future__ import annotations

import pytest

from redis_ledger.delay.entry import Bucket
from redis_ledger.delay.merge import choose
from tests.support.broker import eventually, vanish
from tests.support.crashing_store import index_on
from tests.support.scheduled import HOUR_MS, PATIENCE_S, ScheduledTopic, scheduling

YEAR_MS = 365 * 24 * HOUR_MS


async def settled(topic: ScheduledTopic, most: int) -> bool:
    """At most so many buckets, none being sealed, and nothing to seal."""
    state = await (await topic.index()).scripts.state()
    least = topic.broker.config.delayed_delivery_min_index_count_per_bucket
    is_due = state is None or state.closing or state.open_entries >= least
    return not is_due and len(await topic.buckets()) <= most


async def all_listed(topic: ScheduledTopic) -> bool:
    """Sources of a merge are deleted after it."""
    return await topic.snapshots() == await topic.listed_snapshots()


# -- DD-27: older blocks -----------------------------------------------------------------------------------------------


async def test_records_committed_after_their_ledger_was_sealed_are_queued_and_survive_a_restart(redis_url, prefix):
    """DD-27: blocks come out of order when a transaction commits late, and when a sealed record is moved.  Such records
    go to the shared queue and into no snapshot; after a restart they are there."""
    async with scheduling(redis_url, prefix) as topic:
        due, broker = topic.in_ms(HOUR_MS), topic.broker
        # Given a block with records of an open transaction, sealed, and a newer one
        txn = (await broker.transactions.begin()).id
        held = await topic.schedule({"late 1": due + 5, "late 2": due + 15}, transaction=txn)
        await topic.fill_buckets(1, due)
        (bucket,) = await topic.buckets()
        ids = await topic.schedule({"new": due + 25})
        metadata = await (await topic.index()).storage.metadata(bucket)
        assert [metadata.contains(id.entry) for id in held.values()] == [False, False]
        # When it commits, and a record of the sealed block is moved
        await broker.transactions.commit(txn)
        assert await eventually(topic.waiting, 23, PATIENCE_S) == 23
        moved = (await topic.listed())[0]
        await broker.delayed.reschedule("t", moved.id, deliver_at_ms=due + 35)
        # Then they are at hand, in no bucket, and the block of the bucket is the older one
        state = await (await topic.index()).scripts.state()
        assert all(-id.entry > -ids["new"].entry for id in held.values())
        assert await topic.buckets() == [bucket]
        assert (await broker.store.command("ZCARD", (await topic.index()).scripts.delay.queue)) - 1 == 3
        assert state is not None
        assert state.open_entries == 1
        await vanish(broker)
    async with scheduling(redis_url, prefix) as topic:
        assert await topic.waiting() == 23
        dues = {f"b0.{n}": 10 * n for n in range(1, 20)} | {"late 1": 5, "late 2": 15, "new": 25, "b0.0": 35}
        assert await topic.release(due + 4) == []
        assert await topic.release(due + HOUR_MS) == sorted(dues, key=lambda value: dues[value])


# -- DD-28: a bucket that is done --------------------------------------------------------------------------------------


async def test_a_bucket_whose_segments_are_all_released_is_gone_with_snapshot_and_list_entry(topic):
    """DD-28: two buckets, the first of which is done."""
    due = topic.in_ms(HOUR_MS)
    values = await topic.fill_buckets(2, due)
    first, second = await topic.buckets()
    assert await topic.snapshots() == {first.snapshot, second.snapshot}
    assert await topic.release(due + 140) == values[:15]
    assert [b.snapshot for b in await topic.buckets()] == [first.snapshot, second.snapshot]
    assert await topic.release(due + 190) == values[15:20]
    assert [b.snapshot for b in await topic.buckets()] == [second.snapshot]
    assert await topic.snapshots() == {second.snapshot}
    assert (await topic.stats()).buckets == 2, "the open one and one more"
    assert await topic.release(due + 390) == values[20:]
    assert await topic.buckets() == []
    assert await topic.snapshots() == set()
    assert (await topic.stats()).buckets == 1


# -- DD-29: merging ----------------------------------------------------------------------------------------------------


def sealed(number: int, entries: int, next_due_ms: int = 0, loaded: int = 0) -> Bucket:
    return Bucket(-number, -number, f"s{number}", 4, loaded, entries, entries, next_due_ms, 9_999, 100, 1)


@pytest.mark.parametrize(
    ("buckets", "most", "chosen"),
    [
        ([sealed(n, size) for n, size in enumerate((5, 3, 2, 4, 3), 1)], 4, [2, 3, 4, 5]),
        ([sealed(n, size) for n, size in enumerate((9, 3, 2, 4, 3, 9), 1)], 5, [2, 3, 4, 5]),
        ([sealed(n, size, loaded=4 * (n == 4)) for n, size in enumerate((5, 3, 2, 4, 3), 1)], 4, [1, 2, 3]),
        ([sealed(n, size, loaded=4 * (n == 3)) for n, size in enumerate((5, 3, 2, 4, 3), 1)], 4, [4, 5]),
        ([sealed(n, 2, next_due_ms=50 - n) for n in range(1, 6)], 4, [2, 3, 4, 5]),
        ([sealed(n, 2, loaded=4 * (n == 2)) for n in range(1, 4)], 1, None),
        ([sealed(n, 2) for n in range(1, 4)], 3, None),
        ([sealed(n, 2) for n in range(1, 40)], -1, None),
    ],
)
def test_the_cheapest_neighbours_are_merged_four_or_else_three_or_two(buckets, most, chosen):
    """DD-29: fewest records in all, ties by the earliest next due time, and one without an unloaded segment is left
    out.  Two are merged where no three can be: of the sizes 5 3 2 4 3 with the third fully loaded the last two."""
    found = choose(buckets, most)
    assert (None if found is None else [-b.first_ledger for b in found]) == chosen


def test_the_example_of_the_document_merges_the_second_and_the_third():
    """DD-29: sizes 5 3 2 4 3, and two to be merged, because no three that can be are neighbours."""
    sizes = [sealed(1, 5, loaded=4), sealed(2, 3), sealed(3, 2), sealed(4, 4, loaded=4), sealed(5, 3)]
    assert [-b.first_ledger for b in choose(sizes, 4) or ()] == [2, 3]


@pytest.mark.parametrize("limit", [10, 3, 2, 1])
async def test_buckets_stay_within_their_limit_and_every_record_comes_once(redis_url, prefix, limit):
    """DD-29: 110 messages, 5 to a bucket, limits 10, 3, 2 and 1."""
    async with scheduling(
        redis_url,
        prefix,
        delayed_delivery_min_index_count_per_bucket=5,
        delayed_delivery_max_num_buckets=limit,
        delayed_delivery_max_indexes_per_segment=3,
    ) as topic:
        due, dues = topic.in_ms(HOUR_MS), dict[str, int]()
        for number in range(22):
            # Due times of neighbours interleave, so that a merge has to sort.
            some = {f"{number}.{n}": due + 10 * n + number for n in range(5)}
            await topic.schedule(some)
            assert await eventually(lambda: settled(topic, limit), True, PATIENCE_S), await topic.buckets()
            dues |= some
        assert 1 <= len(await topic.buckets()) <= limit
        assert await eventually(lambda: all_listed(topic), True, PATIENCE_S)
        assert await topic.waiting() == 110
        in_order = sorted(dues, key=lambda value: dues[value])
        assert await topic.listed_values() == in_order
        assert await topic.release(due + 25) == [v for v in in_order if dues[v] <= due + 25]
        await topic.release(due + HOUR_MS)
        assert await topic.values() == in_order


async def test_a_merged_bucket_covers_its_sources_and_leaves_out_what_was_loaded_and_cancelled(topic):
    """DD-29, DD-30: the new range runs from the first source's to the last one's; its content is what the sources have
    left, first segments included."""
    due = topic.in_ms(HOUR_MS)
    values = await topic.fill_buckets(3, due)
    assert await topic.release(due + 10) == values[:2]  # a segment of the first bucket is loaded for that
    listed = await topic.listed()
    await topic.broker.delayed.cancel("t", [listed[5].id])
    before = await topic.buckets()
    sources = [before[0].first_ledger, before[-1].last_ledger]
    keys, topic_id = (await topic.index()).scripts.keys, (await topic.broker.topics.describe("t"))[0].id
    merging = index_on(topic.broker.store, topic, keys, topic_id, delayed_delivery_max_num_buckets=1)
    assert await merging.merge()
    (merged,) = await topic.buckets()
    assert [merged.first_ledger, merged.last_ledger] == sources
    assert merged.entries == 60 - 5 - 1
    found = [each for segment in await topic.segments(merged) for each in segment]
    assert found == sorted(found)
    assert await topic.release(due + HOUR_MS) == [v for v in values[2:] if v != (listed[5].value or b"").decode()]


# -- DD-31: the far future ---------------------------------------------------------------------------------------------


async def test_records_of_next_year_do_not_multiply_buckets(redis_url, prefix):
    """DD-31: a hundred buckets, each with a record that is due in a year and is all that is left of it; limit 20."""
    async with scheduling(
        redis_url, prefix, delayed_delivery_min_index_count_per_bucket=2, delayed_delivery_max_num_buckets=20
    ) as topic:
        soon, far = topic.in_ms(HOUR_MS), topic.in_ms(YEAR_MS)
        for number in range(100):
            await topic.schedule({f"soon {number}": soon + number, f"far {number}": far + number})
            assert await eventually(lambda: settled(topic, 20), True, PATIENCE_S), number
        assert len(await topic.release(soon + 100)) == 100
        assert await eventually(lambda: settled(topic, 20), True, PATIENCE_S)
        assert 0 < len(await topic.buckets()) <= 20
        assert await topic.waiting() == 100
        assert await topic.release(far - 1) == []
        assert await topic.release(far + 100) == [f"far {number}" for number in range(100)]
