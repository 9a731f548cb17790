"""Fetches the record batches of a task's range over HTTP, one request ahead of decoding.

    broker   ── batches ──→ fetch (a thread) ──→ split ──→ chunks: a batch, and the part of it that is in the range
                             ↑ the next request is sent before these are decoded

Tasks are cut at offsets and not at batches, so a batch may begin before the range and end after it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from redis_ledger.client._sync import reader
from redis_ledger.client.models import Isolation, RecordBatches
from redis_ledger.errors import OffsetOutOfRange
from redis_ledger.records.batch import BatchHeader, split
from redis_ledger.records.budget import DEFAULT, Limits
from redis_ledger.records.read import Record, decode, decode_range
from redis_ledger.spark.filters import ALL, Bounds
from redis_ledger.spark.plain_http import transport
from redis_ledger.spark.plan import Range, check_loss
from redis_ledger.spark.read_options import Connection, ReadOptions

FETCHES_AT_ONCE = 4  # per process; a task has one in flight
SLACK_BYTES = 64 << 10  # requested beyond the average


class Chunk(NamedTuple):
    """A fetched batch, and the offsets to read of it: from first to end (exclusive), within the bounds.

    data, at: the response that contains it, and its position there.  limits: of decoding.
    """

    header: BatchHeader
    data: bytes
    at: int
    first: int
    end: int
    bounds: Bounds
    limits: Limits = DEFAULT

    @property
    def is_whole(self) -> bool:
        """Whether all of its records are to be read."""
        header = self.header
        return header.base_offset >= self.first and header.last_offset < self.end and not self.bounds.looks_at_time

    @property
    def records(self) -> list[Record]:
        """Decodes record by record; `field_arrays` decodes them all at once."""
        batch = memoryview(self.data)[self.at : self.at + self.header.size]
        if self.is_whole:
            return decode(batch, self.limits)
        from_ms, until_ms = self.bounds.from_ms, self.bounds.until_ms
        found = decode_range(batch, self.first, self.end - 1, self.limits)
        return [each for each in found if from_ms <= each.timestamp_ms < until_ms]


@dataclass(frozen=True)
class Task:
    """One range, and everything that an executor needs to read it."""

    range: Range
    connection: Connection
    isolation: Isolation
    fetch_bytes: int
    fail_on_data_loss: bool
    bounds: Bounds = ALL
    limits: Limits = DEFAULT

    def live_from(self, offset: int) -> Task:
        """Returns the rest of the range, to be read from a broker."""
        left = self.range._replace(first=offset, segments=(), home="")
        return dataclasses.replace(self, range=left)


def task_of(each: Range, reading: ReadOptions, bounds: Bounds, number: int) -> Task:
    """number: of the task within its batch; tasks start with different brokers."""
    return Task(
        each, reading.connection.from_broker(number), reading.isolation, reading.fetch_bytes, reading.fail_on_data_loss,
        bounds, reading.limits,
    )  # fmt: skip


def chunks(task: Task) -> Generator[Chunk, None, None]:
    """Yields the batches of the task, in offset order.  Raises OffsetOutOfRange for deleted offsets, unless losses are
    allowed."""
    sent = transport(task.connection)
    topic, partition = task.range.partition

    def fetch(offset: int, max_bytes: int) -> RecordBatches:
        return reader.fetch(sent, topic, partition, offset, isolation=task.isolation, wait_ms=0, max_bytes=max_bytes)

    for fetched in _ahead(task, functools.partial(_fetch_existing, task, fetch)):
        # After deleted offsets, the first batch may begin below the log start.
        present = task.range._replace(first=max(task.range.first, fetched.start_offset))
        yield from matching_chunks(fetched.data, present, task.bounds, task.limits)


def _ahead(task: Task, fetch: Callable[[int, int], RecordBatches]) -> Iterator[RecordBatches]:
    """Yields responses from the range's first offset to its end, one request ahead."""
    end, size = task.range.end, task.range.bytes_per_offset
    at = task.range.first
    coming: Future[RecordBatches] = _threads().submit(fetch, at, request_bytes(end - at, size, task.fetch_bytes))
    while True:
        fetched = coming.result()
        following = fetched.next_offset
        is_last = following >= end or is_over(fetched, at, task)
        if not is_last:
            if fetched.data:
                size = max(1.0, len(fetched.data) / (following - at))
            coming = _threads().submit(fetch, following, request_bytes(end - following, size, task.fetch_bytes))
        yield fetched
        if is_last:
            return
        at = following


def is_over(fetched: RecordBatches, at: int, task: Task) -> bool:
    """Whether the log ends before the range does, which is a loss."""
    if fetched.next_offset > at:
        return False
    readable = fetched.readable_end(task.isolation)
    assert readable < task.range.end, (fetched[1:], task.range)
    partition = task.range.partition
    check_loss([f"{partition}: offsets {at} to {task.range.end} no longer exist."], fail=task.fail_on_data_loss)
    return True


def _fetch_existing(
    task: Task, fetch: Callable[[int, int], RecordBatches], offset: int, max_bytes: int
) -> RecordBatches:
    """Fetches; if offsets were deleted and losses are allowed, from the next offset that exists."""
    while True:
        try:
            return fetch(offset, max_bytes)
        except OffsetOutOfRange as error:
            start, end = int(error.facts.get("start_offset", 0)), int(error.facts.get("end_offset", 0))
            partition = task.range.partition
            lost = f"{partition}: offset {offset} is deleted; the log has {start} to {end}."
            check_loss([lost], fail=task.fail_on_data_loss)
            if start <= offset:  # the log end is lower, so nothing of the range is left
                return RecordBatches(b"", task.range.end, start, end, end)
            offset = start


def request_bytes(offsets_left: int, bytes_per_offset: float, most: int) -> int:
    """Returns the number of bytes to request, so that little beyond the range is read."""
    return min(most, int(offsets_left * bytes_per_offset) + SLACK_BYTES)


def matching_chunks(data: bytes, range_: Range, bounds: Bounds, limits: Limits = DEFAULT) -> Iterator[Chunk]:
    """Yields the batches that may hold records within the range and the bounds."""
    at = 0
    for header, _ in split(data):
        if header.base_offset >= range_.end:
            return
        if not (header.is_control or header.last_offset < range_.first or header.max_timestamp < bounds.from_ms):
            yield Chunk(header, data, at, range_.first, range_.end, bounds, limits)
        at += header.size


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """One pool a process: Spark reuses a worker for many tasks, which then share connections and threads."""
    return ThreadPoolExecutor(FETCHES_AT_ONCE, thread_name_prefix="redis-ledger-fetch")
