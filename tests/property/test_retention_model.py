"""Any history of appends, acknowledgements and trims, against a model of the unacknowledged records.

Invariants after every trim: unacknowledged records were not trimmed by time or bytes, where the setting holds them
back; the log start never moves back, nor beyond the stable offset; it is exactly where the rules put it; and the
payload of all remaining records above the offloaded offset is readable.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.cursor import registration, scripts
from redis_ledger.cursor.ranges import to_ranges
from redis_ledger.cursor.registration import Registration
from redis_ledger.cursor.scripts import ReceiveRequest
from redis_ledger.ids import TxnId
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Decision, Participant
from redis_ledger.txn.participants import Participants
from redis_ledger.txn.states import TxnState
from tests.support.examples import examples
from tests.support.redis_servers import redis_server

TOPIC, TOPIC_ID, CONSUMER = "orders", "t-1", "c"
SUBS = ("a", "b/b")
PAGE = 3  # entries that one call trims at most
names = itertools.count()


class Batch(NamedTuple):
    """txn: the transaction of its records, or None."""

    first: int
    last: int
    payload: bytes
    at_ms: int
    txn: TxnId | None


class Owed:
    """leased, held: of what was delivered and is not acknowledged; left: everything from where it began."""

    def __init__(self, first: int) -> None:
        self.first, self.acknowledged = first, set[int]()
        self.leased: list[int] = []
        self.held: dict[TxnId, list[int]] = {}


class Log:
    """firsts: open transactions → their first offset.  outcome: of those that have ended."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.firsts: dict[TxnId, int] = {}
        self.outcome: dict[TxnId, bool] = {}
        self.start = self.end = self.offloaded = 0
        self.subs: dict[str, Owed] = {}

    @property
    def stable(self) -> int:
        return min(self.firsts.values(), default=self.end)

    def add(self, records: int, payload: bytes, at_ms: int, txn: TxnId | None = None) -> None:
        self.batches.append(Batch(self.end, self.end + records - 1, payload, at_ms, txn))
        self.end += records

    def left(self) -> list[Batch]:
        return [batch for batch in self.batches if batch.last >= self.start]

    def is_wanted(self, offset: int) -> bool:
        """Whether a subscription gets the record, now or perhaps later."""
        batch = next(batch for batch in self.batches if batch.first <= offset <= batch.last)
        return batch.payload != b"" and (batch.txn is None or self.outcome.get(batch.txn, True))

    def unacknowledged(self, name: str) -> list[int]:
        """Offsets below the stable one that are the subscription's and not done with."""
        owed = self.subs[name]
        offsets = range(max(owed.first, self.start), self.stable)
        return [at for at in offsets if at not in owed.acknowledged and self.is_wanted(at)]

    def needed(self, marks: list[int]) -> int:
        """The first offset that a subscription with one of these marks still gets."""
        from_mark = range(max(min(marks, default=self.stable), self.start), self.stable)
        return next((at for at in from_mark if self.is_wanted(at)), self.stable)

    def trim_page(self, before_ms: int, bytes_max: int, below: int, needed: int) -> int:
        """Moves the log start as one call does.  Returns the number of batches that it passes, at most PAGE."""
        kept, passed = sum(len(batch.payload) for batch in self.left()), 0
        for batch in self.left()[:PAGE]:
            is_surplus = batch.at_ms < before_ms or (bytes_max >= 0 and kept > bytes_max)
            if batch.last >= self.stable or not (batch.last < below or (is_surplus and batch.last < needed)):
                break
            self.start, kept, passed = batch.last + 1, kept - len(batch.payload), passed + 1
        if passed < PAGE and self.start < below <= self.stable:
            self.start = below
        return passed


class World:
    def __init__(self, store: Store) -> None:
        self.store, self.clock, self.log = store, ManualClock(), Log()
        config = Config(ledger_bytes_max=60, ledger_age_ms_max=40)
        self.partition = Partition(store, TOPIC, 0, TOPIC_ID, config, self.clock)
        self.ends = Participants(store, config, self.clock)
        self.serials, self.step = itertools.count(1), 0

    @property
    def place(self) -> tuple[Store, PartitionKeys, str]:
        return self.store, self.partition.keys, TOPIC_ID

    async def plain(self, records: int) -> None:
        payload = f"step {self.step}".encode()
        assert (await self.partition.append(AppendRequest(payload, records, 0))).base_offset == self.log.end
        self.log.add(records, payload, self.clock.now_ms())

    async def write(self, records: int) -> None:
        txn = next(iter(self.log.firsts), TxnId(0, next(self.serials)))
        payload = f"step {self.step}".encode()
        accepted = await self.partition.append(
            AppendRequest(payload, records, 0, producer_id=txn.producer_id, epoch=0), txn
        )
        self.log.firsts.setdefault(txn, accepted.base_offset)
        self.log.add(records, payload, self.clock.now_ms(), txn)

    async def end(self, commit: bool) -> None:
        for txn in list(self.log.firsts)[:1]:
            await self._end(txn, commit)
            del self.log.firsts[txn]
            self.log.outcome[txn] = commit
            self.log.add(1, b"", self.clock.now_ms())

    async def _end(self, txn: TxnId, commit: bool, sub: str | None = None) -> None:
        state = TxnState.COMMITTING if commit else TxnState.ABORTING
        await self.ends.end(Decision(txn, state, [Participant(TOPIC, TOPIC_ID, 0, sub)], -1))

    async def subscribe(self, which: int) -> None:
        name = SUBS[which]
        if name in self.log.subs:
            await registration.delete(*self.place, name)
            del self.log.subs[name]
        else:
            wanted = Registration("shared", str(next(self.serials)), partitions=1)
            await registration.register(*self.place, name, wanted, self.clock.now_ms())
            self.log.subs[name] = Owed(self.log.start)

    async def receive(self, which: int, count: int) -> None:
        name = SUBS[which]
        if name not in self.log.subs:
            return
        owed = self.log.subs[name]
        got = await scripts.receive(
            *self.place,
            name,
            ReceiveRequest(CONSUMER, 1 << 20, 1 << 40, 1),
            now_ms=self.clock.now_ms(),
            records_max=count,
        )
        offsets = [at for d in got.deliveries for at in range(d.first, d.last + 1)]
        held = {at for each in owed.held.values() for at in each}
        assert not held & set(offsets)
        assert not owed.acknowledged & set(offsets)
        owed.leased = sorted({*owed.leased, *offsets})

    async def acknowledge(self, which: int, picks: list[int], in_txn: bool) -> None:
        name = SUBS[which]
        if name not in self.log.subs:
            return
        owed = self.log.subs[name]
        owed.leased = [at for at in owed.leased if at >= self.log.start]
        chosen = sorted({owed.leased[pick % len(owed.leased)] for pick in picks} if owed.leased else set())
        if not chosen:
            return
        owed.leased = [at for at in owed.leased if at not in chosen]
        if in_txn:
            txn = TxnId(1, next(self.serials))
            held = await scripts.pending_ack(*self.place, name, CONSUMER, txn, to_ranges(chosen), now_ms=1)
            assert held == len(chosen)
            owed.held[txn] = chosen
        else:
            assert await scripts.ack(*self.place, name, CONSUMER, to_ranges(chosen)) == len(chosen)
            owed.acknowledged.update(chosen)

    async def take(self, which: int, count: int) -> None:
        """Receives and acknowledges, like a consumer without lag."""
        await self.receive(which, count)
        await self.acknowledge(which, list(range(99)), False)

    async def settle(self, which: int, commit: bool) -> None:
        name = SUBS[which]
        for txn, offsets in list(self.log.subs[name].held.items() if name in self.log.subs else ())[:1]:
            await self._end(txn, commit, name)
            owed = self.log.subs[name]
            del owed.held[txn]
            if commit:
                owed.acknowledged.update(offsets)

    async def publish(self, part: int) -> None:
        """As offloading does: what lies below is in Parquet as well."""
        log = self.log
        log.offloaded = max(log.offloaded, log.stable * part // 4)
        keys = self.partition.keys
        await self.store.command("HSET", keys.state, "cold", log.offloaded, key=keys.state)

    async def seal(self, only_when_due: bool) -> None:
        await (self.partition.seal_what_is_due() if only_when_due else self.partition.seal())

    async def trim(self, keep_ms: int, bytes_max: int, below: int, acknowledged: bool) -> None:
        log, now = self.log, self.clock.now_ms()
        owed = {name: log.unacknowledged(name) for name in log.subs}
        marks = [(await scripts.stats(*self.place, name)).mark for name in log.subs]
        for name, mark in zip(log.subs, marks, strict=True):
            assert mark <= min(owed[name], default=log.stable), "a mark is never beyond what is not acknowledged"
        started, before_ms = log.start, -1 if keep_ms < 0 else now - keep_ms
        while True:
            # Each page works out anew what subscriptions need: the log start may have passed what they needed before.
            needed = log.needed(marks) if acknowledged else log.stable
            passed = log.trim_page(before_ms, bytes_max, below, needed)
            trimmed = await self.partition.trim(
                retention_ms=keep_ms, retention_bytes=bytes_max, below_offset=below, acknowledged=acknowledged,
                entries_max=PAGE,
            )  # fmt: skip
            assert (trimmed.start_offset, trimmed.entries) == (log.start, passed)
            if passed < PAGE:
                break
        assert started <= log.start <= log.stable
        lost = {at for each in owed.values() for at in each if at < log.start}
        assert not lost or not acknowledged or max(lost) < below
        event(f"trimmed {log.start > started}, held back by a subscription {acknowledged and needed < log.stable}")
        await self.is_readable()

    async def is_readable(self) -> None:
        log, at = self.log, max(self.log.start, self.log.offloaded)
        wanted = [(b.first, b.last, b.payload) for b in log.left() if b.last >= at]
        found = []
        while at < log.end:
            read = await self.partition.reader.read(at, committed=False, bytes_max=100)
            rows = zip(read.entries, read.payloads, strict=True)
            found += [(entry.base_offset, entry.last_offset, bytes(payload)) for entry, payload in rows]
            at = read.entries[-1].last_offset + 1
        assert found == wanted
        keys = self.partition.keys
        size = await self.store.command("HGET", keys.state, "bytes", key=keys.state)
        assert int(size) == sum(len(batch.payload) for batch in log.left())


subs_ = st.integers(0, 1)
steps_ = st.one_of(
    st.tuples(st.just("plain"), st.integers(1, 3)),
    st.tuples(st.just("plain"), st.integers(1, 3)),
    st.tuples(st.just("write"), st.integers(1, 2)),
    st.tuples(st.just("end"), st.booleans()),
    st.tuples(st.just("subscribe"), subs_),
    st.tuples(st.just("receive"), subs_, st.integers(1, 9)),
    st.tuples(st.just("receive"), subs_, st.integers(1, 9)),
    st.tuples(st.just("acknowledge"), subs_, st.lists(st.integers(0, 8), min_size=1, max_size=6), st.booleans()),
    st.tuples(st.just("acknowledge"), subs_, st.lists(st.integers(0, 2), min_size=1, max_size=3), st.just(False)),
    st.tuples(st.just("take"), subs_, st.integers(1, 9)),
    st.tuples(st.just("take"), subs_, st.integers(1, 9)),
    st.tuples(st.just("settle"), subs_, st.booleans()),
    st.tuples(st.just("publish"), st.integers(0, 4)),
    st.tuples(st.just("seal"), st.booleans()),
    st.tuples(
        st.just("trim"), st.sampled_from([-1, 0, 5, 15]), st.sampled_from([-1, 0, 20, 50]),
        st.sampled_from([-1, -1, 3, 9]), st.sampled_from([True, True, False]),
    ),
)  # fmt: skip


async def play(store: Store, history: list[tuple[Any, ...]]) -> None:
    store.prefix = f"r{next(names)}"
    world = World(store)
    assert await world.partition.create()
    first = [("subscribe", 0), ("subscribe", 1)]
    for name, *args in [*first, *history, ("trim", 0, 0, -1, True), ("trim", 0, 0, -1, False)]:
        world.clock.advance(1)
        world.step += 1
        await getattr(world, name)(*args)


@pytest.fixture(scope="module")
def runner() -> Iterator[tuple[asyncio.Runner, Store]]:
    with redis_server(unix=True) as server, asyncio.Runner() as loop:
        store = loop.run(Store.open(server.url))
        yield loop, store
        loop.run(store.close())


@settings(max_examples=examples(200), suppress_health_check=list(HealthCheck))
@given(history=st.lists(steps_, min_size=10, max_size=50))
# The first page passes what subscriptions need.  The aborted records after it are theirs no more, and go with the next.
@example(
    history=[
        ("plain", 2),
        ("plain", 3),
        ("plain", 3),
        ("write", 2),
        ("end", False),
        ("publish", 0),
        ("trim", -1, 0, 9, True),
    ]
)
def test_nothing_that_is_owed_is_trimmed_and_what_is_left_can_be_read(runner, history):
    loop, store = runner
    loop.run(play(store, history))
    assert store.prefix.startswith("r")
