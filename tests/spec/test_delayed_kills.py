"""A broker dies at any write of any step over buckets: another one continues, and every record arrives once.

The step is cut at its first write, its second, and so on, each time on a topic of its own, until it survives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import pytest

from redis_ledger.clock import ManualClock, SystemClock
from redis_ledger.delay.index import UNLISTED_MS_MAX, DelayIndex
from tests.support.broker import eventually, one
from tests.support.crashing_store import When, cut_index, index_on, run_until_cut
from tests.support.scheduled import BUCKETS, HOUR_MS, PATIENCE_S, ScheduledTopic

WRITES_MAX = 60  # of one step; more would mean that it never ends
ENTRIES = 12
SMALL = {"delayed_delivery_min_index_count_per_bucket": ENTRIES, "delayed_delivery_max_indexes_per_segment": 5}
IDLE = {**BUCKETS, "delayed_delivery_min_index_count_per_bucket": 1_000_000}  # a broker that seals nothing by itself


class Cut(NamedTuple):
    """A topic whose step died.  dues: value → due time."""

    topic: str
    dues: dict[str, int]
    writes: list[str]


async def schedule(topic: ScheduledTopic, due_ms: int, name: str, step_ms: int = 10) -> dict[str, int]:
    dues = {f"{name}{n}": due_ms + n * step_ms for n in range(ENTRIES)}
    await topic.schedule(dues)
    return dues


async def open_bucket(topic: ScheduledTopic, due_ms: int) -> dict[str, int]:
    return await schedule(topic, due_ms, "r")


async def sealed_bucket(topic: ScheduledTopic, due_ms: int) -> dict[str, int]:
    dues = await open_bucket(topic, due_ms)
    await (await sealing_index(topic)).seal(-1)
    return dues


async def three_buckets(topic: ScheduledTopic, due_ms: int) -> dict[str, int]:
    """Their due times interleave."""
    dues: dict[str, int] = {}
    index = await sealing_index(topic)
    for number in range(3):
        dues |= await schedule(topic, due_ms + number, f"{number}.")
        await index.seal(-1 - number)
    return dues


async def damaged_bucket(topic: ScheduledTopic, due_ms: int) -> dict[str, int]:
    dues = await sealed_bucket(topic, due_ms)
    await topic.damage((await topic.buckets())[0], 2)
    return dues


async def sealing_index(topic: ScheduledTopic) -> DelayIndex:
    partition = await topic.broker.catalog.partition(topic.name, 0)
    return index_on(topic.broker.store, topic, partition.keys, partition.topic_id, **SMALL)


async def seal(index: DelayIndex) -> None:
    assert await index.seal(-1)


async def load_all(index: DelayIndex) -> None:
    while (await index.storage.buckets()) != []:
        rows = await index.scripts.command("ZRANGE", index.scripts.delay.next, 1, 1)
        await index.load(rows[0].decode())


async def merge(index: DelayIndex) -> None:
    assert await index.merge()


async def repair(index: DelayIndex) -> None:
    assert await index.repairs.repair() == 1


# What there is before, what is done, and the writes it consists of.
STEPS = {
    "seal": (open_bucket, seal, ["delay/rotate", *["delay/write"] * 5, "delay/seal"]),
    "load": (sealed_bucket, load_all, [*["delay/load"] * 3, "delay/drop_snapshot"]),
    "merge": (three_buckets, merge, [*["delay/write"] * 10, "delay/replace", *["delay/drop_snapshot"] * 3]),
    "reindex": (damaged_bucket, repair, [*["delay/write"] * 5, "delay/replace", "delay/drop_snapshot"]),
}


async def cut_everywhere(
    url: str,
    prefix: str,
    prepare: Callable[[ScheduledTopic, int], Awaitable[dict[str, int]]],
    act: Callable[[DelayIndex], Awaitable[None]],
    when: When,
    after_ms: int,
) -> list[Cut]:
    """One topic after the other, each cut at a later write; the step of the last one survives."""
    cases: list[Cut] = []
    async with one(url, prefix, name="prepares", **IDLE) as broker:
        due_ms = broker.delayed.now_ms() + after_ms
        for n in range(1, WRITES_MAX):
            topic = ScheduledTopic(broker, f"t{n}")
            await broker.topics.create(topic.name)
            dues = await prepare(topic, due_ms)
            async with cut_index(url, topic, n, when, **SMALL, delayed_delivery_max_num_buckets=1) as (index, store):
                survived = await run_until_cut(act(index), store)
                cases.append(Cut(topic.name, dues, store.writes))
            if survived:
                return cases
    raise AssertionError("the step never came to its end")


async def swept(topic: ScheduledTopic) -> tuple[set[str], set[str]]:
    """Snapshots there are and those listed, after a sweep when all that was begun is old."""
    partition = await topic.broker.catalog.partition(topic.name, 0)
    clock = ManualClock(SystemClock().now_ms() + UNLISTED_MS_MAX + 1_000)
    index = DelayIndex(
        topic.broker.store, partition.keys, topic.name, partition.topic_id, lambda: topic.broker.config, clock,
        (await topic.index())._metrics,
    )  # fmt: skip
    await index.sweep()
    return await topic.snapshots(), await topic.listed_snapshots()


async def is_quiet(topic: ScheduledTopic) -> bool:
    """Waits until no bucket is being sealed or merged, or will be."""
    config = topic.broker.config
    least, most = config.delayed_delivery_min_index_count_per_bucket, config.delayed_delivery_max_num_buckets

    async def ask() -> bool:
        state, count = await (await topic.index()).scripts.state(), len(await topic.buckets())
        upkeep = topic.broker.delayed.trackers.get(await topic.broker.catalog.partition(topic.name, 0))._maintenance
        is_due = state is None or state.closing or state.open_entries >= least or 0 < most < count
        return not is_due and (upkeep is None or upkeep.done())

    return await eventually(ask, True, PATIENCE_S)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
async def test_step_cut_at_any_write_is_continued_by_another_broker(redis_url, prefix, step, when):
    """DD-30, DD-32, DD-37: sealing, loading, merging and making again, before and after each of their writes.  Each
    record then fires once, in due order, none early, and after a sweep there is no snapshot that is not listed."""
    prepare, act, expected = STEPS[step]
    # Given topics on which the step died at every write there is
    cases = await cut_everywhere(redis_url, prefix, prepare, act, when, HOUR_MS)
    assert cases[-1].writes == expected
    assert [case.writes for case in cases[:-1]] == [expected[: n + 1] for n in range(len(expected))]
    # When another broker finds them
    many = 1 if step == "merge" else -1
    async with one(redis_url, prefix, **{**BUCKETS, **SMALL, "delayed_delivery_max_num_buckets": many}) as broker:
        for case in cases:
            topic, due_ms = ScheduledTopic(broker, case.topic), min(case.dues.values())
            assert await is_quiet(topic), case.writes
            # Then the count is right, no snapshot is forgotten, and all is where it can be found
            assert await topic.waiting() == len(case.dues), case.writes
            present, listed = await swept(topic)
            assert present == listed, case.writes
            in_order = sorted(case.dues, key=lambda value: case.dues[value])
            assert await topic.listed_values() == in_order, case.writes
            # And each comes once, at its time
            assert await topic.release(due_ms - 1) == []
            assert await topic.release(due_ms + 40) == [v for v in in_order if case.dues[v] <= due_ms + 40]
            assert await topic.release(due_ms + HOUR_MS)
            assert await topic.values() == in_order, case.writes
            assert await topic.waiting() == 0
            assert (await swept(topic)) == (set(), set()), case.writes


@pytest.mark.parametrize("step", ["seal", "merge"])
async def test_delivery_continues_by_itself_after_a_step_was_cut(redis_url, prefix, step):
    """DD-30: records that the killed broker left are delivered when due, three seconds later, without any request."""
    prepare, act, _ = STEPS[step]
    cases = await cut_everywhere(redis_url, prefix, prepare, act, "after", 3_000)
    settings = {**BUCKETS, **SMALL, "delayed_delivery_max_num_buckets": 1}
    async with one(redis_url, prefix, **settings) as broker, asyncio.timeout(PATIENCE_S + 20):
        for case in cases:
            topic = ScheduledTopic(broker, case.topic)
            in_order = sorted(case.dues, key=lambda value: case.dues[value])
            assert await topic.seen(len(in_order)) == in_order, case.writes
            assert await fired_early(topic) == []


async def fired_early(topic: ScheduledTopic) -> list[tuple[int, int]]:
    """Due time and time of the log entry, of entries whose log entry is older; both by Redis's clock."""
    keys = (await topic.index()).scripts.keys
    command, found = topic.broker.store.command, []
    for _, fields in await command("XRANGE", keys.log, "-", "+", key=keys.state):
        entry = dict(zip(fields[::2], fields[1::2], strict=True))
        name = b"0-" + entry[b"e"]
        ((_, stored),) = await command("XRANGE", keys.data(int(entry[b"l"])), name, name, key=keys.state)
        if int(entry[b"t"]) < int(stored[3]):
            found.append((int(stored[3]), int(entry[b"t"])))
    return found


@pytest.mark.parametrize(
    "point", ["created, not listed", pytest.param("unlisted, not deleted", marks=pytest.mark.full)]
)
async def test_a_hundred_brokers_that_die_around_listing_leave_no_snapshot_for_good(redis_url, prefix, point):
    """DD-37: each dies between creating and listing, or between unlisting and deleting; young snapshots are kept, since
    another broker may be writing them."""
    async with one(redis_url, prefix, **IDLE) as broker:
        topics = []
        for number in range(100):
            topic = ScheduledTopic(broker, f"t{number}")
            await broker.topics.create(topic.name)
            await topic.schedule({"a": topic.in_ms(HOUR_MS), "b": topic.in_ms(HOUR_MS) + 1})
            act, n = (seal, 4) if point.startswith("created") else (load_all, 1)
            if act is load_all:
                await (await sealing_index(topic)).seal(-1)
            async with cut_index(redis_url, topic, n, "after", **SMALL) as (index, store):
                assert not await run_until_cut(act(index), store)
            topics.append(topic)
        for topic in topics:
            # Given a snapshot that no bucket refers to; the broker that sweeps now does not know whose it is
            assert len(await topic.snapshots() - await topic.listed_snapshots()) == 1
            await (await topic.index()).sweep()
            assert len(await topic.snapshots() - await topic.listed_snapshots()) == 1
            # When it is old
            left, listed = await swept(topic)
            assert left == listed  # on a slow machine, the broker has sealed the bucket itself in the meantime
            # Then it is gone, and the records come all the same
            assert await topic.release(topic.in_ms(HOUR_MS) + 1_000) == ["a", "b"]
