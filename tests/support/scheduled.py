"""A topic with scheduled records, on a broker whose buckets are small enough for a test to fill them.

    async with scheduling(redis_url, prefix) as topic:
        ids = await topic.schedule({"a": due_ms, "b": due_ms + 5})    what waits       listed stats buckets segments
        await topic.sealed(1)                                         what is seen     values received
        assert await topic.release(due_ms) == ["a"]                   what is stored   snapshots delay_keys

Real deadlines pass only where a test is about them.  Elsewhere what is scheduled lies an hour ahead, and `release`
fires it as if it were then: with a time of the test's own, and nothing loaded before it must be.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import DelayStats, NewRecord, Scheduled
from redis_ledger.delay.entry import Bucket, Indexed
from redis_ledger.delay.index import DelayIndex
from redis_ledger.ids import ScheduledId, TxnId
from tests.support.broker import eventually, one, values_of

HOUR_MS = 3_600_000
PATIENCE_S = 20.0  # until something that happens by itself must have happened
LATE_MS_MAX = 9_000  # for a busy machine; without a wake-up, polls run only every ten seconds
BUCKETS: dict[str, Any] = {
    "delayed_delivery_min_index_count_per_bucket": 20,
    "delayed_delivery_max_indexes_per_segment": 5,
    "delayed_delivery_max_time_step_per_segment_s": 3_600,
    "delayed_delivery_load_ahead_ms": 100,
}


class ScheduledTopic:
    """A topic of this broker, most often of one partition."""

    def __init__(self, broker: Broker, name: str) -> None:
        self.broker, self.name = broker, name

    # -- schedule ----------------------------------------------------------------------------------------------------

    def in_ms(self, ms: int) -> int:
        """A due time so far ahead on Redis's clock, as the broker knows it."""
        return self.broker.delayed.now_ms() + ms

    async def schedule(
        self, dues: Mapping[str, int], *, partition: int = 0, transaction: TxnId | None = None
    ) -> dict[str, ScheduledId]:
        """Value → when it is due, in one call; the ids of those that wait.  An entry for each due time."""
        records = [NewRecord(None, value.encode(), deliver_at_ms=due) for value, due in dues.items()]
        appended = await self.broker.records.produce(self.name, records, partition=partition, transaction=transaction)
        placed = [each for a in appended for each in a.scheduled]
        times = {each.deliver_at_ms for each in placed}
        waiting = [value for value, due in dues.items() if due in times]
        return {value: each.id for value, each in zip(waiting, placed, strict=True)}

    async def fill(
        self, count: int, due_ms: int, *, step_ms: int = 10, name: str = "r", partition: int = 0
    ) -> list[str]:
        """So many records with due times of their own, from due_ms on: f"{name}0", ...; they are one call's."""
        dues = {f"{name}{n}": due_ms + n * step_ms for n in range(count)}
        await self.schedule(dues, partition=partition)
        return list(dues)

    async def fill_buckets(self, count: int, due_ms: int, *, size: int = 20, name: str = "b") -> list[str]:
        """Seals so many buckets one after the other, with due times that rise from bucket to bucket; their values."""
        values, there = [], len(await self.buckets())
        for number in range(count):
            values += await self.fill(size, due_ms + number * size * 10, name=f"{name}{number}.")
            await self.sealed(there + number + 1)
        return values

    # -- what waits --------------------------------------------------------------------------------------------------

    async def stats(self, partition: int = 0) -> DelayStats:
        return (await self.broker.delayed.counts(self.name))[partition]

    async def waiting(self) -> int:
        """Records, over all partitions."""
        return sum(each.records for each in await self.broker.delayed.counts(self.name))

    async def listed(self, **more: Any) -> list[Scheduled]:
        """All that waits, page by page."""
        found, after = list[Scheduled](), None
        while True:
            page, after = await self.broker.delayed.list(self.name, limit=100, after=after, **more)
            found += page
            if after is None:
                return found

    async def listed_values(self) -> list[str]:
        return [(each.value or b"").decode() for each in await self.listed()]

    # -- the index ---------------------------------------------------------------------------------------------------

    async def index(self, partition: int = 0) -> DelayIndex:
        return (await self.broker.delayed.messages(self.name, partition)).index

    async def buckets(self, partition: int = 0) -> list[Bucket]:
        """Sealed ones, oldest first."""
        return await (await self.index(partition)).storage.buckets()

    async def segments(self, bucket: Bucket, partition: int = 0) -> list[list[Indexed]]:
        index = await self.index(partition)
        return [await index.storage.segment(bucket, number) for number in range(bucket.segments)]

    async def sealed(self, count: int, partition: int = 0) -> list[Bucket]:
        """Waits until there are so many sealed buckets and none is being sealed."""

        async def ask() -> tuple[int, str]:
            state = await (await self.index(partition)).scripts.state()
            return len(await self.buckets(partition)), "" if state is None else state.closing

        answer = await eventually(ask, (count, ""), PATIENCE_S)
        assert answer == (count, ""), f"{answer[0]} buckets, sealing {answer[1]!r}; {count} were to be"
        return await self.buckets(partition)

    async def release(self, now_ms: int, *, most: int = 500, partition: int = 0) -> list[str]:
        """Fires what is due at now_ms, loading segments when they are needed; the values that became visible."""
        index = await self.index(partition)
        before = await self.end(partition)
        while True:
            fired = await index.scripts.fire(most, now_ms)
            if fired.taken:
                continue
            if not 0 <= fired.horizon_ms <= now_ms:
                break
            await index.load(fired.horizon)
        return (await self.values(partition))[before:]

    # -- what is seen ------------------------------------------------------------------------------------------------

    async def values(self, partition: int = 0) -> list[str]:
        """The records of a read_committed reader, without markers."""
        return [v for v in await values_of(self.broker, self.name, partition) if v != "[marker]"]

    async def end(self, partition: int = 0) -> int:
        """Records that a reader gets."""
        return len(await self.values(partition))

    async def seen(self, count: int, partition: int = 0, within_s: float = PATIENCE_S) -> list[str]:
        """The values, as soon as there are so many; or what there is when the time is over."""

        async def ask() -> bool:
            return len(await self.values(partition)) >= count

        await eventually(ask, True, within_s)
        return await self.values(partition)

    async def received(self, subscription: str, consumer: str = "c", **more: Any) -> list[str]:
        """Received and acknowledged."""
        topic, subscriptions = self.name, self.broker.subscriptions
        messages = await subscriptions.receive(topic, subscription, consumer, **more)
        if messages:
            await subscriptions.ack(topic, subscription, consumer, [message.id for message in messages])
        return [(message.value or b"").decode() for message in messages]

    async def received_all(self, subscription: str, count: int, consumer: str = "c") -> list[str]:
        """Receives until so many have come, or the time is over; and once more, for what must not come."""
        found: list[str] = []
        until = asyncio.get_running_loop().time() + PATIENCE_S
        while len(found) < count and asyncio.get_running_loop().time() < until:
            found += await self.received(subscription, consumer, wait_ms=200)
        return found + await self.received(subscription, consumer)

    # -- what is stored ----------------------------------------------------------------------------------------------

    async def keys(self, pattern: str = "*") -> set[str]:
        """Keys in Redis of this topic's partitions, without prefix: "{t:0}:delay:open"."""
        start = f"{self.broker.config.prefix}:"
        rows = await self.broker.store.command("KEYS", f"{start}{{{self.name}:*}}:{pattern}")
        return {row.decode().removeprefix(start) for row in rows}

    async def delay_keys(self) -> set[str]:
        return await self.keys("delay:*")

    async def snapshots(self) -> set[str]:
        """Ids of the snapshots there are, listed or not."""
        return {key.rsplit(":", 1)[1] for key in await self.keys("delay:snap:*")}

    async def listed_snapshots(self, partition: int = 0) -> set[str]:
        return {bucket.snapshot for bucket in await self.buckets(partition)}

    async def damage(self, bucket: Bucket, field: int, data: bytes | None = b"damaged", partition: int = 0) -> None:
        """field: 0 metadata, n segment n.  data None: it is gone.  A broker that has read it before gets no notice."""
        index = await self.index(partition)
        key, slot = index.scripts.delay.snapshot(bucket.snapshot), index.scripts.keys.state
        if data is None:
            await self.broker.store.command("HDEL", key, field, key=slot)
        else:
            await self.broker.store.command("HSET", key, field, data, key=slot)
        index.storage._metadata.clear()


class Witness:
    """Looks again and again how far readers of committed records may go, and when, by Redis's clock: both in one step,
    so that a record that was early by a millisecond is found out."""

    def __init__(self, topic: ScheduledTopic, partition: int = 0) -> None:
        self._topic, self._partition = topic, partition
        self.samples: list[tuple[int, int]] = []  # time, stable offset

    async def look(self) -> None:
        index = await self._topic.index(self._partition)
        state = index.scripts.keys.state
        (seconds, micros), stable = await self._topic.broker.store.multi(
            state, [(b"TIME",), (b"HGET", state, b"stable")]
        )
        self.samples.append((int(seconds) * 1000 + int(micros) // 1000, int(stable)))

    async def watch(self, end: int, within_s: float = PATIENCE_S) -> None:
        """Until offset `end` is stable, or the time is over."""
        until = asyncio.get_running_loop().time() + within_s
        while True:
            await self.look()
            if self.samples[-1][1] >= end or asyncio.get_running_loop().time() > until:
                return
            await asyncio.sleep(0.002)

    def first_seen_ms(self, offset: int) -> int:
        """When a look first showed the offset; -1 never."""
        return next((at for at, stable in self.samples if stable > offset), -1)

    def early(self, dues: Sequence[int]) -> list[tuple[int, int]]:
        """Offsets that were visible before their time, and by how many ms.  dues: of the records from offset 0 on."""
        return [
            (offset, due - self.first_seen_ms(offset))
            for offset, due in enumerate(dues)
            if 0 <= self.first_seen_ms(offset) < due
        ]

    def latest_ms(self, dues: Sequence[int]) -> int:
        """The largest delay observed."""
        return max(self.first_seen_ms(offset) - due for offset, due in enumerate(dues))


@contextlib.asynccontextmanager
async def scheduling(
    url: str,
    prefix: str,
    *,
    topic: str = "t",
    partitions: int = 1,
    topic_settings: Mapping[str, int] | None = None,
    **settings: Any,
) -> AsyncIterator[ScheduledTopic]:
    """A broker of its own with this topic, which is made if it is not there.  settings: over BUCKETS."""
    async with one(url, prefix, **{**BUCKETS, **settings}) as broker:
        if topic not in [each.name for each in await broker.topics.list()]:
            await broker.topics.create(topic, partitions, topic_settings)
        yield ScheduledTopic(broker, topic)
