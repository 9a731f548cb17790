"""Fault points: a store that ends the process, fails or waits at named writes.  For tests; the setting is test_hooks.

    call or multi ─▶ its points ─▶ before: crash, fail, delay ─▶ Redis ─▶ after: crash, fail, delay ─▶ reply

With test_hooks the process opens a FaultyStore instead of a Store, so without it no call looks for faults.  The points
of a transaction are the writes of PIP-31's steps; a call that carries several of them, as on one Redis, is all those
points.
Source: requirements CL-15, OB-30.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from redis_ledger.errors import OutcomeUnknown, StoreTimeout, StoreUnavailable
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import ScriptCall, Store

CRASHED = 70  # exit status of a process that crashes at a fault point
# The numbers are those of PIP-31.
POINTS = {
    "begin": "1a, the coordinator logs OPEN",
    "add_partition": "2.1a, it logs a partition",
    "append": "2.2a, the partition stores records, in a transaction or not",
    "add_subscription": "2.3a, the coordinator logs a subscription",
    "pending_ack": "2.4a, the partition stores acknowledgements or a group's offsets as pending",
    "decide": "3.1a, the coordinator logs COMMITTING or ABORTING",
    "end_partition": "3.2a, a partition without acknowledgements of the transaction gets the marker",
    "end_subscription": "3.2b, a partition with acknowledgements of it gets the marker and settles them",
    "complete": "3.3a, the coordinator logs COMMITTED or ABORTED",
    "schedule": "a partition stores delayed records in its open bucket",
    "delay_rotate": "a bucket is closed and the next one opened",
    "delay_seal": "a segment of a closed bucket is stored as a snapshot",
    "delay_load": "a segment of a snapshot is loaded",
    "delay_merge": "merged buckets replace their sources",
    "delay_fire": "due records get their log entries",
}
_OF_SCRIPT = {
    "ledger/append": "append", "ledger/append_sidecar": "append", "cursor/pending_ack": "pending_ack",
    "cursor/pending_ack_many": "pending_ack", "cursor/offset_commit": "pending_ack", "ledger/schedule": "schedule",
    "delay/rotate": "delay_rotate",
    "delay/seal": "delay_seal", "delay/load": "delay_load", "delay/replace": "delay_merge", "delay/fire": "delay_fire",
}  # fmt: skip
_OF_OPERATION = {
    "begin": "begin", "end": "decide", "end_by_id": "decide", "expire": "decide", "commit_all": "decide",
    "complete": "complete",
}  # fmt: skip
_AT_ONCE = ("end_partition", "end_subscription", "complete")
_END_KEYS = len(PartitionKeys("", "", 0).end_keys)
_OPERATIONS_AT, _NUMBER_AT, _OPERATIONS_BEHIND = 10, 12, 15  # in the arguments of txn/apply and txn/apply_and_end

When = Literal["before", "after"]
Act = Literal["crash", "fail", "delay"]


@dataclass(slots=True)
class Fault:
    """when   before the write leaves, or when Redis has answered
    act    crash: the process ends; fail: the caller gets an error, after: the write has been made; delay: by delay_ms
    skip   how many times the point is passed first
    times  how many times the fault happens
    """

    point: str
    when: When
    act: Act
    times: int = 1
    skip: int = 0
    delay_ms: int = 0


class Faults:
    """The armed faults of a process.  end_process: called with the exit status."""

    def __init__(self, end_process: Callable[[int], object] = os._exit) -> None:
        self.armed: list[Fault] = []
        self.end_process = end_process

    def arm(self, fault: Fault) -> None:
        assert fault.point in POINTS, fault.point
        self.armed.append(fault)

    def clear(self) -> None:
        self.armed.clear()

    def take(self, points: Collection[str], when: When) -> Fault | None:
        """The first fault that is due, if the process passes these points now."""
        for fault in self.armed:
            if fault.point not in points or fault.when != when:
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            fault.times -= 1
            if not fault.times:
                self.armed.remove(fault)
            return fault
        return None


def points_of(script: str, keys: Sequence[bytes], args: Sequence[Any]) -> set[str]:
    """The fault points that a script call passes."""
    if script == "txn/apply":
        return _of_operations(args[_OPERATIONS_AT:])
    if script == "txn/apply_and_end":
        behind = _OPERATIONS_BEHIND + 3 * int(args[_NUMBER_AT])
        return _of_operations(args[_OPERATIONS_BEHIND:behind]).union(_AT_ONCE)
    if script == "txn/end":
        return {"end_subscription" if len(keys) > _END_KEYS else "end_partition"}
    return {_OF_SCRIPT[script]} if script in _OF_SCRIPT else set()


def _of_operations(words: Sequence[Any]) -> set[str]:
    found = {_OF_OPERATION[name] for name in words[::3] if name in _OF_OPERATION}
    for name, rest in zip(words[::3], words[2::3], strict=True):
        if name in ("begin", "add", "add_by_id"):  # a participant has two slashes, three with a subscription
            kinds = {word.count("/") for word in rest.split(" ")}
            found |= {point for slashes, point in ((2, "add_partition"), (3, "add_subscription")) if slashes in kinds}
    return found


class FaultyStore(Store):
    """A store with fault points; `faults` arms them."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.faults = Faults()
        self._loop = asyncio.get_running_loop()

    def call(
        self, script: Script, keys: Sequence[bytes], args: Sequence[Any], *, retry: bool = True
    ) -> asyncio.Future[Any]:
        points = points_of(script.name, keys, args) if self.faults.armed else ()
        return self._pass(points, retry, lambda: Store.call(self, script, keys, args, retry=retry))

    def multi(
        self, key: bytes, commands: Sequence[Any], *, retry: bool = False, awaits_replicas: bool = True
    ) -> asyncio.Future[list[Any]]:
        scripts = [each for each in commands if isinstance(each, ScriptCall)] if self.faults.armed else ()
        points = set[str]().union(*(points_of(each.script.name, each.keys, each.args) for each in scripts))
        return self._pass(
            points, retry,
            lambda: Store.multi(self, key, commands, retry=retry, awaits_replicas=awaits_replicas),
        )  # fmt: skip

    def _pass(
        self, points: Collection[str], retry: bool, send: Callable[[], asyncio.Future[Any]]
    ) -> asyncio.Future[Any]:
        fault = self.faults.take(points, "before") if points else None
        if fault is None:
            return self._answered(points, retry, send()) if points else send()
        if fault.act == "crash":
            self.faults.end_process(CRASHED)
        reply = self._loop.create_future()
        if fault.act == "delay":
            self._loop.call_later(
                fault.delay_ms / 1000,
                lambda: self._answered(points, retry, send()).add_done_callback(lambda done: _copy(done, reply)),
            )
        else:
            reply.set_exception(StoreUnavailable(f"Test hook: the write at {fault.point} was not sent."))
        return reply

    def _answered(self, points: Collection[str], retry: bool, sent: asyncio.Future[Any]) -> asyncio.Future[Any]:
        fault = self.faults.take(points, "after")
        if fault is None:
            return sent
        reply = self._loop.create_future()

        def arrived(done: asyncio.Future[Any]) -> None:
            if fault.act == "crash":
                self.faults.end_process(CRASHED)
            elif fault.act == "delay":
                self._loop.call_later(fault.delay_ms / 1000, _copy, done, reply)
            elif not reply.done():
                lost = StoreTimeout if retry else OutcomeUnknown
                reply.set_exception(lost(f"Test hook: the reply to the write at {fault.point} was dropped."))

        sent.add_done_callback(arrived)
        return reply


def _copy(done: asyncio.Future[Any], reply: asyncio.Future[Any]) -> None:
    if reply.done():
        return
    if done.cancelled():
        reply.cancel()
    elif (error := done.exception()) is not None:
        reply.set_exception(error)
    else:
        reply.set_result(done.result())
