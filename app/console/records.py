"""Records for the topic page: the newest, or those from an offset on; committed only, all, or with markers.

A record that is not committed is open, held (committed, but above the last stable offset) or aborted.
A query reads at most READ_BYTES_MAX per partition and returns the offset ranges that it has read.  A batch that cannot
be decoded becomes one row with the reason.  The mean record size determines how far back the newest records are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import partial
from typing import Literal, NamedTuple

import msgspec

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import FetchedBatch, PartitionState
from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Budget, Charge
from redis_ledger.errors import BadRequest, DecodingBusy, TransactionNotFound
from redis_ledger.ids import TxnId
from redis_ledger.ledger.record_slices import UNREADABLE
from redis_ledger.records.batch import read_header
from redis_ledger.records.control import read_marker
from redis_ledger.records.read import Record

READ_BYTES_MAX, READ_BYTES = 2 << 20, 1 << 20
DECODED_BYTES_MAX = 16 << 20  # of one page
VALUE_CHARACTERS, KEY_CHARACTERS, HEADERS_MAX = 2_000, 500, 100
RecordState = Literal["committed", "held", "open", "aborted"]
PARTITIONS_MAX = 16


class RecordQuery(NamedTuple):
    """has_markers: the ends of transactions are rows too; not with is_committed."""

    topic: str
    find: str
    is_committed: bool
    most: int
    has_markers: bool = False


class Row(msgspec.Struct):
    """key, value: None for null.  is_cut: the value is truncated."""

    partition: int
    offset: int
    timestamp_ms: int
    key: str | None
    value: str | None
    headers: list[tuple[str, str]]
    state: RecordState
    transaction: str
    is_cut: bool


class OffsetRange(msgspec.Struct):
    """The offsets that a query has read (first, end) and the readable ones (there_first, there_end) of a partition."""

    partition: int
    first: int
    end: int  # exclusive
    there_first: int
    there_end: int


async def read_records(
    broker: Broker,
    asked: RecordQuery,
    states: Sequence[PartitionState],
    offset: int | None,
    charge: Charge | None = None,
) -> tuple[list[Row], list[OffsetRange]]:
    """Returns the newest records first, or with an offset the following ones in order.

    charge is called with the decoded bytes.  Raises OffsetOutOfRange if no partition contains the offset.
    """
    if offset is not None:
        states = [each for each in states if each.start_offset <= offset <= each.end_offset] or states[:1]
    found: list[Row] = []
    ranges: list[OffsetRange] = []
    with broker.decoding.budget(DECODED_BYTES_MAX, charge) as budget:
        for state in states[:PARTITIONS_MAX]:
            end = state.stable_offset if asked.is_committed else state.end_offset
            begin = _begin(state, end, asked) if offset is None else offset
            reached = begin
            if offset is not None or begin < end:
                rows, reached = await _rows(broker, asked, state.partition, begin, end, budget)
                found += rows if offset is not None else rows[-asked.most :]
            ranges.append(OffsetRange(state.partition, begin, reached, state.start_offset, end))
    if offset is None:
        found.sort(key=lambda row: (-row.timestamp_ms, -row.offset, row.partition))
    return found[: asked.most], ranges


def _begin(state: PartitionState, end: int, asked: RecordQuery) -> int:
    """The first offset to read so that the read reaches the end; half of the budget is reserved for larger records."""
    mean = max(state.bytes // max(state.end_offset - state.start_offset, 1), 1)
    fits = max(READ_BYTES_MAX // 2 // mean, 1)
    return max(state.start_offset, end - (fits if asked.find else min(fits, asked.most)))


async def _rows(
    broker: Broker, asked: RecordQuery, partition: int, begin: int, end: int, budget: Budget
) -> tuple[list[Row], int]:
    """Rows and the offset reached.  Records below the last stable offset that read_committed omits are aborted."""
    found: list[Row] = []
    at = begin
    for _ in range(READ_BYTES_MAX // READ_BYTES):
        read = partial(broker.records.fetch, asked.topic, partition, at, max_bytes=READ_BYTES)
        fetched = await read(isolation="read_committed")
        kept = {batch.base_offset for batch in fetched.batches}
        if not asked.is_committed:
            fetched = await read(isolation="read_uncommitted")
        ahead = {b.transaction for b in fetched.batches if b.last_offset >= fetched.stable_offset and b.transaction}
        ends = {txn: await _end(broker, txn) for txn in ahead}
        for batch in fetched.batches:
            if batch.is_control:
                if asked.has_markers and batch.base_offset >= at and not asked.find:
                    found.append(_marker_row(batch, partition))
                continue
            state, first = _state(batch, kept, fetched.stable_offset, ends), max(batch.base_offset, at)
            if budget.is_spent:
                return found, first
            try:
                records = await paced.decode(batch.data, budget, first, batch.last_offset)
            except DecodingBusy:
                if budget.is_cut:
                    return found, first
                raise
            except UNREADABLE as error:
                found.append(_unread(partition, first, batch, state, error))
                continue
            for record in records:
                await budget.pace.rest()
                if asked.find and asked.find not in text(record.key) and asked.find not in text(record.value):
                    continue
                found.append(_row(record, partition, state, batch.transaction))
        at = max(at, min(fetched.next_offset, end))
        if at >= end:
            break
    return found, at


async def _end(broker: Broker, txn: TxnId) -> RecordState:
    try:
        status = (await broker.transactions.get(txn)).status
    except TransactionNotFound:
        return "held"  # it has ended, but is above the last stable offset
    return "open" if status == "open" else "aborted" if status.startswith("abort") else "held"


def _state(batch: FetchedBatch, kept: Set[int], stable_offset: int, ends: Mapping[TxnId, RecordState]) -> RecordState:
    if batch.base_offset in kept:
        return "committed"
    if batch.last_offset >= stable_offset:
        return "held" if batch.transaction is None else ends[batch.transaction]
    return "aborted"


def _row(record: Record, partition: int, state: RecordState, txn: TxnId | None) -> Row:
    value = None if record.value is None else text(record.value)
    return Row(
        partition, record.offset, record.timestamp_ms,
        None if record.key is None else short(text(record.key)), None if value is None else value[:VALUE_CHARACTERS],
        [(short(name), short(text(each))) for name, each in record.headers[:HEADERS_MAX]], state,
        "" if txn is None else str(txn), value is not None and len(value) > VALUE_CHARACTERS,
    )  # fmt: skip


def _marker_row(batch: FetchedBatch, partition: int) -> Row:
    end, txn = read_marker(batch.data), "" if batch.transaction is None else str(batch.transaction)
    state: RecordState = "committed" if end.commit else "aborted"
    shown = f"[marker: {'commit' if end.commit else 'abort'}]"
    return Row(partition, end.offset, end.timestamp_ms, None, shown, [], state, txn, False)


def _unread(partition: int, first: int, batch: FetchedBatch, state: RecordState, error: BadRequest) -> Row:
    """One row for all records of a batch."""
    header, txn = read_header(batch.data), "" if batch.transaction is None else str(batch.transaction)
    told = f"Cannot decode offsets {first} to {batch.last_offset} ({len(batch.data)} bytes): {error.detail}"
    return Row(partition, first, header.max_timestamp, None, told, [], state, txn, False)


def short(shown: str) -> str:
    return shown if len(shown) <= KEY_CHARACTERS else f"{shown[:KEY_CHARACTERS]}…"


def text(data: bytes | None) -> str:
    """UTF-8 as text, other bytes as hex."""
    if data is None:
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "0x" + data.hex()
