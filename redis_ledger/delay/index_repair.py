"""What is put right in an index by the way: buckets that are lost, and those of which nothing much is left.

listed, and its snapshot damaged   made again from its ledgers (index.reindex)
in delay:next, and not listed      its entries go back to the queue, and it is forgotten
most of it cancelled               written again without that; deleted when nothing is left
in parts, and its payload is gone  forgotten: nobody can ask for it any more
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from redis_ledger.delay import bucket as snapshots
from redis_ledger.delay.entry import Bucket
from redis_ledger.delay.live_bitmap import CHUNK, LiveBitmap

if TYPE_CHECKING:
    from redis_ledger.delay.index import DelayIndex

log = structlog.get_logger(__name__)


def warn(index: DelayIndex, bucket: str, error: object) -> None:
    log.warning(
        "a damaged bucket of scheduled records is made again from its ledgers",
        key=index.delay.buckets.decode(), bucket=bucket, error=str(error),
    )  # fmt: skip


async def bring_back(index: DelayIndex, name: str, horizon: str) -> None:
    """The bucket that `delay:next` names is not listed.  horizon: its member there."""
    if await index.command("ZSCORE", index.delay.next, horizon) is None:
        return  # it was done when this was asked for
    warn(index, name, "It is not listed.")
    first, last = map(int, name.split("-"))
    for ledger in range(first, last + 1):
        await index.restore(-ledger)
    await index.forget_missing(name, horizon)


async def prune(index: DelayIndex) -> int:
    """Deletes buckets in which everything was cancelled, and writes those again of which most was; how many.
    Looks only when something was cancelled since it looked before."""
    state, count = await index.state(), 0
    if state is None or state.cancelled == index.pruned:
        return 0
    for bucket in await index.buckets():
        try:
            pending, there = await _left_of(index, bucket)
            if 2 * pending < there:
                count += await index.write_again([bucket])
        except snapshots.DamagedSnapshot as error:
            warn(index, bucket.name, error)
            count += await index.reindex(bucket)
    index.pruned = state.cancelled
    return count


async def _left_of(index: DelayIndex, bucket: Bucket) -> tuple[int, int]:
    """Of the segments that are not loaded: entries that are pending, and entries.  Others take their turn meanwhile."""
    pending = there = 0
    for segment in (await index.metadata(bucket)).segments[bucket.loaded :]:
        entries = LiveBitmap.union(snapshots.bitmaps(segment).values())
        live = await index.live(chunk * CHUNK for chunk in entries.chunks)
        pending, there = pending + entries.shared(live), there + entries.shared(entries)
    return pending, there


async def forget_parts(index: DelayIndex) -> int:
    """Forgets what became of single records whose payload went with an old ledger; how many entries."""
    keys = index.keys
    rows = await index.command("HGETALL", keys.ledgers)
    ledgers = {int(n): int(row.split(b" ")[0]) for n, row in zip(rows[::2], rows[1::2], strict=True) if int(n) < 0}
    first = max(ledgers.values(), default=-1) + 1
    for ledger in sorted(ledgers, reverse=True):
        oldest = await index.command("XRANGE", keys.data(ledger), "-", "+", "COUNT", 1)
        if oldest:
            first = int(oldest[0][0][2:])
            break
    cursor, count = b"0", 0
    while True:
        cursor, found = await index.command("HSCAN", index.delay.parts, cursor, "COUNT", CHUNK)
        gone = [name for name in found[::2] if name and int(name) < first]
        if gone:
            count += await index.command("HDEL", index.delay.parts, *gone)
        if int(cursor) == 0:
            return count
