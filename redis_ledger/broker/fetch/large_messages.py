"""Reads the value of a large message, chunk by chunk.

    descriptor ─▶ log entries behind it, without payload ─▶ chunks of its transaction, one at a time ─▶ SHA-256

Readers get the last chunk only if the checksum of the whole value is right.  Source: PIP-37; docs/decisions/0043.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from typing import NamedTuple

from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Charge, Decoding
from redis_ledger.errors import BadRequest, LargeMessageDamaged, OffsetOutOfRange, UnknownLargeMessage
from redis_ledger.ledger import entries as logs
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.read import Read
from redis_ledger.ledger.record_slices import RecordSlice, read_pieces
from redis_ledger.records.batch import place
from redis_ledger.records.large_messages import CHUNK_BYTES, Chunk, Descriptor, chunk_of, descriptor_of

PAGE = 64  # log entries that are read at a time
MEMORY_BYTES = 4 * CHUNK_BYTES  # of a message that is being read


class FoundLarge(NamedTuple):
    """A large message.  producer_id: of its transaction.  was_aside: in the sidecar buffer, where transactions are
    contiguous, and have no marker."""

    partition: Partition
    offset: int
    producer_id: int
    descriptor: Descriptor
    was_aside: bool = False


class LargeMessageReader:
    def __init__(self, catalog: Catalog, decoding: Decoding) -> None:
        self._catalog, self._decoding = catalog, decoding

    async def find(self, topic: str, number: int, offset: int) -> FoundLarge:
        """The committed large message that begins at `offset`.  Any client can write a record with the header of a
        descriptor; outside of a transaction it is none, and has no marker at which the search for its chunks ends.

        Raises UnknownLargeMessage, OffsetOutOfRange."""

        async def once() -> tuple[Partition, Read]:
            partition = await self._catalog.partition(topic, number)
            return partition, await partition.reader.read(offset, committed=True, bytes_max=1, records_max=1)

        partition, read = await self._catalog.with_current(topic, once)
        entry = next((e for e in read.entries if e.base_offset <= offset <= e.last_offset and not e.is_marker), None)
        if entry is not None and not logs.is_aborted(entry, read.aborted):
            payload = read.payloads[read.entries.index(entry)]
            with self._decoding.budget() as budget:
                records = await paced.decode(place(payload, entry.base_offset, 0), budget, offset, offset)
            descriptor = descriptor_of(records[0].headers) if records else None
            # The entry that was read has no producer if the records were offloaded; the log has them all.
            logged = next(iter(await partition.reader.log_entries(offset, 1)), None)
            if descriptor is not None and logged is not None and (logged.is_transactional or logged.was_aside):
                return FoundLarge(partition, offset, logged.producer_id, descriptor, logged.was_aside)
        raise UnknownLargeMessage(f"The record at offset {offset} of {topic}:{number} is not a large message.")

    async def chunks(self, found: FoundLarge, charge: Charge | None = None) -> AsyncGenerator[bytes, None]:
        """The value.  Raises LargeMessageDamaged, OffsetOutOfRange if it was trimmed."""
        digest, index, size = hashlib.sha256(), 0, 0
        descriptor = found.descriptor
        async for chunk, value in self._records(found, charge):
            size += len(value)
            if chunk.place != index or size > descriptor.size:
                raise _damaged(found, f"chunk {chunk.place} was found in place of chunk {index}")
            await asyncio.to_thread(digest.update, value)
            index += 1
            if index == descriptor.chunks:
                if (size, digest.hexdigest()) != (descriptor.size, chunk.sha256):
                    raise _damaged(found, "the SHA-256 of its value differs")
                yield value
                return
            yield value
        await self._check_start(found)
        raise _damaged(found, f"chunk {index} of {descriptor.chunks} is missing")

    async def _records(self, found: FoundLarge, charge: Charge | None) -> AsyncGenerator[tuple[Chunk, bytes], None]:
        """The chunks behind the descriptor, up to the end of its transaction."""
        reader, at = found.partition.reader, found.offset + 1
        while entries := await reader.log_entries(at, PAGE):
            for entry in entries:
                if found.was_aside and not (entry.was_aside and entry.producer_id == found.producer_id):
                    return
                if entry.producer_id != found.producer_id:
                    continue
                if entry.is_marker:
                    return
                if not entry.is_chunk:
                    continue
                with self._decoding.budget(charge=charge) as budget:
                    (read,) = await read_pieces(
                        reader, [RecordSlice(entry, entry.base_offset, entry.last_offset)], budget
                    )
                if isinstance(read, BadRequest):
                    raise _damaged(found, read.detail)
                for record in read.records:
                    chunk = chunk_of(record.headers)
                    if chunk is not None and chunk.id == found.descriptor.id:
                        yield chunk, record.value or b""
            at = entries[-1].last_offset + 1

    async def _check_start(self, found: FoundLarge) -> None:
        """Raises OffsetOutOfRange if the message was trimmed during the read."""
        start = (await found.partition.offsets.head()).start_offset
        if start > found.offset:
            raise OffsetOutOfRange(f"Offset {found.offset} was trimmed during the read.", start_offset=start)


def _damaged(found: FoundLarge, why: str) -> LargeMessageDamaged:
    partition = found.partition
    return LargeMessageDamaged(
        f"The large message at offset {found.offset} of {partition.topic}:{partition.number} is damaged: {why}."
    )
