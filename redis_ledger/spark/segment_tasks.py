"""Writing one stretch of a partition to Parquet, and reading it back: what the tasks of `offload` do.

    broker ── committed batches ──→ decode ──→ columns ──→ <home>/_tmp-… ──→ moved to the name that the plan gave it

A file that is there under that name, and tells that it holds this stretch, is taken as it is.  Attempts that run side
by side write files of their own, and the first one there stays.  All of a stretch is written or nothing, never what is
left of it when the log start has moved: so every attempt that writes this file writes the same rows.
"""

from __future__ import annotations

from typing import NamedTuple

from redis_ledger.errors import TooLargeToDecode
from redis_ledger.ids import TopicPartition
from redis_ledger.offload.manifest import Segment, Stretch
from redis_ledger.records.budget import Limits
from redis_ledger.spark import fetch
from redis_ledger.spark.plan import Range
from redis_ledger.spark.read_options import FETCH_BYTES, OFFLOAD_DECODED_BYTES, Connection
from redis_ledger.spark.rows import arrow_batches

# A broker that reads the file has a record in memory as a whole.
RECORD_BYTES_MAX, RECORD_HEADERS_MAX = 32 << 20, 1_000_000
UNLIMITED = 1 << 62


class Piece(NamedTuple):
    """A stretch, and all that an executor needs to write it."""

    home: str
    topic_id: str
    partition: TopicPartition
    stretch: Stretch
    connection: Connection
    skip_too_large: bool = False
    decoded_bytes_max: int = OFFLOAD_DECODED_BYTES


class Written(NamedTuple):
    """was_there: it was found, and read through.  skipped: batches that are too large to decode, and are not in it."""

    segment: Segment
    was_there: bool
    skipped: tuple[str, ...] = ()


def write(piece: Piece) -> Written:
    """Raises OffsetOutOfRange when the log start has moved into the stretch, and TooLargeToDecode where such a batch is
    not to be skipped."""
    import pyarrow as pa

    from redis_ledger.offload.resume import find_written
    from redis_ledger.offload.segment import SCHEMA, SegmentWriter, open_home

    home, stretch = open_home(piece.home), piece.stretch
    fails = not piece.skip_too_large  # then a file that a run with --skip-too-large has left is written again
    if (there := find_written(home, stretch, piece.topic_id, is_complete=fails)) is not None:
        return Written(there, True)
    # The writer gives a column whose value is always the same its own shape.
    columns = SCHEMA.set(SCHEMA.get_field_index("topic"), pa.field("topic", pa.string()))
    skipped, chunks = list[str](), fetch.chunks(_task(piece))
    with SegmentWriter(home, stretch, piece.topic_id) as writer:
        for batch in arrow_batches(
            columns, piece.partition, chunks, fail_on_data_loss=fails, passed_over=skipped, advice=_advice
        ):
            writer.add(batch)
        if (there := find_written(home, stretch, piece.topic_id, is_complete=fails)) is not None:
            return Written(there, True)
        return Written(writer.finish(left_out=len(skipped)), False, tuple(skipped))


def check(written: tuple[str, Segment]) -> None:
    """Verifies a segment file.  written: home, segment.  Raises OffloadedDamaged, OffloadedUnavailable."""
    from redis_ledger.offload.segment import check_file, open_home

    uri, segment = written
    check_file(open_home(uri), segment)


def _advice(error: TooLargeToDecode) -> str:
    if error.facts["setting"] == "batch_decoded_bytes_max":
        raised = f"Raise --batch-decoded-bytes-max above {error.facts['limit']}, or leave"
    else:
        raised = "Leave"
    return f"{raised} the batch out with --skip-too-large; its records are then deleted when the segment is published."


def _task(piece: Piece) -> fetch.Task:
    limits = Limits(piece.decoded_bytes_max, RECORD_HEADERS_MAX, UNLIMITED, RECORD_BYTES_MAX)
    wanted = Range(piece.partition, piece.stretch.first, piece.stretch.end)
    return fetch.Task(wanted, piece.connection, "read_committed", FETCH_BYTES, True, limits=limits)
