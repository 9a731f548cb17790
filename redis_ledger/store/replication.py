"""Durability level `replicas`: replies of a primary are held until enough replicas have what it had executed.

    connection                   calls ──▶ primary ──▶ replies   r1 r2 r3 │ r4 r5    held, in order of arrival
    acknowledgement connection   marker, WAIT, INFO ──▶          round 1    round 2  each releases its replies

A barrier belongs to one connection and ends with it.  A primary executes everything in one order, so the replication
offset of the marker, a small write, is behind that of every reply that arrived before the marker was sent.  Calls that
need more copies have separate rounds and a separate acknowledgement connection.
Source: docs/decisions/0027; Redis, WAIT.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

from hiredis import HiredisError

from redis_ledger.errors import NotReplicated, StoreTimeout, TooFewReplicas
from redis_ledger.store.address import Address
from redis_ledger.store.commands import ADMINISTRATION, first_word
from redis_ledger.store.connection import Connection, RedisCall, ask, dial, fail_all, handshake, settle
from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.replication_info import Outcome, ReplicationInfo, Round, is_connection_error, judge
from redis_ledger.telemetry import metrics

HELD_BYTES_MAX = 64 << 20  # of held replies of one connection; above it no more are read from the socket
ROUND_SLACK_S = 1.0  # a round that takes so much longer than its WAIT has lost its connection
PROBE_MS = 1_000  # WAIT of a round that covers no reply
BACKOFF_S_MIN, BACKOFF_S_MAX = 0.02, 0.5
# A script, since Redis refuses a plain SET at its maxmemory.
MARKER = b"#!lua flags=allow-oom\nreturn redis.call('SET', KEYS[1], '')"
_log = logging.getLogger("redis_ledger.store")
_observe = metrics.redis_replication_wait.of().observe


class HeldReply(NamedTuple):
    call: RedisCall
    reply: Any
    order: int
    arrived_s: float
    size: int


class ReplicationBarrier:
    """The barrier of one connection to a primary.

    info           INFO replication, as the connection replied before it carried a call
    marker_key     the key that the n-th attempt at a marker writes: on a Redis Cluster, one that the node owns
    release        takes each call and its reply when enough replicas have it
    on_lost        called once if the node is found not to be the primary that answered
    pause          stops (True) and continues (False) reading replies
    """

    def __init__(
        self,
        address: Address,
        required: CopiesRequired,
        info: ReplicationInfo,
        marker_key: Callable[[int], bytes],
        release: Callable[[RedisCall, Any], None],
        on_lost: Callable[[str], None],
        pause: Callable[[bool], None],
    ) -> None:
        self.address, self.required, self.info = address, required, info
        self.marker_key, self.on_lost = marker_key, on_lost
        self._release, self._pause = release, pause
        self.in_sync = info.in_sync(required.lag_s_max)
        self._rounds: dict[int, _Rounds] = {}
        self._orders = count()
        self._held_bytes = 0
        self._is_paused = False
        self._loop = asyncio.get_running_loop()

    def refusal(self, call: RedisCall) -> TooFewReplicas | None:
        """Why the call is not sent: there are too few replicas to confirm it."""
        wanted = call.in_sync or self.required.min_insync
        if wanted <= 1:
            return None
        rounds, known = self._rounds.get(wanted), self.in_sync
        if rounds is not None and rounds.short_of is not None:
            known = rounds.short_of
        if known is None or known >= wanted or first_word(call.frame) in ADMINISTRATION:
            return None
        self._rounds_of(self.required.min_insync).begin()  # counts anew
        return TooFewReplicas(
            f"Redis at {self.address.name} has {known} in-sync {'copy' if known == 1 else 'copies'} of its data, and "
            f"{wanted} are required (min_insync_replicas). Nothing was executed. Requests are served again when enough "
            "replicas are connected and keep up."
        )

    def hold(self, call: RedisCall, reply: Any) -> None:
        """Releases the reply when enough replicas have everything that the primary executed until now."""
        wanted = call.in_sync or self.required.min_insync
        if wanted <= 1:
            self._release(call, reply)
            return
        size = size_of(reply)
        self._held_bytes += size
        if self._held_bytes > HELD_BYTES_MAX and not self._is_paused:
            self._is_paused = True
            self._pause(True)
        self._rounds_of(wanted).hold(HeldReply(call, reply, next(self._orders), self._loop.time(), size))

    def release(self, held: HeldReply) -> None:
        self._forget(held)
        self._release(held.call, held.reply)

    def expire(self, held: HeldReply) -> None:
        self._forget(held)
        held.call.fail(_not_confirmed(self.address.name, held.call.retry, self.required.timeout_ms))

    def close(self) -> list[RedisCall]:
        """Ends the barrier.  Returns the calls whose replies it held, in order of arrival."""
        held = [each for rounds in self._rounds.values() for each in rounds.close()]
        self._rounds.clear()
        return [each.call for each in sorted(held, key=lambda each: each.order)]

    def _rounds_of(self, wanted: int) -> _Rounds:
        rounds = self._rounds.get(wanted)
        if rounds is None:
            rounds = self._rounds[wanted] = _Rounds(self, wanted)
        return rounds

    def _forget(self, held: HeldReply) -> None:
        self._held_bytes -= held.size
        if self._is_paused and self._held_bytes <= HELD_BYTES_MAX // 2:
            self._is_paused = False
            self._pause(False)


class _Rounds:
    """The rounds for one number of copies, one after the other, while replies are held or copies are missing.

    short_of: the copies that the last round counted, if they were too few
    """

    def __init__(self, barrier: ReplicationBarrier, wanted: int) -> None:
        self.short_of: int | None = None
        self._barrier, self._wanted = barrier, wanted
        self._held: deque[HeldReply] = deque()
        self._attempt = 0  # at a key for the marker
        self._connection: Connection | None = None
        self._loop = asyncio.get_running_loop()
        self._due = asyncio.Event()
        self._task = self._loop.create_task(self._run())
        self._task.add_done_callback(self._ended)

    def hold(self, held: HeldReply) -> None:
        self._held.append(held)
        self._due.set()

    def begin(self) -> None:
        """Makes a round, also without held replies."""
        self._due.set()

    def close(self) -> deque[HeldReply]:
        self._task.cancel()
        if self._connection is not None:
            self._connection.close()
        return self._held

    async def _run(self) -> None:
        failures = 0
        while True:
            await self._due.wait()
            while self._due.is_set() or self._held or self.short_of is not None:
                self._due.clear()
                try:
                    done = await self._round()
                except (OSError, HiredisError):  # TimeoutError is an OSError
                    self._disconnect()
                    failures += 1
                    pause_s = min(BACKOFF_S_MAX, BACKOFF_S_MIN * 2 ** min(failures, 16))
                    await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))
                    self._expire()
                else:
                    failures = 0
                    if done.outcome is Outcome.LOST:
                        self._barrier.on_lost(done.reason)
                        return
                    await self._settle(done)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("the replication rounds of Redis at %s ended", self._barrier.address.name, exc_info=error)
            self._barrier.on_lost(f"its replication could not be followed: {error}")

    async def _round(self) -> Round:
        """Raises OSError or HiredisError if the acknowledgement connection breaks or stays silent."""
        barrier, now_s = self._barrier, self._loop.time()
        timeout_ms = barrier.required.timeout_ms
        wait_ms = PROBE_MS
        if self._held:
            wait_ms = max(1, math.ceil(timeout_ms - (now_s - self._held[0].arrived_s) * 1000))
        async with asyncio.timeout(wait_ms / 1000 + ROUND_SLACK_S):
            connection = self._connection
            if connection is None or not connection.is_open:
                connection = await self._connect()
            covered = len(self._held)
            replies = await ask(connection, [
                (b"EVAL", MARKER, 1, barrier.marker_key(self._attempt)),
                (b"WAIT", self._wanted - 1, wait_ms),
                (b"INFO", b"replication"),
            ])  # fmt: skip
        if broken := next((reply for reply in replies if is_connection_error(reply)), None):
            raise broken
        done = judge(replies, barrier.info, self._wanted, barrier.required.lag_s_max)
        if done.outcome is Outcome.CONFIRMED:
            if covered:
                _observe(self._loop.time() - self._held[0].arrived_s)
            for _ in range(covered):
                barrier.release(self._held.popleft())
        return done

    async def _settle(self, done: Round) -> None:
        if done.outcome is Outcome.CONFIRMED:
            self.short_of = None
            self._barrier.in_sync = done.in_sync
            return
        self._expire()
        if done.outcome is Outcome.NO_SLOT:
            self._attempt += 1
        else:
            self.short_of = self._wanted - 1 if done.in_sync is None else done.in_sync
        await asyncio.sleep(BACKOFF_S_MIN)

    def _expire(self) -> None:
        oldest_s = self._loop.time() - self._barrier.required.timeout_ms / 1000
        while self._held and self._held[0].arrived_s <= oldest_s:
            metrics.redis_unconfirmed.inc()
            self._barrier.expire(self._held.popleft())

    async def _connect(self) -> Connection:
        connection = await dial(self._barrier.address, lambda: Connection(settle, fail_all))
        try:
            await handshake(connection, self._barrier.address)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _not_confirmed(name: str, is_safe_to_repeat: bool, timeout_ms: int) -> StoreTimeout | NotReplicated:
    if is_safe_to_repeat:
        return StoreTimeout(f"Too few replicas of Redis at {name} confirmed the call within {timeout_ms} ms.")
    return NotReplicated(
        f"Redis at {name} executed the write, and too few of its replicas confirmed it within {timeout_ms} ms: a "
        "failover may lose it."
    )


def size_of(reply: Any) -> int:
    """Bytes of a reply, about.  Cost: O(elements)."""
    if isinstance(reply, bytes):
        return len(reply) + 33
    if isinstance(reply, list):
        return 64 + sum(map(size_of, reply))
    return 32
