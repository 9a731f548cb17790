"""Fetching JSON Web Keys from a slow, broken or hostile server: the fetch ends, and the broker keeps running."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from redis_ledger.broker.security import jwks
from redis_ledger.config import Config
from redis_ledger.errors import InvalidRequest, Unauthenticated
from tests.integration.test_rest_jwt import FIRST, ISSUER, key_set, token
from tests.support.busy_machine import wait_for

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\n"


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the broker has hung up
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/keys"
    finally:
        server.close()


def keys_at(url: str) -> jwks.Jwks:
    return jwks.Jwks(Config(jwt_jwks=url, jwt_issuer=ISSUER["jwt_issuer"], jwt_audience=ISSUER["jwt_audience"]))


def plainly(body: bytes, head: bytes = OK) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()

    return answer


def dripping(start: bytes, drop: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        for _ in range(200):
            await writer.drain()
            await asyncio.sleep(0.05)  # each drop comes well before a read of its own would time out
            writer.write(drop)

    return answer


async def flood(writer: asyncio.StreamWriter) -> None:
    writer.write(OK + b"transfer-encoding: chunked\r\n\r\n")
    for _ in range(400):
        writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        await writer.drain()


SLOW = {
    "body": dripping(OK + b"content-length: 9999\r\n\r\n", b" "),
    "chunks": dripping(OK + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "headers": dripping(OK, b"a: b\r\n"),
    "one header": dripping(OK + b"a: ", b"b"),
    "interim answers": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "nothing": dripping(b"", b""),
}
BROKEN = {
    "no http": plainly(b"", b"SSH-2.0-x\r\n"),
    "cut off": plainly(b"", OK + b"content-length: 50\r\n"),
    "redirect": plainly(b"", b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\n"),
    "error": plainly(key_set(k1=FIRST).encode(), b"HTTP/1.1 500 Oh\r\n"),
    "more than fits": flood,
    "just more than fits": plainly(key_set(k1=FIRST).encode() + b" " * jwks.BYTES_MAX),
    "packed": plainly(gzip.compress(key_set(k1=FIRST).encode()), OK + b"content-encoding: gzip\r\n"),
}


@pytest.mark.parametrize("kind", SLOW)
async def test_a_fetch_ends_in_time_however_the_answer_drips(monkeypatch, kind):
    monkeypatch.setattr(jwks, "FETCH_S_MAX", 0.5)
    async with serving(SLOW[kind]) as url:
        began = time.monotonic()
        keys = keys_at(url)
        await keys.open()
        assert time.monotonic() - began < 20
        # No call waits behind a fetch that is still under way.
        with pytest.raises(Unauthenticated):
            await wait_for(keys.identify(token(FIRST, "k1")), 5)


@pytest.mark.parametrize("kind", BROKEN)
async def test_an_answer_that_is_none_is_no_failure_of_the_broker(kind):
    async with serving(BROKEN[kind]) as url:
        keys = keys_at(url)
        await keys.open()
        with pytest.raises(Unauthenticated):
            await keys.identify(token(FIRST, "k1"))


async def test_keys_stay_while_the_server_drips(monkeypatch):
    monkeypatch.setattr(jwks, "REFETCH_S_MIN", 0.0)
    answers = [plainly(key_set(k1=FIRST).encode()), SLOW["body"]]

    async def answer(writer: asyncio.StreamWriter) -> None:
        await answers[0](writer)

    async with serving(answer) as url:
        keys = keys_at(url)
        await keys.open()
        del answers[0]
        monkeypatch.setattr(jwks, "FETCH_S_MAX", 0.3)
        with pytest.raises(Unauthenticated):
            await keys.identify(token(FIRST, "k2"))  # which asks the server again
        assert (await keys.identify(token(FIRST, "k1")))[0] == "User:ada"


async def test_a_fetch_outlives_the_request_that_began_it_and_others_wait_for_it():
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        asked.set()
        await may_answer.wait()
        await plainly(key_set(k1=FIRST).encode())(writer)

    async with serving(answer) as url:
        keys = keys_at(url)
        # Given two requests with tokens, of which the first began the fetch
        first = asyncio.ensure_future(keys.identify(token(FIRST, "k1")))
        await wait_for(asked.wait(), 5)
        second = asyncio.ensure_future(keys.identify(token(FIRST, "k1")))
        await asyncio.sleep(0)  # it begins to wait
        # When the first is cancelled before the answer came
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        may_answer.set()
        # Then the second gets the keys, and so does a later one
        assert (await wait_for(second, 5))[0] == "User:ada"
        assert (await keys.identify(token(FIRST, "k1")))[0] == "User:ada"


async def test_a_file_of_keys_above_the_limit_is_refused_by_name_and_not_cut(tmp_path):
    path = tmp_path / "jwks.json"
    text = key_set(k1=FIRST)
    path.write_text(text + " " * (jwks.BYTES_MAX - len(text)))
    keys = keys_at(str(path))
    await keys.open()
    assert (await keys.identify(token(FIRST, "k1")))[0] == "User:ada"
    # What is behind the limit may be white space, or keys
    path.write_text(text + " " * (jwks.BYTES_MAX - len(text) + 1))
    with pytest.raises(InvalidRequest, match=f"jwt_jwks .* at most {jwks.BYTES_MAX} bytes"):
        await keys_at(str(path)).open()
    # A broker that runs keeps the keys it has
    await keys.look()
    assert (await keys.identify(token(FIRST, "k1")))[0] == "User:ada"
