"""Responses to pipelined Produce requests: in order, and those that are complete together in one system call."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.kafka.connection import Connection
from tests.support.kafka_batches import batch, produce, produced
from tests.support.kafka_client import listening
from tests.support.kafka_codec import read_response, request


@pytest.fixture
def writes(monkeypatch) -> list[int]:
    """The number of pieces of each write to a client."""
    found: list[int] = []
    send = Connection._send

    def counted(connection, chunks):
        if chunks:
            found.append(len(chunks))
        send(connection, chunks)

    monkeypatch.setattr(Connection, "_send", counted)
    return found


async def answer(reader: asyncio.StreamReader) -> tuple[int, int, int]:
    """Correlation id, error code and base offset of the next Produce response."""
    size = int.from_bytes(await reader.readexactly(4), "big")
    number, response = read_response(0, 9, memoryview(await reader.readexactly(size)))
    return number, produced(response).error_code, produced(response).base_offset


def frame(number: int, message: object) -> bytes:
    return b"".join(request(0, 9, number, "a", message))


async def test_responses_that_are_complete_together_are_one_write(broker, writes):
    async with listening(broker) as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(frame(0, produce("t", batch("first"))))  # opens the topic
        assert await answer(reader) == (0, 0, 0)
        writes.clear()
        writer.write(b"".join(frame(number, produce("t", batch("x"))) for number in range(1, 8)))
        assert [await answer(reader) for _ in range(1, 8)] == [(number, 0, number) for number in range(1, 8)]
        assert writes == [1]
        writer.close()


async def test_responses_before_a_refused_batch_with_acks_0_arrive_before_the_connection_is_closed(broker, writes):
    async with listening(broker) as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(frame(0, produce("t", batch("first"))))
        assert await answer(reader) == (0, 0, 0)
        refused = produce("t", b"not a batch", acks=0)
        good = [frame(number, produce("t", batch("x"))) for number in (1, 2)]
        writer.write(b"".join((*good, frame(3, refused), frame(4, produce("t", batch("late"))))))
        assert [await answer(reader) for _ in (1, 2)] == [(1, 0, 1), (2, 0, 2)]
        assert await reader.read(1) == b""
        writer.close()
