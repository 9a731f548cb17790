"""The clock of a Redis server, and the deadlines of calls by that clock.

    broker   call ─▶ gives up after timeout_ms, and answers its client ─▶ the client goes on elsewhere
    Redis    stalled ··············································· executes its socket: is the call's time over?

The clock is read every few seconds.  It is taken as of the arrival of the reply, so it is at most one round trip slow,
and a call is refused before its broker gives it up, never after.  The time of a call is that of the tick before it:
what goes on after a pause of timeout_ms, before the event loop has noticed the pause, is refused.
Source: docs/decisions/0056.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

from redis_ledger.store.connection import ALONE, Connection, RedisCall, pack

READ_S = 5.0
ROUND_TRIP_S_MAX = 0.25  # a reply that took longer says too little; the clock as it was known stays in use


class ServerTime:
    """timeout_ms: how long the broker waits for a call at least, from the tick before it."""

    def __init__(self, timeout_ms: int, now_s: Callable[[], float] = monotonic) -> None:
        self._timeout_ms, self._now_s = timeout_ms, now_s
        self._ahead_ms: float | None = None  # of the server's clock to this process's
        self._is_doubted = True
        self._read_s, self._ticked_s = -READ_S, now_s()

    def deadline(self) -> int | bytes:
        """The deadline of a call that is issued now, in ms by the server's clock; empty if that is not known yet."""
        if self._ahead_ms is None:
            return b""
        return int(self._ticked_s * 1000 + self._ahead_ms) + self._timeout_ms

    def doubt(self) -> None:
        """The server has refused a call as late.  Its clock is read again: it may have been set, or this process was
        paused by a suspended machine, whose clock did not count that time.  Calls are refused until then."""
        self._is_doubted, self._read_s = True, -READ_S

    def look(self, conn: Connection | None, tick: int) -> None:
        """Reads the clock again if it is time.  Runs on every tick."""
        self._ticked_s = sent_s = self._now_s()
        if conn is None or sent_s - self._read_s < READ_S:
            return
        self._read_s = sent_s
        call = RedisCall(conn.loop.create_future(), pack((b"TIME",)), -1, True)
        call.tick, call.in_sync = tick, ALONE
        call.future.add_done_callback(partial(self._replied, sent_s))
        conn.send(call)

    def _replied(self, sent_s: float, reply: asyncio.Future[Any]) -> None:
        if reply.cancelled() or reply.exception() is not None:
            return
        now_s = self._now_s()
        if self._is_doubted or now_s - sent_s <= ROUND_TRIP_S_MAX:
            self._is_doubted = False
            seconds, microseconds = reply.result()
            self._ahead_ms = int(seconds) * 1000 + int(microseconds) / 1000 - now_s * 1000
