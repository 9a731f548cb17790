"""Sources that fail, or take the whole driver with them, at a point of a write: imported by Spark's workers by name.

before   some rows are written, by a task that has not said so     written   the tasks are done, nothing is decided
failed   the same, but only this attempt of the task dies          committed    the batch is visible, Spark was not told
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from redis_ledger.spark.sink import BATCH_ID, BatchWriter, StreamWriter, Written
from redis_ledger.spark.source import RedisLedgerSource
from redis_ledger.spark.writing import writing


class Failed(Exception):
    """The test's own failure."""


class Point:
    """From the options, which Spark takes to every process: "written 1 /tmp/note" is batch 1, and how to say so."""

    def __init__(self, text: str) -> None:
        self.name, batch, note = text.split(" ")
        self.batch, self.note = int(batch), Path(note)

    def reached(self, name: str, batch: int) -> None:
        """Says so, and waits to be killed."""
        if (name, batch) == (self.name, self.batch):
            self.note.touch()
            signal.pause()

    def cut(self, batches: Iterator[pa.RecordBatch], batch: int) -> Iterator[pa.RecordBatch]:
        yield from batches
        context = TaskContext.get()
        assert context is not None
        if self.name == "failed" and batch == self.batch and context.attemptNumber() == 0:
            raise Failed("the first attempt fails when all its rows are written")
        self.reached("before", batch)


def taken(options: Any) -> tuple[Point, dict[str, str]]:
    texts = dict(options)
    return Point(texts.pop("point")), texts


class FailingStream(StreamWriter):
    def __init__(self, point: Point, texts: dict[str, str], schema: StructType) -> None:
        super().__init__(writing(texts, "stream"), schema, False)
        self._point = point

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        context = TaskContext.get()
        assert context is not None
        batch = int(context.getLocalProperty(BATCH_ID) or -1)
        return super().write(self._point.cut(iterator, batch))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._point.reached("written", batchId)
        super().commit(messages, batchId)
        self._point.reached("committed", batchId)


class FailingBatch(BatchWriter):
    def __init__(self, point: Point, texts: dict[str, str], schema: StructType) -> None:
        super().__init__(writing(texts, "batch"), schema, False)
        self._point = point

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return super().write(self._point.cut(iterator, 0))


class FailingSource(RedisLedgerSource):
    @classmethod
    def name(cls) -> str:
        return "redis-ledger-failing"

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        return FailingStream(*taken(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        return FailingBatch(*taken(self.options), schema)
