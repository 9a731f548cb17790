"""The sealed buckets of one partition and the entries of its index: reads, and writes of snapshots.

A snapshot is written before anything refers to it; a script then lists it, unless the list has changed since it was
read.  A snapshot that a killed broker leaves is not listed, and the sweep deletes it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.delay import bucket as snapshots
from redis_ledger.delay import merge
from redis_ledger.delay.bucket_metrics import BucketMetrics
from redis_ledger.delay.entry import WHOLE, Bucket, Indexed
from redis_ledger.delay.live_bitmap import CHUNK, LiveBitmap
from redis_ledger.delay.scripts import DelayScripts, next_member
from redis_ledger.records.batch import read_header
from redis_ledger.records.split_by_due import COMPARED_MS_MAX

PAGE = 2_000  # entries read at once
DUE = 3  # where the due times are in the fields of an entry: b payload d due
METADATA_MAX = 64  # snapshots whose metadata is cached


class SnapshotSwept(Exception):
    """Writing a snapshot took so long that the sweep deleted it.  The caller's step is tried again."""


class BucketStorage:
    def __init__(
        self, scripts: DelayScripts, config: Callable[[], Config], clock: Clock, metrics: BucketMetrics
    ) -> None:
        """config: called each time, because a topic's settings may change."""
        self._scripts, self._keys, self._delay = scripts, scripts.keys, scripts.delay
        self._config, self._clock, self._metrics = config, clock, metrics
        self._metadata: dict[str, snapshots.Metadata] = {}  # of listed snapshots, which never change

    # -- read --------------------------------------------------------------------------------------------------------

    async def buckets(self) -> list[Bucket]:
        """The sealed buckets, oldest first."""
        rows = await self._scripts.command("HGETALL", self._delay.buckets)
        found = [Bucket.read(name, row) for name, row in zip(rows[::2], rows[1::2], strict=True) if name]
        return sorted(found, key=lambda bucket: -bucket.first_ledger)

    async def metadata(self, bucket: Bucket) -> snapshots.Metadata:
        """Raises DamagedSnapshot."""
        known = self._metadata.get(bucket.snapshot)
        if known is None:
            data = await self._scripts.command("HGET", self._delay.snapshot(bucket.snapshot), 0)
            known = snapshots.decode_metadata(data or b"")
            if len(self._metadata) > METADATA_MAX:
                self._metadata.clear()
            self._metadata[bucket.snapshot] = known
        return known

    async def segment(self, bucket: Bucket, number: int) -> list[Indexed]:
        """number: from 0.  Raises DamagedSnapshot."""
        data = await self._scripts.command("HGET", self._delay.snapshot(bucket.snapshot), number + 1)
        return snapshots.decode_segment(data or b"")

    async def live(self, entries: Iterable[int]) -> LiveBitmap:
        """The live bits of these entries' chunks."""
        chunks = sorted({entry // CHUNK for entry in entries})
        if not chunks:
            return LiveBitmap.from_reply([], [])
        return LiveBitmap.from_reply(chunks, await self._scripts.command("HMGET", self._delay.live, *chunks))

    async def alive(self, entries: Sequence[Indexed]) -> list[Indexed]:
        """The entries with a pending record."""
        live = await self.live(each.entry for each in entries)
        return [each for each in entries if live.holds(each.entry)]

    async def in_order(self, key: bytes, from_ms: int = 0) -> AsyncIterator[Indexed]:
        """Iterates over a sorted set from a due time on, in order.  Concurrent changes may be missing."""
        seen, count = (-1, b""), PAGE
        while True:
            rows = await self._scripts.command("ZRANGEBYSCORE", key, from_ms, "+inf", "WITHSCORES", "LIMIT", 0, count)
            page = [row for row in zip(map(int, rows[1::2]), rows[::2], strict=True) if row > seen]
            for at in range(0, len(page), PAGE):
                for each in sorted(Indexed.read(member, due) for due, member in page[at : at + PAGE]):
                    yield each
                await asyncio.sleep(0)  # let other tasks run
            if len(rows) < 2 * count:
                return
            count = 2 * count if int(rows[1]) == int(rows[-1]) else PAGE
            seen = (int(rows[-1]), rows[-2])
            from_ms = seen[0]

    async def pending(self, entries: AsyncIterator[Indexed]) -> AsyncIterator[Indexed]:
        """Filters entries that are still pending."""
        some: list[Indexed] = []
        async for entry in entries:
            some.append(entry)
            if len(some) == PAGE:
                for each in await self.alive(some):
                    yield each
                some = []
        for each in await self.alive(some):
            yield each

    async def from_ledgers(self, first: int, last: int) -> AsyncIterator[Indexed]:
        """The pending entries of delay ledgers first to last (-1, -2, ...), with their current due times, unordered."""
        moved = await self.moved()
        repeats = await self._scripts.repeats()
        again = {int(name): int(text.split(b" ")[0]) for name, text in repeats.items() if name[:1] != b"!"}
        for ledger in range(first, last - 1, -1):
            row = await self._scripts.command("HGET", self._keys.ledgers, ledger)
            if row is None:
                continue
            after, end = "-", f"0-{row.split(b' ')[0].decode()}"  # entries above were never accepted
            while True:
                rows = await self._scripts.command("XRANGE", self._keys.data(ledger), after, end, "COUNT", 500)
                live = await self.live(int(row[0][2:]) for row in rows)
                for name, fields in rows:
                    entry = int(name[2:])
                    if live.holds(entry):
                        indexed, dues = read_stored(ledger, entry, fields)
                        own = dict(moved.get(entry, ()))
                        if len(dues) == 1:
                            yield indexed._replace(due_ms=again.get(entry, indexed.due_ms))
                        else:
                            own = dict(enumerate(dues)) | own
                        for index, due in own.items():
                            yield indexed._replace(index=index, due_ms=due)
                if len(rows) < 500:
                    break
                after = f"({rows[-1][0].decode()}"

    async def moved(self) -> dict[int, list[tuple[int, int]]]:
        """Entry → (index, due ms) of its rescheduled records."""
        found: dict[int, list[tuple[int, int]]] = {}
        rows = await self._scripts.command("HGETALL", self._delay.moved)
        for name, due in zip(rows[::2], rows[1::2], strict=True):
            if name:
                entry, index = map(int, name.split(b"."))
                found.setdefault(entry, []).append((index, int(due)))
        return found

    # -- write -------------------------------------------------------------------------------------------------------

    async def write_snapshot(
        self, first_ledger: int, last_ledger: int, entries: AsyncIterator[Indexed]
    ) -> tuple[Bucket | None, int]:
        """Writes a snapshot, to be listed by the caller; returns its row (None without entries) and its first entry.

        entries: in order.
        """
        config = self._config()
        step_ms = config.delayed_delivery_max_time_step_per_segment_s * 1000
        least = config.delayed_delivery_min_indexes_per_segment
        most = config.delayed_delivery_max_indexes_per_segment
        name, segments, size = secrets.token_hex(8), list[snapshots.SegmentMetadata](), 0
        pending: list[Indexed] = []
        first: Indexed | None = None

        async def write(some: Sequence[Indexed]) -> None:
            nonlocal size
            data = snapshots.encode_segment(some)
            segments.append(snapshots.describe(some, len(data)))
            size += len(data)
            await self._write(name, [(len(segments), data)], None)
            await asyncio.sleep(0)  # encoding takes time: let other tasks run

        async for entry in entries:
            if first is None:
                first = entry
                await self._write(name, [], self._clock.now_ms())
            pending.append(entry)
            if snapshots.is_full(pending, time_step_ms=step_ms, indexes_max=most, indexes_min=least):
                await write(pending[:-1])
                del pending[:-1]
        if first is None:
            return None, 0
        await write(pending)
        metadata = snapshots.encode_metadata(first_ledger, last_ledger, segments)
        await self._write(name, [(0, metadata)], None)
        bucket = Bucket(
            first_ledger, last_ledger, name, len(segments), 0, sum(s.entries for s in segments),
            sum(s.records for s in segments), first.due_ms, segments[-1].max_due_ms, size + len(metadata),
            self._clock.now_ms(),
        )  # fmt: skip
        return bucket, first.entry

    async def _write(self, name: str, fields: Sequence[tuple[int, bytes]], now_ms: int | None) -> None:
        if not await self._scripts.write(name, fields, now_ms):
            raise SnapshotSwept

    async def rewrite(self, chosen: Sequence[Bucket]) -> bool:
        """Replaces adjacent buckets by one with their pending entries that are not loaded.  Raises DamagedSnapshot."""
        sources = []
        for bucket in chosen:
            segment = (await self.metadata(bucket)).segments[bucket.loaded]
            sources.append((bucket, next_member(segment.first_entry, bucket.name)))
        first, last = chosen[0].first_ledger, chosen[-1].last_ledger
        entries = merge.merged([self._rest_of(bucket) for bucket in chosen])
        merged, entry = await self.write_snapshot(first, last, entries)
        done = await self._scripts.replace(sources, f"{-first}-{-last}", merged, entry)
        if done:
            for source in chosen:
                await self.delete(source.snapshot)
        elif merged is not None:
            await self._scripts.drop_snapshot(merged.snapshot)
        return done

    async def _rest_of(self, bucket: Bucket) -> AsyncIterator[Indexed]:
        """The pending entries of the segments that are not loaded, in order."""
        for number in range(bucket.loaded, bucket.segments):
            for entry in await self.alive(await self.segment(bucket, number)):
                yield entry

    async def delete(self, snapshot: str) -> None:
        with self._metrics.operation("delete"):
            await self._scripts.drop_snapshot(snapshot)
        self._metadata.pop(snapshot, None)


def is_scheduled(fields: Sequence[bytes]) -> bool:
    """Whether an entry of a delay ledger has due times; others are batches of the sidecar buffer."""
    return len(fields) > DUE


def read_stored(ledger: int, entry: int, fields: Sequence[bytes]) -> tuple[Indexed, list[int]]:
    """Decodes an entry of a delay ledger (b payload d due): its index entry and due times, several for a block."""
    payload, dues = fields[1], [int(due) for due in fields[DUE].split(b",")]
    header = read_header(payload)
    newest_ms = max(-1, min(header.max_timestamp, COMPARED_MS_MAX))
    return Indexed(min(dues), entry, WHOLE, ledger, header.count, len(payload), newest_ms), dues


async def in_runs(entries: AsyncIterator[Indexed]) -> AsyncIterator[Indexed]:
    """Sorts entries in runs that are merged, as sorting all at once would block the event loop."""
    runs: list[list[Indexed]] = [[]]
    async for entry in entries:
        if len(runs[-1]) == PAGE:
            runs[-1].sort()
            runs.append([])
        runs[-1].append(entry)
    runs[-1].sort()
    return merge.merged([_as_stream(run) for run in runs])


async def _as_stream(entries: Sequence[Indexed]) -> AsyncIterator[Indexed]:
    for entry in entries:
        yield entry
