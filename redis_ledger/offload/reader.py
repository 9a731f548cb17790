"""Reads offloaded records: batches from Parquet, at their original offsets, for offsets whose payload left Redis.

    offset ─▶ manifest ─▶ segment ─▶ row group ─▶ block of batches ─▶ as many as fit
               cached; read       a thread decodes it; blocks stay in memory within offload_cache_bytes, and the
               again on a miss    next one is decoded ahead for a sequential reader

Above the last offloaded record the reader returns a marker at the last offloaded offset, so that the consumer continues
in Redis.  A file may be replaced (compacted) or deleted at any time: on a miss the manifest is read again, and if it
still names the same file, the read fails.  No record is skipped.
Source: KIP-405 (RemoteLogManager.read, RemoteIndexCache).
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from redis_ledger.errors import LedgerError, OffloadedDamaged, OffloadedUnavailable
from redis_ledger.ledger.entries import COMMIT, MARKER, LogEntry
from redis_ledger.ledger.reader import PartitionReader
from redis_ledger.offload.manifest import Manifest, Segment
from redis_ledger.offload.row_group_cache import RowGroup, RowGroupCache, RowGroupKey, SegmentFiles
from redis_ledger.offload.scripts import OffloadScripts
from redis_ledger.store.store import Store

if TYPE_CHECKING:
    from redis_ledger.offload.segment import GroupSpan

THREADS = 2
MANIFESTS_KEPT, SPANS_KEPT = 1_024, 256
MANIFEST_S_MAX = 5.0  # then check whether its version is still current
ATTEMPTS = 3  # a file may be replaced again during a retry
_last = attrgetter("last")


class _CachedManifest(NamedTuple):
    manifest: Manifest
    read_s: float


class OffloadReader:
    """The reader of a broker, for all partitions.  home: offload_home.  cache_bytes: offload_cache_bytes."""

    def __init__(self, store: Store, home: str, cache_bytes: int) -> None:
        self._store, self._home = store, home
        self._loop = asyncio.get_running_loop()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="offload")
        self._manifests: OrderedDict[tuple[str, int], _CachedManifest] = OrderedDict()
        self._spans: OrderedDict[str, list[GroupSpan]] = OrderedDict()
        self._blocks = RowGroupCache(cache_bytes)
        self._loading: dict[RowGroupKey, asyncio.Future[RowGroup]] = {}
        self._opening: asyncio.Future[SegmentFiles] | None = None

    async def read(
        self, of: PartitionReader, offset: int, end: int, bytes_max: int
    ) -> tuple[list[LogEntry], list[bytes]]:
        """Returns batches from the first one that ends at or above the offset; at least one entry.

        end: the partition's offloaded offset, above `offset`.  Raises OffloadedUnavailable, OffloadedDamaged, and
        UnknownTopic if the manifest belongs to another topic of this name.
        """
        manifest = await self._manifest(of, end)
        for _ in range(ATTEMPTS):
            try:
                return await self._read(manifest, of, offset, end, bytes_max)
            except (OffloadedUnavailable, OffloadedDamaged):
                known = manifest
                manifest = await self._manifest(of, end, fresh=True)
                if manifest.version == known.version:
                    raise
        return await self._read(manifest, of, offset, end, bytes_max)

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        opening = self._opening
        if opening is not None and opening.done() and not opening.cancelled() and opening.exception() is None:
            await asyncio.to_thread(opening.result().close)

    async def _read(
        self, manifest: Manifest, of: PartitionReader, offset: int, end: int, bytes_max: int
    ) -> tuple[list[LogEntry], list[bytes]]:
        at = offset
        while at < end:
            segment = manifest.segment_at(at)
            if segment is None:
                raise OffloadedDamaged(f"{of.topic}:{of.number}: no segment in Parquet has offset {at}.")
            if segment.file:
                spans = await self._spans_of(segment)
                group = bisect_left(spans, at, key=_last)
                if group < len(spans):
                    key = RowGroupKey(segment.file, group)
                    block = await self._block(key, segment)
                    if at == block.following or at <= spans[group].first:
                        self._look_ahead(manifest, segment, group)
                    entries, payloads = block.read_from(at, bytes_max)
                    block.following = entries[-1].last_offset + 1
                    if block.following == block.end:
                        self._blocks.mark_read(key)
                    return entries, payloads
            at = segment.end
        return [LogEntry(0, 0, end - 1, 1, 0, -1, -1, -1, MARKER | COMMIT, -1, -1)], [b""]

    # -- steps -------------------------------------------------------------------------------------------------------

    async def _manifest(self, of: PartitionReader, end: int, *, fresh: bool = False) -> Manifest:
        """Returns the cached manifest, unless it ends below `end` or has another version by now."""
        key, now_s = (of.topic_id, of.number), self._loop.time()
        kept = self._manifests.get(key)
        if kept is not None and not fresh and kept.manifest.end >= end and now_s - kept.read_s < MANIFEST_S_MAX:
            return kept.manifest
        calls = OffloadScripts(self._store, of.keys, of.topic, of.topic_id)
        if kept is None or fresh or await calls.version() != kept.manifest.version:
            manifest = await calls.manifest()
        else:
            manifest = kept.manifest
        self._manifests[key] = _CachedManifest(manifest, now_s)
        self._manifests.move_to_end(key)
        if len(self._manifests) > MANIFESTS_KEPT:
            self._manifests.popitem(last=False)
        return manifest

    async def _spans_of(self, segment: Segment) -> list[GroupSpan]:
        spans = self._spans.get(segment.file)
        if spans is None:
            files = await self._files()
            spans = await self._loop.run_in_executor(self._threads, files.groups, segment)
            self._spans[segment.file] = spans
            if len(self._spans) > SPANS_KEPT:
                self._spans.popitem(last=False)
        return spans

    async def _block(self, key: RowGroupKey, segment: Segment) -> RowGroup:
        block = self._blocks.get(key)
        if block is None:
            files = await self._files()
            block = await asyncio.shield(self._load(files, key, segment))
        return block

    def _load(self, files: SegmentFiles, key: RowGroupKey, segment: Segment) -> asyncio.Future[RowGroup]:
        """Loads a block once for all concurrent readers of it."""
        loading = self._loading.get(key)
        if loading is None:
            loading = self._loop.run_in_executor(self._threads, files.load, segment, key.group)
            self._loading[key] = loading
            loading.add_done_callback(lambda done: self._loaded(key, done))
        return loading

    def _loaded(self, key: RowGroupKey, done: asyncio.Future[RowGroup]) -> None:
        del self._loading[key]
        if not done.cancelled() and done.exception() is None:
            self._blocks.put(key, done.result())

    def _look_ahead(self, manifest: Manifest, segment: Segment, group: int) -> None:
        """Starts to load the next block if a thread is free and there is room.  Errors go to the next reader of the
        block."""
        opening = self._opening
        if len(self._loading) >= THREADS or not self._blocks.has_room or opening is None or not opening.done():
            return
        following: Segment | None = segment
        if group + 1 == len(self._spans.get(segment.file, ())):
            group, following = -1, manifest.segment_at(segment.end)
            while following is not None and not following.file:
                following = manifest.segment_at(following.end)
        if following is not None:
            key = RowGroupKey(following.file, group + 1)
            if key not in self._blocks:
                self._load(opening.result(), key, following)

    async def _files(self) -> SegmentFiles:
        """Raises OffloadedUnavailable; the next read tries again."""
        if self._opening is None:
            self._opening = self._loop.run_in_executor(self._threads, _open, self._home)
            self._opening.add_done_callback(self._opened)
        return await asyncio.shield(self._opening)

    def _opened(self, opening: asyncio.Future[SegmentFiles]) -> None:
        # Retrieve the exception here: all waiters may have been cancelled.
        if opening.cancelled() or opening.exception() is not None:
            self._opening = None


def _open(home: str) -> SegmentFiles:
    try:
        from redis_ledger.offload.segment import open_home
    except ImportError as missing:
        raise OffloadedUnavailable(str(missing)) from missing
    try:
        return SegmentFiles(open_home(home))
    except LedgerError as error:
        raise OffloadedUnavailable(f"The object store cannot be opened: {error.detail}") from error
