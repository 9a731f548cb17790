"""Records as a page shows them: the newest of some partitions, or those from an offset on, committed or all.

What is not committed is labelled: open (its transaction may still be committed), held (it was committed, and waits
behind one that is open) or aborted (nobody will ever get it).
A look reads at most LOOKED_AT_BYTES of each partition, so a filter that finds nothing ends soon; what was shown says
from where on was looked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import partial
from typing import Literal, NamedTuple

import msgspec

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import FetchedBatch, PartitionState
from redis_ledger.errors import TransactionNotFound
from redis_ledger.ids import TxnId
from redis_ledger.records.read import Record, decode_range

LOOKED_AT_BYTES = 1 << 20
SHOWN_CHARACTERS = 2_000
State = Literal["committed", "held", "open", "aborted"]
PARTITIONS_MAX = 16


class Peek(NamedTuple):
    topic: str
    find: str
    is_committed: bool
    most: int


class Row(msgspec.Struct):
    """is_cut: the value is longer than what is shown."""

    partition: int
    offset: int
    timestamp_ms: int
    key: str
    value: str
    headers: list[tuple[str, str]]
    state: State
    transaction: str
    is_cut: bool


async def peek(broker: Broker, asked: Peek, states: Sequence[PartitionState], offset: int | None) -> list[Row]:
    """Newest first without an offset, else in order.  Raises OffsetOutOfRange."""
    found: list[Row] = []
    for state in states[:PARTITIONS_MAX]:
        end = state.stable_offset if asked.is_committed else state.end_offset
        begin = max(state.start_offset, end - asked.most) if offset is None else offset
        if offset is not None or begin < end:
            found += await _rows(broker, asked, state.partition, begin)
    if offset is None:
        found.sort(key=lambda row: (-row.timestamp_ms, -row.offset, row.partition))
    return found[: asked.most]


async def _rows(broker: Broker, asked: Peek, partition: int, begin: int) -> list[Row]:
    """What a committed reader gets is committed; what it does not get below the stable offset was aborted."""
    read = partial(broker.records.fetch, asked.topic, partition, begin, max_bytes=LOOKED_AT_BYTES)
    fetched = await read(isolation="read_committed")
    kept = {batch.base_offset for batch in fetched.batches}
    if not asked.is_committed:
        fetched = await read(isolation="read_uncommitted")
    ahead = {b.transaction for b in fetched.batches if b.last_offset >= fetched.stable_offset and b.transaction}
    ends = {txn: await _end(broker, txn) for txn in ahead}
    found = []
    for batch in fetched.batches:
        if batch.is_control:
            continue
        state = _state(batch, kept, fetched.stable_offset, ends)
        for record in decode_range(batch.data, max(batch.base_offset, begin), batch.last_offset):
            row = _row(record, partition, state, "" if batch.transaction is None else str(batch.transaction))
            if not asked.find or asked.find in row.key or asked.find in row.value:
                found.append(row)
    return found


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


def _row(record: Record, partition: int, state: State, transaction: str) -> Row:
    value = text(record.value)
    return Row(
        partition, record.offset, record.timestamp_ms, text(record.key)[:SHOWN_CHARACTERS], value[:SHOWN_CHARACTERS],
        [(name, text(each)) for name, each in record.headers], state, transaction, len(value) > SHOWN_CHARACTERS,
    )  # fmt: skip


def text(data: bytes | None) -> str:
    """UTF-8 as it is, other bytes as hex."""
    if data is None:
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "0x" + data.hex()
