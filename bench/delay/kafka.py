"""A minimal Kafka client, for the reasons of bench/load.py: prebuilt requests, and responses that are hardly parsed.

A connection has several requests in flight and gets responses in their order, so correlation ids are not checked.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, cast

from bench.processes import BenchFailed, RunningBroker
from redis_ledger.kafka.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from redis_ledger.kafka.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.support.kafka_codec import read_response, request

PRODUCE, PRODUCE_VERSION = 0, 9
FETCH, FETCH_VERSION = 1, 12
TIMEOUT_MS = 30_000


class Arrival(NamedTuple):
    """A frame without its length, and the arrival of its last byte: ms since 1970 by the wall clock."""

    at_ms: float
    frame: memoryview


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._waiting: deque[Callable[[Arrival | BenchFailed], None]] = deque()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def send(self, data: bytes, answered: Callable[[Arrival | BenchFailed], None]) -> None:
        assert self._transport is not None
        self._waiting.append(answered)
        self._transport.write(data)

    async def ask(self, data: bytes) -> Arrival:
        future: asyncio.Future[Arrival] = asyncio.get_running_loop().create_future()

        def answered(arrival: Arrival | BenchFailed) -> None:
            if future.done():
                return
            if isinstance(arrival, BenchFailed):
                future.set_exception(arrival)
            else:
                future.set_result(arrival)

        self.send(data, answered)
        return await future

    def data_received(self, data: bytes) -> None:
        at_ms = time.time() * 1000
        self._buffer += data
        while len(self._buffer) >= 4:
            end = 4 + int.from_bytes(self._buffer[:4], "big")
            if len(self._buffer) < end:
                return
            frame = bytes(self._buffer[4:end])
            del self._buffer[:end]
            self._waiting.popleft()(Arrival(at_ms, memoryview(frame)))

    def connection_lost(self, error: Exception | None) -> None:
        while self._waiting:
            failed = BenchFailed(f"The broker closed a Kafka connection before its response ({error}).")
            self._waiting.popleft()(failed)

    def close(self) -> None:
        self._waiting.clear()
        if self._transport is not None:
            self._transport.close()


@asynccontextmanager
async def connected(served: RunningBroker, connections: int) -> AsyncIterator[list[Connection]]:
    loop = asyncio.get_running_loop()
    made = [(await loop.create_connection(Connection, served.host, served.kafka_port))[1] for _ in range(connections)]
    try:
        yield made
    finally:
        for connection in made:
            connection.close()


def produce(topic: str, batch: bytes, partition: int = 0) -> bytes:
    data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(partition, batch)])]
    return frame(PRODUCE, PRODUCE_VERSION, ProduceRequest(None, -1, TIMEOUT_MS, data))


def fetch(topic: str, offset: int, wait_ms: int, partition: int = 0, bytes_max: int = 1 << 20) -> bytes:
    requested = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=bytes_max)
    topics = [FetchTopic(topic=topic, partitions=[requested])]
    message = FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=1 << 24, topics=topics)
    return frame(FETCH, FETCH_VERSION, message)


def frame(key: int, version: int, message: Any) -> bytes:
    return b"".join(request(key, version, 0, "bench", message))


def expect_produced(arrival: Arrival) -> None:
    """Raises BenchFailed if it was refused."""
    _, answer = read_response(PRODUCE, PRODUCE_VERSION, arrival.frame)
    slot = answer.responses[0].partition_responses[0]
    if slot.error_code:
        raise BenchFailed(f"A batch was refused with error {slot.error_code}: {slot.error_message}")


def base_offset(arrival: Arrival) -> int:
    """Where a produced batch was appended."""
    _, answer = read_response(PRODUCE, PRODUCE_VERSION, arrival.frame)
    offset: int = answer.responses[0].partition_responses[0].base_offset
    return offset


def fetched(arrival: Arrival) -> bytes:
    """Returns the batches of one partition."""
    _, answer = read_response(FETCH, FETCH_VERSION, arrival.frame)
    part = answer.responses[0].partitions[0]
    if part.error_code:
        raise BenchFailed(f"A fetch was refused with error {part.error_code}.")
    return bytes(part.records or b"")


async def fetch_until(connection: Connection, frames: Iterator[bytes], bytes_min: int, until_s: float) -> int:
    """Sends one fetch after another until this time of perf_counter; returns their number.  Raises BenchFailed if a
    response is smaller than bytes_min."""
    requests = 0
    for frame in frames:
        if len((await connection.ask(frame)).frame) < bytes_min:
            raise BenchFailed("A response has fewer records than were requested.")
        requests += 1
        if time.perf_counter() > until_s:
            break
    return requests


class Produced(NamedTuple):
    requests: int
    seconds: float  # until the last response


async def produced(
    connections: Sequence[Connection], in_flight: int, frames: Iterator[bytes], seconds: float
) -> Produced:
    """Closed loop: this many requests in flight on each connection, for this time or until they run out."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    requests, left = 0, 0
    began_s = last_s = time.perf_counter()

    def start(connection: Connection, now_s: float) -> None:
        nonlocal left
        data = next(frames, None) if now_s < began_s + seconds else None
        if data is not None:
            left += 1
            connection.send(data, lambda arrival: answered(connection, arrival))
        elif not left and not done.done():
            done.set_result(None)

    def answered(connection: Connection, arrival: Arrival | BenchFailed) -> None:
        nonlocal requests, left, last_s
        left -= 1
        if done.done():
            return
        try:
            if isinstance(arrival, BenchFailed):
                raise arrival
            expect_produced(arrival)
        except BenchFailed as error:
            done.set_exception(error)
            return
        requests, last_s = requests + 1, time.perf_counter()
        start(connection, last_s)

    for connection in connections:
        for _ in range(in_flight):
            start(connection, began_s)
    await done
    return Produced(requests, last_s - began_s)
