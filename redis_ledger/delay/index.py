"""The bucketed index of one partition's scheduled entries, and the steps that keep it small (PIP-195).

    arrive ─▶ open ──rotate──▶ closing ──seal──▶ bucket: snapshot of segments ──load──▶ queue ──▶ fire
              (zset)           (zset)            (hash, immutable)                      (zset)
                                                     └── merge: adjacent buckets into one

Any broker may do any step at any time, also at once: a step reads, writes a snapshot that nobody refers to yet, and
then changes the list in one script, which does nothing if the list is not as it was read.  What a killed broker leaves
is a snapshot that is not listed, which the sweep deletes.  Every entry stays in some index until its live bit is
cleared, and an entry that is in two fires once.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.delay import bucket as snapshots
from redis_ledger.delay import index_repair, merge
from redis_ledger.delay.bucket_metrics import BucketMetrics
from redis_ledger.delay.entry import WHOLE, Bucket, Indexed
from redis_ledger.delay.live_bitmap import CHUNK, LiveBitmap
from redis_ledger.delay.scripts import DelayScripts, next_member
from redis_ledger.records.batch import read_header
from redis_ledger.records.split_by_due import COMPARED_MS_MAX
from redis_ledger.store.store import Store

LOAD_CHUNK = 1_000  # entries one script call puts into the queue
PAGE = 2_000  # entries read at once
BEGUN_MS_MAX = 60_000  # a snapshot that is not listed after this is swept


class DelayIndex(DelayScripts):
    """config: asked each time, for a topic's settings may change."""

    def __init__(
        self,
        store: Store,
        keys: Any,
        topic: str,
        topic_id: str,
        config: Callable[[], Config],
        clock: Clock,
        tally: BucketMetrics,
    ) -> None:
        super().__init__(store, keys, topic, topic_id)
        self._config, self._clock, self._tally = config, clock, tally
        self._metadata: dict[str, snapshots.Metadata] = {}  # of listed snapshots: they never change
        self.pruned = 0  # records that had been cancelled when `mending.prune` last looked

    # -- look up -----------------------------------------------------------------------------------------------------

    async def buckets(self) -> list[Bucket]:
        """Sealed buckets, oldest ledgers first."""
        rows = await self.command("HGETALL", self.delay.buckets)
        found = [Bucket.read(name, row) for name, row in zip(rows[::2], rows[1::2], strict=True) if name]
        return sorted(found, key=lambda bucket: -bucket.first_ledger)

    async def metadata(self, bucket: Bucket) -> snapshots.Metadata:
        """Raises DamagedSnapshot."""
        known = self._metadata.get(bucket.snapshot)
        if known is None:
            data = await self.command("HGET", self.delay.snapshot(bucket.snapshot), 0)
            known = snapshots.decode_metadata(data or b"")
            if len(self._metadata) > 64:
                self._metadata.clear()
            self._metadata[bucket.snapshot] = known
        return known

    async def segment(self, bucket: Bucket, number: int) -> list[Indexed]:
        """number: from 0.  Raises DamagedSnapshot."""
        data = await self.command("HGET", self.delay.snapshot(bucket.snapshot), number + 1)
        return snapshots.decode_segment(data or b"")

    async def live(self, entries: Iterable[int]) -> LiveBitmap:
        """The live bits of the chunks these entries are in."""
        chunks = sorted({entry // CHUNK for entry in entries})
        if not chunks:
            return LiveBitmap.from_reply([], [])
        return LiveBitmap.from_reply(chunks, await self.command("HMGET", self.delay.live, *chunks))

    async def alive(self, entries: Sequence[Indexed]) -> list[Indexed]:
        """Of these, those of which anything is pending."""
        live = await self.live(each.entry for each in entries)
        return [each for each in entries if live.holds(each.entry)]

    # -- seal --------------------------------------------------------------------------------------------------------

    async def seal(self, ledger: int, *, close: bool = True) -> bool:
        """Opens the next ledger; with `close`, hands the open bucket over and seals it.  True when one was listed."""
        _, closing = await self.rotate(ledger, self._clock.now_ms(), close)
        return bool(closing) and await self.finish_seal(closing)

    async def finish_seal(self, closing: str) -> bool:
        """Seals the bucket that was handed over, by this broker or by one that is gone."""
        with self._tally.operation("create"):
            first, last = map(int, closing.split("-"))
            bucket, entry = await self._snapshot(-first, -last, self._pending(self.in_order(self.delay.closing)))
            listed = await self.list_sealed(closing, bucket, entry)
        if not listed and bucket is not None:
            await self.drop_snapshot(bucket.snapshot)
        return listed

    async def in_order(self, key: bytes, from_ms: int = 0) -> AsyncIterator[Indexed]:
        """A sorted set from a due time on, in order.  What comes or goes meanwhile may be there or not."""
        seen, count = (-1, b""), PAGE
        while True:
            rows = await self.command("ZRANGEBYSCORE", key, from_ms, "+inf", "WITHSCORES", "LIMIT", 0, count)
            page = [row for row in zip(map(int, rows[1::2]), rows[::2], strict=True) if row > seen]
            for at in range(0, len(page), PAGE):
                for each in sorted(Indexed.read(member, due) for due, member in page[at : at + PAGE]):
                    yield each
                await asyncio.sleep(0)  # others take their turn
            if len(rows) < 2 * count:
                return
            count = 2 * count if int(rows[1]) == int(rows[-1]) else PAGE
            seen = (int(rows[-1]), rows[-2])
            from_ms = seen[0]

    async def _pending(self, entries: AsyncIterator[Indexed]) -> AsyncIterator[Indexed]:
        """Of these, what is still pending."""
        some: list[Indexed] = []
        async for entry in entries:
            some.append(entry)
            if len(some) == PAGE:
                for each in await self.alive(some):
                    yield each
                some = []
        for each in await self.alive(some):
            yield each

    async def _snapshot(
        self, first_ledger: int, last_ledger: int, entries: AsyncIterator[Indexed]
    ) -> tuple[Bucket | None, int]:
        """Writes a snapshot that is not listed yet: its row (None when there are no entries) and its first entry.
        entries: in order."""
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
            await self._written(name, [(len(segments), data)], None)
            await asyncio.sleep(0)  # encoding is work: others take their turn

        async for entry in entries:
            if first is None:
                first = entry
                await self._written(name, [], self._clock.now_ms())
            pending.append(entry)
            if snapshots.is_full(pending, time_step_ms=step_ms, indexes_max=most, indexes_min=least):
                await write(pending[:-1])
                del pending[:-1]
        if first is None:
            return None, 0
        await write(pending)
        metadata = snapshots.encode_metadata(first_ledger, last_ledger, segments)
        await self._written(name, [(0, metadata)], None)
        bucket = Bucket(
            first_ledger, last_ledger, name, len(segments), 0, sum(s.entries for s in segments),
            sum(s.records for s in segments), first.due_ms, segments[-1].max_due_ms, size + len(metadata),
            self._clock.now_ms(),
        )  # fmt: skip
        return bucket, first.entry

    async def _written(self, name: str, fields: Sequence[tuple[int, bytes]], now_ms: int | None) -> None:
        if not await self.write(name, fields, now_ms):
            raise SnapshotSwept

    # -- load --------------------------------------------------------------------------------------------------------

    async def load(self, horizon: str) -> None:
        """Loads the next segment of the bucket that `delay:next` names.  A damaged one is made again."""
        name = horizon.split(" ")[1].encode()
        row = await self.command("HGET", self.delay.buckets, name)
        if row is None:
            await index_repair.bring_back(self, name.decode(), horizon)
            return
        bucket = Bucket.read(name, row)
        try:
            with self._tally.operation("load"):
                await self._load(bucket, horizon)
        except snapshots.DamagedSnapshot as error:
            if await self.command("HGET", self.delay.buckets, name) == row:  # else somebody else has loaded its last
                index_repair.warn(self, bucket.name, error)
                await self.reindex(bucket, horizon)

    async def _load(self, bucket: Bucket, horizon: str) -> None:
        entries = await self.alive(await self.segment(bucket, bucket.loaded))
        after: Bucket | str = bucket._replace(loaded=bucket.loaded + 1)
        member_after = ""
        assert isinstance(after, Bucket)
        if after.is_loaded:
            after = ""
        else:
            following = (await self.metadata(bucket)).segments[after.loaded]
            after = after._replace(next_due_ms=following.min_due_ms)
            member_after = next_member(following.first_entry, bucket.name)
        for at in range(0, max(len(entries), 1), LOAD_CHUNK):
            is_last = at + LOAD_CHUNK >= len(entries)
            some = entries[at : at + LOAD_CHUNK]
            if not await self.put(bucket, after if is_last else "=", horizon, member_after, some):
                return  # somebody else was quicker
        if after == "":
            await self._delete(bucket.snapshot)

    async def _delete(self, snapshot: str) -> None:
        with self._tally.operation("delete"):
            await self.drop_snapshot(snapshot)
        self._metadata.pop(snapshot, None)

    # -- merge -------------------------------------------------------------------------------------------------------

    async def merge(self) -> bool:
        """One merge, if there are too many buckets.  False when there was nothing to do."""
        most = self._config().delayed_delivery_max_num_buckets
        if most < 1:
            return False
        buckets = await self.buckets()
        chosen = merge.choose(buckets, most)
        if chosen is None:
            return False
        try:
            with self._tally.operation("merge"):
                return await self.write_again(chosen)
        except snapshots.DamagedSnapshot:
            await self.repair()
            return False

    async def write_again(self, chosen: Sequence[Bucket]) -> bool:
        """Makes one of these neighbours, of what in them is pending and not loaded.  Raises DamagedSnapshot."""
        sources = []
        for bucket in chosen:
            segment = (await self.metadata(bucket)).segments[bucket.loaded]
            sources.append((bucket, next_member(segment.first_entry, bucket.name)))
        first, last = chosen[0].first_ledger, chosen[-1].last_ledger
        merged, entry = await self._snapshot(first, last, merge.merged([self._rest_of(bucket) for bucket in chosen]))
        done = await self.replace(sources, f"{-first}-{-last}", merged, entry)
        if done:
            for source in chosen:
                await self._delete(source.snapshot)
        elif merged is not None:
            await self.drop_snapshot(merged.snapshot)
        return done

    async def _rest_of(self, bucket: Bucket) -> AsyncIterator[Indexed]:
        """What of a bucket is not loaded yet and still pending, in order."""
        for number in range(bucket.loaded, bucket.segments):
            for entry in await self.alive(await self.segment(bucket, number)):
                yield entry

    # -- repair ------------------------------------------------------------------------------------------------------

    async def repair(self) -> int:
        """Makes every bucket again whose snapshot cannot be read; how many."""
        count = 0
        for bucket in await self.buckets():
            try:
                await self.metadata(bucket)
                for number in range(bucket.loaded, bucket.segments):
                    await self.segment(bucket, number)
            except snapshots.DamagedSnapshot as error:
                index_repair.warn(self, bucket.name, error)
                count += await self.reindex(bucket)
        return count

    async def reindex(self, bucket: Bucket, horizon: str | None = None) -> bool:
        """Makes a bucket's snapshot again from its delay ledgers: what of them is pending."""
        if horizon is None:
            rows = await self.command("ZRANGE", self.delay.next, 0, -1)
            horizon = next((r.decode() for r in rows if r.endswith(b" " + bucket.name.encode())), "")
        with self._tally.operation("create"):
            entries = await _sorted(self.from_ledgers(bucket.first_ledger, bucket.last_ledger))
            again, entry = await self._snapshot(bucket.first_ledger, bucket.last_ledger, entries)
            done = await self.replace([(bucket, horizon)], bucket.name, again, entry)
        if done:
            await self._delete(bucket.snapshot)
        elif again is not None:
            await self.drop_snapshot(again.snapshot)
        return done

    async def from_ledgers(self, first: int, last: int) -> AsyncIterator[Indexed]:
        """What is pending in delay ledgers first to last (-1, -2, ...), as it was scheduled, moved, or scheduled again;
        in no order."""
        moved = await self.moved()
        again = {
            int(name): int(text.split(b" ")[0]) for name, text in (await self.repeats()).items() if name[:1] != b"!"
        }
        for ledger in range(first, last - 1, -1):
            row = await self.command("HGET", self.keys.ledgers, ledger)
            if row is None:
                continue
            after, end = "-", f"0-{row.split(b' ')[0].decode()}"  # what lies above was never accepted
            while True:
                rows = await self.command("XRANGE", self.keys.data(ledger), after, end, "COUNT", 500)
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
        """Entry → (index, due ms) of its records that were rescheduled."""
        found: dict[int, list[tuple[int, int]]] = {}
        rows = await self.command("HGETALL", self.delay.moved)
        for name, due in zip(rows[::2], rows[1::2], strict=True):
            if name:
                entry, index = map(int, name.split(b"."))
                found.setdefault(entry, []).append((index, int(due)))
        return found

    async def restore(self, ledger: int) -> None:
        """Puts what is pending in a delay ledger into the queue; what is there already stays as it is."""
        some: list[Indexed] = []
        async for entry in self.from_ledgers(ledger, ledger):
            some.append(entry)
            if len(some) == LOAD_CHUNK:
                await self.put_back(some)
                some = []
        if some:
            await self.put_back(some)

    async def sweep(self, *, whenever: bool = False) -> int:
        """Deletes snapshots that were begun and never listed, or unlisted and not deleted; how many.
        whenever: also those begun just now."""
        before = 0 if whenever else self._clock.now_ms() - BEGUN_MS_MAX
        listed = {bucket.snapshot for bucket in await self.buckets()}
        rows = await self.command("HKEYS", self.delay.snaps)
        doomed = [row.decode() for row in rows if row and row.decode() not in listed]
        return sum([await self.drop_snapshot(snapshot, before) for snapshot in doomed])


class SnapshotSwept(Exception):
    """A snapshot took so long that it was taken for left behind.  The step is done again."""


def read_stored(ledger: int, entry: int, fields: Sequence[bytes]) -> tuple[Indexed, list[int]]:
    """An entry as its delay ledger holds it (b payload d due), and its due time; of a block, those of its records."""
    payload, dues = fields[1], [int(due) for due in fields[3].split(b",")]
    header = read_header(payload)
    newest_ms = max(-1, min(header.max_timestamp, COMPARED_MS_MAX))
    return Indexed(min(dues), entry, WHOLE, ledger, header.count, len(payload), newest_ms), dues


async def _sorted(entries: AsyncIterator[Indexed]) -> AsyncIterator[Indexed]:
    """Sorted in runs that are merged: all at once would hold everything up."""
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
