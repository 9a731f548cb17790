"""Scheduled records and a model of them that keeps one row for each: what a history is played on.

`World` has a partition, brokers that come and go (`index`), and steps that it carries out and tells the model of; after
each, `check` compares.  `Wire` is a broker's store: it dies at a write of its own choice, or is held up at a call.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any, NamedTuple

from redis_ledger.broker.delayed.index_reader import DelayIndexReader
from redis_ledger.broker.delayed.messages import ScheduledMessages
from redis_ledger.broker.delayed.rearm import rearm
from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.decoding.budget import Decoding
from redis_ledger.delay.bucket_metrics import BucketMetrics
from redis_ledger.delay.index import DelayIndex
from redis_ledger.delay.recurrence import Recurrence
from redis_ledger.errors import AlreadyCancelled, AlreadyDelivered, LedgerError, UnknownScheduled
from redis_ledger.ids import ScheduledId, TxnId
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.partition import Partition
from redis_ledger.records.build import encode
from redis_ledger.records.read import decode
from redis_ledger.records.split_by_due import Later, Now, Split
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Decision, Participant
from redis_ledger.txn.participants import Participants
from redis_ledger.txn.states import TxnState
from tests.support.crash_child import READS
from tests.support.crashing_store import LOOKS

START_MS, REPEAT_MS = 1_000_000, 1_000
TOPIC, TOPIC_ID, PRODUCER = "orders", "t-1", 77
CONFIG = Config(
    delayed_delivery_max_indexes_per_segment=3,
    delayed_delivery_min_indexes_per_segment=1,
    delayed_delivery_max_time_step_per_segment_s=1,
    delayed_delivery_max_num_buckets=1,
)
# In which states a record is cancelled or moved, or refused how.  What was cleared may have been delivered as well.
CANCELS: dict[type[LedgerError] | None, set[str]] = {
    None: {"pending", "owed", "cancelled", "aborted", "cleared"},
    AlreadyDelivered: {"fired", "cleared"},
    UnknownScheduled: {"held", "fired", "cancelled", "aborted", "cleared"},
}
MOVES: dict[type[LedgerError] | None, set[str]] = {
    None: {"pending"},
    AlreadyDelivered: {"fired", "owed"},
    AlreadyCancelled: {"cancelled", "aborted", "cleared"},
    UnknownScheduled: {"held", "fired", "owed", "cancelled", "aborted", "cleared"},
}
names = itertools.count()


# -- the model ---------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """One record.  state: held, pending, fired, owed, cancelled, cleared, aborted."""

    value: str
    due: int
    is_grouped: bool
    state: str
    repeats: bool = False

    @property
    def is_live(self) -> bool:
        return self.state == "pending"


class Model(dict[ScheduledId, Row]):
    """log: values in the order they became visible, markers left out."""

    def __init__(self) -> None:
        self.now = START_MS
        self.log: list[str] = []

    def ids(self, *states: str) -> list[ScheduledId]:
        return [id for id, row in self.items() if row.state in states]

    def set(self, ids: list[ScheduledId], **more: Any) -> None:
        for id in ids:
            self[id] = self[id]._replace(**more)

    def in_order(self) -> list[ScheduledId]:
        """Pending records in firing order: by due time, then by arrival; those moved by themselves come last."""
        return sorted(self.ids("pending"), key=lambda id: (self[id].due, id.entry, not self[id].is_grouped, id.index))

    def fire(self, values: list[str]) -> None:
        order = self.in_order()[: len(values)]
        assert [self[id].value for id in order] == values, "not in due order, not pending, or twice"
        assert all(self[id].due <= self.now for id in order), "early"
        for id in order:
            self.set([id], state="owed" if self[id].repeats else "fired")
        self.log += values


# -- cut short and held up ---------------------------------------------------------------------------------------------


class Killed(Exception):
    """This broker is gone."""


class Wire:
    """A store that dies at its n-th write, or is held up at its n-th call until it may go on."""

    def __init__(self, store: Store) -> None:
        self._store, self.prefix = store, store.prefix
        self.writes, self.calls, self.dies_at, self.waits_at = 0, 0, -1, -1
        self.is_waiting, self.may_go_on = asyncio.Event(), asyncio.Event()

    async def call(self, script: Any, keys: Any, args: Any, **more: Any) -> Any:
        await self._count(is_write=True)
        return await self._store.call(script, keys, args, **more)

    async def command(self, *args: Any, **more: Any) -> Any:
        await self._count(is_write=str(args[0]).encode() not in READS | LOOKS | {b"XINFO"})
        return await self._store.command(*args, **more)

    async def _count(self, *, is_write: bool) -> None:
        self.writes, self.calls = self.writes + is_write, self.calls + 1
        if is_write and self.writes == self.dies_at:
            raise Killed
        if self.calls == self.waits_at:
            self.is_waiting.set()
            await self.may_go_on.wait()


# -- the system --------------------------------------------------------------------------------------------------------


class World:
    def __init__(self, store: Store) -> None:
        store.prefix = f"d{next(names)}"
        self.store, self.model, self.clock = store, Model(), ManualClock()
        self.partition = Partition(store, TOPIC, 0, TOPIC_ID, CONFIG, self.clock)
        self.ends = Participants(store, CONFIG, self.clock)
        self.chunks: dict[TxnId, list[list[ScheduledId]]] = {}  # what is to be settled, batch by batch
        self.sent: list[tuple[Any, int]] = []
        self.values, self.txns, self.sequence = itertools.count(), itertools.count(1), 0
        self.open: dict[int, TxnId] = {}
        self.left: dict[ScheduledId, int] = {}  # how often a repeating record is still to come
        self.k = self.partition.keys

    def index(self, wire: Wire | None = None) -> DelayIndex:
        """Of a broker that has just come."""
        tally = BucketMetrics(TOPIC)
        return DelayIndex(wire or self.store, self.k, TOPIC, TOPIC_ID, lambda: CONFIG, self.clock, tally)  # type: ignore[arg-type]

    def waiting(self, index: DelayIndex | None = None) -> ScheduledMessages:
        return ScheduledMessages(self.partition, index or self.index(), lambda: self.model.now, Decoding(Config()))

    def reader(self) -> DelayIndexReader:
        return DelayIndexReader(self.partition, self.index(), lambda: self.model.now, Decoding(Config()))

    # -- steps that the model knows of -------------------------------------------------------------------------------

    def entries(self, shape: list[Any]) -> tuple[list[Later], list[list[tuple[str, int, bool]]]]:
        """shape: of each entry (delay, records), or the delays of a block.  What is sent, and what the model knows."""
        later, known = [], []
        for each in shape:
            is_block = isinstance(each, list) and len(each) > 1
            delays = each if isinstance(each, list) else [each[0]] * each[1]
            dues = [self.model.now + delay for delay in delays]
            values = [f"r{next(self.values)}" for _ in dues]
            payload = encode([(None, value.encode(), (), 5) for value in values])
            later.append(Later(payload, len(dues), 5, min(dues), dues if is_block else ()))
            known.append([(value, due, not is_block) for value, due in zip(values, dues, strict=True)])
        return later, known

    def learn(self, first: int, known: list[list[tuple[str, int, bool]]], state: str) -> list[ScheduledId]:
        rows = {
            ScheduledId(0, first + e, i): Row(value, due, grouped, state)
            for e, entry in enumerate(known)
            for i, (value, due, grouped) in enumerate(entry)
        }
        self.model |= rows
        return list(rows)

    async def schedule(self, shape: list[Any], now: int) -> None:
        later, known = self.entries(shape)
        count = now + sum(each.records for each in later)
        values = [f"n{next(self.values)}" for _ in range(now)]
        here = Now(encode([(None, v.encode(), (), 5) for v in values]), now, 5) if now else None
        request = AppendRequest(b"", count, -1, PRODUCER, 0, self.sequence, split=Split(here, later))
        accepted = await self.partition.append(request)
        self.sequence += count
        self.learn(accepted.first_entry, known, "pending")
        self.model.log += values
        assert (accepted.base_offset >= 0, accepted.duplicate) == (now > 0, False)
        self.sent.append((request, accepted.base_offset if now else accepted.first_entry))

    async def again(self, back: int) -> None:
        """A batch whose reply was lost."""
        if back > min(len(self.sent), 5):
            return
        request, place = self.sent[-back]
        accepted = await self.partition.append(request)
        assert accepted.duplicate
        assert place in (accepted.base_offset, accepted.first_entry)

    async def in_txn(self, slot: int, shape: list[Any]) -> None:
        txn = self.open.setdefault(slot, TxnId(0, next(self.txns)))
        later, known = self.entries(shape)
        count = sum(each.records for each in later)
        accepted = await self.partition.append(
            AppendRequest(b"", count, -1, producer_id=txn.producer_id, epoch=0, split=Split(None, later)), txn
        )
        self.chunks.setdefault(txn, []).append(self.learn(accepted.first_entry, known, "held"))

    async def end(self, slot: int, commit: bool) -> None:
        txn = self.open.pop(slot, None)
        if txn is not None:
            state = TxnState.COMMITTING if commit else TxnState.ABORTING
            await self.ends.end(Decision(txn, state, [Participant(TOPIC, TOPIC_ID, 0)], -1))

    async def settle(self, index: DelayIndex, dies_at: int = -1) -> None:
        """All that is decided, or only some batches."""
        wire = Wire(self.store)
        wire.dies_at = dies_at
        decided = await self.store.command("HGET", self.k.delay.state, "decided", key=self.k.state)
        for name in (decided or b"").decode().split():
            txn = TxnId(*map(int, name.split("-")))
            mark = await self.store.command("HGET", self.k.delay.state, name, key=self.k.state)
            before = wire.writes
            try:
                await self.index(wire).scripts.settle_all(name)
                done = wire.writes - before
            except Killed:
                done = wire.writes - before - 1
            for chunk in self.chunks[txn][:done]:
                self.model.set(chunk, state="pending" if mark[:1] == b"C" else "aborted")
            del self.chunks[txn][:done]
            if wire.writes == dies_at:
                return

    async def repeat(self, index: DelayIndex, delay: int) -> None:
        """A record that comes every second, three times in all."""
        slot = 99
        await self.in_txn(slot, [(delay, 1)])
        (id,) = self.chunks[self.open[slot]][0]
        how = Recurrence.parse(f"PT{REPEAT_MS // 1000}S", times=3)
        repeat = f"{self.model[id].due} {how.stored()}"
        await index.scripts.command("HSET", index.scripts.delay.repeats, id.entry, repeat)
        self.model.set([id], repeats=True)
        self.left[id] = 3
        await self.end(slot, True)
        await self.settle(index)

    async def rearm(self, index: DelayIndex) -> None:
        await rearm(index, self.model.now)
        for id in self.model.ids("owed"):
            self.left[id] -= 1
            due = self.model[id].due
            due += ((max(self.model.now - due, 0)) // REPEAT_MS + 1) * REPEAT_MS
            if self.left[id] == 0:
                self.model.set([id], state="fired", repeats=False)
            else:
                self.model.set([id], state="pending", due=due, is_grouped=True)

    def nth(self, n: int) -> ScheduledId | None:
        """Most often of what is pending, or comes again."""
        of = {1: [id for id, row in self.model.items() if row.repeats], 0: []}.get(n % 4, self.model.ids("pending"))
        ids = of or list(self.model)
        return ids[n // 4 % len(ids)] if ids else None

    async def cancel(self, n: int) -> None:
        id = self.nth(n)
        if id is None:
            return
        error = (await self.waiting().cancel([id]))[id]
        state = self.model[id].state
        assert state in CANCELS[None if error is None else type(error)], (id, state, error)
        if state in ("pending", "owed"):
            self.model.set([id], state="cancelled" if state == "pending" else "fired", repeats=False)

    async def move(self, n: int, delay: int) -> None:
        id = self.nth(n)
        if id is None:
            return
        refusal: type[LedgerError] | None = None
        try:
            await self.waiting().move(id, self.model.now + delay)
        except LedgerError as error:
            refusal = type(error)
        state = self.model[id].state
        assert state in MOVES[refusal], (id, state, refusal)
        if refusal is None:
            self.model.set([id], due=self.model.now + delay, is_grouped=False)

    async def orphan(self, delay: int) -> None:
        """Payload whose script never came."""
        state = await self.index().scripts.state()
        if state is not None:
            payload = encode([(None, b"orphan", (), 5)])
            key = self.k.data(state.ledger)
            await self.store.command("XADD", key, "0-*", "b", payload, "d", self.model.now + delay, key=key)

    async def clear(self) -> None:
        assert await self.waiting().clear() == len(self.model.ids("pending"))
        self.model.set(self.model.ids("pending"), state="cleared", repeats=False)
        self.model.set(self.model.ids("owed"), state="fired", repeats=False)

    # -- firing ------------------------------------------------------------------------------------------------------

    async def fire_once(self, index: DelayIndex, most: int) -> Any:
        """One call; what it wrote must be what the model has next."""
        before = await self.end_offset()
        fired = await index.scripts.fire(most, self.model.now)
        values = await self.visible(before)
        assert fired.records == len(values)
        self.model.fire(values)
        return fired

    async def fire(self, index: DelayIndex, most: int, passed: int) -> None:
        self.model.now += passed
        await self.fire_once(index, most)

    async def release(self, index: DelayIndex, passed: int) -> None:
        """Everything that is due, as a tracker does it."""
        self.model.now += passed
        for _ in range(500):
            fired = await self.fire_once(index, 4)
            if fired.decided:
                await self.settle(index)
            elif 0 <= fired.horizon_ms <= self.model.now and fired.taken == 0:
                await index.load(fired.horizon)
            elif fired.taken == 0:
                break
        else:
            raise AssertionError("it never comes to rest")
        late = [id for id in self.model.ids("pending") if self.model[id].due <= self.model.now]
        assert late == [], "lost"

    async def end_offset(self) -> int:
        return int(await self.store.command("HGET", self.k.state, "next", key=self.k.state))

    async def visible(self, offset: int) -> list[str]:
        """Values from an offset on, as a reader gets them."""
        found: list[str] = []
        while True:
            read = await self.partition.reader.read(offset, committed=False, bytes_max=1 << 20)
            if not read.entries:
                return found
            for entry, payload in zip(read.entries, read.payloads, strict=True):
                offset = entry.last_offset + 1
                if not entry.is_marker:
                    found += [(record.value or b"").decode() for record in decode(payload)]

    # -- what must hold ----------------------------------------------------------------------------------------------

    async def check(self) -> None:
        state = await self.index().scripts.state()
        if state is None:
            assert not self.model
            return
        live_entries = {id.entry for id in self.model.ids("pending")}
        rows = await self.store.command("HGETALL", self.k.delay.live, key=self.k.state)
        bits = sum(int.from_bytes(bits, "little").bit_count() for bits in rows[1::2])
        assert (state.entries, bits) == (len(live_entries), len(live_entries))
        assert (state.records, state.held) == (len(self.model.ids("pending")), len(self.model.ids("held")))
        ledgers = await self.store.command("HGETALL", self.k.ledgers, key=self.k.state)
        waits = {id.entry for id in self.model.ids("pending", "held", "owed")}
        for name, row in zip(ledgers[::2], ledgers[1::2], strict=True):
            issued, deleted, _, _, unlogged = map(int, row.split()[:5])
            there = await self.store.command("XRANGE", self.k.data(int(name)), "-", "+", key=self.k.state)
            entries = {int(entry[2:]) for entry, _ in there} & set(range(issued + 1))  # what lies above is an orphan
            assert len(entries) == issued - deleted, name
            assert int(name) > 0 or unlogged == len(waits & entries), name

    async def list(self) -> None:
        """As the model has it; unless a bucket was lost, which is noticed when it is due only."""
        known = {bucket.name for bucket in await self.index().storage.buckets()}
        nexts = await self.store.command("ZRANGE", self.k.delay.next, 1, -1, key=self.k.state)
        if any(member.decode().split(" ")[1] not in known for member in nexts):
            return
        listed = await self.reader().page(0, 1 << 50, None, 10_000, None)
        ids = self.model.in_order()
        assert [(each.id, each.deliver_at_ms) for each in listed[0]] == [(id, self.model[id].due) for id in ids]
        assert [(each.value or b"").decode() for each in listed[0]] == [self.model[id].value for id in ids]
