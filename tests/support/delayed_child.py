"""A broker that dies at a chosen write of a scenario with scheduled records, in a process of its own.

As with crash_child, each case has a process.  Due times lie an hour ahead and the test sets the
time, so that nothing depends on durations; the broker's own upkeep and trackers are stopped before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.delayed.rearm import rearm
from redis_ledger.broker.types import NewRecord
from redis_ledger.config import Config
from redis_ledger.delay.recurrence import Recurrence
from redis_ledger.ids import ScheduledId
from redis_ledger.store.store import ScriptCall, Store
from tests.support.crash_child import SteppingStore, StepsReport
from tests.support.crashing_store import LOOKS
from tests.support.scheduled import ScheduledTopic

TOPIC = "t"
SETTINGS: dict[str, Any] = {
    "coordinators": 1,
    "default_timeout_ms": 1_500,
    "delayed_delivery_max_indexes_per_segment": 2,
    "delayed_delivery_min_indexes_per_segment": 1,
    "delayed_delivery_max_num_buckets": 1,
    "delayed_delivery_load_ahead_ms": 0,
}
# What each step schedules: value → ms after the hour.  None: at once.
SCHEDULED: dict[str, dict[str, int | None]] = {
    "schedule": {"a": 10, "b": 20, "c": 30, "d": 30, "z": 5_000},
    "commit": {"n": None, "e": 15, "f": 25},
    "abort": {"g": 12},
    "schedule more": {"h": 11, "i": 40},
    "repeat": {"r": 22},
}
MOVED_TO, REPEAT_MS = 13, 1_000
STEPS = (
    "schedule", "commit", "seal", "abort", "schedule more", "seal again", "merge", "cancel", "move", "fire", "repeat",
    "fire what repeats", "rearm",
)  # fmt: skip

Report = StepsReport


@dataclass(slots=True)
class Case:
    """n 0: survive.  hour_ms: what due times are counted from."""

    url: str
    prefix: str
    n: int
    when: Literal["before", "after"]
    hour_ms: int


class CountedStore(SteppingStore):
    def _count(self, name: str, send: Any) -> asyncio.Future[Any]:
        if name.encode() in LOOKS:
            looked: asyncio.Future[Any] = send()
            return looked
        return super()._count(name, send)

    def multi(self, key: bytes, commands: Sequence[Any], *, retry: bool = False, awaits_replicas: bool = True) -> Any:
        options = {"retry": retry, "awaits_replicas": awaits_replicas}
        kinds = dict.fromkeys(c.script.name if isinstance(c, ScriptCall) else "XADD" for c in commands)
        return self._count("+".join(kinds), lambda: Store.multi(self, key, commands, **options))


class Scenario:
    def __init__(self, broker: Broker, hour_ms: int) -> None:
        self.broker, self.hour_ms = broker, hour_ms
        self.topic = ScheduledTopic(broker, TOPIC)
        self.ids: dict[str, ScheduledId] = {}

    def steps(self) -> dict[str, Callable[[], Awaitable[object]]]:
        return {
            "schedule": lambda: self.produce("schedule"),
            "commit": lambda: self.transaction("commit"),
            "seal": self.seal,
            "abort": lambda: self.transaction("abort"),
            "schedule more": lambda: self.produce("schedule more"),
            "seal again": self.seal,
            "merge": self.merge,
            "cancel": lambda: self.broker.delayed.cancel(TOPIC, [self.ids["c"]]),
            "move": lambda: self.broker.delayed.reschedule(TOPIC, self.ids["d"], deliver_at_ms=self.hour_ms + MOVED_TO),
            "fire": lambda: self.topic.release(self.hour_ms + 20, most=2),
            "repeat": self.repeat,
            "fire what repeats": lambda: self.topic.release(self.hour_ms + 22, most=2),
            "rearm": self.rearm,
        }

    async def produce(self, step: str, txn: Any = None) -> None:
        records = [
            NewRecord(None, value.encode(), deliver_at_ms=None if after is None else self.hour_ms + after)
            for value, after in SCHEDULED[step].items()
        ]
        appended = await self.broker.records.produce(TOPIC, records, transaction=txn)
        placed = [place.id for each in appended for place in each.scheduled]
        waiting = [value for value, after in SCHEDULED[step].items() if after is not None]
        self.ids |= zip(waiting, placed, strict=True)

    async def transaction(self, step: str) -> None:
        txn = (await self.broker.transactions.begin()).id
        await self.produce(step, txn)
        await (self.broker.transactions.commit(txn) if step == "commit" else self.broker.transactions.abort(txn))
        await self.quiet()

    async def quiet(self) -> None:
        """Until what goes on behind an answered call is over too."""
        trackers = self.broker.delayed.trackers.all()
        while not all(coordinator.is_idle for coordinator in self.broker.coordinators):
            await asyncio.sleep(0.001)
        await asyncio.gather(*(tracker._work for tracker in trackers if tracker._work is not None))

    async def seal(self) -> None:
        index = await self.topic.index()
        state = await index.scripts.state()
        assert state is not None
        assert await index.seal(state.ledger)

    async def merge(self) -> None:
        assert await (await self.topic.index()).merge()

    async def repeat(self) -> None:
        record = NewRecord(None, b"r", deliver_at_ms=self.hour_ms + 22)
        await self.broker.recurring.schedule(TOPIC, record, Recurrence.parse(f"PT{REPEAT_MS // 1000}S", times=2))
        await self.quiet()

    async def rearm(self) -> None:
        partition = await self.broker.catalog.partition(TOPIC, 0)
        assert await rearm(
            self.broker.delayed.trackers.get(partition).index, self.broker.delayed.server_clock.high_ms()
        )


async def work(case: Case, report_to: int) -> None:
    store = await CountedStore.open(case.url, prefix=case.prefix)
    assert isinstance(store, CountedStore)
    broker = await Broker.open(store, Config(prefix=case.prefix, **SETTINGS))
    await broker.maintenance.close()
    broker.delayed.trackers.update_brokers(())  # other live brokers get no notice
    store.arm(case.n, case.when, report_to)
    steps = Scenario(broker, case.hour_ms).steps()
    await store.walk(STEPS, steps)
