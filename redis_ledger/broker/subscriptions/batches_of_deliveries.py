"""Deliveries of a transaction of the sidecar buffer, one for each of its batches.

    leased      41 ········ 47        one log entry of several batches
    deliveries  41 ·· 43  44  45 47   and the chunks of large messages, which subscriptions skip

Source: docs/decisions/0044.
"""

from __future__ import annotations

from collections.abc import Sequence

from redis_ledger.cursor.ranges import Range
from redis_ledger.cursor.scripts import Delivery
from redis_ledger.ledger.reader import PartitionReader
from redis_ledger.ledger.sidecar import is_reference


async def batches_of(
    reader: PartitionReader, deliveries: Sequence[Delivery]
) -> tuple[Sequence[Delivery], Sequence[Range]]:
    """The deliveries of batches that consumers receive, and the offsets of chunks.

    Cost: a round trip for each reference that is not cached; none if there is no reference.
    Raises OffsetOutOfRange if records were trimmed since they were leased.
    """
    if not any(is_reference(each.entry_of_log) for each in deliveries):
        return deliveries, ()
    found, chunks = list[Delivery](), list[Range]()
    for each in deliveries:
        reference = each.entry_of_log
        if not is_reference(reference):
            found.append(each)
            continue
        for entry in await reader.sidecar.within(reference, each.first, each.last):
            first, last = max(each.first, entry.base_offset), min(each.last, entry.last_offset)
            if entry.is_chunk:
                chunks.append(Range(first, last))
                continue
            found.append(
                each._replace(
                    first=first, last=last, ledger=entry.ledger, entry=entry.entry, base=entry.base_offset,
                    records=entry.records, batch_bytes=entry.size, flags=entry.flags,
                )
            )  # fmt: skip
    return found, chunks
