"""What a task does: raw record batches of one range come over HTTP, the next while the last is being decoded.

    broker   ── batches ──→ fetch (a thread) ──→ split ──→ chunks: batches, and which of their records are meant
                             ↑ the next request leaves before these are decoded

A batch may begin before the range and end behind it, for it is cut where a task begins and not where a batch does.
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
from redis_ledger.spark.read_options import Connection, Reading

FETCHES_AT_ONCE = 4  # of one process; a task has one on its way
SLACK_BYTES = 64 << 10  # what a request asks for beyond the average


class Chunk(NamedTuple):
    """A batch that is there, and which of its records are meant: from first to end (exclusive), within the bounds.

    data, at: the answer that it came in, and where it begins there.  limits: what decoding it may cost.
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
        """Whether all of its records are meant."""
        header = self.header
        return header.base_offset >= self.first and header.last_offset < self.end and not self.bounds.looks_at_time

    @property
    def records(self) -> list[Record]:
        """One by one; `fields` has them all at once."""
        batch = memoryview(self.data)[self.at : self.at + self.header.size]
        if self.is_whole:
            return decode(batch, self.limits)
        from_ms, until_ms = self.bounds.from_ms, self.bounds.until_ms
        found = decode_range(batch, self.first, self.end - 1, self.limits)
        return [each for each in found if from_ms <= each.timestamp_ms < until_ms]


@dataclass(frozen=True)
class Task:
    """One range, and all that an executor needs to read it."""

    range: Range
    connection: Connection
    isolation: Isolation
    fetch_bytes: int
    fail_on_data_loss: bool
    bounds: Bounds = ALL
    limits: Limits = DEFAULT

    def live_from(self, offset: int) -> Task:
        """What is left of it, from a broker."""
        left = self.range._replace(first=offset, segments=(), home="")
        return dataclasses.replace(self, range=left)


def task_of(each: Range, reading: Reading, bounds: Bounds, number: int) -> Task:
    """number: of the task within its batch; each begins with another broker."""
    return Task(
        each, reading.connection.from_broker(number), reading.isolation, reading.fetch_bytes, reading.fail_on_data_loss,
        bounds, reading.limits,
    )  # fmt: skip


def chunks(task: Task) -> Generator[Chunk, None, None]:
    """The batches of the task, in offset order.  Raises OffsetOutOfRange for what has been deleted since it was cut,
    unless losses are to be passed over."""
    sent = transport(task.connection)
    topic, partition = task.range.partition

    def fetch(offset: int, max_bytes: int) -> RecordBatches:
        return reader.fetch(sent, topic, partition, offset, isolation=task.isolation, wait_ms=0, max_bytes=max_bytes)

    for fetched in _ahead(task, functools.partial(_tolerant, task, fetch)):
        # Where a loss was passed over, the first batch may begin before the log does.
        present = task.range._replace(first=max(task.range.first, fetched.start_offset))
        yield from taken(fetched.data, present, task.bounds, task.limits)


def _ahead(task: Task, fetch: Callable[[int, int], RecordBatches]) -> Iterator[RecordBatches]:
    """Answers from the range's first offset to its end, one request ahead."""
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
    """Whether the log ends before the range does; that is a loss."""
    if fetched.next_offset > at:
        return False
    readable = fetched.readable_end(task.isolation)
    assert readable < task.range.end, (fetched[1:], task.range)
    partition = task.range.partition
    check_loss([f"{partition}: offsets {at} to {task.range.end} are not there any more."], fail=task.fail_on_data_loss)
    return True


def _tolerant(task: Task, fetch: Callable[[int, int], RecordBatches], offset: int, max_bytes: int) -> RecordBatches:
    """The answer; where offsets have been deleted, and that is to be passed over, from the next that is there."""
    while True:
        try:
            return fetch(offset, max_bytes)
        except OffsetOutOfRange as error:
            start, end = int(error.facts.get("start_offset", 0)), int(error.facts.get("end_offset", 0))
            partition = task.range.partition
            lost = f"{partition}: offset {offset} is gone; it holds {start} to {end}."
            check_loss([lost], fail=task.fail_on_data_loss)
            if start <= offset:  # it is the end that has come nearer, so nothing of the range is left
                return RecordBatches(b"", task.range.end, start, end, end)
            offset = start


def request_bytes(offsets_left: int, bytes_per_offset: float, most: int) -> int:
    """How much to ask for, so that little behind the range is read for nothing."""
    return min(most, int(offsets_left * bytes_per_offset) + SLACK_BYTES)


def taken(data: bytes, wanted: Range, bounds: Bounds, limits: Limits = DEFAULT) -> Iterator[Chunk]:
    """The batches that may hold records within the range and the bounds."""
    at = 0
    for header, _ in split(data):
        if header.base_offset >= wanted.end:
            return
        if not (header.is_control or header.last_offset < wanted.first or header.max_timestamp < bounds.from_ms):
            yield Chunk(header, data, at, wanted.first, wanted.end, bounds, limits)
        at += header.size


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """Spark reuses a worker's process for many tasks; so do their connections, and the threads on them."""
    return ThreadPoolExecutor(FETCHES_AT_ONCE, thread_name_prefix="redis-ledger-fetch")
