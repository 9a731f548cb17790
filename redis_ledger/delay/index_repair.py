"""Repairs a delayed-delivery index, and rewrites buckets that are mostly cancelled.

listed, snapshot damaged           rebuilt from its delay ledgers
in delay:next, not listed          its entries go back to the queue, and its member is removed
mostly cancelled                   rewritten without the cancelled entries; deleted if none is left
in `parts`, payload deleted        removed, as no id refers to it any more
"""

from __future__ import annotations

import structlog

from redis_ledger.delay import bucket as snapshots
from redis_ledger.delay.bucket_metrics import BucketMetrics
from redis_ledger.delay.bucket_storage import BucketStorage, in_runs
from redis_ledger.delay.entry import Bucket, Indexed
from redis_ledger.delay.live_bitmap import CHUNK, LiveBitmap
from redis_ledger.delay.scripts import DelayScripts

RESTORE_CHUNK = 1_000  # entries that one script call puts back into the queue

log = structlog.get_logger(__name__)


class IndexRepair:
    def __init__(self, scripts: DelayScripts, storage: BucketStorage, metrics: BucketMetrics) -> None:
        self._scripts, self._keys, self._delay = scripts, scripts.keys, scripts.delay
        self._storage, self._metrics = storage, metrics
        self._pruned = 0  # cancelled records at the last prune

    def warn(self, bucket: str, error: object) -> None:
        log.warning(
            "rebuilding a damaged bucket of delayed records from its ledgers",
            key=self._delay.buckets.decode(), bucket=bucket, error=str(error),
        )  # fmt: skip

    async def repair(self) -> int:
        """Rebuilds every bucket whose snapshot cannot be read; returns how many."""
        count = 0
        for bucket in await self._storage.buckets():
            try:
                await self._storage.metadata(bucket)
                for number in range(bucket.loaded, bucket.segments):
                    await self._storage.segment(bucket, number)
            except snapshots.DamagedSnapshot as error:
                self.warn(bucket.name, error)
                count += await self.reindex(bucket)
        return count

    async def reindex(self, bucket: Bucket, horizon: str | None = None) -> bool:
        """Rebuilds a bucket from the pending entries of its delay ledgers."""
        if horizon is None:
            rows = await self._scripts.command("ZRANGE", self._delay.next, 0, -1)
            horizon = next((r.decode() for r in rows if r.endswith(b" " + bucket.name.encode())), "")
        with self._metrics.operation("create"):
            entries = await in_runs(self._storage.from_ledgers(bucket.first_ledger, bucket.last_ledger))
            again, entry = await self._storage.write_snapshot(bucket.first_ledger, bucket.last_ledger, entries)
            done = await self._scripts.replace([(bucket, horizon)], bucket.name, again, entry)
        if done:
            await self._storage.delete(bucket.snapshot)
        elif again is not None:
            await self._scripts.drop_snapshot(again.snapshot)
        return done

    async def restore(self, ledger: int) -> None:
        """Puts the pending entries of a delay ledger into the queue, except those that are in it."""
        some: list[Indexed] = []
        async for entry in self._storage.from_ledgers(ledger, ledger):
            some.append(entry)
            if len(some) == RESTORE_CHUNK:
                await self._scripts.put_back(some)
                some = []
        if some:
            await self._scripts.put_back(some)

    async def bring_back(self, name: str, horizon: str) -> None:
        """Restores a bucket that is in `delay:next` but not listed.  horizon: its member there."""
        if await self._scripts.command("ZSCORE", self._delay.next, horizon) is None:
            return  # another broker has done it
        self.warn(name, "It is not listed.")
        first, last = map(int, name.split("-"))
        for ledger in range(first, last + 1):
            await self.restore(-ledger)
        await self._scripts.forget_missing(name, horizon)

    async def prune(self) -> int:
        """Deletes or rewrites buckets that are mostly cancelled; returns how many.

        Reads buckets only if records were cancelled since the last call.
        """
        state, count = await self._scripts.state(), 0
        if state is None or state.cancelled == self._pruned:
            return 0
        for bucket in await self._storage.buckets():
            try:
                pending, there = await self._left_of(bucket)
                if 2 * pending < there:
                    count += await self._storage.rewrite([bucket])
            except snapshots.DamagedSnapshot as error:
                self.warn(bucket.name, error)
                count += await self.reindex(bucket)
        self._pruned = state.cancelled
        return count

    async def _left_of(self, bucket: Bucket) -> tuple[int, int]:
        """Returns the number of pending entries and of all entries in the segments that are not loaded."""
        pending = there = 0
        for segment in (await self._storage.metadata(bucket)).segments[bucket.loaded :]:
            entries = LiveBitmap.union(snapshots.bitmaps(segment).values())
            live = await self._storage.live(chunk * CHUNK for chunk in entries.chunks)
            pending, there = pending + entries.shared(live), there + entries.shared(entries)
        return pending, there

    async def forget_parts(self) -> int:
        """Deletes the `parts` of entries whose payload is deleted; returns how many."""
        keys = self._scripts.keys
        rows = await self._scripts.command("HGETALL", keys.ledgers)
        ledgers = {int(n): int(row.split(b" ")[0]) for n, row in zip(rows[::2], rows[1::2], strict=True) if int(n) < 0}
        first = max(ledgers.values(), default=-1) + 1
        for ledger in sorted(ledgers, reverse=True):
            oldest = await self._scripts.command("XRANGE", keys.data(ledger), "-", "+", "COUNT", 1)
            if oldest:
                first = int(oldest[0][0][2:])
                break
        cursor, count = b"0", 0
        while True:
            cursor, found = await self._scripts.command("HSCAN", self._delay.parts, cursor, "COUNT", CHUNK)
            gone = [name for name in found[::2] if name and int(name) < first]
            if gone:
                count += await self._scripts.command("HDEL", self._delay.parts, *gone)
            if int(cursor) == 0:
                return count
