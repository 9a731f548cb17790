"""One transaction coordinator on one broker.  Concurrent operations share one script call.

A call carries the broker's name and a number, and the script stores its last reply to each broker, so a call whose
reply was lost can be sent again.  The reply to an operation that exceeds the work of one call is "more": it is sent
again until it is done.  Source: PIP-160; docs/decisions/0003.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import RedisUnfit, StoreUnavailable
from redis_ledger.store.connection import Arg
from redis_ledger.store.group_commit import GroupCommit, Trigger
from redis_ledger.store.keys import CoordinatorKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store
from redis_ledger.telemetry import transaction_metrics
from redis_ledger.txn.batched_write import TRANSACTION_LOG, BatchedWrite, settings_of
from redis_ledger.txn.end_at_once import PARTICIPANT_BYTES, EndAtOnce, EndsAtOnce, MarkerWritten

APPLY, APPLY_AND_END = Script.load("txn/apply"), Script.load("txn/apply_and_end")
FORGET = Script.load("txn/forget")
OPERATION_BYTES = 16  # of an operation beside its participants or names
CALL_BYTES_MAX = 32_768  # of operations: some six hundred participants, which take Redis a few milliseconds
MORE = "more"  # the reply to an operation that is more work than one call does
FORGET_MAX = 250  # outcomes, and steps, that one call forgets
STEPS_MAX = 100_000  # committed steps without a stored answer that one coordinator keeps, about 250 bytes each
STEPS_SLACK_MS = 60_000  # they outlive their Idempotency-Keys by this, since clocks differ


OperationName = Literal[
    "begin", "add", "end", "expire", "complete", "allocate", "forget_step", "commit_all", "forget_number",
    "init_id", "add_by_id", "verify_by_id", "end_by_id", "forget_id",
]  # fmt: skip

_MEASURED_AS = {
    "begin": "begin", "add": "add", "add_by_id": "add", "end": "end", "end_by_id": "end", "commit_all": "end",
    "complete": "complete",
}  # fmt: skip
_observe = {
    name: transaction_metrics.operation_seconds.of(_MEASURED_AS.get(name, "other")).observe
    for name in get_args(OperationName)
}
_log = transaction_metrics.LOGS[TRANSACTION_LOG]
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
    submitted_s: float
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
        self._group: GroupCommit[_Operation] = GroupCommit(
            self._send, self._settle, turnstile=partial(store.turnstile, self.keys.state), on_flush=_count_batch
        )
        self._bare_limits = self._limits_of(batched=0)  # each record becomes an entry of its own
        self._batched_limits = self._limits_of(batched=1)
        self.batch(settings_of(config)[TRANSACTION_LOG])
        self._key_list = self.keys.all()

    def _limits_of(self, *, batched: Literal[0, 1]) -> tuple[int, ...]:
        config = self._config
        return (
            config.ended_status_retention_ms,
            config.ended_status_max_records,
            config.max_active_transactions_per_coordinator,
            config.end_overdue_ms,
            batched,
            config.idempotency_key_ms + STEPS_SLACK_MS,
            STEPS_MAX,
        )

    def batch(self, batched: BatchedWrite) -> None:
        """Changes the thresholds of the log, from the next call on."""
        thresholds = batched.thresholds(CALL_BYTES_MAX)
        self.batched, self._bytes_max = batched, thresholds.bytes_max
        self._limits = self._batched_limits if batched.is_batched else self._bare_limits
        self._group.limit(thresholds)

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
        operation = _Operation(name, subject, rest, future, perf_counter(), None, on_sent)
        self._group.add(operation, len(rest) + OPERATION_BYTES, lazy=lazy)
        return future

    def submit_end(
        self, name: OperationName, subject: str | int, rest: str, end: EndAtOnce | None
    ) -> asyncio.Future[Reply]:
        """Sends an operation that decides a transaction, and ends it in the same call if that is possible: the reply is
        then that of a transaction that has ended."""
        if self._ends is None or end is None or not self._ends.takes(end):
            return self.submit(name, subject, rest)
        future: asyncio.Future[Reply] = self._loop.create_future()
        size = len(rest) + OPERATION_BYTES + end.participants * PARTICIPANT_BYTES
        self._group.add(_Operation(name, subject, rest, future, perf_counter(), end), size)
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

    @property
    def busy_s(self) -> float:
        """How long the call that is under way has taken, its wait for other calls to the node included; 0 if none."""
        return self._group.busy_s

    def _send(self, operations: list[_Operation]) -> asyncio.Future[Any]:
        self._calls += 1
        called = self._call(operations)
        for place, operation in enumerate(operations, 1):
            if operation.on_sent is not None:
                operation.on_sent(self._calls, place)
        return called

    def _call(self, operations: list[_Operation]) -> asyncio.Future[Any]:
        is_large = len(operations) == 1 and len(operations[0].rest) + OPERATION_BYTES >= self._bytes_max
        limits = self._bare_limits if is_large else self._limits
        args: list[Any] = [self._clock.now_ms(), self.broker, self._calls, *limits]
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
        if error is None and done.result()[0] == Status.TXN_NOT_FOUND:
            error = RedisUnfit(
                f"Redis does not hold coordinator {self.number} any more: its data was lost or replaced."
            )
        if error is not None:
            for operation in operations:
                if not operation.future.done():
                    operation.future.set_exception(error)
                    operation.future.exception()  # no caller awaits a lazy operation; the sweep repeats it
            return
        _, lowest, following, replies, entry, *ended = done.result()
        now_s = perf_counter()
        if ended and self._ends is not None:
            began_s = [operation.submitted_s for operation in operations if operation.end is not None]
            self._ends.settle(_ends_of(operations), [now_s - each_s for each_s in began_s], *ended)
        self.following = max(self.following, int(following))
        self.entry = max(self.entry, int(entry))
        watermark = int(lowest) - 1 if lowest else int(following) - 1
        for operation, (status, *fields) in zip(operations, decode_replies(replies), strict=True):
            if fields and fields[0] == MORE:
                self._group.add(operation)
            elif not operation.future.done():
                operation.future.set_result(Reply(status, fields, watermark))
        for name, submitted_s in {each.name: each.submitted_s for each in reversed(operations)}.items():
            _observe[name](now_s - submitted_s)


def _count_batch(operations: list[_Operation], size: int, trigger: Trigger) -> None:
    _log.flushed(len(operations), size, perf_counter() - operations[0].submitted_s, trigger)


def _ends_of(operations: Sequence[_Operation]) -> list[EndAtOnce]:
    return [operation.end for operation in operations if operation.end is not None]
