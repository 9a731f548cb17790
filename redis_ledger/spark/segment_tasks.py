"""Tasks of `offload`: write one stretch of a partition to Parquet, and verify it.

    broker ── committed batches ──→ decode ──→ columns ──→ <object store>/_tmp-… ──→ moved to the name in the plan

An existing file of that name is used if its footer identifies this stretch.  Concurrent attempts write files of their
own, and the first one that is moved stays.  A stretch is written as a whole or not at all, also if the log start has
moved into it: so every attempt writes the same rows.
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

# A broker that reads the file holds each record in memory as a whole.
RECORD_BYTES_MAX, RECORD_HEADERS_MAX = 32 << 20, 1_000_000
UNLIMITED = 1 << 62


class SegmentTask(NamedTuple):
    """A stretch, and everything that an executor needs to write it."""

    home: str
    topic_id: str
    partition: TopicPartition
    stretch: Stretch
    connection: Connection
    skip_too_large: bool = False
    decoded_bytes_max: int = OFFLOAD_DECODED_BYTES


class WrittenSegment(NamedTuple):
    """existed: an existing file was verified.  skipped: batches that are too large to decode and not in the file."""

    segment: Segment
    existed: bool
    skipped: tuple[str, ...] = ()


def write(task: SegmentTask) -> WrittenSegment:
    """Raises OffsetOutOfRange if the log start has moved into the stretch, and TooLargeToDecode for such a batch unless
    it may be skipped."""
    import pyarrow as pa

    from redis_ledger.offload.resume import find_written
    from redis_ledger.offload.segment import SCHEMA, SegmentWriter, open_home

    home, stretch = open_home(task.home), task.stretch
    fails = not task.skip_too_large  # a file of a run with --skip-too-large is then written again
    if (there := find_written(home, stretch, task.topic_id, is_complete=fails)) is not None:
        return WrittenSegment(there, True)
    # Arrow encodes a constant column differently; the schema of the writer converts it.
    columns = SCHEMA.set(SCHEMA.get_field_index("topic"), pa.field("topic", pa.string()))
    skipped, chunks = list[str](), fetch.chunks(_task(task))
    with SegmentWriter(home, stretch, task.topic_id) as writer:
        for batch in arrow_batches(
            columns, task.partition, chunks, fail_on_data_loss=fails, passed_over=skipped, advice=_advice
        ):
            writer.add(batch)
        if (there := find_written(home, stretch, task.topic_id, is_complete=fails)) is not None:
            return WrittenSegment(there, True)
        return WrittenSegment(writer.finish(left_out=len(skipped)), False, tuple(skipped))


def check(written: tuple[str, Segment]) -> None:
    """Verifies a segment file.  written: object store and segment.  Raises OffloadedDamaged, OffloadedUnavailable."""
    from redis_ledger.offload.segment import check_file, open_home

    uri, segment = written
    check_file(open_home(uri), segment)


def _advice(error: TooLargeToDecode) -> str:
    if error.facts["setting"] == "batch_decoded_bytes_max":
        raised = f"Raise --batch-decoded-bytes-max above {error.facts['limit']}, or skip"
    else:
        raised = "Leave"
    return f"{raised} the batch with --skip-too-large; its records are then deleted when the segment is published."


def _task(task: SegmentTask) -> fetch.Task:
    limits = Limits(task.decoded_bytes_max, RECORD_HEADERS_MAX, UNLIMITED, RECORD_BYTES_MAX)
    wanted = Range(task.partition, task.stretch.first, task.stretch.end)
    return fetch.Task(wanted, task.connection, "read_committed", FETCH_BYTES, True, limits=limits)
