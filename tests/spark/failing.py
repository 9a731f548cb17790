"""Sources and sinks that stop, or fail, at a point of a job: imported by Spark's workers by name.

    reading     a task has read some records, and there are more
    begun       a task has its first rows, and nothing is written
    midway      a task has written some rows, and has more
    wrote       a task has written all its rows, and has not returned
    failed      the same; the first attempt of each task fails there
    overtaken   the same; only the first attempt of task 0 stops
    written     the tasks are done, nothing is committed
    noted       the same, and the driver's transaction has the acknowledged offsets
    committed   the batch is visible, but the commit has not returned to Spark

A process that stops writes a note and waits to be killed, or for the file `go`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import InputPartition, WriterCommitMessage
from pyspark.sql.types import StructType

from redis_ledger.client._sync.admin import Transactions
from redis_ledger.client.models import CommittedAll
from redis_ledger.spark.batch import BatchReader
from redis_ledger.spark.sink import BATCH_ID, BatchWriter, StreamWriter, TaskResult
from redis_ledger.spark.source import RedisLedgerSource
from redis_ledger.spark.stream import StreamReader

JOB = 1  # the batch of a stream at which it stops; the number of a batch job


class Failed(Exception):
    """The failure injected by the test."""


class Point:
    """Parsed from the options, which Spark passes to every process: "written /tmp/notes"."""

    def __init__(self, text: str) -> None:
        self.name, _, folder = text.partition(" ")
        self.folder = Path(folder)

    def notes(self) -> list[str]:
        """One for each process that reached the point: its task and attempt, or "driver"."""
        return sorted(path.name for path in self.folder.glob("at-*"))

    def go(self) -> None:
        (self.folder / "go").touch()

    def note(self, what: str) -> None:
        (self.folder / what).touch()

    def reached(self, name: str, batch: int, who: str = "driver") -> None:
        if (name, batch) == (self.name, JOB):
            self.note(f"at-{who}")
            self.wait()

    def wait(self, what: str = "go") -> None:
        while not (self.folder / what).exists():
            time.sleep(0.02)  # another process creates it

    @contextlib.contextmanager
    def commit(self, batch: int) -> Iterator[None]:
        """Runs on the driver."""
        decide = Transactions.commit_all

        def noted(*given: Any, **more: Any) -> CommittedAll:
            self.reached("noted", batch)
            return decide(*given, **more)

        self.reached("written", batch)
        with patch.object(Transactions, "commit_all", noted):
            yield
        self.reached("committed", batch)

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Runs on an executor."""
        _, who, batch = task()
        for number, each in enumerate(batches):
            if number:
                self.note(f"went-on-{who}")
            yield each
            if not number:
                self.reached("reading", batch, who)

    def written(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Runs on an executor; a yielded batch is being written when the next one is requested."""
        context, who, batch = task()
        self.note(f"began-{who}-of-{batch}")
        is_first, place = batch == JOB and context.attemptNumber() == 0, context.partitionId()
        if self.name == "overtaken" and batch == JOB and not is_first and place == 0:
            self.wait("at-0.0")  # the first attempt has written everything before this one begins
        for number, each in enumerate(batches):
            self.reached("midway" if number else "begun", batch, who)
            yield each
        self.reached("wrote", batch, who)
        if self.name == "failed" and is_first:
            self.note(f"at-{who}")
            raise Failed("the first attempt fails after writing all its rows")
        if is_first and place == 0:
            self.reached("overtaken", batch, who)


def task() -> tuple[TaskContext, str, int]:
    """Returns the task, its number with that of the attempt, and its batch."""
    context = TaskContext.get()
    assert context is not None
    batch = int(context.getLocalProperty(BATCH_ID) or JOB)
    return context, f"{context.partitionId()}.{context.attemptNumber()}", batch


class StoppingBatchReader(BatchReader):
    point: Point

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.point.read(iter(super().read(partition)))


class StoppingStreamReader(StreamReader):
    point: Point

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.point.read(iter(super().read(partition)))


class StoppingBatchWriter(BatchWriter):
    point: Point

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        return super().write(self.point.written(iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        with self.point.commit(JOB):
            super().commit(messages)


class StoppingStreamWriter(StreamWriter):
    point: Point

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        return super().write(self.point.written(iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        with self.point.commit(batchId):
            super().commit(messages, batchId)


Stopping = TypeVar(
    "Stopping", StoppingBatchReader, StoppingStreamReader, StoppingBatchWriter, StoppingStreamWriter
)  # fmt: skip


class FailingSource(RedisLedgerSource):
    def __init__(self, options: dict[str, str]) -> None:
        texts = dict(options)
        self._point = Point(texts.pop("point"))
        super().__init__(texts)

    @classmethod
    def name(cls) -> str:
        return "redis-ledger-failing"

    def reader(self, schema: StructType) -> BatchReader:
        return self._stopping(super().reader(schema), StoppingBatchReader)

    def streamReader(self, schema: StructType) -> StreamReader:
        return self._stopping(super().streamReader(schema), StoppingStreamReader)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        return self._stopping(super().writer(schema, overwrite), StoppingBatchWriter)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        return self._stopping(super().streamWriter(schema, overwrite), StoppingStreamWriter)

    def _stopping(self, made: Any, kind: type[Stopping]) -> Stopping:
        """Returns the same object, stopping at a point."""
        made.__class__ = kind
        made.point = self._point
        stopping: Stopping = made
        return stopping
