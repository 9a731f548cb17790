"""Deadlines of calls by the clock of their server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redis_ledger.store.connection import RedisCall
from redis_ledger.store.server_time import READ_S, ROUND_TRIP_S_MAX, ServerTime

TIMEOUT_MS = 10_000


class Connection:
    """A connection to a server whose clock is `ahead_s` ahead of the test's, and whose replies take `takes_s`."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.now, self.ahead_s, self.reads = 50.0, 1_000.0, 0

    async def read(self, time: ServerTime, *, takes_s: float = 0.0, reply: Any = None) -> None:
        """A tick, and the reply if the clock was read."""
        sent: list[RedisCall] = []
        self.send = sent.append
        time.look(self, 1)  # type: ignore[arg-type] # only what it uses
        executed, self.now = self.now, self.now + takes_s
        for call in sent:
            self.reads += 1
            at = executed + self.ahead_s
            if isinstance(reply, Exception):
                call.fail(reply)
            else:
                call.answer([b"%d" % at, b"%d" % round(at % 1 * 1_000_000)])
        await asyncio.sleep(0)


@pytest.fixture
async def server() -> Connection:
    return Connection()


@pytest.fixture
def time(server) -> ServerTime:
    return ServerTime(TIMEOUT_MS, lambda: server.now)


async def test_a_call_has_no_deadline_until_the_clock_is_known(server, time):
    assert time.deadline() == b""
    await server.read(time, reply=ConnectionError())
    assert time.deadline() == b""


async def test_a_deadline_is_the_timeout_after_the_last_tick_by_the_servers_clock(server, time):
    await server.read(time)
    server.now += 0.5
    time.look(None, 2)
    server.now += 3_600  # a pause that no tick has noticed: the call is refused
    assert time.deadline() == (50.5 + 1_000) * 1000 + TIMEOUT_MS


async def test_a_deadline_is_never_after_the_time_at_which_the_broker_gives_up(server, time):
    await server.read(time, takes_s=0.2)
    time.look(None, 2)
    issued_ms = (server.now + server.ahead_s) * 1000
    assert issued_ms - 200 <= time.deadline() - TIMEOUT_MS <= issued_ms


async def test_the_clock_is_read_again_every_few_seconds(server, time):
    for _ in range(10):
        await server.read(time)
        server.now += READ_S / 5
    assert server.reads == 2


@pytest.mark.parametrize(("takes_s", "is_used"), [(ROUND_TRIP_S_MAX - 0.01, True), (ROUND_TRIP_S_MAX + 0.01, False)])
async def test_a_slow_reply_is_not_used(server, time, takes_s, is_used):
    await server.read(time)
    server.now += READ_S
    server.ahead_s += 3_600
    await server.read(time, takes_s=takes_s)
    assert (time.deadline() > (server.now + 2_000) * 1000) == is_used


async def test_after_a_refusal_the_clock_is_read_at_once_however_slow_the_reply_is(server, time):
    await server.read(time)
    server.ahead_s += 3_600
    time.doubt()
    assert time.deadline() < (server.now + 2_000) * 1000, "calls are refused until the clock is read"
    await server.read(time, takes_s=2 * ROUND_TRIP_S_MAX)
    assert server.reads == 2
    assert time.deadline() > (server.now + 4_000) * 1000
