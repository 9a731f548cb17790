"""One transaction coordinator on one broker.  Concurrent operations share one script call.

A call carries the broker's name and a number, and the script stores its last reply to each broker, so a call whose
reply was lost can be sent again.  The reply to an operation that exceeds the work of one call is "more": it is sent
again until it is done.  Source: PIP-160; docs/decisions/0003.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.connection import Arg
from redis_ledger.store.group_commit import GroupCommit
from redis_ledger.store.keys import CoordinatorKeys
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store
from redis_ledger.telemetry import metrics
from redis_ledger.txn.end_at_once import PARTICIPANT_BYTES, EndAtOnce, EndsAtOnce, MarkerWritten

APPLY, APPLY_AND_END = Script.load("txn/apply"), Script.load("txn/apply_and_end")
FORGET = Script.load("txn/forget")
CALL_BYTES_MAX = 32_768  # of operations: some six hundred participants, which take Redis a few milliseconds
MORE = "more"  # the reply to an operation that is more work than one call does
FORGET_MAX = 250  # outcomes, and steps, that one call forgets
STEPS_MAX = 100_000  # committed steps without a stored answer that one coordinator keeps, about 250 bytes each
STEPS_SLACK_MS = 60_000  # they outlive their Idempotency-Keys by this, since clocks differ


OperationName = Literal[
    "begin", "add", "end", "expire", "complete", "allocate", "forget_step", "commit_all", "forget_number",
    "init_id", "add_by_id", "verify_by_id", "end_by_id", "forget_id",
]  # fmt: skip


decode_replies = msgspec.msgpack.Decoder(list[list[Any]]).decode


class Reply(NamedTuple):
    """The reply to one operation, and the low watermark after the call that carried it."""

    status: int
    fields: list[str]
    watermark: int


class _Operation(NamedTuple):
    name: OperationName
    subject: str | int
    rest: str
    future: asyncio.Future[Reply]
    end: EndAtOnce | None = None
    on_sent: Callable[[int, int], None] | None = None


class Coordinator:
    """Sends operations to one coordinator in batches.  is_one_server: whether one server has all keys."""

    def __init__(
        self,
        store: Store,
        number: int,
        broker: str,
        config: Config,
        clock: Clock,
        on_marker: MarkerWritten = lambda *_: None,
    ) -> None:
        self.number = number
        is_one_server = EndsAtOnce.is_possible(store, config)
        self._ends = EndsAtOnce(store, number, config, clock, on_marker) if is_one_server else None
        self.keys = CoordinatorKeys(store.prefix, number)
        self._store, self._config, self._clock = store, config, clock
        self.broker, self.is_one_server = broker, is_one_server
        self._calls = 0
        self.following = 0  # the next number to allocate, as of this broker's newest reply
        self.entry = 0  # the last entry of the transaction log, as of this broker's newest reply
        self._loop = asyncio.get_running_loop()
        batched = config.transaction_log_batched_write_enabled
        self._group: GroupCommit[_Operation] = GroupCommit(
            self._send,
            self._settle,
            items_max=config.transaction_log_batched_write_max_records if batched else 1,
            bytes_max=min(config.transaction_log_batched_write_max_size, CALL_BYTES_MAX),
            lazy_ms=config.transaction_log_batched_write_max_delay_ms,
            turnstile=partial(store.turnstile, self.keys.state),
        )
        self._limits = (
            config.ended_status_retention_ms,
            config.ended_status_max_records,
            config.max_active_transactions_per_coordinator,
            config.end_overdue_ms,
            1 if batched else 0,
            config.idempotency_key_ms + STEPS_SLACK_MS,
            STEPS_MAX,
        )
        self._key_list = self.keys.all()

    async def forget(self, now_ms: int) -> int:
        """Removes expired outcomes and steps and returns their number.  Needed where no transaction ends: each end
        removes some too."""
        keep_ms, keep, _, _, _, steps_ms, steps = self._limits
        args, gone = (now_ms, FORGET_MAX, keep_ms, keep, steps_ms, steps), 0
        while True:
            _, ended, stepped = await self._store.call(FORGET, self._key_list, args)
            gone += int(ended) + int(stepped)
            if max(ended, stepped) < FORGET_MAX:
                return gone

    def submit(
        self,
        name: OperationName,
        subject: str | int,
        rest: str = "",
        *,
        lazy: bool = False,
        on_sent: Callable[[int, int], None] | None = None,
    ) -> asyncio.Future[Reply]:
        """Sends one operation of lua/txn/apply.lua with the next call.

        on_sent: called with the number of the call and the place of the operation in it, from 1.  What is sent to the
        same server after that is executed later.
        """
        future: asyncio.Future[Reply] = self._loop.create_future()
        self._group.add(_Operation(name, subject, rest, future, on_sent=on_sent), len(rest) + 16, lazy=lazy)
        return future

    def submit_end(
        self, name: OperationName, subject: str | int, rest: str, end: EndAtOnce | None
    ) -> asyncio.Future[Reply]:
        """Sends an operation that decides a transaction, and ends it in the same call if that is possible: the reply is
        then that of a transaction that has ended."""
        if self._ends is None or end is None or not self._ends.takes(end):
            return self.submit(name, subject, rest)
        future: asyncio.Future[Reply] = self._loop.create_future()
        size = len(rest) + 16 + end.participants * PARTICIPANT_BYTES
        self._group.add(_Operation(name, subject, rest, future, end), size)
        return future

    def abort_command(self, serials: Sequence[str]) -> tuple[Arg, ...]:
        """The command that decides to abort these transactions; the sweep then ends them. It carries another broker
        name, so that it does not take part in the numbering of calls."""
        operations = [word for serial in serials for word in ("end", serial, "A")]
        args: list[Arg] = [self._clock.now_ms(), f"{self.broker}!", 0, *self._limits, *operations]
        return APPLY.eval(self._key_list, args)

    @property
    def waiting(self) -> int:
        return len(self._group)

    @property
    def is_idle(self) -> bool:
        return self._group.is_idle

    def _send(self, operations: list[_Operation]) -> asyncio.Future[Any]:
        self._calls += 1
        metrics.coordinator_batch.observe(len(operations))
        called = self._call(operations)
        for place, operation in enumerate(operations, 1):
            if operation.on_sent is not None:
                operation.on_sent(self._calls, place)
        return called

    def _call(self, operations: list[_Operation]) -> asyncio.Future[Any]:
        args: list[Any] = [self._clock.now_ms(), self.broker, self._calls, *self._limits]
        ends = _ends_of(operations)
        if self._ends is None or not ends:
            for operation in operations:
                args += operation[:3]
            return self._store.call(APPLY, self._key_list, args)
        keys, before, after = self._ends.encode(len(operations), ends)
        args += before
        for operation in operations:
            args += operation[:3]
        return self._store.call(APPLY_AND_END, (*self._key_list, *keys), (*args, *after))

    def _settle(self, operations: list[_Operation], done: asyncio.Future[Any]) -> None:
        error = done.exception() if not done.cancelled() else StoreUnavailable()
        if error is not None:
            for operation in operations:
                if not operation.future.done():
                    operation.future.set_exception(error)
                    operation.future.exception()  # no caller awaits a lazy operation; the sweep repeats it
            return
        _, lowest, following, replies, entry, *ended = done.result()
        if ended and self._ends is not None:
            self._ends.settle(_ends_of(operations), *ended)
        self.following = max(self.following, int(following))
        self.entry = max(self.entry, int(entry))
        watermark = int(lowest) - 1 if lowest else int(following) - 1
        for operation, (status, *fields) in zip(operations, decode_replies(replies), strict=True):
            if fields and fields[0] == MORE:
                self._group.add(operation)
            elif not operation.future.done():
                operation.future.set_result(Reply(status, fields, watermark))


def _ends_of(operations: Sequence[_Operation]) -> list[EndAtOnce]:
    return [operation.end for operation in operations if operation.end is not None]
