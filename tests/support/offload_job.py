"""Offloading without Spark: a minimal job over a broker in the test's process.

before = await seen(broker, "t", 0, offset)
await offload(broker, "t", 0)
assert await seen(broker, "t", 0, offset) == before
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import Isolation
from redis_ledger.ledger import entries as logs
from redis_ledger.offload.manifest import Segment, Stretch
from redis_ledger.offload.segment import Row, SegmentWriter, open_home, read_groups, to_record_batch, to_rows
from redis_ledger.records.batch import LOG_APPEND_TIME, place, read_header
from redis_ledger.records.build import encode
from redis_ledger.records.read import decode

READ_BYTES = 1 << 20
STORAGE_ERROR, CORRUPT_MESSAGE = 56, 2  # Kafka's codes for a missing and for a damaged file
T0 = 1_700_000_000_000  # of the first record that `fill` writes
RecordFields = tuple[int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


async def fill(broker: Broker, *, first: int = 0, count: int = 40) -> None:
    """Appends transactions, of which every third is aborted, with plain batches in between, in every compression."""
    for n in range(first, first + count):
        rows = [(b"k%d" % n, b"%d.%d" % (n, i), [("h", b"%d" % i)] if i % 2 else [], T0 + n) for i in range(1 + n % 4)]
        data = encode(rows, compression=n % 5)
        if n % 2:
            txn = (await broker.transactions.begin(None)).id
            await broker.records.produce_batches("t", 0, data, transaction=txn)
            await (broker.transactions.abort if n % 3 == 0 else broker.transactions.commit)(txn)
        else:
            await broker.records.produce_batches("t", 0, data)


async def committed_rows(broker: Broker, topic: str, number: int, first: int, end: int) -> list[Row]:
    partition = await broker.catalog.partition(topic, number)
    rows: list[Row] = []
    at = first
    while at < end:
        read = await partition.reader.read(at, committed=True, bytes_max=READ_BYTES)
        for entry, payload in zip(read.entries, read.payloads, strict=True):
            at = entry.last_offset + 1
            if entry.is_marker or logs.is_aborted(entry, read.aborted):
                continue
            header = read_header(payload)
            for record in decode(place(payload, entry.base_offset, 0)):
                if first <= record.offset < end:
                    rows.append(
                        Row(
                            record.offset, record.timestamp_ms, record.key, record.value, record.headers,
                            int(bool(header.attributes & LOG_APPEND_TIME)), header.producer_id, header.producer_epoch,
                        )
                    )  # fmt: skip
    return rows


async def written(
    broker: Broker,
    topic: str,
    number: int,
    stretch: Stretch,
    *,
    group_bytes: int = 8 << 20,
    rows_max: int = 1_000,
    keeps: Callable[[Row], bool] = lambda row: True,
) -> Segment:
    rows = [row for row in await committed_rows(broker, topic, number, stretch.first, stretch.end) if keeps(row)]
    topic_id = (await broker.catalog.get(topic)).id
    with SegmentWriter(open_home(broker.config.offload_home), stretch, topic_id, group_bytes=group_bytes) as writer:
        for at in range(0, len(rows), rows_max):
            writer.add(to_record_batch(topic, number, rows[at : at + rows_max]))
        return writer.finish()


async def offload(broker: Broker, topic: str, number: int, *, seal: bool = True, **more: Any) -> int:
    """Returns the offloaded offset afterwards.  more: arguments of `written`."""
    plan = await broker.offload.plan(topic, number, seal=seal)
    if plan is None:
        return 0
    segments = [await written(broker, topic, number, stretch, **more) for stretch in plan.stretches]
    return (await broker.offload.publish(topic, number, plan.id, segments)).offloaded_offset


async def compact(broker: Broker, topic: str, number: int, keeps: Callable[[Row], bool], suffix: str = "c") -> None:
    """Replaces every segment by one with fewer rows."""
    state = (await broker.offload.page(topic)).states[number]
    home = open_home(broker.config.offload_home)
    removed, added = [], []
    for segment in state.manifest.segments:
        rows = [
            row
            for batch in read_groups(home, segment, segment.first, segment.end)
            for row in to_rows(batch)
            if keeps(row)
        ]
        file = segment.file.replace(".parquet", f"-{suffix}.parquet")
        with SegmentWriter(home, Stretch(segment.first, segment.end, file), state.topic_id) as writer:
            if rows:
                writer.add(to_record_batch(topic, number, rows))
            added.append(writer.finish())
        removed.append(segment.first)
    version, topic_id = state.manifest.version, state.topic_id
    swapped = await broker.offload.swap(topic, number, version, removed, added, topic_id=topic_id)
    for file in swapped.files:
        home.delete(file)


async def seen(
    broker: Broker,
    topic: str,
    number: int,
    offset: int,
    *,
    isolation: Isolation = "read_committed",
    max_bytes: int = READ_BYTES,
) -> list[RecordFields]:
    """Returns every record from the offset on: offset, timestamp, key, value, headers."""
    found: list[RecordFields] = []
    at = offset
    while True:
        fetched = await broker.partition_fetch.fetch(
            topic, number, at, isolation=isolation, max_bytes=max_bytes, wait_ms=0
        )
        for batch in fetched.batches:
            if not batch.is_control:
                found += [(*record,) for record in decode(batch.data) if record.offset >= at]
        if fetched.next_offset == at:
            return found
        at = fetched.next_offset


def files_of(broker: Broker) -> list[str]:
    """Returns the Parquet files in the object store."""
    home = Path(broker.config.offload_home)
    return sorted(str(path.relative_to(home)) for path in home.rglob("*.parquet"))


def texts(records: list[RecordFields]) -> list[str]:
    values = [value for _, _, _, value, _ in records]
    assert None not in values
    return [value.decode() for value in values if value is not None]


async def end_of(broker: Broker) -> int:
    """Of t:0."""
    return (await (await broker.catalog.partition("t", 0)).offsets.head()).end_offset
