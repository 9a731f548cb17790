"""Records as Arrow batches: the columns of Spark's Kafka connector, and two of ours.

    key  value  topic  partition  offset  timestamp  timestampType       always
    headers                                                              includeHeaders
    position  transaction                                                includePosition: "2:1045", "3-3821" or null

A user's own schema may name fewer of them; only those are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import TopicPartition, TxnId
from redis_ledger.records.batch import LOG_APPEND_TIME, BatchHeader
from redis_ledger.spark.fetch import Chunk
from redis_ledger.spark.field_arrays import SLICE_BYTES, Body, Fields, fields, slices, unpacked
from redis_ledger.spark.oversized import Advice, Oversized, reader_advice

TYPES = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
    "position": "string",
    "transaction": "string",
}
ALWAYS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
# Of one Arrow batch, in records and in bytes of them.
ROWS_MAX, BYTES_MAX = 10_000, 1 << 20


def columns(*, include_headers: bool, include_position: bool) -> str:
    """The schema, as Spark reads it."""
    names = (
        *ALWAYS,
        *(("headers",) if include_headers else ()),
        *(("position", "transaction") if include_position else ()),
    )
    return ", ".join(f"{name} {TYPES[name]}" for name in names)


def check_columns(types: dict[str, str]) -> None:
    """types: those of the user's schema, as Spark writes them.  Raises InvalidRequest for a column we cannot make."""
    for name, kind in types.items():
        if TYPES.get(name) != kind:
            known = ", ".join(f"{ours} {type_}" for ours, type_ in TYPES.items())
            raise InvalidRequest(f"The schema has {name} {kind}, which is not a column of this source: {known}.")


class Gathered(NamedTuple):
    """Chunks that make one Arrow batch, and what they hold."""

    partition: TopicPartition
    chunks: list[Chunk]
    fields: Fields

    @property
    def rows(self) -> int:
        return len(self.fields.offset)


def gathered(partition: TopicPartition, bodies: Iterable[Body]) -> Iterator[Gathered]:
    """Small record batches together, large ones one by one."""
    held: list[Body] = []
    rows = size = 0
    for body in bodies:
        if body.size > SLICE_BYTES and held:
            yield _gathered(partition, held)
            held, rows, size = [], 0, 0
        held.append(body)
        rows += body.chunk.header.count
        size += body.size
        if rows >= ROWS_MAX or size >= BYTES_MAX:
            yield _gathered(partition, held)
            held, rows, size = [], 0, 0
    if held:
        yield _gathered(partition, held)


def _gathered(partition: TopicPartition, held: list[Body]) -> Gathered:
    return Gathered(partition, [body.chunk for body in held], fields(held))


def arrow_batches(
    schema: pa.Schema,
    partition: TopicPartition,
    chunks: Iterable[Chunk],
    *,
    fail_on_data_loss: bool = True,
    passed_over: list[str] | None = None,
    advice: Advice = reader_advice,
) -> Iterator[pa.RecordBatch]:
    """schema: the columns wanted, as pyspark translates them.  Raises TooLargeToDecode for a batch over its limits,
    unless losses are to be passed over; passed_over then gets what is said of each.  advice: for its message."""
    oversized = Oversized(partition, fail_on_data_loss, passed_over, advice)
    bodies = (body for chunk in chunks for part in oversized.made([chunk], _bodies) for body in part)
    for part in gathered(partition, bodies):
        if part.rows:
            # Headers are counted only here, and for a query that has their column.
            yield from oversized.made(part.chunks, partial(_arrow_batch, schema, part))


def _bodies(chunks: Sequence[Chunk]) -> list[Body]:
    """Of one chunk: its records, in slices if they are large."""
    body = unpacked(chunks[0])
    return slices(body) if body.size > SLICE_BYTES else [body]


def _arrow_batch(schema: pa.Schema, whole: Gathered, chunks: Sequence[Chunk]) -> pa.RecordBatch:
    """chunks: those of whole, or one of them."""
    part = whole if chunks is whole.chunks else _gathered(whole.partition, [unpacked(chunk) for chunk in chunks])
    return pa.RecordBatch.from_arrays([_MAKE[field.name](part, field.type) for field in schema], schema=schema)


def _constant(value_of: Callable[[TopicPartition], str | int]) -> Callable[[Gathered, Any], pa.Array]:
    def make(part: Gathered, kind: pa.DataType) -> pa.Array:
        return pa.repeat(pa.scalar(value_of(part.partition), kind), part.rows)

    return make


def _of_batch(value_of: Callable[[BatchHeader], Any]) -> Callable[[Gathered, Any], pa.Array]:
    def make(part: Gathered, kind: pa.DataType) -> pa.Array:
        values = [value_of(chunk.header) for chunk in part.chunks]
        if len(set(values)) == 1:
            return pa.repeat(pa.scalar(values[0], kind), part.rows)
        return pa.array(values, kind).take(pa.array(part.fields.chunk))

    return make


def _timestamps(part: Gathered, kind: pa.DataType) -> pa.Array:
    return pa.array(part.fields.timestamp_ms).cast(pa.timestamp("ms", kind.tz)).cast(kind)


def _headers(part: Gathered, kind: pa.DataType) -> pa.Array:
    """Null where a record has none, as Kafka's connector has it."""
    if not part.fields.headers.any():
        return pa.nulls(part.rows, kind)
    return part.fields.header_lists(part.chunks[0].limits).cast(kind)


def positions(partition: TopicPartition, offsets: pa.Array, kind: pa.DataType) -> pa.Array:
    """ "2:1045" """
    number, colon = pa.scalar(str(partition.partition), kind), pa.scalar(":", kind)
    return pc.binary_join_element_wise(number, offsets.cast(kind), colon)


def transaction_of(header: BatchHeader) -> str | None:
    return str(TxnId.of_producer(header.producer_id)) if header.is_transactional else None


_MAKE: dict[str, Callable[[Gathered, Any], Any]] = {
    "key": lambda part, kind: part.fields.keys().cast(kind),
    "value": lambda part, kind: part.fields.values().cast(kind),
    "topic": _constant(lambda partition: partition.topic),
    "partition": _constant(lambda partition: partition.partition),
    "offset": lambda part, kind: pa.array(part.fields.offset, kind),
    "timestamp": _timestamps,
    "timestampType": _of_batch(lambda header: int(bool(header.attributes & LOG_APPEND_TIME))),
    "headers": _headers,
    "position": lambda part, kind: positions(part.partition, pa.array(part.fields.offset), kind),
    "transaction": _of_batch(transaction_of),
    # Of offloaded files only: a query has no use for them.
    "producerId": _of_batch(lambda header: header.producer_id),
    "producerEpoch": _of_batch(lambda header: header.producer_epoch),
}
