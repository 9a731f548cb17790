"""Writes from Spark: each attempt of a task in its own transaction; the successful ones are committed in one step.

    task 0, attempt 0   begin ─ write ┐                                            named by the query (or onceName)
    task 1, attempt 0   begin ─ dies  │   driver: commit all, once (query, batch) ─▶ visible as a whole or not at all
    task 1, attempt 1   begin ─ write ┘           then abort open transactions of that name

A task's result is the id of its transaction; Spark passes the driver one for each task, of the successful attempt.  A
batch that is repeated after a crash finds its number committed and aborts its own transactions.  Transactions that a
dead driver left open are aborted by its successor's first commit, or by the transaction timeout.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from redis_ledger.spark import checkpoint, columns, write_options
from redis_ledger.spark.task_commit import Step, TaskAttempt, abort_open_transactions, check_not_fenced, commit
from redis_ledger.spark.workers import freeze_loaded_objects
from redis_ledger.spark.write_options import WriteOptions

if TYPE_CHECKING:
    import pyarrow as pa

QUERY_ID, BATCH_ID = "sql.streaming.queryId", "streaming.sql.batchId"


@dataclass
class TaskResult(WriterCommitMessage):
    """Result of a task; txn None: it had no rows."""

    name: str
    txn: str | None
    records: int


def _types(schema: StructType) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def _write_task(wanted: WriteOptions, used: Sequence[str], step: Step, batches: Iterator[pa.RecordBatch]) -> TaskResult:
    """Runs on an executor."""
    context = TaskContext.get()
    assert context is not None, "a task has a context"
    freeze_loaded_objects()
    attempt = TaskAttempt(wanted, step, context.partitionId(), f"{context.partitionId()}.{context.attemptNumber()}")
    with attempt:
        if {"deliver_at", "deliver_after"}.isdisjoint(used):
            for batch in batches:
                attempt.put_all(batch.select(used))
        else:
            for batch in batches:
                for row in columns.rows(batch, used):
                    attempt.put(row)
        attempt.finish()
    return TaskResult(step.name, attempt.txn, attempt.records)


def _txns(messages: Sequence[WriterCommitMessage | None]) -> list[str]:
    return [each.txn for each in messages if isinstance(each, TaskResult) and each.txn is not None]


class BatchWriter(DataSourceArrowWriter):
    """Created on the driver, once for a job."""

    def __init__(self, wanted: WriteOptions, schema: StructType, overwrite: bool) -> None:
        types = _types(schema)
        write_options.check(types, wanted, overwrite=overwrite)
        self._wanted, self._used = wanted, write_options.used(types, wanted)
        name = wanted.once_name or f"spark job {secrets.token_hex(8)}"
        self._step = Step(name, wanted.once_number)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        return _write_task(self._wanted, self._used, self._step, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        commit(self._wanted, self._step, _txns(messages), self._wanted.read)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        abort_open_transactions(self._wanted, self._step)


class StreamWriter(DataSourceStreamArrowWriter):
    """Created on the driver for every batch, and again for its commit."""

    def __init__(self, wanted: WriteOptions, schema: StructType, overwrite: bool) -> None:
        types = _types(schema)
        write_options.check(types, wanted, overwrite=overwrite)
        self._wanted, self._used = wanted, write_options.used(types, wanted)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        context = TaskContext.get()
        assert context is not None, "a task has a context"
        query, batch = context.getLocalProperty(QUERY_ID), context.getLocalProperty(BATCH_ID)
        assert query is not None, "a stream's task has a query id"
        assert batch is not None, "a stream's task has a batch id"
        step = Step(self._wanted.once_name or f"spark query {query}", int(batch))
        return _write_task(self._wanted, self._used, step, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        if (name := _name(messages)) is None:
            return
        read = None
        if self._wanted.subscription is not None:
            assert self._wanted.checkpoint is not None, "the options were checked"
            read = checkpoint.read(self._wanted.checkpoint, batchId)
        step = Step(name, batchId)
        if not commit(self._wanted, step, _txns(messages), read):
            check_not_fenced(self._wanted, step)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        if (name := _name(messages) or self._wanted.once_name) is not None:
            abort_open_transactions(self._wanted, Step(name, batchId))


def _name(messages: Sequence[WriterCommitMessage | None]) -> str | None:
    """Spark passes the driver no query id, but tasks have it; a batch without tasks has nothing to commit."""
    return next((each.name for each in messages if isinstance(each, TaskResult)), None)
