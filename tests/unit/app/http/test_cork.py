"""The corked transport: an answer's head and body leave together, and a head without a body leaves all the same."""

import asyncio
from typing import Any

from redis_ledger.app.http.cork import JOINED_BYTES_MAX, Corked

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


class Recorder(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.writes.append(data)

    def writelines(self, parts: Any) -> None:
        self.writes.append(b"|".join(parts))

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return name


async def test_head_and_body_are_sent_in_one_write():
    inner = Recorder()
    corked = Corked(inner)
    corked.write(HEAD)
    corked.write(b"ok")
    await asyncio.sleep(0)
    assert inner.writes == [HEAD + b"ok"]


async def test_a_large_body_is_not_copied_behind_its_head():
    inner = Recorder()
    corked = Corked(inner)
    corked.write(HEAD)
    corked.write(b"x" * (JOINED_BYTES_MAX + 1))
    assert inner.writes == [HEAD + b"|" + b"x" * (JOINED_BYTES_MAX + 1)]


async def test_head_without_a_body_is_sent_within_one_loop_iteration():
    inner = Recorder()
    Corked(inner).write(HEAD)
    assert inner.writes == []
    await asyncio.sleep(0)
    assert inner.writes == [HEAD]


async def test_two_responses_in_one_iteration_keep_their_order():
    inner = Recorder()
    corked = Corked(inner)
    for body in (b"1", b"2"):
        corked.write(HEAD)
        corked.write(body)
    await asyncio.sleep(0)
    assert b"".join(inner.writes) == HEAD + b"1" + HEAD + b"2"


async def test_interim_response_is_sent_at_once():
    inner = Recorder()
    Corked(inner).write(b"HTTP/1.1 100 Continue\r\n\r\n")
    assert inner.writes == [b"HTTP/1.1 100 Continue\r\n\r\n"]


async def test_close_sends_a_held_head_first():
    inner = Recorder()
    corked = Corked(inner)
    corked.write(HEAD)
    corked.close()
    assert (inner.writes, inner.is_closed, corked.get_extra_info("peername")) == ([HEAD], True, "peername")


async def test_nothing_is_written_to_a_connection_that_is_closing():
    inner = Recorder()
    corked = Corked(inner)
    corked.write(HEAD)
    inner.close()
    await asyncio.sleep(0)
    corked.write(HEAD)
    corked.write(b"ok")
    assert inner.writes == []
