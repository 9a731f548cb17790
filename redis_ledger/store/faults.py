"""Fault points: a store that ends the process, fails or waits at named writes.  For tests; the setting is test_hooks.

    call or multi ─▶ its points ─▶ before: crash, fail, delay ─▶ Redis ─▶ after: crash, fail, delay ─▶ reply
                                                                         if the reply says that it was written

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

import msgspec

from redis_ledger.errors import OutcomeUnknown, StoreTimeout, StoreUnavailable
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Packed, ScriptCall, Store

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
NOTHING_DUE = "-"  # the reply to "expire"
_FIRED_AT = 3  # in the reply of delay/fire: the number of records
_OPERATIONS_AT, _NUMBER_AT, _OPERATIONS_BEHIND = 10, 12, 15  # in the arguments of txn/apply and txn/apply_and_end

When = Literal["before", "after"]
Act = Literal["crash", "fail", "delay"]


@dataclass(slots=True)
class Fault:
    """when   before the write leaves, or when Redis has answered that it was made
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


def written_points(script: str, keys: Sequence[bytes], args: Sequence[Any], reply: Any) -> set[str]:
    """Those of the points that a call has passed at which something was written, by its reply.  A script that refuses a
    call, or each batch or operation of it, has written nothing: the sender sends it in another form, or fails."""
    if isinstance(reply, Exception) or reply[0] < Status.OK:
        return set()
    if script in ("txn/apply", "txn/apply_and_end"):
        at = _OPERATIONS_AT if script == "txn/apply" else _OPERATIONS_BEHIND
        done = [(state >= Status.OK and rest != [NOTHING_DUE]) for state, *rest in msgspec.msgpack.decode(reply[3])]
        words = [args[at + 3 * place + word] for place, is_done in enumerate(done) if is_done for word in range(3)]
        has_ended = script == "txn/apply_and_end" and any(msgspec.msgpack.decode(reply[5]))
        return _of_operations(words).union(_AT_ONCE if has_ended else ())
    answers = [each for each in reply if isinstance(each, list)]
    if answers and all(answer[0] < Status.OK for answer in answers):
        return set()
    if script == "delay/fire" and not any(map(int, reply[_FIRED_AT : _FIRED_AT + 1])):
        return set()
    if script == "delay/rotate" and int(reply[1]) == int(args[1]):  # the open bucket is empty
        return set()
    return points_of(script, keys, args)


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
        call = [(0, ScriptCall(script, keys, args))] if self.faults.armed else []
        return self._pass(call, retry, lambda: Store.call(self, script, keys, args, retry=retry), lambda reply: [reply])

    def multi(
        self, key: bytes, commands: Sequence[Any], *, retry: bool = False, awaits_replicas: bool = True
    ) -> asyncio.Future[list[Any]]:
        calls, at = list[tuple[int, ScriptCall]](), 0
        for each in commands if self.faults.armed else ():
            if isinstance(each, ScriptCall):
                calls.append((at, each))
            at += each.commands if isinstance(each, Packed) else 1
        return self._pass(
            calls, retry, lambda: Store.multi(self, key, commands, retry=retry, awaits_replicas=awaits_replicas), list
        )

    def _pass(
        self,
        calls: Sequence[tuple[int, ScriptCall]],
        retry: bool,
        send: Callable[[], asyncio.Future[Any]],
        replies: Callable[[Any], list[Any]],
    ) -> asyncio.Future[Any]:
        """calls: the scripts, each with the index of its reply in what `replies` returns."""
        points = set[str]().union(*(points_of(each.script.name, each.keys, each.args) for _, each in calls))
        if not points:
            return send()

        def written(reply: Any) -> set[str]:
            all_, found = replies(reply), set[str]()
            return found.union(*(written_points(c.script.name, c.keys, c.args, all_[at]) for at, c in calls))

        fault = self.faults.take(points, "before")
        if fault is None:
            return self._answered(written, retry, send())
        if fault.act == "crash":
            self.faults.end_process(CRASHED)
        reply = self._loop.create_future()
        if fault.act == "delay":
            self._loop.call_later(
                fault.delay_ms / 1000,
                lambda: self._answered(written, retry, send()).add_done_callback(lambda done: _copy(done, reply)),
            )
        else:
            reply.set_exception(StoreUnavailable(f"Test hook: the write at {fault.point} was not sent."))
        return reply

    def _answered(
        self, written: Callable[[Any], set[str]], retry: bool, sent: asyncio.Future[Any]
    ) -> asyncio.Future[Any]:
        reply = self._loop.create_future()

        def arrived(done: asyncio.Future[Any]) -> None:
            has_failed = done.cancelled() or done.exception() is not None
            fault = None if has_failed else self.faults.take(written(done.result()), "after")
            if fault is None:
                _copy(done, reply)
            elif fault.act == "crash":
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
