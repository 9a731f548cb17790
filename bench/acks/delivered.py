"""Preparation: a broker in this process, and a subscription with messages that are all leased to one consumer."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from bench.processes import READY_S_MAX, Server, redis
from bench.topics import ACK_TIMEOUT_MS, batch
from redis_ledger.app.embedded_redis.server import EmbeddedServer, running_pid
from redis_ledger.broker.broker import Broker
from redis_ledger.cursor import scripts
from redis_ledger.cursor.ranges import Range
from redis_ledger.store.keys import PartitionKeys, SubscriptionKeys
from redis_ledger.store.store import Store

PER_BATCH, PER_RECEIVE = 1_000, 10_000
CONSUMER = "default"
KEYS = ("acks", "leases", "spans", "due")


class Delivered(NamedTuple):
    broker: Broker
    server: Server
    topic_id: str
    keys: PartitionKeys

    @property
    def sub(self) -> SubscriptionKeys:
        return self.keys.sub("s")

    async def ack(self, ranges: Sequence[Range]) -> int:
        return await scripts.ack(self.broker.store, self.keys, self.topic_id, "s", CONSUMER, ranges)

    async def command(self, *command: str | int | bytes) -> object:
        return await self.broker.store.command(*command, key=self.keys.state)

    async def restart(self) -> None:
        """Ends Redis, and starts it on the same files."""
        os.kill(self.server.redis_pid, signal.SIGTERM)
        data = self.server.home / "data"
        await asyncio.to_thread(wait_for_end, data)
        held = await asyncio.to_thread(EmbeddedServer.attach, data, "process")
        await asyncio.to_thread(held.release)  # the first one keeps it running

    async def occupied(self) -> dict[str, int]:
        """Returns the bytes of each key of the subscription that acknowledgements change."""
        found = [await self.command("MEMORY", "USAGE", getattr(self.sub, name), "SAMPLES", 0) for name in KEYS]
        return {name: int(str(each or 0)) for name, each in zip(KEYS, found, strict=True)}


@asynccontextmanager
async def delivered(records: int) -> AsyncIterator[Delivered]:
    """So many records, rounded up to whole batches, in one lease for each receive."""
    async with redis("process") as server:
        store = await Store.open(server.url)
        broker = await Broker.open(store)
        try:
            await broker.topics.create("t", 1)
            await broker.subscriptions.create("t", "s")
            data = batch(PER_BATCH, 1)
            for _ in range(-(-records // PER_BATCH)):
                await broker.records.produce_batches("t", 0, data)
            partition = await broker.catalog.partition("t", 0)
            request = scripts.ReceiveRequest(CONSUMER, 1 << 40, ACK_TIMEOUT_MS, ACK_TIMEOUT_MS)
            left = True
            while left:
                received = await scripts.receive(
                    store, partition.keys, partition.topic_id, "s", request,
                    now_ms=broker.clock.now_ms(), records_max=PER_RECEIVE,
                )  # fmt: skip
                left = bool(received.deliveries)
            yield Delivered(broker, server, partition.topic_id, partition.keys)
        finally:
            await broker.close()
            await store.close()


def wait_for_end(data: Path) -> None:
    until_s = time.monotonic() + READY_S_MAX
    while running_pid(data) is not None and time.monotonic() < until_s:
        time.sleep(0.05)  # until the process has ended
