"""Reading without a subscription: raw batches in, messages out.  Chunks of large messages are left out.

    partition 0   a b e │ fetched          within a partition by offset; between partitions the message with the
    partition 1   c d   │ next             earliest timestamp comes first, as far as has been fetched

A read ends when every partition has been read to its end.  With wait_ms it goes on, and ends when no partition has had
anything for so long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heapreplace
from time import monotonic
from typing import Literal, NamedTuple, TypeAlias

from redis_ledger.client import answers, skipping
from redis_ledger.client._sync.admin import Topics
from redis_ledger.client._sync.transport import BATCH, Transport, path
from redis_ledger.client.models import Isolation, Message, RecordBatches
from redis_ledger.errors import TooLargeToDecode
from redis_ledger.records.batch import split
from redis_ledger.records.large_messages import is_chunk

Start: TypeAlias = "int | Literal['earliest', 'latest']"
LAST = (1 << 63) - 1
POLL_MS = 10_000  # the longest wait of one request
TURN_MS, TURN_MS_MIN = 500, 10  # how long a round of waiting for several partitions takes, and a part of it at least


def fetch(
    transport: Transport,
    topic: str,
    partition: int,
    offset: Start,
    *,
    isolation: Isolation,
    wait_ms: int,
    max_bytes: int,
) -> RecordBatches:
    """One answer: batches from the one that holds the offset on, as many as fit, and always one if there is any."""
    where = path("topics", topic, "partitions", partition, "records")
    response = transport.send(
        "GET",
        where,
        headers={"accept": BATCH},
        params={"offset": offset, "isolation": isolation, "wait_ms": wait_ms, "max_bytes": max_bytes},
        wait_ms=wait_ms,
    )
    told = response.headers
    try:
        return RecordBatches(
            response.content,
            int(told["redis-ledger-next-offset"]),
            int(told["redis-ledger-start-offset"]),
            int(told["redis-ledger-stable-offset"]),
            int(told["redis-ledger-end-offset"]),
        )
    except (KeyError, ValueError) as error:
        raise answers.unreadable("GET", where, response, f"its headers have no offsets ({error})") from error


class Reading(NamedTuple):
    """What is read, of every partition."""

    topic: str
    offset: Start
    isolation: Isolation
    max_bytes: int


class PartitionReader:
    """One partition: where to fetch next, and what has been fetched and not been read.  next: the first of that."""

    def __init__(self, transport: Transport, reading: Reading, partition: int) -> None:
        self.partition = partition
        self.next: Message | None = None
        self._transport = transport
        self._reading = reading
        self._offset = reading.offset
        self._fetched: Iterator[Message] = iter(())

    def fetch(self, wait_ms: int = 0) -> None:
        """Fetches until there is something, or the end is reached and wait_ms is over."""
        topic, _, isolation, max_bytes = self._reading
        is_at_end = False
        while self.next is None and not is_at_end:
            fetched = fetch(
                self._transport,
                topic,
                self.partition,
                self._offset,
                isolation=isolation,
                wait_ms=wait_ms,
                max_bytes=max_bytes,
            )
            end = fetched.readable_end(isolation)
            is_at_end = not fetched.data and (fetched.next_offset == self._offset or fetched.next_offset >= end)
            # The first batch may begin before the offset asked for, and before the log start.
            first = max(self._offset if isinstance(self._offset, int) else 0, fetched.start_offset)
            self._fetched = _messages(fetched.data, topic, self.partition, first)
            self._offset = fetched.next_offset
            self.advance()

    def advance(self) -> None:
        self.next = next(self._fetched, None)


def read(
    transport: Transport, topics: Topics, reading: Reading, partitions: Sequence[int] | None, wait_ms: int
) -> Iterator[Message]:
    """Messages of these partitions, or of all.  Ends when the ends are reached and nothing more has come within
    wait_ms."""
    if partitions is None:
        partitions = range((topics.describe(reading.topic)).partitions)
    active = [PartitionReader(transport, reading, partition) for partition in partitions]
    while active:
        for each in active:
            each.fetch()
        if all(each.next is None for each in active) and not _wait(active, wait_ms):
            return
        if not wait_ms:
            active = [each for each in active if each.next is not None]
        heap = [(each.next.timestamp_ms, each.partition, each) for each in active if each.next is not None]
        heapify(heap)
        while heap:
            found = heap[0][2]
            assert found.next is not None
            yield found.next
            found.advance()
            if found.next is None:
                break  # its next batch may be earlier than what the others have
            heapreplace(heap, (found.next.timestamp_ms, found.partition, found))


def _wait(partitions: Sequence[PartitionReader], wait_ms: int) -> bool:
    """Whether a partition has got something within wait_ms.  Several are waited for in turn, each for a while."""
    until_s = monotonic() + wait_ms / 1000
    turn_ms = POLL_MS if len(partitions) == 1 else max(TURN_MS // len(partitions), TURN_MS_MIN)
    while True:
        for each in partitions:
            left_ms = int((until_s - monotonic()) * 1000)
            if left_ms <= 0:
                return False
            each.fetch(min(turn_ms, left_ms))
            if each.next is not None:
                return True


def _messages(data: bytes, topic: str, partition: int, first: int) -> Iterator[Message]:
    from redis_ledger.records.read import decode_range  # late: see Sender._send_once

    for header, batch in split(data):
        if header.is_control:
            continue
        try:
            records = decode_range(batch, first, LAST)
        except TooLargeToDecode as error:
            skipping.warn(topic, partition, max(header.base_offset, first), header.last_offset, error.detail)
            continue
        for record in records:
            if record.headers and is_chunk(record.headers):
                continue  # client.open_large reads it
            yield Message(
                topic=topic,
                partition=partition,
                offset=record.offset,
                key=record.key,
                value=record.value,
                headers=dict(record.headers),
                timestamp_ms=record.timestamp_ms,
                all_headers=tuple(record.headers),
            )
