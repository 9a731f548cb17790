"""Which senders of request bodies are disconnected while other requests are refused for lack of memory."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace

import pytest
import uvicorn
from uvicorn.server import ServerState

from redis_ledger.app.http import connection_limits as module
from redis_ledger.app.http.connection_limits import GuardedProtocol, Limits, _close_slow_senders, watch
from redis_ledger.broker.client_memory import UNREAD_S_MAX, ClientMemory

NOW_S = 1_000.0


class Sender:
    """A connection.  late_s: how long ago its incomplete request began at NOW_S; None: it has none."""

    def __init__(self, late_s: float | None, sent: int = 100) -> None:
        self.unread, self.incomplete_bytes = SimpleNamespace(held=0), sent
        self.closed: list[str] = []
        self._since = None if late_s is None else NOW_S - late_s

    def incomplete_s(self, now: float) -> float:
        return 0.0 if self._since is None or self.closed else now - self._since

    def unread_s(self, now: float) -> float:
        return 0.0

    def look(self, now: float) -> None:
        """Nothing exceeds another limit."""

    def give_up(self, reason: str) -> None:
        self.closed.append(reason)


@pytest.fixture
def memory() -> ClientMemory:
    return ClientMemory(800, has_metrics=False)


def closed_of(memory: ClientMemory, *senders: Sender) -> list[bool]:
    _close_slow_senders(senders, memory, NOW_S)
    return [bool(each.closed) for each in senders]


@pytest.mark.parametrize("turned", [False, True])
def test_the_slowest_sender_is_closed_although_a_fast_one_is_there(memory, turned):
    senders = [Sender(10.0), Sender(1.0), Sender(None)]
    _close_slow_senders(reversed(senders) if turned else senders, memory, NOW_S)
    assert [len(each.closed) for each in senders] == [1, 0, 0]


def test_no_more_senders_are_closed_than_free_an_eighth_of_the_memory(memory):
    # Given 60 and then 40 of 100 bytes to free
    assert closed_of(memory, Sender(7.0), Sender(9.0, 60), Sender(8.0, 40), Sender(6.0)) == [False, True, True, False]
    # and two that are equally slow, each of which is enough
    assert closed_of(memory, Sender(9.0), Sender(9.0)) == [True, False]


def test_a_sender_is_closed_once_it_is_late_and_not_before(memory):
    assert closed_of(memory, Sender(UNREAD_S_MAX), Sender(UNREAD_S_MAX - 0.001)) == [True, False]
    assert closed_of(memory, Sender(UNREAD_S_MAX - 0.001), Sender(0.0)) == [False, False]


async def test_senders_are_closed_after_each_refusal_and_only_then(memory, monkeypatch):
    # Given a look at any time
    begin, over = asyncio.Event(), asyncio.Event()

    async def sleep(seconds: float) -> None:
        over.set()
        await begin.wait()
        begin.clear()

    loop = SimpleNamespace(time=lambda: NOW_S)
    monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=sleep, get_running_loop=lambda: loop))
    senders = [Sender(late_s) for late_s in (8.0, 9.0, 10.0)]
    watching = asyncio.create_task(watch(senders, memory))

    async def closed() -> list[int]:
        await over.wait()
        over.clear()
        begin.set()
        await over.wait()
        return [len(each.closed) for each in senders]

    assert await closed() == [0, 0, 0]
    # When requests are refused, then one sender is closed at the next look, and none at the one after that
    for expected in ([0, 0, 1], [0, 1, 1], [1, 1, 1]):
        assert not memory.take_request(memory.bytes_max)
        assert await closed() == expected
        assert await closed() == expected
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


@pytest.mark.parametrize(
    ("doubtful", "closed", "served"), [(True, True, 0), (True, False, 1), (False, True, 1), (False, False, 1)]
)
async def test_a_request_that_may_have_waited_is_not_served_if_its_client_has_left(doubtful, closed, served):
    client, broker = socket.socketpair()
    calls = []

    async def app(scope, receive, send):
        calls.append(scope["path"])

    config = uvicorn.Config(app, log_config=None, lifespan="off")
    config.load()
    limits = Limits(is_doubtful=lambda now_s: doubtful)
    protocol = GuardedProtocol(config, ServerState(), {}, limits=limits)
    events = []
    transport = SimpleNamespace(
        get_extra_info={"socket": broker}.get, abort=lambda: events.append("aborted"), is_closing=lambda: False,
        close=lambda: None, write=lambda data: None, get_write_buffer_size=lambda: 0,
    )  # fmt: skip
    protocol.connection_made(transport)  # type: ignore[arg-type] # only what it uses
    if closed:
        client.close()
    protocol.data_received(b"DELETE /v1/topics/t HTTP/1.1\r\nhost: a\r\n\r\n")
    await asyncio.sleep(0)
    assert len(calls) == served
    assert events == ([] if served else ["aborted"])
    protocol.connection_lost(None)
    broker.close()
    client.close()
