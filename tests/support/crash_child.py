"""A worker that dies at a chosen write: one consume-transform-produce step of a broker in a process of its own.

    writes of the step       1   2   3 ┬ 4   5   6 ...        3 and 4 leave in one event-loop tick
    "before", n = 3          ✓   ✓   ✗   ✓   died             the n-th never leaves; what is under way beside it arrives
    "after",  n = 3          ✓   ✓   ✓   ✗   died             the n-th has been carried out; none behind it leaves

Each case has a process of its own (forked_cases.py).  A write is a script call, a MULTI or a plain command that changes
something; the broker's own upkeep is stopped before the step, so that the same step has the same writes every time.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.broker.produce.append import BatchSource
from redis_ledger.broker.types import ExecuteAcks, ExecuteRecords, NewRecord
from redis_ledger.config import Config
from redis_ledger.ids import MessageId
from redis_ledger.records.build import encode
from redis_ledger.store.faults import points_of
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import ScriptCall, Store
from redis_ledger.txn.commit_all import CommitNumber
from redis_ledger.txn.coordinator import Participant
from tests.support.forked_cases import DIED

READS = {
    b"PING", b"HGET", b"HMGET", b"HGETALL", b"HVALS", b"HLEN", b"HKEYS", b"XRANGE", b"ZRANGEBYSCORE",
    b"ZREVRANGEBYSCORE", b"ZRANGEBYLEX",
}  # fmt: skip
READ_SCRIPTS = {"offload/read", "cursor/stats"}
UPKEEP = {"broker/witness"}  # written twice a second, whatever the step does
GROUP, INPUT = "etl", ("one", "two")
SETTLED_S = 0.02  # nothing under way for this long: what could leave beside the withheld write has left


@dataclass(slots=True)
class Case:
    """n 0: survive."""

    url: str
    prefix: str
    step: Literal["execute", "calls", "kafka 1", "kafka 2", "together"]
    source: str
    sinks: Sequence[str]
    n: int
    when: Literal["before", "after"]
    timeout_ms: int
    lease_ms: int
    in_one_call: bool = True  # whether transactions end in one call, where that is possible


@dataclass(slots=True)
class Report:
    """writes: what was counted, in order, the one it died at included.  points: of each write, the steps of the
    transaction that it makes (store/faults.py).  answered: the worker received a success."""

    died: bool
    writes: list[str] = field(default_factory=list)
    answered: bool = False
    points: list[list[str]] = field(default_factory=list)


@dataclass(slots=True)
class StepsReport:
    """Of a scenario.  finished: steps that were carried out to their end."""

    died: bool
    writes: list[str]
    finished: list[str]


class DyingStore(Store):
    """Counts writes once armed, and ends the process at one of them."""

    n = 0
    when = "before"
    armed = answered = False
    report_to = -1

    def arm(self, n: int, when: str, report_to: int) -> None:
        self.n, self.when, self.report_to, self.armed = n, when, report_to, True
        self.writes: list[str] = []
        self.points: list[list[str]] = []
        self.under_way: set[asyncio.Future[Any]] = set()

    def call(self, script: Script, keys: Sequence[bytes], args: Sequence[Any], *, retry: bool = True) -> Any:
        points = points_of(script.name, keys, args)
        send = partial(super().call, script, keys, args, retry=retry)
        return self._write(script.name, points, send)

    def command(self, *args: Any, key: bytes | None = None, retry: bool = True) -> Any:
        name = args[0].encode() if isinstance(args[0], str) else args[0]
        return self._write(name.decode(), (), partial(super().command, *args, key=key, retry=retry))

    def multi(self, key: bytes, commands: Sequence[Any], *, retry: bool = False, awaits_replicas: bool = True) -> Any:
        options = {"retry": retry, "awaits_replicas": awaits_replicas}
        name = "+".join(c.script.name if isinstance(c, ScriptCall) else c[0].decode() for c in commands)
        scripts = [c for c in commands if isinstance(c, ScriptCall)]
        points = set[str]().union(*(points_of(c.script.name, c.keys, c.args) for c in scripts))
        return self._write(name, points, partial(super().multi, key, commands, **options))

    def _write(self, name: str, points: Iterable[str], send: Callable[[], asyncio.Future[Any]]) -> asyncio.Future[Any]:
        """Counts it, and records the points of what is a write."""
        counted = len(self.writes) if self.armed else 0
        future = self._count(name, send)
        if self.armed and len(self.writes) > counted:
            self.points.append(sorted(points))
        return future

    def _count(self, name: str, send: Any) -> asyncio.Future[Any]:
        if not self.armed or name.encode() in READS or name in READ_SCRIPTS | UPKEEP:
            sent: asyncio.Future[Any] = send()
            return sent
        number = len(self.writes) + 1
        if self.n and self.when == "after" and number > self.n:
            return asyncio.get_running_loop().create_future()
        self.writes.append(name)
        if number == self.n and self.when == "before":
            self._waiter = asyncio.ensure_future(self._die_when_settled())
            return asyncio.get_running_loop().create_future()
        future: asyncio.Future[Any] = send()
        self.under_way.add(future)
        future.add_done_callback(self._arrived)
        return future

    def _arrived(self, future: asyncio.Future[Any]) -> None:
        self.under_way.discard(future)
        if self.n and self.when == "after" and len(self.writes) == self.n and not self.under_way:
            self.end(died=True)

    async def _die_when_settled(self) -> None:
        while self.under_way:
            await asyncio.wait(set(self.under_way))
            await asyncio.sleep(SETTLED_S)
        self.end(died=True)

    def report(self, *, died: bool) -> Any:
        """A dataclass."""
        return Report(died, self.writes, self.answered, self.points)

    def end(self, *, died: bool) -> None:
        os.write(self.report_to, json.dumps(asdict(self.report(died=died))).encode())
        os._exit(DIED if died else 0)


class SteppingStore(DyingStore):
    """For a scenario of named steps, all of which can be done again."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.finished: list[str] = []

    def report(self, *, died: bool) -> StepsReport:
        return StepsReport(died, self.writes, self.finished)

    async def walk(self, names: Sequence[str], steps: Mapping[str, Callable[[], Awaitable[object]]]) -> None:
        """Every step, and then the end of the process."""
        for name in names:
            await steps[name]()
            self.finished.append(name)
        self.end(died=False)


def outputs(values: Sequence[str]) -> list[NewRecord]:
    return [NewRecord(value.encode(), value.upper().encode()) for value in values]


async def execute_step(
    broker: Broker, case: Case, consumer: str, ids: Sequence[MessageId], values: Sequence[str]
) -> Any:
    """All in one call; the nonce is the name of the work, so that a retry finds the first attempt."""
    return await broker.execute.run(
        [ExecuteAcks(case.source, "work", consumer, ids)],
        [ExecuteRecords(sink, outputs(values)) for sink in case.sinks],
        timeout_ms=case.timeout_ms,
        nonce=f"step-of-{case.source}",
    )


async def calls_step(broker: Broker, case: Case, consumer: str, ids: Sequence[MessageId], values: Sequence[str]) -> Any:
    """One call after the other."""
    txn = (await broker.transactions.begin(case.timeout_ms)).id
    for sink in case.sinks:
        await broker.records.produce(sink, outputs(values), transaction=txn)
    await broker.subscriptions.ack(case.source, "work", consumer, ids, transaction=txn)
    return await broker.transactions.commit(txn)


async def kafka_step(broker: Broker, case: Case, consumer: str, ids: Sequence[MessageId], values: Sequence[str]) -> Any:
    """As a Kafka client does it: an identity, batches with sequences, the group's offset, and the end.

    "kafka 1" registers partitions first; of "kafka 2" (transaction.version 2) every batch registers its own."""
    has_version_2 = case.step == "kafka 2"
    name = f"etl-{case.source}"
    pid, epoch = await broker.producers.init(name, 30_000)
    source = await broker.catalog.partition(case.source, 0)
    offset = Participant(case.source, source.topic_id, 0, GROUP)
    for sink in case.sinks:
        where = await broker.catalog.partition(sink, 0)
        if not has_version_2:
            await broker.producers.add(name, pid, epoch, [Participant(sink, where.topic_id, 0)])
        rows = [(v.key, v.value, (), 1_700_000_000_000) for v in outputs(values)]
        data = encode(rows, producer_id=pid, epoch=epoch, sequence=0, transactional=True)
        await (await broker.appends.append_batch(where, data, BatchSource(name, has_version_2), 1 << 20))
    txn = await broker.producers.add(name, pid, epoch, [offset])
    entry = OffsetEntry(case.source, 0, len(values))
    assert await broker.offsets.commit(GROUP, [entry], fence=-1, transaction=txn) == [None]
    await broker.producers.end(name, pid, epoch, True, has_version_2)


async def together_step(
    broker: Broker, case: Case, consumer: str, ids: Sequence[MessageId], values: Sequence[str]
) -> Any:
    """Each record in a transaction of its own, by a worker of its own; then all of them are committed in one step."""
    name = f"job-{case.source}"
    txns = []
    for sink, value in zip(case.sinks, values, strict=True):
        txn = (await broker.transactions.begin(case.timeout_ms, owner=name, together=name)).id
        await broker.records.produce(sink, outputs([value]), transaction=txn)
        txns.append(txn)
    return await broker.transactions.commit_all(txns, CommitNumber(name, 1))


STEPS = {
    "execute": execute_step, "calls": calls_step, "kafka 1": kafka_step, "kafka 2": kafka_step,
    "together": together_step,
}  # fmt: skip


async def work(case: Case, report_to: int) -> None:
    store = await DyingStore.open(case.url, prefix=case.prefix)
    assert isinstance(store, DyingStore)
    config = Config(prefix=case.prefix, coordinators=1, one_call_transactions=case.in_one_call)
    broker = await Broker.open(store, config)
    await broker.maintenance.close()
    store.arm(case.n, case.when, report_to)
    if case.step == "together" or case.step.startswith("kafka"):
        await STEPS[case.step](broker, case, "", [], INPUT)
        await finished(store, broker)
    messages = await broker.subscriptions.receive(case.source, "work", "first", ack_timeout_ms=case.lease_ms)
    values = [(m.value or b"").decode() for m in messages]
    await STEPS[case.step](broker, case, "first", [m.id for m in messages], values)
    await finished(store, broker)


async def finished(store: DyingStore, broker: Broker) -> None:
    store.answered = True
    while not all(coordinator.is_idle for coordinator in broker.coordinators):
        await asyncio.sleep(0.001)
    store.end(died=False)
