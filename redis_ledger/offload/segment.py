"""Segment file: the committed records of one stretch in Parquet.  No other module depends on its layout.

    one row a record, ascending by offset; offsets without a row were aborted, are markers, or were compacted away

    topic  partition  offset  timestamp  timestampType  key  value  headers  producerId  producerEpoch  transaction

It is a plain table, which DuckDB, pandas, Spark and pyarrow can read.  Row groups are small (GROUP_BYTES before
compression), and offset and timestamp have statistics, so a read in the middle decodes little.  Every page has a CRC.
The key-value metadata identifies the file without the manifest:

    redis_ledger.format  .topic_id  .first  .end  .checksum  .footer (its CRC)

This module needs neither Redis nor a broker: Spark's executors import it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from redis_ledger.errors import OffloadedDamaged, OffloadedUnavailable
from redis_ledger.offload.manifest import Segment, Stretch
from redis_ledger.offload.object_store import (  # first: its import error names the package to install
    ObjectStore,
    open_home,
)

import pyarrow as pa  # isort: skip
import pyarrow.compute as pc  # isort: skip
from pyarrow import parquet  # isort: skip

from redis_ledger.offload.checksum import checksum, combine, to_hex  # isort: skip
from redis_ledger.offload.footer import BLANK, PREFIX, FooterSink, key_value_metadata, read_footer  # isort: skip

__all__ = ["SCHEMA", "Row", "SegmentWriter", "check_file", "open_home", "read_groups", "to_record_batch", "to_rows"]

FORMAT = "1"
LEFT_OUT = "left_out"  # in the footer: batches that were too large to decode; absent if there are none
SCHEMA = pa.schema(
    [
        pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("ms", "UTC"), nullable=False),  # -1 ms if the producer gave none
        pa.field("timestampType", pa.int32(), nullable=False),  # 0 the producer's, 1 the broker's
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))),
        pa.field("producerId", pa.int64(), nullable=False),  # -1: none
        pa.field("producerEpoch", pa.int32(), nullable=False),
        pa.field("transaction", pa.string()),
    ]
)
GROUP_BYTES = 8 << 20
_REPEATED = ["topic", "partition", "timestampType", "key", "producerId", "producerEpoch", "transaction"]


class Row(NamedTuple):
    """A row in Python, without topic and partition, which are the same in the whole file."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp_type: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    transaction: str | None = None


def to_record_batch(topic: str, partition: int, rows: Sequence[Row]) -> Any:
    """Returns the rows as a RecordBatch of SCHEMA."""
    count = len(rows)
    columns = [
        pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([topic])),
        [partition] * count,
        [row.offset for row in rows],
        [row.timestamp_ms for row in rows],
        [row.timestamp_type for row in rows],
        [row.key for row in rows],
        [row.value for row in rows],
        [[{"key": name, "value": value} for name, value in row.headers] or None for row in rows],
        [row.producer_id for row in rows],
        [row.producer_epoch for row in rows],
        [row.transaction for row in rows],
    ]
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for column, field in zip(columns, SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def to_rows(batch: Any) -> list[Row]:
    """Returns the rows of a RecordBatch of SCHEMA."""
    stamps = batch.column("timestamp").cast(pa.int64()).to_pylist()
    headers = [[(each["key"], each["value"]) for each in some or ()] for some in batch.column("headers").to_pylist()]
    listed = {name: batch.column(name).to_pylist() for name in ("offset", "key", "value", "timestampType", *_REPEATED)}
    return [
        Row(*fields)
        for fields in zip(
            listed["offset"], stamps, listed["key"], listed["value"], headers, listed["timestampType"],
            listed["producerId"], listed["producerEpoch"], listed["transaction"], strict=True,
        )
    ]  # fmt: skip


class SegmentWriter:
    """Writes one stretch.  The file appears when `finish` returns; a stretch without rows has no file.

    with SegmentWriter(home, stretch, topic_id) as writer:
        for batch in batches:
            writer.add(batch)
        segment = writer.finish()
    """

    def __init__(self, home: ObjectStore, stretch: Stretch, topic_id: str, *, group_bytes: int = GROUP_BYTES) -> None:
        self._home, self._stretch, self._topic_id, self._group_bytes = home, stretch, topic_id, group_bytes
        self._held: list[Any] = []
        self._held_bytes = 0
        self._sums: list[int] = []
        self._records = 0
        self._last = stretch.first - 1
        self._min_ms = self._max_ms = -1
        self._opened: Any = None  # context manager of the file that is being written
        self._sink: Any = None
        self._writer: Any = None

    def __enter__(self) -> SegmentWriter:
        return self

    def add(self, batch: Any) -> None:
        """Adds a pyarrow RecordBatch with at least the columns of SCHEMA, in types that can be cast to them.

        Raises ValueError if rows are outside the stretch or do not ascend by offset; nothing is written then.
        """
        if not batch.num_rows:
            return
        batch = _conform(batch)
        self._check(batch.column("offset"))
        times = pc.min_max(batch.column("timestamp").cast(pa.int64()))
        least, most = times["min"].as_py(), times["max"].as_py()
        self._min_ms = least if not self._records else min(self._min_ms, least)
        self._max_ms = most if not self._records else max(self._max_ms, most)
        self._records += batch.num_rows
        self._sums.append(checksum(batch))
        for piece in _pieces(batch, self._group_bytes):
            self._held.append(piece)
            self._held_bytes += piece.nbytes
            if self._held_bytes >= self._group_bytes:
                self._write_group()

    def finish(self, *, left_out: int = 0) -> Segment:
        """Returns the manifest entry.  left_out: batches of the stretch that are not in the file; stored in the
        footer."""
        first, end, file = self._stretch.first, self._stretch.end, self._stretch.file
        total = to_hex(combine(self._sums))
        if not self._records:
            return Segment(first, end, "", 0, 0, -1, -1, total)
        self._write_group()
        facts = {
            "format": FORMAT, "topic_id": self._topic_id, "first": first, "end": end, "checksum": total,
            "footer": BLANK,
        }  # fmt: skip
        if left_out:
            facts[LEFT_OUT] = left_out
        self._sink.hold()
        self._writer.add_key_value_metadata({PREFIX + name: str(value) for name, value in facts.items()})
        self._writer.close()
        self._sink.seal()
        opened, self._opened = self._opened, None
        opened.__exit__(None, None, None)
        size = self._home.size(file)
        return Segment(first, end, file, self._records, size, self._min_ms, self._max_ms, total)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Removes the file unless `finish` has returned."""
        opened, self._opened = self._opened, None
        if opened is not None:
            unfinished = error or RuntimeError("The segment was not finished.")
            with contextlib.suppress(pa.ArrowException, OSError):
                if self._writer is not None:
                    self._writer.close()  # else the garbage collector closes it, after its file
            try:
                opened.__exit__(type(unfinished), unfinished, trace)
            except type(unfinished) as raised:
                if raised is not unfinished:
                    raise

    def _check(self, offsets: Any) -> None:
        first, last = offsets[0].as_py(), offsets[-1].as_py()
        ascends = pc.all(pc.greater(offsets[1:], offsets[:-1])).as_py()
        if first <= self._last or last >= self._stretch.end or ascends is False:
            raise ValueError(
                f"Rows of offsets {first} to {last} do not follow {self._last} in ascending order within the stretch"
                f" {self._stretch.first} to {self._stretch.end}."
            )
        self._last = last

    def _write_group(self) -> None:
        if not self._held:
            return
        if self._writer is None:
            opened = self._home.writing(self._stretch.file)
            self._sink = FooterSink(opened.__enter__())
            self._opened = opened
            self._writer = parquet.ParquetWriter(
                self._sink, SCHEMA, compression="zstd", write_page_checksum=True, use_dictionary=_REPEATED,
                write_statistics=["offset", "timestamp"],
            )  # fmt: skip
        table = pa.Table.from_batches(self._held, schema=SCHEMA)
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._held, self._held_bytes = [], 0


def _conform(batch: Any) -> Any:
    if batch.schema.equals(SCHEMA):
        return batch
    arrays = [batch.column(field.name).cast(field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _pieces(batch: Any, bytes_max: int) -> Iterator[Any]:
    count = max(1, -(-batch.nbytes // bytes_max))
    step = -(-batch.num_rows // count)
    for at in range(0, batch.num_rows, step):
        yield batch.slice(at, step)


# -- reading -----------------------------------------------------------------------------------------------------------


class GroupSpan(NamedTuple):
    """Row group of a file; its rows have offsets from first to last."""

    number: int
    first: int
    last: int
    rows: int


class SegmentFile:
    """An open segment file, for one thread at a time.

    Raises OffloadedUnavailable if it cannot be read, OffloadedDamaged if it does not match the manifest.
    """

    def __init__(self, home: ObjectStore, segment: Segment) -> None:
        self.home, self.segment = home, segment
        with _reading(home, segment.file):
            source = home.fs.open_input_file(home.path(segment.file))
            metadata = read_footer(source)
            self._file = parquet.ParquetFile(source, metadata=metadata, page_checksum_verification=True)
            self.key_values = key_value_metadata(metadata)
            self._check(metadata.num_rows)
            self.groups = list(self._spans())

    def _check(self, rows: int) -> None:
        own, segment = self.key_values, self.segment
        if own.get("format") != FORMAT:
            raise OffloadedDamaged(f"{segment.file} is not a segment of format {FORMAT}: {own.get('format')}.")
        found = (own.get("first"), own.get("end"), own.get("checksum"), rows)
        if found != (str(segment.first), str(segment.end), segment.checksum, segment.records):
            raise OffloadedDamaged(
                f"{segment.file} holds {rows} records of {own.get('first')} to {own.get('end')},"
                f" checksum {own.get('checksum')}; the manifest entry has {segment.records} of {segment.first} to"
                f" {segment.end}, checksum {segment.checksum}."
            )
        if not self._file.schema_arrow.equals(SCHEMA):
            raise OffloadedDamaged(f"{segment.file} has other columns than a segment.")

    def _spans(self) -> Iterator[GroupSpan]:
        metadata = self._file.metadata
        at = SCHEMA.get_field_index("offset")  # also its index among the leaves: no column before it is nested
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            found = group.column(at).statistics
            if found is None:
                raise OffloadedDamaged(f"{self.segment.file} has columns without statistics.")
            yield GroupSpan(number, found.min, found.max, group.num_rows)

    def read(self, number: int, columns: Sequence[str] | None = None) -> Any:
        """Returns a row group as a RecordBatch."""
        with _reading(self.home, self.segment.file):
            table = self._file.read_row_group(number, columns=None if columns is None else list(columns))
            return table.combine_chunks().to_batches()[0]

    def close(self) -> None:
        self._file.close(force=True)


@contextlib.contextmanager
def _reading(home: ObjectStore, file: str) -> Iterator[None]:
    """Translates errors of reading the file."""
    try:
        yield
    except FileNotFoundError as error:
        raise OffloadedUnavailable(f"{file} is not in {home.uri}. Is the object store mounted?") from error
    except OffloadedDamaged as error:
        raise OffloadedDamaged(f"{file} in {home.uri} is damaged: {error}") from None
    except (pa.ArrowException, OSError, IndexError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and not _is_reached(home, file, error):
            raise OffloadedUnavailable(f"{file} cannot be read from {home.uri}: {error}") from error
        raise OffloadedDamaged(f"{file} in {home.uri} is damaged: {error}") from error


def _is_reached(home: ObjectStore, file: str, error: OSError) -> bool:
    """Whether the content is at fault and not the access; pyarrow raises OSError for both."""
    if error.errno is not None or "AWS Error" in str(error):
        return False
    with contextlib.suppress(OSError):
        return home.size(file) >= 0
    return False


def read_groups(
    home: ObjectStore, segment: Segment, first: int, end: int, columns: Sequence[str] | None = None
) -> Iterator[Any]:
    """Yields rows of offsets first to end (exclusive), one RecordBatch for each row group that has some.

    columns: of SCHEMA, all by default.  Raises OffloadedUnavailable, OffloadedDamaged.
    """
    if not segment.file:
        return
    file = SegmentFile(home, segment)
    try:
        for span in file.groups:
            if span.last < first or span.first >= end:
                continue
            if first <= span.first and span.last < end:
                yield file.read(span.number, columns)
                continue
            wanted = columns if columns is None or "offset" in columns else [*columns, "offset"]
            batch = file.read(span.number, wanted)
            offsets = batch.column("offset")
            kept = batch.filter(pc.and_(pc.greater_equal(offsets, first), pc.less(offsets, end)))
            if kept.num_rows:
                yield kept if columns is None else kept.select(list(columns))
    finally:
        file.close()


def check_file(home: ObjectStore, segment: Segment) -> None:
    """Reads the whole file and compares it with its manifest entry.  Raises OffloadedUnavailable, OffloadedDamaged."""
    sums, records, last = [], 0, segment.first - 1
    for batch in read_groups(home, segment, segment.first, segment.end):
        offsets = batch.column("offset")
        if offsets[0].as_py() <= last or pc.all(pc.greater(offsets[1:], offsets[:-1])).as_py() is False:
            raise OffloadedDamaged(f"The offsets of {segment.file} do not ascend.")
        last = offsets[-1].as_py()
        sums.append(checksum(batch))
        records += batch.num_rows
    if (records, to_hex(combine(sums))) != (segment.records, segment.checksum):
        raise OffloadedDamaged(
            f"{segment.file} holds {records} records of checksum {to_hex(combine(sums))};"
            f" the manifest entry has {segment.records} of {segment.checksum}."
        )
