"""Schedules millions of records quickly: a broker in this process, and its partitions' `schedule`.

The bench `schedule` measures the ports.  Here every record is a batch of its own, as ports encode a record with a
unique due time, and goes through the same script, buckets and maintenance.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from itertools import islice

from bench.delay.dues import SEED, far, now_ms
from bench.processes import BenchFailed, Server
from redis_ledger.broker.broker import Broker
from redis_ledger.config import Config
from redis_ledger.ledger.append_request import Accepted, AppendRequest
from redis_ledger.ledger.partition import Partition
from redis_ledger.records.build import encode
from redis_ledger.records.split_by_due import Later, Split
from redis_ledger.store.store import Store

PER_CALL, CALLS = 1_000, 8
VALUE_BYTES = (90, 110)  # 100 on average: equal sizes would cost an index nothing
TRIED = 20_000  # records for estimating the rate
SETTLED_S_MAX = 60.0
TOPIC = "t"


class Loader:
    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._sizes = random.Random(SEED)

    async def create(self, topic: str, partitions: int) -> Partition:
        """Returns its first partition."""
        await self.broker.topics.create(topic, partitions)
        return await self.broker.catalog.partition(topic, 0)

    async def schedule(self, partition: Partition, dues: Iterable[int]) -> float:
        """Schedules a record for each due time, in this order; returns the seconds."""
        following = iter(dues)
        under_way: set[asyncio.Future[Accepted]] = set()
        began_s = time.perf_counter()
        while some := self._made(islice(following, PER_CALL)):
            under_way.add(partition.append(AppendRequest(b"", len(some), -1, split=Split(None, some))))
            if len(under_way) == CALLS:
                done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for each in done:
                    each.result()
        await asyncio.gather(*under_way)
        return time.perf_counter() - began_s

    def _made(self, dues: Iterator[int]) -> list[Later]:
        stamp_ms, value, sizes = now_ms(), b"x" * VALUE_BYTES[1], self._sizes.randrange
        return [
            Later(encode([(None, value[: sizes(VALUE_BYTES[0], VALUE_BYTES[1] + 1)], (), stamp_ms)]), 1, stamp_ms, due)
            for due in dues
        ]

    async def settled(self, partition: Partition) -> None:
        """Waits until every full bucket is sealed."""
        index, until_s = self.broker.delayed.trackers.get(partition).index, time.monotonic() + SETTLED_S_MAX
        full = self.broker.config.delayed_delivery_min_index_count_per_bucket
        while (state := await index.scripts.state()) is not None and (state.closing or state.open_entries >= full):
            if time.monotonic() > until_s:
                raise BenchFailed(f"Buckets were not sealed within {SETTLED_S_MAX:.0f} s: {state}")
            self.broker.delayed.trackers.get(partition).wake()
            await asyncio.sleep(0.05)

    async def seconds_for(self, count: int, scale: float) -> float:
        """Estimates how long loading so many takes on this machine now."""
        tried = max(1, int(TRIED * scale))
        partition = await self.create("tried", 1)
        return await self.schedule(partition, far(tried)) * count / tried


@asynccontextmanager
async def loader(server: Server, scale: float) -> AsyncIterator[Loader]:
    """scale: of the bench; fewer records use smaller buckets, so that some are sealed."""
    full = int(Config().delayed_delivery_min_index_count_per_bucket * scale)
    store = await Store.open(server.url)
    try:
        broker = await Broker.open(store, Config(delayed_delivery_min_index_count_per_bucket=max(full, 1)))
        try:
            yield Loader(broker)
        finally:
            await broker.close()
    finally:
        await store.close()
