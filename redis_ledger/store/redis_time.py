"""Reads Redis's time, of the node that has the catalog, for brokers and tools before they decide anything by it."""

from __future__ import annotations

import time

from redis_ledger.clock import RedisClock
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store


async def read_time(store: Store, clock: RedisClock) -> RedisClock:
    """Returns the clock, which has the time."""
    key, sent_s = CatalogKeys(store.prefix).state, time.monotonic()
    seconds, micros = await store.command("TIME", key=key)
    clock.learn(int(seconds) * 1000 + int(micros) // 1000, sent_s)
    return clock
