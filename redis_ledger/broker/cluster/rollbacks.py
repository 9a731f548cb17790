"""Compares Redis with what this broker remembers of it, when Redis may have come back with older data.

    node changed ──▶ its calls wait ──▶ counters, catalog, coordinators, partitions ──▶ lower? take over ──▶ calls go on
                                                                                └▶ afterwards: transactions, topics

What must be settled before the next call is done on the connection that is being opened, including the abort of open
transactions whose coordinator is on the same node. The rest follows at once. Each broker compares for itself: the
scripts change nothing when another broker was first.
Source: docs/decisions/0028; KIP-101, KIP-320.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from redis_ledger.broker.cluster.lost_writes import LostWrites
from redis_ledger.broker.cluster.witness import LIVES_MAX, Count, lost_above, parse_lives
from redis_ledger.clock import Clock
from redis_ledger.errors import LedgerError, UnknownTopic
from redis_ledger.ledger.answered_offsets import AnsweredEnd
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.leader_epochs import GAP, ITEMS_MAX, EpochEnd, compare, parse_epochs
from redis_ledger.store.admission import WITNESSES, Probed
from redis_ledger.store.connection import Arg
from redis_ledger.store.inspection import Probe
from redis_ledger.store.keys import CatalogKeys, PartitionKeys, compared_brokers, node_lives, write_counter
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import WRITE_ALLOW_OOM, ReplyError, Store
from redis_ledger.telemetry.logs import RateLimitedLog, get
from redis_ledger.txn.coordinator import Coordinators
from redis_ledger.txn.operations import Coordinator

WITNESS = Script.load("broker/witness")
TAKE_OVER, COORDINATOR_TAKE_OVER = Script.load("ledger/takeover"), Script.load("txn/takeover")
ENTRIES_GAP = 1_000  # log entries of a coordinator between the remembered number and the next one
AT_ONCE = 500  # commands in one write
SERIALS_AT_ONCE = 250
FIELDS = ("topic_id", "epoch", "next", "epochs")
OTHERS_S_MAX, OTHERS_PAUSE_S = 2.0, 0.02  # how long a broker waits for the others to compare, and between two looks
FOLLOW_UP_S = (0.0, 2.0, 10.0)  # appends that were under way may open a transaction once more

Owns = Callable[[bytes], bool]
_log = get()


class Remembered(NamedTuple):
    """What was answered before. coordinators: number → next serial, log entry; counters: by number of the witness."""

    catalog_version: int
    coordinators: dict[int, tuple[int, int]]
    counters: dict[int, Count]


class Rollbacks:
    """on_found: called when a loss is found, to drop caches. follow_up: awaited afterwards, a few times. others: names
    of the live brokers."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        coordinators: Coordinators,
        lost: LostWrites,
        clock: Clock,
        on_found: Callable[[], None],
        follow_up: Callable[[], Awaitable[None]],
        store_epochs: Callable[[dict[str, str]], Awaitable[object]],
        *,
        name: str,
        others: Callable[[], Iterable[str]],
    ) -> None:
        self._store, self._catalog, self._coordinators, self._lost, self._clock = (
            store,
            catalog,
            coordinators,
            lost,
            clock,
        )
        self._on_found, self._follow_up, self._store_epochs = on_found, follow_up, store_epochs
        self._name, self._others, self._loop = name, others, asyncio.get_running_loop()
        self._keys = CatalogKeys(store.prefix)
        self.counters: dict[int, Count] = {}  # as raised last
        self.earlier = Remembered(-1, {}, {})  # of an earlier run, from the state directory
        self._limited_log = RateLimitedLog(every_s=10.0)
        self._tasks: set[asyncio.Task[None]] = set()
        store.admission.on_compare.append(self.compare)

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- remember ----------------------------------------------------------------------------------------------------

    def remembered(self) -> Remembered:
        coordinators = {c.number: (c.following, c.entry) for c in self._coordinators}
        for number, (following, entry) in self.earlier.coordinators.items():
            known = coordinators.get(number, (0, 0))
            coordinators[number] = (max(following, known[0]), max(entry, known[1]))
        counters = {**self.earlier.counters, **self.counters}
        return Remembered(max(self.earlier.catalog_version, self._catalog.versions.newest), coordinators, counters)

    async def raise_counters(self) -> None:
        """Raises the counter of each node. Cost: one small script for each."""
        nodes, prefix = self._witnesses(), self._store.prefix
        calls = [
            self._store.call(WITNESS, (write_counter(prefix, number), node_lives(prefix, number)), (life, LIVES_MAX))
            for number, life in nodes.items()
        ]
        replies = await asyncio.gather(*calls, return_exceptions=True)
        for (number, life), reply in zip(nodes.items(), replies, strict=True):
            if not isinstance(reply, BaseException):
                self.counters[number] = Count(life, int(reply[1]))

    def _witnesses(self) -> dict[int, str]:
        """One number for each node that is connected, and the life of the node."""
        topology, admission, found, seen = self._store.topology, self._store.admission, dict[int, str](), set[str]()
        for number in range(WITNESSES if topology.has_slots else 1):
            owner = topology.owner(topology.slot(write_counter(self._store.prefix, number)))
            if owner.conn is not None and owner.name not in seen:
                seen.add(owner.name)
                found[number] = admission.life(owner)
        return found

    # -- compare -----------------------------------------------------------------------------------------------------

    async def compare(self, node: Probed, within_s: float) -> None:
        """Compares what one node holds, then waits for the other brokers: none sends a call before all have compared,
        as one that remembers less would write where another one remembers records."""
        owns, probe, _ = node
        before, known = self._lost.count, self.remembered()
        absent, continued = list[AnsweredEnd](), list[AnsweredEnd]()
        try:
            await self._compare_counters(known, owns, probe)
            is_catalog_older = owns(self._keys.state) and await self._compare_catalog(known, probe)
            older = await self._compare_coordinators(known, owns, probe)
            await self._compare_partitions(owns, probe, absent, continued)
            # A topic that another broker has deleted is no loss, unless this node has lost something else.
            if is_catalog_older or (self._is_found(before) and owns(self._keys.state)):
                self._report_absent(absent)
                absent.clear()
            for coordinator in self._coordinators if continued else ():
                if coordinator.number not in older and owns(coordinator.keys.state):
                    await self._abort_open(coordinator, probe, _names(continued))
        finally:  # what was found is settled, also when the connection broke before all was compared
            if self._is_found(before):
                self._on_found()
            if self._is_found(before) or absent:
                self._start(self._settle(continued, absent, owns))
        if within_s > 0.0:
            await self._wait_for_others(node, min(within_s, OTHERS_S_MAX))

    async def _wait_for_others(self, node: Probed, within_s: float) -> None:
        """Until every broker that was live has compared the node, or the time is over: then the others have stopped."""
        others = [name for name in self._others() if name != self._name]
        numbers = range(WITNESSES if self._store.topology.has_slots else 1)
        keys = (compared_brokers(self._store.prefix, number) for number in numbers)
        key = next(filter(node.owns, keys), None)
        if not others or key is None:
            return
        deadline = self._loop.time() + within_s
        row: list[Arg] = [b"HSET", self._name, node.life]
        await _ask(node.ask, [WRITE_ALLOW_OOM.eval((key,), row)])
        while self._loop.time() < deadline:
            (lives,) = await _ask(node.ask, [(b"HMGET", key, *others)])
            if is_elsewhere(lives) or all(life is not None and life.decode() == node.life for life in lives):
                return
            await asyncio.sleep(OTHERS_PAUSE_S)
        _log.warning("other brokers have not compared Redis with what they remember", within_s=within_s)

    def _is_found(self, before: int) -> bool:
        return self._lost.count > before

    async def _compare_counters(self, known: Remembered, owns: Owns, probe: Probe) -> None:
        prefix = self._store.prefix
        numbers = [number for number in known.counters if owns(write_counter(prefix, number))]
        commands = list[tuple[Arg, ...]]()
        for number in numbers:
            commands += [(b"GET", write_counter(prefix, number)), (b"LRANGE", node_lives(prefix, number), 0, -1)]
        replies = await _ask(probe, commands)
        for number, count, lives in zip(numbers, replies[::2], replies[1::2], strict=True):
            if is_elsewhere(count) or is_elsewhere(lives):
                continue
            remembered = known.counters[number]
            stored = lost_above(remembered, int(count or 0), parse_lives(lives))
            if stored >= 0:
                self._lost.lost_others(number, remembered.value, stored)
            self.counters.pop(number, None)
            self.earlier.counters.pop(number, None)

    async def _compare_catalog(self, known: Remembered, probe: Probe) -> bool:
        """Whether it is older. Its version continues above the remembered one, for caches that are keyed by it."""
        state, fields = self._keys.state, (b"version", b"lost_above", b"continued_at")
        (reply,) = await _ask(probe, [(b"HMGET", state, *fields)])
        if is_elsewhere(reply):
            return False
        stored, lost_above, continued_at = (int(each or 0) for each in reply)
        self._catalog.versions.forget()
        self.earlier = self.earlier._replace(catalog_version=-1)
        if lost_above < known.catalog_version < continued_at:  # another broker was first
            self._lost.lost_topics(known.catalog_version, lost_above)
            return True
        if stored >= known.catalog_version:
            return False
        following = known.catalog_version + 1
        row: list[Arg] = [b"HSET", b"version", following, b"lost_above", stored, b"continued_at", following]
        await _ask(probe, [WRITE_ALLOW_OOM.eval((state,), row)])
        self._lost.lost_topics(known.catalog_version, stored)
        return True

    async def _compare_coordinators(self, known: Remembered, owns: Owns, probe: Probe) -> set[int]:
        """The numbers of those that were older."""
        mine = [c for c in self._coordinators if owns(c.keys.state) and any(known.coordinators.get(c.number, ()))]
        commands = [
            COORDINATOR_TAKE_OVER.eval((c.keys.state,), (*known.coordinators[c.number], ENTRIES_GAP)) for c in mine
        ]
        older = set[int]()
        for coordinator, reply in zip(mine, await _ask(probe, commands), strict=True):
            self.earlier.coordinators.pop(coordinator.number, None)
            if not is_elsewhere(reply) and reply[0] == Status.OK and reply[1] == 1:
                older.add(coordinator.number)
                self._lost.lost_coordinator(coordinator.number, await self._abort_open(coordinator, probe, None))
        return older

    async def _abort_open(self, coordinator: Coordinator, probe: Probe, names: Collection[str] | None) -> int:
        """Decides to abort the open transactions of a coordinator; of those with these participants, or of all."""
        k, after, aborted = coordinator.keys, b"(", 0
        while True:
            command = (b"ZRANGEBYLEX", k.order, after, b"+", b"LIMIT", 0, SERIALS_AT_ONCE)
            (padded,) = await _ask(probe, [command])
            if is_elsewhere(padded) or not padded:
                return aborted
            serials = [str(int(each)) for each in padded]
            (rows,) = await _ask(probe, [(b"HMGET", k.txns, *serials)])
            if is_elsewhere(rows):
                return aborted
            wanted = [
                serial for serial, row in zip(serials, rows, strict=True) if row and _is_touched(row.decode(), names)
            ]
            if wanted:
                await _ask(probe, [coordinator.abort_command(wanted)])
            aborted, after = aborted + len(wanted), b"(" + padded[-1]

    async def _compare_partitions(
        self, owns: Owns, probe: Probe, absent: list[AnsweredEnd], lost: list[AnsweredEnd]
    ) -> None:
        """Adds the partitions that are not there, and those that lost records."""
        prefix = self._store.prefix
        mine = [(each, keys) for each in self._catalog.answered.all()
                if owns((keys := PartitionKeys(prefix, each.topic, each.number)).state)]  # fmt: skip
        replies = await _ask(probe, [(b"HMGET", keys.state, *FIELDS) for _, keys in mine])
        for (each, keys), reply in zip(mine, replies, strict=True):
            if is_elsewhere(reply):
                continue
            if reply[0] is None or reply[0].decode() != each.topic_id:
                absent.append(each)
                continue
            stored = EpochEnd(int(reply[1]), int(reply[2]))
            found = compare(parse_epochs((reply[3] or b"").decode()), each.remembered, stored)
            if found.takes_over:
                (taken,) = await _ask(probe, [take_over_command(keys, each, self._clock.now_ms())])
                if is_elsewhere(taken) or taken[0] != Status.OK:
                    continue
                stored = EpochEnd(int(taken[2]), int(taken[4]))
            if found.lost_from >= 0:
                self._lost.lost_records(each.topic, each.number, found.lost_from, each.end, stored.epoch)
                lost.append(each)
            if stored.epoch != each.epoch:  # else nothing is lost, and what is stored beyond it was not answered here
                each.replace(stored)

    def _report_absent(self, absent: Iterable[AnsweredEnd]) -> None:
        gone = list(absent)
        for each in gone:
            self._lost.lost_records(each.topic, each.number, 0, each.end, -1, is_deleted=True)
        self._catalog.answered.forget(gone)

    # -- afterwards --------------------------------------------------------------------------------------------------

    async def _settle(self, continued: Sequence[AnsweredEnd], absent: Sequence[AnsweredEnd], owns: Owns) -> None:
        """Tells the other brokers the epochs, makes lost partitions again, and ends transactions."""
        for pause_s in FOLLOW_UP_S:
            await asyncio.sleep(pause_s)
            try:
                await self._catalog.refresh()
                if pause_s == 0.0:
                    continued = [*continued, *await self._make_again(absent)]
                    await self._store_epochs({f"{each.topic_id}:{each.number}": str(each.epoch) for each in continued})
                    for coordinator in self._coordinators:
                        if continued and not owns(coordinator.keys.state):
                            probe = self._through_store(coordinator.keys.state)
                            await self._abort_open(coordinator, probe, _names(continued))
                await self._follow_up()
            except LedgerError as error:
                self._limited_log.failed("what follows from lost writes could not be done yet", error)

    async def _make_again(self, absent: Sequence[AnsweredEnd]) -> list[AnsweredEnd]:
        """Makes partitions again that the catalog has and their node has lost."""
        made = []
        for each in absent:
            try:
                entry = await self._catalog.get(each.topic, fresh=True)
            except UnknownTopic:
                entry = None
            if entry is None or entry.id != each.topic_id:
                self._catalog.answered.forget([each])  # deleted
                continue
            partition = await self._catalog.partition(each.topic, each.number)
            if await partition.create():
                keys = partition.keys
                reply = await self._through_store(keys.state)([take_over_command(keys, each, self._clock.now_ms())])
                if reply[0][0] == Status.OK:
                    self._lost.lost_records(each.topic, each.number, 0, each.end, int(reply[0][2]))
                    each.replace(EpochEnd(int(reply[0][2]), int(reply[0][4])))
                    made.append(each)
        return made

    def _through_store(self, key: bytes) -> Probe:
        async def probe(commands: Sequence[Sequence[Arg]]) -> list[Any]:
            return [await self._store.command(*command, key=key) for command in commands]

        return probe

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def take_over_command(keys: PartitionKeys, each: AnsweredEnd, now_ms: int) -> tuple[Arg, ...]:
    args = (each.topic_id, each.epoch, each.end, GAP, now_ms, keys.wake, ITEMS_MAX)
    return TAKE_OVER.eval((keys.state, keys.log), args)


async def _ask(probe: Probe, commands: Sequence[Sequence[Arg]]) -> list[Any]:
    """Replies in order. Raises ConnectionError for an error that is no redirection."""
    replies: list[Any] = []
    for first in range(0, len(commands), AT_ONCE):
        replies += await probe(commands[first : first + AT_ONCE])
    for reply in replies:
        if isinstance(reply, Exception) and not is_elsewhere(reply):
            raise ConnectionError(f"Redis cannot be compared with what was answered: {reply}") from reply
    return replies


def is_elsewhere(reply: Any) -> bool:
    """The key belongs to another node, which is compared by itself."""
    return isinstance(reply, ReplyError) and str(reply).startswith(("MOVED", "ASK", "TRYAGAIN"))


def _names(partitions: Iterable[AnsweredEnd]) -> set[str]:
    """As participants of a transaction."""
    return {f"{each.topic}/{each.topic_id}/{each.number}" for each in partitions}


def _is_touched(row: str, names: Collection[str] | None) -> bool:
    """row: of the coordinator's key `txns`. names: "topic/topic id/partition"; None: all that are open."""
    head, _, participants = row.split("|")
    if head[0] != "O":
        return False
    if names is None:
        return True
    words = participants.split()
    return "+" in words or any("/".join(word.split("/")[:3]) in names for word in words)
