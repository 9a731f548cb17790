"""Some records of some batches: what was leased of them, decoded within a budget.

pieces ─▶ payload of their batches, from Redis or from Parquet ─▶ decoded in order, until the budget is spent
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Budget
from redis_ledger.errors import (
    BadRequest,
    CorruptBatch,
    DecodingBusy,
    OffsetOutOfRange,
    TooLargeToDecode,
    UnsupportedCompression,
)
from redis_ledger.ledger.entries import LogEntry
from redis_ledger.ledger.read import Moved, PayloadReclaimed
from redis_ledger.ledger.reader import PartitionReader
from redis_ledger.records.batch import place
from redis_ledger.records.read import Record, within

UNREADABLE = (CorruptBatch, TooLargeToDecode, UnsupportedCompression)


class RecordSlice(NamedTuple):
    """Some records of an entry: offsets first to last."""

    entry: LogEntry
    first: int
    last: int


class Found(NamedTuple):
    """shift: what the records' offsets count from."""

    shift: int
    records: list[Record]


Read = Found | BadRequest
Known = Callable[[LogEntry], "list[Record] | None"]  # all records of a batch that was decoded before, from offset 0


def unknown(entry: LogEntry) -> list[Record] | None:
    return None


async def read_pieces(
    reader: PartitionReader, pieces: Sequence[RecordSlice], budget: Budget, known: Known = unknown
) -> list[Read]:
    """The records of each piece, or the error of its batch.  Pieces are in the order of their offsets.

    Reads pieces until the budget is spent, at least one; none if other reads of the same request hold the memory.
    Records that were compacted away or trimmed are left out.  Raises as `PartitionReader.read` does, and DecodingBusy.
    """
    try:
        return await _read(reader, pieces, budget, known)
    except OffsetOutOfRange as error:
        start = int(error.facts.get("start_offset", 0))
        left = [piece._replace(first=max(piece.first, start)) for piece in pieces if piece.last >= start]
        if left == list(pieces):
            raise
        read = iter(await read_pieces(reader, left, budget, known)) if left else iter(())
        found: list[Read] = []
        for piece in pieces:
            each = Found(0, []) if piece.last < start else next(read, None)
            if each is None:
                break
            found.append(each)
        return found


async def _read(reader: PartitionReader, pieces: Sequence[RecordSlice], budget: Budget, known: Known) -> list[Read]:
    offloaded_end = 0 if reader.offload_reader is None else reader.offsets.offloaded_end
    entries = {piece.entry.base_offset: piece.entry for piece in pieces if piece.last >= offloaded_end}
    decoded = {base: records for base, entry in entries.items() if (records := known(entry)) is not None}
    entries = {base: entry for base, entry in entries.items() if base not in decoded}
    try:
        payloads = dict(zip(entries, await reader.payloads(list(entries.values())), strict=True)) if entries else {}
    except (Moved, PayloadReclaimed):
        return await _read(reader, pieces, budget, known)  # the reader's offsets are up to date by now
    offloaded: list[tuple[LogEntry, list[Record]]] = []
    ends = {piece.entry.base_offset: piece.last for piece in pieces}
    found: list[Read] = []
    batch: Read = Found(-1, [])  # the last one, decoded from its first piece to its last, or its error
    at = -1
    for piece in pieces:
        base = piece.entry.base_offset
        if found and budget.is_spent and base != at:
            break
        try:
            if base in decoded:
                found.append(Found(base, within(decoded[base], piece.first - base, piece.last - base)))
            elif base in payloads:  # at rest a batch's own base offset is 0
                if base != at:
                    at = base
                    batch = await _decoded(payloads[base], budget, piece.first - base, ends[base] - base)
                if isinstance(batch, Found):
                    found.append(Found(base, within(batch.records, piece.first - base, piece.last - base)))
                else:
                    found.append(batch)
            else:
                found.append(Found(0, await _offloaded(reader, piece, offloaded_end, budget, offloaded)))
        except DecodingBusy:
            if budget.is_cut:
                break
            raise
        except UNREADABLE as error:
            found.append(error.with_traceback(None))  # the traceback would keep the unpacked records in memory
    return found


async def _decoded(payload: bytes | memoryview, budget: Budget, first: int, last: int) -> Read:
    """Raises DecodingBusy."""
    try:
        return Found(0, await paced.decode(payload, budget, first, last))
    except UNREADABLE as error:
        return error.with_traceback(None)  # the traceback would keep the unpacked records in memory


async def _offloaded(
    reader: PartitionReader, piece: RecordSlice, end: int, budget: Budget, kept: list[tuple[LogEntry, list[Record]]]
) -> list[Record]:
    """Of batches in Parquet, which are others than those that were leased.  kept: the last one, for the next piece is
    often of the same."""
    found: list[Record] = []
    at = piece.first
    while at <= piece.last:
        if not kept or not kept[0][0].base_offset <= at <= kept[0][0].last_offset:
            assert reader.offload_reader is not None
            (entry, *_), (payload, *_) = await reader.read_offloaded(reader.offload_reader, at, end, 1)
            some = [] if entry.is_marker else await paced.decode(place(payload, entry.base_offset, 0), budget)
            kept[:] = [(entry, some)]
        ((entry, records),) = kept
        found += within(records, piece.first, piece.last)
        at = entry.last_offset + 1
    return found
