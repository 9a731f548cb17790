"""A job that offloads a partition and its broker, which die at a chosen write, in a separate process.

As with crash_child, each case has a process.  Steps can be repeated, as the job after a crash does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from redis_ledger.broker.broker import Broker
from redis_ledger.config import Config
from redis_ledger.offload.manifest import Segment, Stretch, segment_file_name
from redis_ledger.offload.segment import Row, SegmentWriter, open_home, to_record_batch
from redis_ledger.records.read import decode
from redis_ledger.store.store import ScriptCall, Store
from tests.support.broker import records
from tests.support.crash_child import READS, SteppingStore, StepsReport

TOPIC = "orders"
SETTINGS: dict[str, Any] = {"coordinators": 1, "retention_ms": -1}
STEPS = ("offload", "compact", "produce", "offload again", "delete", "forget", "produce more", "plan", "abandon")
KEPT = (0, 2)  # offsets that compaction keeps in the first segment

Report = StepsReport


@dataclass(slots=True)
class Case:
    """n 0: no crash."""

    url: str
    prefix: str
    n: int
    when: Literal["before", "after"]
    home: str


class CountedStore(SteppingStore):
    def multi(self, key: bytes, commands: Sequence[Any], *, retry: bool = False, awaits_replicas: bool = True) -> Any:
        options = {"retry": retry, "awaits_replicas": awaits_replicas}
        kinds = dict.fromkeys(c.script.name if isinstance(c, ScriptCall) else c[0].decode() for c in commands)
        if READS.issuperset(kind.encode() for kind in kinds):
            return Store.multi(self, key, commands, **options)
        return self._count("+".join(kinds), lambda: Store.multi(self, key, commands, **options))


async def prepare(broker: Broker) -> None:
    """Fills two ledgers, the first one sealed."""
    await broker.topics.create(TOPIC, 1)
    await broker.records.produce(TOPIC, records("a", "b"))
    await (await broker.catalog.partition(TOPIC, 0)).seal()
    await broker.records.produce(TOPIC, records("c"))


class Scenario:
    def __init__(self, broker: Broker, home: str) -> None:
        self.broker, self.offloader, self.home = broker, broker.offload, home

    def steps(self) -> dict[str, Callable[[], Awaitable[object]]]:
        return {
            "offload": self.offload,
            "compact": self.compact,
            "produce": lambda: self.broker.records.produce(TOPIC, records("d", "e")),
            "offload again": self.offload,
            "delete": lambda: self.broker.topics.delete_records(TOPIC, 0, 3),
            "forget": lambda: self.offloader.forget(TOPIC, 0),
            "produce more": lambda: self.broker.records.produce(TOPIC, records("f")),
            "plan": lambda: self.offloader.plan(TOPIC, 0, seal=True),
            "abandon": self.abandon,
        }

    async def offload(self) -> None:
        while (plan := await self.offloader.plan(TOPIC, 0, seal=True)) is not None:
            partition = await self.broker.catalog.partition(TOPIC, 0)
            start = (await partition.offsets.head()).start_offset
            found = await self.rows(max(start, plan.stretches[0].first))
            await self.offloader.publish(TOPIC, 0, plan.id, [await self.write(each, found) for each in plan.stretches])

    async def compact(self) -> None:
        """Compacts the first segment, unless it is compacted or forgotten."""
        [state] = (await self.offloader.page(TOPIC)).states
        first = state.manifest.segment_at(0)
        if first is None or first.records == len(KEPT):
            return
        folder = first.file.rpartition("/")[0] + "/"
        stretch = Stretch(0, first.end, segment_file_name(folder, 0, first.end, "compacted"))
        smaller = await self.write(stretch, [Row(offset, 1, None, b"kept") for offset in KEPT])
        await self.offloader.swap(TOPIC, 0, state.manifest.version, [0], [smaller], topic_id=state.topic_id)

    async def abandon(self) -> None:
        [state] = (await self.offloader.page(TOPIC)).states
        if state.plan is not None:
            await self.offloader.abandon(TOPIC, 0, state.plan.id)

    async def rows(self, offset: int) -> list[Row]:
        partition = await self.broker.catalog.partition(TOPIC, 0)
        read = await partition.reader.read(offset, committed=True, bytes_max=1 << 20)
        return [
            Row(entry.base_offset + delta, record.timestamp_ms, record.key, record.value)
            for entry, payload in zip(read.entries, read.payloads, strict=True)
            for delta, record in enumerate(decode(payload))
        ]

    async def write(self, stretch: Stretch, found: Sequence[Row]) -> Segment:
        topic_id = (await self.broker.catalog.get(TOPIC)).id
        with SegmentWriter(open_home(self.home), stretch, topic_id) as writer:
            writer.add(to_record_batch(TOPIC, 0, [row for row in found if stretch.first <= row.offset < stretch.end]))
            return writer.finish()


async def work(case: Case, report_to: int) -> None:
    store = await CountedStore.open(case.url, prefix=case.prefix)
    assert isinstance(store, CountedStore)
    broker = await Broker.open(store, Config(prefix=case.prefix, offload_home=case.home, **SETTINGS))
    await broker.maintenance.close()
    steps = Scenario(broker, case.home).steps()
    store.arm(case.n, case.when, report_to)
    await store.walk(STEPS, steps)
