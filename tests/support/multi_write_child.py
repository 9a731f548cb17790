"""A broker that dies at a chosen write of work that takes several, in a process of its own; as crash_child does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Literal

from redis_ledger.broker.broker import Broker
from redis_ledger.config import Config
from tests.support.crash_child import StepsReport
from tests.support.delayed_child import CountedStore
from tests.support.multi_write_work import WORKS

LOOKS = {b"SMEMBERS", b"SISMEMBER", b"HEXISTS", b"HSCAN", b"EXISTS", b"HRANDFIELD", b"ZSCORE"}

Report = StepsReport


@dataclass(slots=True)
class Case:
    """n 0: survive."""

    url: str
    prefix: str
    work: str
    topic: str
    n: int
    when: Literal["before", "after"]


class WritesStore(CountedStore):
    def _count(self, name: str, send: Any) -> asyncio.Future[Any]:
        if name.encode() in LOOKS:
            looked: asyncio.Future[Any] = send()
            return looked
        return super()._count(name, send)


async def work(case: Case, report_to: int) -> None:
    store = await WritesStore.open(case.url, prefix=case.prefix)
    assert isinstance(store, WritesStore)
    broker = await Broker.open(store, Config(prefix=case.prefix, coordinators=1))
    await broker.maintenance.close()
    store.arm(case.n, case.when, report_to)

    async def act() -> None:
        await WORKS[case.work].act(broker, case.topic)
        trackers = broker.delayed.trackers.all()
        while not all(coordinator.is_idle for coordinator in broker.coordinators):
            await asyncio.sleep(0.001)
        await asyncio.gather(*(tracker._work for tracker in trackers if tracker._work is not None))

    await store.walk([case.work], {case.work: act})
