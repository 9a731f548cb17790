"""Applies a decision to the participating partitions.

One call per partition ends any number of transactions there: marker, pending acks of its subscriptions, tombstone and
watermark in one step.  Concurrent ends share a call, and partitions end in parallel.  Every step is idempotent and
fenced by the serial, so any broker can repeat a decision at any time.  A partition that was deleted, or belongs to
another incarnation of its topic, counts as done.  Source: PIP-31 "end transaction"; TS-07 to TS-09.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import StoredDamaged, StoreUnavailable
from redis_ledger.ledger.entries import LogEntry
from redis_ledger.store.group_commit import GroupCommit
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store
from redis_ledger.telemetry.transaction_metrics import EndSeries, aborted, committed
from redis_ledger.txn.coordinator import Decision, Participant, places_of
from redis_ledger.txn.end_at_once import Place, marker_entry
from redis_ledger.txn.states import TxnState

END = Script.load("txn/end")
MORE = b"more"  # the reply to an end that exceeds the work of one call: it is sent again
TRACED_MAX, NO_TIMES = 6, "_,_"  # participants in a trace; a participant that no longer exists
KINDS_KEPT = 1_000  # subscriptions of a partition whose kind is cached


class _End(NamedTuple):
    decision: Decision
    subscriptions: Sequence[str]
    future: asyncio.Future[Sequence[str]]
    begun_s: float

    @property
    def series(self) -> EndSeries:
        return committed if self.decision.state is TxnState.COMMITTING else aborted


class _PartitionEnds:
    """Sends the ends of transactions to one partition in batches."""

    def __init__(
        self,
        store: Store,
        topic: str,
        topic_id: str,
        number: int,
        config: Config,
        clock: Clock,
        on_marker: Callable[[LogEntry], None],
    ) -> None:
        self._store, self._clock, self._on_marker = store, clock, on_marker
        self._loop = asyncio.get_running_loop()
        self._has_scheduled = False  # whether scheduled batches of ended transactions are left to settle
        self._topic_id = topic_id
        self._keys = PartitionKeys(store.prefix, topic, number)
        self._tombstone_ms = config.tombstone_ms
        self._is_group: dict[str, bool] = {}
        self.group: GroupCommit[_End] = GroupCommit(
            self._send, self._settle, items_max=16, turnstile=partial(store.turnstile, self._keys.state)
        )

    def end(self, decision: Decision, subscriptions: Sequence[str]) -> Awaitable[Sequence[str]]:
        """Ends a transaction.  The result has a word for the partition and each of the subscriptions, "used,ended":
        lua/include/trace.lua."""
        unknown = [name for name in subscriptions if name not in self._is_group]
        if unknown:
            return self._read_kinds_and_end(decision, subscriptions, unknown)
        return self._add(decision, subscriptions)

    async def _read_kinds_and_end(
        self, decision: Decision, subscriptions: Sequence[str], unknown: list[str]
    ) -> Sequence[str]:
        """Reads which of the unknown subscriptions are Kafka groups: a group has two of the six keys, and an absent key
        must not be named."""
        if len(self._is_group) >= KINDS_KEPT:
            self._is_group.clear()
            unknown = [*subscriptions]
        key, command = self._keys.state, self._store.command
        kinds = await asyncio.gather(*(command("HGET", self._keys.sub(n).cursor, "kind", key=key) for n in unknown))
        self._is_group |= {name: kind == b"kafka" for name, kind in zip(unknown, kinds, strict=True) if kind}
        return await self._add(decision, subscriptions)

    def _add(self, decision: Decision, subscriptions: Sequence[str]) -> asyncio.Future[Sequence[str]]:
        end = _End(decision, subscriptions, self._loop.create_future(), perf_counter())
        end.series.pending += 1
        self.group.add(end)
        return end.future

    def take_scheduled(self) -> bool:
        """Whether transactions with scheduled batches have ended here since the last call."""
        has_scheduled, self._has_scheduled = self._has_scheduled, False
        return has_scheduled

    def _send(self, ends: list[_End]) -> asyncio.Future[Any]:
        names: dict[str, int] = {}
        args: list[Any] = [self._topic_id, self._clock.now_ms(), self._tombstone_ms, len(ends), self._keys.wake]
        for end in ends:
            decision = end.decision
            indexes = [names.setdefault(name, len(names)) for name in end.subscriptions]
            args += (
                decision.txn.producer_id if decision.producer is None else decision.producer.id,
                decision.txn.coordinator,
                decision.txn.serial,
                1 if decision.state is TxnState.COMMITTING else 0,
                decision.watermark if decision.watermark >= 0 else "",
                int(decision.producer is None),  # a native producer id is never used again
                len(indexes),
                *indexes,
            )
        keys = list(self._keys.end_keys)
        for name in names:
            sub = self._keys.sub(name)
            keys += sub.of_register_as_all() if self._is_group.get(name) else sub.all()
        return self._store.call(END, keys, args)

    def _settle(self, ends: list[_End], done: asyncio.Future[Any]) -> None:
        error = done.exception() if not done.cancelled() else StoreUnavailable()
        if error is None and done.result()[0] == Status.STALE:  # the name of a group now belongs to a subscription
            self._is_group.clear()
            for end in ends:
                self.group.add(end)
            return
        if isinstance(error, StoredDamaged) and len(ends) > 1:
            for end in ends:  # nothing was written, and the others need not wait for a repair
                self._send([end]).add_done_callback(partial(self._settle, [end]))
            return
        gone = error is None and done.result()[0] == Status.UNKNOWN_TOPIC
        if error is None and len(done.result()) > len(ends) + 1:
            self._has_scheduled = True
        now_s, now_ms = perf_counter(), self._clock.now_ms()
        for i, end in enumerate(ends):
            if error is None and not gone and done.result()[i + 1] == MORE:
                self.group.add(end)
                continue
            _count(end, now_s, has_failed=error is not None)
            reply = "-1" if error is not None or gone else str(done.result()[i + 1], "ascii")
            marker, _, used = reply.partition(" ")
            if marker != "-1":
                self._written(end.decision, marker, now_ms)
            if end.future.done():
                continue
            if error is not None:
                end.future.set_exception(error)
            else:
                end.future.set_result([f"{ms},{now_ms}" for ms in used.split(",")] if used else [])

    def _written(self, decision: Decision, marker: str, now_ms: int) -> None:
        producer = decision.producer
        is_commit = decision.state is TxnState.COMMITTING
        pid, epoch = (decision.txn.producer_id, 0) if producer is None else producer[:2]
        self._on_marker(marker_entry(marker, pid, epoch, is_commit, now_ms))


def _count(end: _End, now_s: float, *, has_failed: bool) -> None:
    series, subscriptions = end.series, len(end.subscriptions)
    series.pending -= 1
    if has_failed:
        series.count_failure(subscriptions)
    else:
        series.ended(now_s - end.begun_s, 1, subscriptions)


def _ends(
    participants: Sequence[Participant], words: Mapping[Place, Sequence[str]], places: Mapping[Place, Sequence[str]]
) -> str:
    found = []
    for topic, topic_id, number, name in participants:
        place = (topic, topic_id, number)
        at = 0 if name is None else 1 + places[place].index(name)
        found.append(words[place][at] if at < len(words[place]) else NO_TIMES)
    return ";".join(found)


class Participants:
    """Applies decisions.  on_marker: called with topic, topic id, partition and entry of every marker.
    after: awaited for each partition (topic, topic id, number) where an ended transaction had scheduled records."""

    def __init__(
        self,
        store: Store,
        config: Config,
        clock: Clock,
        on_marker: Callable[[str, str, int, LogEntry], None] = lambda *_: None,
        after: Callable[[str, str, int], Awaitable[None]] | None = None,
    ) -> None:
        self._after = after
        self._store, self._config, self._clock, self._on_marker = store, config, clock, on_marker
        self._partitions: dict[tuple[str, str, int], _PartitionEnds] = {}

    async def end(self, decision: Decision) -> str:
        """Returns when every participant is done: the `ends` of the first ones, in lua/include/trace.lua.  Raises the
        first failure after all were tried; the caller or the sweep then repeats the decision."""
        places = places_of(decision.participants)
        partitions = [self._at(place) for place in places]
        ends = [ends.end(decision, names) for ends, names in zip(partitions, places.values(), strict=True)]
        if len(ends) == 1:
            words = [await ends[0]]
        else:
            results = await asyncio.gather(*ends, return_exceptions=True)
            for result in results:
                if isinstance(result, BaseException):
                    raise result
            words = [result for result in results if not isinstance(result, BaseException)]
        for place, partition in zip(places, partitions, strict=True):
            if self._after is not None and partition.take_scheduled():
                await self._after(*place)
        return _ends(decision.participants[:TRACED_MAX], dict(zip(places, words, strict=True)), places)

    def _at(self, place: tuple[str, str, int]) -> _PartitionEnds:
        ends = self._partitions.get(place)
        if ends is None:
            if len(self._partitions) > 10_000:
                self._partitions = {key: ends for key, ends in self._partitions.items() if not ends.group.is_idle}
            ends = self._partitions[place] = _PartitionEnds(
                self._store, *place, self._config, self._clock, partial(self._on_marker, *place)
            )
        return ends
