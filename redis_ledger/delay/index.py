"""The bucketed index of one partition's delayed records, and the steps that keep it small (PIP-195).

    arrive ─▶ open ──rotate──▶ closing ──seal──▶ bucket: snapshot of segments ──load──▶ queue ──▶ fire
              (zset)           (zset)            (hash, immutable)                      (zset)
                                                     └── merge: adjacent buckets into one

Any broker may execute any step at any time, also concurrently: a step reads, writes a snapshot (bucket_storage.py), and
changes the list in one script, which does nothing if the list has changed.  An entry stays in some index until its live
bit is cleared; an entry in two indexes fires once.
"""

from __future__ import annotations

from collections.abc import Callable

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.delay import bucket as snapshots
from redis_ledger.delay import merge
from redis_ledger.delay.bucket_metrics import BucketMetrics
from redis_ledger.delay.bucket_storage import BucketStorage
from redis_ledger.delay.entry import Bucket
from redis_ledger.delay.index_repair import IndexRepair
from redis_ledger.delay.scripts import DelayScripts, next_member
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store

LOAD_CHUNK = 1_000  # entries that one script call puts into the queue
UNLISTED_MS_MAX = 60_000  # a snapshot that is not listed is swept after this


class DelayIndex:
    """config: called each time, because a topic's settings may change."""

    def __init__(
        self,
        store: Store,
        keys: PartitionKeys,
        topic: str,
        topic_id: str,
        config: Callable[[], Config],
        clock: Clock,
        metrics: BucketMetrics,
    ) -> None:
        self._config, self._clock, self._metrics = config, clock, metrics
        self.scripts = DelayScripts(store, keys, topic, topic_id)
        self.storage = BucketStorage(self.scripts, config, clock, metrics)
        self.repairs = IndexRepair(self.scripts, self.storage, metrics)

    # -- seal --------------------------------------------------------------------------------------------------------

    async def seal(self, ledger: int, *, close: bool = True) -> bool:
        """Opens the next ledger; with `close`, also seals the open bucket.  Returns whether a bucket was listed."""
        _, closing = await self.scripts.rotate(ledger, self._clock.now_ms(), close)
        return bool(closing) and await self.finish_seal(closing)

    async def finish_seal(self, closing: str) -> bool:
        """Seals the bucket that is closing, whichever broker closed it."""
        with self._metrics.operation("create"):
            first, last = map(int, closing.split("-"))
            entries = self.storage.pending(self.storage.in_order(self.scripts.delay.closing))
            bucket, entry = await self.storage.write_snapshot(-first, -last, entries)
            listed = await self.scripts.list_sealed(closing, bucket, entry)
        if not listed and bucket is not None:
            await self.scripts.drop_snapshot(bucket.snapshot)
        return listed

    # -- load --------------------------------------------------------------------------------------------------------

    async def load(self, horizon: str) -> None:
        """Loads the next segment of the bucket in `horizon`, a member of `delay:next`.  Rebuilds a damaged bucket."""
        name = horizon.split(" ")[1].encode()
        row = await self._row(name)
        if row is None:
            await self.repairs.bring_back(name.decode(), horizon)
            return
        bucket = Bucket.read(name, row)
        try:
            with self._metrics.operation("load"):
                await self._load(bucket, horizon)
        except snapshots.DamagedSnapshot as error:
            if (
                await self.scripts.command("HGET", self.scripts.delay.buckets, name) == row
            ):  # else another broker has loaded it
                self.repairs.warn(bucket.name, error)
                await self.repairs.reindex(bucket, horizon)

    async def _row(self, name: bytes) -> bytes | None:
        row: bytes | None = await self.scripts.command("HGET", self.scripts.delay.buckets, name)
        return row

    async def _load(self, bucket: Bucket, horizon: str) -> None:
        entries = await self.storage.alive(await self.storage.segment(bucket, bucket.loaded))
        after: Bucket | str = bucket._replace(loaded=bucket.loaded + 1)
        member_after = ""
        assert isinstance(after, Bucket)
        if after.is_loaded:
            after = ""
        else:
            following = (await self.storage.metadata(bucket)).segments[after.loaded]
            after = after._replace(next_due_ms=following.min_due_ms)
            member_after = next_member(following.first_entry, bucket.name)
        for at in range(0, max(len(entries), 1), LOAD_CHUNK):
            is_last = at + LOAD_CHUNK >= len(entries)
            some = entries[at : at + LOAD_CHUNK]
            if not await self.scripts.put(bucket, after if is_last else "=", horizon, member_after, some):
                return  # another broker was faster
        if after == "":
            await self.storage.delete(bucket.snapshot)

    # -- merge -------------------------------------------------------------------------------------------------------

    async def merge(self) -> bool:
        """Merges buckets once if there are too many.  Returns whether it did."""
        most = self._config().delayed_delivery_max_num_buckets
        if most < 1:
            return False
        buckets = await self.storage.buckets()
        chosen = merge.choose(buckets, most)
        if chosen is None:
            return False
        try:
            with self._metrics.operation("merge"):
                return await self.storage.rewrite(chosen)
        except snapshots.DamagedSnapshot:
            await self.repairs.repair()
            return False

    # -- sweep -------------------------------------------------------------------------------------------------------

    async def sweep(self, *, whenever: bool = False) -> int:
        """Deletes unlisted snapshots; returns how many.  whenever: also those that were begun just now."""
        before = 0 if whenever else self._clock.now_ms() - UNLISTED_MS_MAX
        listed = {bucket.snapshot for bucket in await self.storage.buckets()}
        rows = await self.scripts.command("HKEYS", self.scripts.delay.snaps)
        doomed = [row.decode() for row in rows if row and row.decode() not in listed]
        return sum([await self.scripts.drop_snapshot(snapshot, before) for snapshot in doomed])
