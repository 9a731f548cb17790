"""How long are records refused after Redis has reached its maxmemory?

    setting_lowered    a topic without retention fills Redis; then its retention_bytes is lowered
    limit_set          retention_bytes is set from the start, and a producer sends as fast as it can
    records_deleted    a topic without retention fills Redis; then its records are deleted

`seconds_to_recover` is the longest time from a refused record to the next accepted one.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bench.lab import Lab
from bench.processes import redis
from redis_ledger.broker.broker import Broker
from redis_ledger.config import Config
from redis_ledger.errors import StorageFull
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.partition import Partition
from redis_ledger.records.build import encode
from redis_ledger.store.store import Store

GOAL_S = 10
MAXMEMORY, KEPT = 40_000_000, 5_000_000
RECORDS, RECORD_BYTES = 100, 1_000
AGAIN_S = 0.05  # a refused producer waits so long


async def measure(lab: Lab) -> None:
    cases: dict[str, tuple[dict[str, int | None], Callable[[Broker], Awaitable[Any]] | None]] = {
        "setting_lowered": ({}, lambda broker: broker.topics.grow("t", settings={"retention_bytes": KEPT})),
        "limit_set": ({"retention_bytes": KEPT}, None),
        "records_deleted": ({}, lambda broker: broker.topics.delete_records("t", 0, None)),
    }
    for case, (settings, relieve) in cases.items():
        async with redis("process") as server:
            seconds = await one(server.url, settings, relieve, int(4 * MAXMEMORY * lab.pace.scale))
        lab.note(case, "seconds_to_recover", seconds, "s", "process", GOAL_S)


async def one(
    url: str, settings: dict[str, int | None], relieve: Callable[[Broker], Awaitable[Any]] | None, most: int
) -> float:
    """Returns the longest time of refusals in s, while `most` bytes are sent or until records are accepted again."""
    config = Config(prefix="full")
    store = await Store.open(url, prefix=config.prefix)
    broker = await Broker.open(store, config)
    try:
        await broker.topics.create("t", 1, settings)
        await store.command("CONFIG", "SET", "maxmemory", MAXMEMORY)
        partition = await broker.catalog.partition("t", 0)
        sent, longest, refused_s, relieved = 0, 0.0, 0.0, None
        while sent < most or refused_s:
            if not await append(partition):
                if not refused_s and relieve is not None:
                    relieved = asyncio.create_task(_do(relieve(broker)))
                refused_s = refused_s or time.perf_counter()
                await asyncio.sleep(AGAIN_S)
                continue
            if refused_s:
                longest, refused_s = max(longest, time.perf_counter() - refused_s), 0.0
                if relieved is not None:
                    await relieved
                    break
            sent += RECORDS * RECORD_BYTES
        return longest
    finally:
        await broker.close()
        await store.close()


async def _do(work: Awaitable[Any]) -> None:
    await work


async def append(partition: Partition) -> bool:
    """Returns whether the record was accepted."""
    value = os.urandom(RECORD_BYTES)
    try:
        await partition.append(AppendRequest(encode([(None, value, (), 0)] * RECORDS), RECORDS, 0))
    except StorageFull:
        return False
    return True
