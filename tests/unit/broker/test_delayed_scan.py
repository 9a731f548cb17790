"""The scan for partitions with delayed records, and what is announced during one."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from redis_ledger.broker.delayed.service import DelayedDelivery
from redis_ledger.clock import RedisClock
from tests.support.busy_machine import within


class Listing:
    """A catalog without topics; `passed` counts the scans that have read it, `go_on` lets the next one finish."""

    def __init__(self) -> None:
        self.passed, self.go_on = 0, asyncio.Semaphore(0)

    async def list(self):
        self.passed += 1
        await self.go_on.acquire()
        return []


async def _nothing(*_):
    return [(1, 0)]


async def test_a_partition_announced_during_a_scan_is_found_by_the_next_one():
    listing = Listing()
    trackers = SimpleNamespace(channel=b"c", announced=lambda _: False, all=list, update_brokers=bool)
    store = SimpleNamespace(everywhere=_nothing, subscribe=_nothing)
    clock = SimpleNamespace(learn=lambda *_: None)
    made: Any = DelayedDelivery
    delayed = made(store, listing, trackers, clock, RedisClock(), None)
    listing.go_on.release()
    await delayed.open()
    # Given a scan that has read the catalog
    delayed.start_scan()
    await asyncio.sleep(0)
    assert listing.passed == 2
    # When another broker announces a partition without a tracker, twice
    delayed._on_announcement(b"t 0 1")
    delayed._on_announcement(b"t 1 1")
    for _ in range(3):
        listing.go_on.release()
    async with within(5):
        await delayed._scanning
    # Then one more scan has followed
    assert listing.passed == 3
    await delayed.close()
