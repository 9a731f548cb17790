"""The faults of a link: requests and replies that break off, vanish, wait, or are late; and links that share a port."""

from __future__ import annotations

import asyncio

import pytest

from tests.sim.node_proxy import PING, NodeProxy
from tests.support.proxy import Proxy, proxy
from tests.support.tcp_server import small_server


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(100):
        writer.write(data)


@pytest.fixture
async def link():
    async with small_server(echo) as port, proxy("127.0.0.1", port) as relay:
        yield relay


async def answer(link: Proxy, request: bytes, within_s: float = 5.0) -> bytes:
    """What comes back until the connection ends, or as many bytes as were sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", link.port)
    writer.write(request)
    found = b""
    try:
        async with asyncio.timeout(within_s):
            while len(found) < len(request) and (some := await reader.read(100)):
                found += some
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.close()
    return found


async def test_a_request_breaks_off_after_some_bytes_and_the_next_one_arrives(link):
    link.cut_request_after = 3
    assert await answer(link, b"abcdef") in (b"", b"abc")
    assert await answer(link, b"abcdef") == b"abcdef"


async def test_a_reply_breaks_off_after_some_bytes(link):
    link.cut_after = 3
    assert await answer(link, b"abcdef") == b"abc"


async def test_a_lost_reply_takes_its_connection_along(link):
    link.cuts = 1
    assert await answer(link, b"abcdef") == b""
    assert await answer(link, b"abcdef") == b"abcdef"


async def test_a_half_open_link_takes_requests_and_gives_no_replies(link):
    link.muted = 1 << 30
    assert await answer(link, b"abcdef", within_s=0.2) == b""
    assert link.requests == [b"abcdef"]


async def test_a_slow_link_delays_both_directions(link):
    link.delay_s = 0.05
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await answer(link, b"abcdef") == b"abcdef"
    assert loop.time() - began >= 0.1


@pytest.fixture
async def node():
    async with small_server(echo) as port:
        relay = NodeProxy("127.0.0.1", port)
        await relay.listen(None)
        yield relay
        await relay.close()


BROKER, SENTINEL = PING + PING, b"*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$12\r\nsentinel-1-c\r\n"


async def test_a_fault_of_one_kind_of_clients_leaves_the_others_alone(node):
    await node.brokers.refuse()
    assert [await answer(node, each) for each in (BROKER, PING, SENTINEL)] == [b"", PING, SENTINEL]
    await node.brokers.accept_again()
    node.replicas.muted = 1 << 30
    assert await answer(node, BROKER) == BROKER
    assert await answer(node, PING, within_s=0.2) == b""
    assert await answer(node, SENTINEL) == SENTINEL


async def test_a_held_replication_link_that_is_cut_delivers_nothing_of_what_it_held(node):
    node.replicas.hold()
    waiting = asyncio.create_task(answer(node, PING))
    await asyncio.sleep(0.05)  # until it is held
    node.replicas.cut()
    node.replicas.release()
    assert await waiting == b""
    assert await answer(node, PING) == PING
