"""A topic of one partition with an object store, and a minimal offloading job.

async with offload_topic(url, prefix, home) as world:
    await world.produce("a", "b")
    plan = await world.plan(seal=True)
    segments = await world.written(plan)
    await world.client.offload.publish(TOPIC, 0, plan, segments)      or all of it: await world.offload()
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from redis_ledger import AsyncClient
from redis_ledger.app.http.application import create_app
from redis_ledger.broker.broker import Broker
from redis_ledger.client.models import OffloadedPartition, OffloadPublished, OffloadSwapped, PartitionState
from redis_ledger.clock import ManualClock
from redis_ledger.offload.manifest import Plan, Segment, Stretch
from redis_ledger.offload.segment import Row, SegmentWriter, open_home, to_record_batch
from tests.support.broker import one, records

TOPIC = "orders"
NOW_MS = 1_763_720_931_000
KEEPS: dict[str, Any] = {"retention_ms": -1, "ledger_age_ms_max": 1 << 40}


class OffloadTopic:
    """One broker with an in-process SDK client.  Times are those of `clock`."""

    def __init__(self, broker: Broker, client: AsyncClient, home: Path, clock: ManualClock) -> None:
        self.broker, self.client, self.home, self.clock = broker, client, home, clock

    async def produce(self, *values: str) -> None:
        await self.broker.records.produce(TOPIC, records(*values))

    async def roll(self) -> None:
        await (await self.broker.catalog.partition(TOPIC, 0)).seal()

    async def plan(self, *, seal: bool = False, older_than_ms: int = 0) -> Plan:
        plan = await self.client.offload.plan(TOPIC, 0, seal=seal, older_than_ms=older_than_ms)
        assert plan is not None, "there is nothing to offload"
        return plan

    async def written(self, plan: Plan, home: Path | None = None) -> list[Segment]:
        found = await self.rows(plan.stretches[0].first, plan.stretches[-1].end)
        return [await self.write(stretch, found, home) for stretch in plan.stretches]

    async def rows(self, first: int, end: int) -> list[Row]:
        """Committed records of offsets first to end (exclusive)."""
        found: list[Row] = []
        async for message in self.client.read(TOPIC, 0, first):
            if message.offset >= end:
                break
            if message.offset >= first:
                headers = tuple(message.headers.items())
                found.append(Row(message.offset, message.timestamp_ms, message.key, message.value, headers))
        return found

    async def write(self, stretch: Stretch, found: Sequence[Row], home: Path | None = None) -> Segment:
        own = [row for row in found if stretch.first <= row.offset < stretch.end]
        topic_id = await self.topic_id()
        with SegmentWriter(open_home(str(home or self.home)), stretch, topic_id) as writer:
            if own:
                writer.add(to_record_batch(TOPIC, 0, own))
            return writer.finish()

    async def offload(self) -> OffloadPublished:
        """Offloads all decided records."""
        plan = await self.plan(seal=True)
        return await self.client.offload.publish(TOPIC, 0, plan, await self.written(plan))

    async def topic_id(self) -> str:
        return (await self.client.offload.describe(TOPIC)).topic_id

    async def swap(self, version: int, firsts: Sequence[int], added: Sequence[Segment]) -> OffloadSwapped:
        return await self.client.offload.swap(TOPIC, 0, version, firsts, added, topic_id=await self.topic_id())

    async def offload_state(self) -> OffloadedPartition:
        return (await self.client.offload.describe(TOPIC)).partitions[0]

    async def state(self) -> PartitionState:
        return (await self.client.topics.describe(TOPIC)).partition_states[0]

    async def ledgers(self) -> list[int]:
        """Returns the ledgers whose payload is in Redis."""
        keys = (await self.broker.catalog.partition(TOPIC, 0)).keys
        return sorted(int(name) for name in await self.broker.store.command("HKEYS", keys.ledgers, key=keys.state))


@contextlib.asynccontextmanager
async def offload_topic(
    url: str, prefix: str, home: Path, *, clock: ManualClock | None = None, **settings: Any
) -> AsyncIterator[OffloadTopic]:
    clock = clock or ManualClock(NOW_MS)
    async with one(url, prefix, clock=clock, **{"offload_home": str(home), **KEEPS, **settings}) as broker:
        async with AsyncClient("http://broker", http=httpx.ASGITransport(app=create_app(broker))) as client:
            if TOPIC not in [topic.name for topic in await client.topics.list()]:
                await client.topics.create(TOPIC, 1)
            yield OffloadTopic(broker, client, home, clock)


def edges(plan: Plan | None) -> list[tuple[int, int]]:
    return [] if plan is None else [(stretch.first, stretch.end) for stretch in plan.stretches]
