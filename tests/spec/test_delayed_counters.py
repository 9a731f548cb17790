"""The counters of delayed delivery are correct after any history."""

from __future__ import annotations

import random

from redis_ledger.broker.types import NewRecord
from redis_ledger.delay.live_bitmap import LiveBitmap
from redis_ledger.ids import ScheduledId
from tests.support.broker import eventually
from tests.support.scheduled import HOUR_MS, PATIENCE_S, ScheduledTopic, scheduling

ROUNDS, RECORDS, CANCELLED, MOVED = 120, 160, 24, 4
CHECKED_EVERY = 3
SPAN_MS = 20_000


class History:
    """A random history of a topic, and the expected remaining records."""

    def __init__(self, topic: ScheduledTopic, seed: int) -> None:
        self.topic, self.random = topic, random.Random(seed)
        self.begin = self.now = topic.in_ms(HOUR_MS)
        self.pending: dict[ScheduledId, int] = {}
        self.operations = 0

    async def schedule(self) -> None:
        """Due times are drawn from a small set, so that some entries hold several records."""
        dues = [self.now + 1 + 10 * self.random.randrange(SPAN_MS // 10) for _ in range(RECORDS)]
        records = [NewRecord(None, b"x", deliver_at_ms=due) for due in dues]
        (appended,) = await self.topic.broker.records.produce("t", records)
        self.pending |= {placed.id: placed.deliver_at_ms for placed in appended.scheduled}
        self.operations += RECORDS

    async def cancel(self) -> None:
        ids = self.random.sample(sorted(self.pending), min(CANCELLED, len(self.pending)))
        outcomes = await self.topic.broker.delayed.cancel("t", ids)
        assert outcomes == [None] * len(ids)
        for id in ids:
            del self.pending[id]
        self.operations += len(ids)

    async def move(self) -> None:
        for id in self.random.sample(sorted(self.pending), min(MOVED, len(self.pending))):
            due = self.now + 1 + self.random.randrange(SPAN_MS)
            await self.topic.broker.delayed.reschedule("t", id, deliver_at_ms=due)
            self.pending[id] = due
            self.operations += 1

    async def fire(self) -> None:
        self.now += self.random.randrange(SPAN_MS // 20)
        index, fired = await self.topic.index(), 0
        while True:
            one = await index.scripts.fire(100, self.now)
            fired += one.records
            if not one.taken:
                if not 0 <= one.horizon_ms <= self.now:
                    break
                await index.load(one.horizon)
        due = [id for id, at in self.pending.items() if at <= self.now]
        assert fired == len(due)
        for id in due:
            del self.pending[id]
        self.operations += fired

    async def clear(self) -> None:
        assert await self.topic.broker.delayed.clear("t") == len(self.pending)
        self.operations += len(self.pending)
        self.pending.clear()

    async def check(self) -> None:
        topic, index = self.topic, await self.topic.index()
        assert await eventually(lambda: all_at_rest(topic), True, PATIENCE_S)
        command, slot = topic.broker.store.command, index.scripts.keys.state
        state, stats = await index.scripts.state(), await topic.stats()
        assert state is not None
        # The counters are the model's, and none has gone below zero
        assert (state.records, stats.records) == (len(self.pending), len(self.pending))
        assert min(state.records, state.entries, state.held, state.fired, state.cancelled, state.open_entries) >= 0
        # Entries are the live bits that are set
        rows = await command("HGETALL", index.scripts.delay.live, key=slot)
        live = LiveBitmap({int(chunk): bits for chunk, bits in zip(rows[::2], rows[1::2], strict=True) if chunk})
        entries = {id.entry for id in self.pending}
        assert set(live.entries(0, 1 << 40)) == entries
        assert state.entries == len(entries)
        # What buckets say of themselves is what they hold, and bytes add up
        alive, buckets = 0, await topic.buckets()
        for bucket in buckets:
            metadata = await index.storage.metadata(bucket)
            rows_of = [each for segment in await topic.segments(bucket) for each in segment]
            assert sum(segment.entries for segment in metadata.segments) == bucket.entries == len(rows_of)
            assert metadata.alive(live) == len({each.entry for each in rows_of} & entries)
            alive += metadata.alive(live)
            data = await command("HVALS", index.scripts.delay.snapshot(bucket.snapshot), key=slot)
            assert bucket.size == sum(map(len, data))
        assert stats.snapshot_bytes == sum(bucket.size for bucket in buckets)
        assert stats.last_due_ms == max(self.pending.values(), default=-1)
        assert stats.first_due_ms == min(self.pending.values(), default=-1)
        assert stats.loaded + alive >= len(entries)


async def all_at_rest(topic: ScheduledTopic) -> bool:
    """Nothing is being sealed, loaded or merged, and there is nothing to seal."""
    index = await topic.index()
    state, config = await index.scripts.state(), topic.broker.config
    tracker = topic.broker.delayed.trackers.get(await topic.broker.catalog.partition("t", 0))
    works = any(task is not None and not task.done() for task in (tracker._work, tracker._maintenance))
    is_due = state is None or state.closing or state.open_entries >= config.delayed_delivery_min_index_count_per_bucket
    return not works and not is_due and len(await topic.buckets()) <= config.delayed_delivery_max_num_buckets


async def test_the_number_of_scheduled_records_is_that_of_the_bits_set_and_bytes_add_up_after_any_history(
    redis_url, prefix
):
    """DD-38: scheduling, cancelling, moving, firing, clearing, with buckets sealed, loaded and merged meanwhile;
    40 000 operations on records instead of 100 000, checked every 1 000 or so."""
    async with scheduling(
        redis_url,
        prefix,
        delayed_delivery_min_index_count_per_bucket=300,
        delayed_delivery_max_indexes_per_segment=50,
        delayed_delivery_max_num_buckets=4,
    ) as topic:
        await (
            topic.broker.maintenance.close()
        )  # what it does now and then is done here, so that checks are not disturbed
        history = History(topic, seed=38)
        for number in range(1, ROUNDS + 1):
            for act in history.random.sample([history.schedule, history.cancel, history.move, history.fire], 4):
                await act()
            if number == ROUNDS // 2:
                await history.clear()
            if number % CHECKED_EVERY == 0:
                await topic.broker.delayed.maintain()
                await history.check()
        history.now += SPAN_MS
        await history.fire()
        await history.check()
        assert history.pending == {}
        assert history.operations > 36_000
        state = await (await topic.index()).scripts.state()
        assert state is not None
        assert (state.records, state.entries) == (0, 0)
        assert state.fired + state.cancelled == ROUNDS * RECORDS
