"""Converts records to Arrow batches: the columns of Spark's Kafka connector, and two of ours.

    key  value  topic  partition  offset  timestamp  timestampType       always
    headers                                                              includeHeaders
    position  transaction                                                includePosition: "2:1045", "3-3821" or null

A user's own schema may name fewer columns; only those are built.
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
from redis_ledger.spark.oversized import Advice, OversizedBatches, reader_advice

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
# Limits of one Arrow batch: records, and their bytes.
ROWS_MAX, BYTES_MAX = 10_000, 1 << 20


def columns(*, include_headers: bool, include_position: bool) -> str:
    """Returns the schema, in Spark's syntax."""
    names = (
        *ALWAYS,
        *(("headers",) if include_headers else ()),
        *(("position", "transaction") if include_position else ()),
    )
    return ", ".join(f"{name} {TYPES[name]}" for name in names)


def check_columns(types: dict[str, str]) -> None:
    """types: of the user's schema, in Spark's syntax.  Raises InvalidRequest for an unknown column or type."""
    for name, kind in types.items():
        if TYPES.get(name) != kind:
            known = ", ".join(f"{ours} {type_}" for ours, type_ in TYPES.items())
            raise InvalidRequest(f"The schema has {name} {kind}, which is not a column of this source; it has {known}.")


class ChunkGroup(NamedTuple):
    """Chunks that form one Arrow batch, and their decoded fields."""

    partition: TopicPartition
    chunks: list[Chunk]
    fields: Fields

    @property
    def rows(self) -> int:
        return len(self.fields.offset)


def group_chunks(partition: TopicPartition, bodies: Iterable[Body]) -> Iterator[ChunkGroup]:
    """Groups small record batches; large ones stay alone."""
    held: list[Body] = []
    rows = size = 0
    for body in bodies:
        if body.size > SLICE_BYTES and held:
            yield _chunk_group(partition, held)
            held, rows, size = [], 0, 0
        held.append(body)
        rows += body.chunk.header.count
        size += body.size
        if rows >= ROWS_MAX or size >= BYTES_MAX:
            yield _chunk_group(partition, held)
            held, rows, size = [], 0, 0
    if held:
        yield _chunk_group(partition, held)


def _chunk_group(partition: TopicPartition, held: list[Body]) -> ChunkGroup:
    return ChunkGroup(partition, [body.chunk for body in held], fields(held))


def arrow_batches(
    schema: pa.Schema,
    partition: TopicPartition,
    chunks: Iterable[Chunk],
    *,
    fail_on_data_loss: bool = True,
    passed_over: list[str] | None = None,
    advice: Advice = reader_advice,
) -> Iterator[pa.RecordBatch]:
    """Yields Arrow batches.

    schema       the columns to return, as pyspark translates them
    passed_over  receives a line for each batch that is skipped
    advice       returns the remedy for an error message
    Raises TooLargeToDecode for a batch over its limits, unless losses are allowed.
    """
    oversized = OversizedBatches(partition, fail_on_data_loss, passed_over, advice)
    bodies = (body for chunk in chunks for part in oversized.convert([chunk], _bodies) for body in part)
    for part in group_chunks(partition, bodies):
        if part.rows:
            # Headers are counted only here, for a query that has their column.
            yield from oversized.convert(part.chunks, partial(_arrow_batch, schema, part))


def _bodies(chunks: Sequence[Chunk]) -> list[Body]:
    """Returns the records of one chunk, in slices if they are large."""
    body = unpacked(chunks[0])
    return slices(body) if body.size > SLICE_BYTES else [body]


def _arrow_batch(schema: pa.Schema, whole: ChunkGroup, chunks: Sequence[Chunk]) -> pa.RecordBatch:
    """chunks: those of `whole`, or one of them."""
    part = whole if chunks is whole.chunks else _chunk_group(whole.partition, [unpacked(chunk) for chunk in chunks])
    return pa.RecordBatch.from_arrays([_MAKE[field.name](part, field.type) for field in schema], schema=schema)


def _constant(value_of: Callable[[TopicPartition], str | int]) -> Callable[[ChunkGroup, Any], pa.Array]:
    def make(part: ChunkGroup, kind: pa.DataType) -> pa.Array:
        return pa.repeat(pa.scalar(value_of(part.partition), kind), part.rows)

    return make


def _of_batch(value_of: Callable[[BatchHeader], Any]) -> Callable[[ChunkGroup, Any], pa.Array]:
    def make(part: ChunkGroup, kind: pa.DataType) -> pa.Array:
        values = [value_of(chunk.header) for chunk in part.chunks]
        if len(set(values)) == 1:
            return pa.repeat(pa.scalar(values[0], kind), part.rows)
        return pa.array(values, kind).take(pa.array(part.fields.chunk))

    return make


def _timestamps(part: ChunkGroup, kind: pa.DataType) -> pa.Array:
    return pa.array(part.fields.timestamp_ms).cast(pa.timestamp("ms", kind.tz)).cast(kind)


def _headers(part: ChunkGroup, kind: pa.DataType) -> pa.Array:
    """Null if a record has no header, as in Kafka's connector."""
    if not part.fields.headers.any():
        return pa.nulls(part.rows, kind)
    return part.fields.header_lists(part.chunks[0].limits).cast(kind)


def positions(partition: TopicPartition, offsets: pa.Array, kind: pa.DataType) -> pa.Array:
    """ "2:1045" """
    number, colon = pa.scalar(str(partition.partition), kind), pa.scalar(":", kind)
    return pc.binary_join_element_wise(number, offsets.cast(kind), colon)


def transaction_of(header: BatchHeader) -> str | None:
    return str(TxnId.of_producer(header.producer_id)) if header.is_transactional else None


_MAKE: dict[str, Callable[[ChunkGroup, Any], Any]] = {
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
    # Columns of offloaded files that a query has no use for.
    "producerId": _of_batch(lambda header: header.producer_id),
    "producerEpoch": _of_batch(lambda header: header.producer_epoch),
}
