"""Records as a page shows them: the newest of some partitions, or those from an offset on, committed or all.

What is not committed is labelled: open (its transaction may still be committed), held (it was committed, and waits
behind one that is open) or aborted (nobody will ever get it).
A look reads at most LOOKED_AT_BYTES of each partition, so a filter that finds nothing ends soon; where was looked is
told with what was found.  A batch that cannot be decoded is a row that says so.  How far back the newest are read goes
by the mean size of the partition's records.
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
from redis_ledger.records.read import Record

LOOKED_AT_BYTES, READ_BYTES = 2 << 20, 1 << 20
DECODED_BYTES_MAX = 16 << 20  # of one page
VALUE_CHARACTERS, KEY_CHARACTERS, HEADERS_MAX = 2_000, 500, 100
State = Literal["committed", "held", "open", "aborted"]
PARTITIONS_MAX = 16


class Peek(NamedTuple):
    topic: str
    find: str
    is_committed: bool
    most: int


class Row(msgspec.Struct):
    """key, value: None where there is none.  is_cut: the value is longer than what is shown."""

    partition: int
    offset: int
    timestamp_ms: int
    key: str | None
    value: str | None
    headers: list[tuple[str, str]]
    state: State
    transaction: str
    is_cut: bool


class Looked(msgspec.Struct):
    """What a look has read of a partition, and what it could have read."""

    partition: int
    first: int
    end: int  # exclusive
    there_first: int
    there_end: int


async def peek(
    broker: Broker,
    asked: Peek,
    states: Sequence[PartitionState],
    offset: int | None,
    charge: Charge | None = None,
) -> tuple[list[Row], list[Looked]]:
    """Newest first without an offset, else in order.  charge: gets the bytes that are decoded.  Raises OffsetOutOfRange
    if no partition has the offset."""
    if offset is not None:
        states = [each for each in states if each.start_offset <= offset <= each.end_offset] or states[:1]
    found: list[Row] = []
    looked: list[Looked] = []
    with broker.decoding.budget(DECODED_BYTES_MAX, charge) as budget:
        for state in states[:PARTITIONS_MAX]:
            end = state.stable_offset if asked.is_committed else state.end_offset
            begin = _begin(state, end, asked) if offset is None else offset
            reached = begin
            if offset is not None or begin < end:
                rows, reached = await _rows(broker, asked, state.partition, begin, end, budget)
                found += rows if offset is not None else rows[-asked.most :]
            looked.append(Looked(state.partition, begin, reached, state.start_offset, end))
    if offset is None:
        found.sort(key=lambda row: (-row.timestamp_ms, -row.offset, row.partition))
    return found[: asked.most], looked


def _begin(state: PartitionState, end: int, asked: Peek) -> int:
    """Where to begin so that the end is reached: half of what may be read is left for records that are larger."""
    mean = max(state.bytes // max(state.end_offset - state.start_offset, 1), 1)
    fits = max(LOOKED_AT_BYTES // 2 // mean, 1)
    return max(state.start_offset, end - (fits if asked.find else min(fits, asked.most)))


async def _rows(
    broker: Broker, asked: Peek, partition: int, begin: int, end: int, budget: Budget
) -> tuple[list[Row], int]:
    """And the offset that was come to.  What a committed reader gets is committed; what it does not get below the
    stable offset was aborted."""
    found: list[Row] = []
    at = begin
    for _ in range(LOOKED_AT_BYTES // READ_BYTES):
        read = partial(broker.records.fetch, asked.topic, partition, at, max_bytes=READ_BYTES)
        fetched = await read(isolation="read_committed")
        kept = {batch.base_offset for batch in fetched.batches}
        if not asked.is_committed:
            fetched = await read(isolation="read_uncommitted")
        ahead = {b.transaction for b in fetched.batches if b.last_offset >= fetched.stable_offset and b.transaction}
        ends = {txn: await _end(broker, txn) for txn in ahead}
        for batch in fetched.batches:
            if batch.is_control:
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


async def _end(broker: Broker, txn: TxnId) -> State:
    try:
        status = (await broker.transactions.get(txn)).status
    except TransactionNotFound:
        return "held"  # long over, and still behind one that is open
    return "open" if status == "open" else "aborted" if status.startswith("abort") else "held"


def _state(batch: FetchedBatch, kept: Set[int], stable_offset: int, ends: Mapping[TxnId, State]) -> State:
    if batch.base_offset in kept:
        return "committed"
    if batch.last_offset >= stable_offset:
        return "held" if batch.transaction is None else ends[batch.transaction]
    return "aborted"


def _row(record: Record, partition: int, state: State, txn: TxnId | None) -> Row:
    value = None if record.value is None else text(record.value)
    return Row(
        partition, record.offset, record.timestamp_ms,
        None if record.key is None else short(text(record.key)), None if value is None else value[:VALUE_CHARACTERS],
        [(short(name), short(text(each))) for name, each in record.headers[:HEADERS_MAX]], state,
        "" if txn is None else str(txn), value is not None and len(value) > VALUE_CHARACTERS,
    )  # fmt: skip


def _unread(partition: int, first: int, batch: FetchedBatch, state: State, error: BadRequest) -> Row:
    """One row for all records of a batch."""
    header, txn = read_header(batch.data), "" if batch.transaction is None else str(batch.transaction)
    told = f"Not decoded, offsets {first} to {batch.last_offset}, {len(batch.data)} bytes: {error.detail}"
    return Row(partition, first, header.max_timestamp, None, told, [], state, txn, False)


def short(shown: str) -> str:
    return shown if len(shown) <= KEY_CHARACTERS else f"{shown[:KEY_CHARACTERS]}…"


def text(data: bytes | None) -> str:
    """UTF-8 as it is, other bytes as hex."""
    if data is None:
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "0x" + data.hex()
