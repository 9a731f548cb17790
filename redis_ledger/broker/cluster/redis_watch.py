"""Checks Redis twice a second: its cluster id, its settings, and whether it came back with older data.

    a node was restarted or replaced ──▶ every tail cache is cleared: its contents may not have been persisted
                                     ──▶ end offsets are compared with the previous ones; a lower one is logged

store/admission.py decides about nodes that are not fit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence

from redis_ledger.errors import LedgerError
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.admission import LOOK_EVERY_S, Admission
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import RateLimitedLog, get

AT_ONCE = 64  # partitions that are compared at a time
_log = get()


class RedisWatch:
    def __init__(self, admission: Admission, catalog: Catalog) -> None:
        self._admission, self._catalog = admission, catalog
        self._limited_log = RateLimitedLog(every_s=10.0)
        self._tasks: set[asyncio.Task[None]] = set()
        admission.on_changed.append(self._changed)

    def start(self) -> None:
        self._start(self._check())

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                await self._admission.look()
            except Exception as error:  # noqa: BLE001 - the next check must still run
                self._limited_log.failed("Redis could not be checked", error)

    def _changed(self) -> None:
        known = []
        for partition in self._catalog.opened_partitions():
            known.append((partition, partition.tail.end))
            partition.tail.clear()
            partition.reader.forget_ahead()
        self._start(self._compare([(partition, end) for partition, end in known if end]))

    async def _compare(self, known: Sequence[tuple[Partition, int]]) -> None:
        for at in range(0, len(known), AT_ONCE):
            await asyncio.gather(*(self._compare_one(*each) for each in known[at : at + AT_ONCE]))

    async def _compare_one(self, partition: Partition, end: int) -> None:
        try:
            now = (await partition.offsets.head()).end_offset
        except LedgerError:
            return  # the next read of the partition raises this error
        if now < end:
            metrics.redis_rolled_back.inc()
            _log.error("Redis came back with older data: acknowledged records are lost", topic=partition.topic,
                       partition=partition.number, end_offset_before=end, end_offset=now)  # fmt: skip

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
