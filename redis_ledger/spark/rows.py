"""Records as Arrow batches: the columns of Spark's Kafka connector, and two of ours.

    key  value  topic  partition  offset  timestamp  timestampType       always
    headers                                                              includeHeaders
    position  transaction                                                includePosition: "2:1045", "3-17" or null

A user's own schema may name fewer of them; only those are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import TopicPartition, TxnId
from redis_ledger.records.batch import LOG_APPEND_TIME, BatchHeader
from redis_ledger.records.read import Record
from redis_ledger.spark.fetch import Chunk

if TYPE_CHECKING:
    import pyarrow as pa

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
# Of one Arrow batch, in records and in bytes of the batches they came in.  What fits a cache is built faster: the last
# one is what is still at hand.
ROWS_MAX, BYTES_MAX = 10_000, 512 << 10


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
    """Chunks that make one Arrow batch.  fields: a column for each field of Record, by name."""

    partition: TopicPartition
    chunks: list[Chunk]
    fields: dict[str, Sequence[Any]]

    @property
    def rows(self) -> int:
        return len(self.fields["offset"])


def gathered(partition: TopicPartition, chunks: Iterable[Chunk]) -> Iterator[Gathered]:
    """Small record batches together, large ones one by one."""
    held: list[Chunk] = []
    rows = size = 0
    for chunk in chunks:
        held.append(chunk)
        rows += len(chunk.records)
        size += chunk.header.size
        if rows >= ROWS_MAX or size >= BYTES_MAX:
            yield _gathered(partition, held)
            held, rows, size = [], 0, 0
    if held:
        yield _gathered(partition, held)


def _gathered(partition: TopicPartition, held: list[Chunk]) -> Gathered:
    turned = zip(*chain.from_iterable(chunk.records for chunk in held), strict=True)
    return Gathered(partition, held, dict(zip(Record._fields, turned, strict=True)))


def arrow_batches(schema: pa.Schema, partition: TopicPartition, chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
    """schema: the columns wanted, as pyspark translates them."""
    import pyarrow as pa

    for part in gathered(partition, chunks):
        arrays = [_MAKE[field.name](part, field.type) for field in schema]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _each(field: str) -> Callable[[Gathered, Any], pa.Array]:
    def make(part: Gathered, kind: pa.DataType) -> pa.Array:
        import pyarrow as pa

        return pa.array(part.fields[field], kind)

    return make


def _constant(value_of: Callable[[TopicPartition], str | int]) -> Callable[[Gathered, Any], pa.Array]:
    def make(part: Gathered, kind: pa.DataType) -> pa.Array:
        import pyarrow as pa

        return pa.repeat(pa.scalar(value_of(part.partition), kind), part.rows)

    return make


def _of_batch(value_of: Callable[[BatchHeader], Any]) -> Callable[[Gathered, Any], pa.Array]:
    def make(part: Gathered, kind: pa.DataType) -> pa.Array:
        import pyarrow as pa

        return pa.concat_arrays(
            [pa.repeat(pa.scalar(value_of(chunk.header), kind), len(chunk.records)) for chunk in part.chunks]
        )

    return make


def _timestamps(part: Gathered, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return pa.array(part.fields["timestamp_ms"], pa.timestamp("ms", kind.tz)).cast(kind)


def _headers(part: Gathered, kind: pa.DataType) -> pa.Array:
    """Null where a record has none, as Kafka's connector has it."""
    import pyarrow as pa

    return pa.array(
        [[{"key": name, "value": held} for name, held in headers] or None for headers in part.fields["headers"]], kind
    )


def _positions(part: Gathered, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    number = part.partition.partition
    return pa.array([f"{number}:{offset}" for offset in part.fields["offset"]], kind)


def transaction_of(header: BatchHeader) -> str | None:
    return str(TxnId.of_producer(header.producer_id)) if header.is_transactional else None


_MAKE: dict[str, Callable[[Gathered, Any], Any]] = {
    "key": _each("key"),
    "value": _each("value"),
    "topic": _constant(lambda partition: partition.topic),
    "partition": _constant(lambda partition: partition.partition),
    "offset": _each("offset"),
    "timestamp": _timestamps,
    "timestampType": _of_batch(lambda header: int(bool(header.attributes & LOG_APPEND_TIME))),
    "headers": _headers,
    "position": _positions,
    "transaction": _of_batch(transaction_of),
}
