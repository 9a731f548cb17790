"""Decoding on the event loop without holding it up: large batches are unpacked in a thread, and read in turns.

unpack ≤ 256 KiB here, more in a thread ─▶ slice ─▶ slice ─ 2 ms are over: others go on ─▶ slice ...
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from redis_ledger.decoding.budget import Budget
from redis_ledger.errors import TooLargeToDecode
from redis_ledger.records import later
from redis_ledger.records.batch import HEADER_BYTES, BatchHeader, Buffer, read_header
from redis_ledger.records.budget import Limits
from redis_ledger.records.read import OFFSET_MAX, Record, Unread, within

QUICK_BYTES = 256 << 10  # unpacked in less than a millisecond
_threads = ThreadPoolExecutor(2, thread_name_prefix="redis-ledger-unpack")  # few, for each may take 100 MB
T = TypeVar("T")


async def decode(data: Buffer, budget: Budget, first_offset: int = 0, last_offset: int = OFFSET_MAX) -> list[Record]:
    """The records of one batch from first_offset to last_offset.  Spends of the budget, also for what is refused.

    Raises CorruptBatch, UnsupportedCompression, TooLargeToDecode.
    """
    batch = await opened(data, budget)
    if batch.is_small:
        found = batch.between(first_offset, last_offset)
        budget.spend(0, batch.headers)
        await budget.pace.rest()
        return found
    found = []
    async for records in _slices(batch, budget):
        found += within(records, first_offset, last_offset)
    return found


async def slices(data: Buffer, budget: Budget) -> AsyncIterator[list[Record]]:
    """All records of one batch, a few at a time.  Spends and raises as `decode`."""
    async for records in _slices(await opened(data, budget), budget):
        yield records


async def read_through(data: Buffer, budget: Budget) -> None:
    """Reads all records of one batch and keeps none.  Spends and raises as `decode`."""
    async for _ in _slices(await opened(data, budget), budget):
        pass


async def opened(data: Buffer, budget: Budget) -> Unread:
    """The batch, unpacked.  What it unpacks to is spent."""
    is_packed = bool(read_header(data).compression)
    try:
        batch = await _aside(partial(Unread, data), len(data), is_packed, budget.limits, budget.reserve)
    except TooLargeToDecode:
        budget.spend(budget.limits.decoded_bytes if is_packed else len(data) - HEADER_BYTES, 0)
        raise
    budget.spend(batch.body_bytes, 0)
    return batch


async def unpacked(header: BatchHeader, data: Buffer, limits: Limits) -> bytes:
    """As `later.unpacked`, of a batch that is packed."""
    return await _aside(partial(later.unpacked, header, data), len(data), True, limits)


async def _aside(
    unpack: Callable[[Limits], T],
    size: int,
    is_packed: bool,
    limits: Limits,
    reserve: Callable[[], Awaitable[None]] | None = None,
) -> T:
    """Unpacks here where that is quick, else in a thread.  A small batch that turns out to be a large one is begun
    twice."""
    if size <= QUICK_BYTES:
        if not is_packed or limits.decoded_bytes <= QUICK_BYTES:
            return unpack(limits)
        try:
            return unpack(limits._replace(decoded_bytes=QUICK_BYTES))
        except TooLargeToDecode as error:
            if error.facts["setting"] != "batch_decoded_bytes_max":
                raise
    if reserve is not None:
        await reserve()
    return await asyncio.get_running_loop().run_in_executor(_threads, unpack, limits)


async def _slices(batch: Unread, budget: Budget) -> AsyncIterator[list[Record]]:
    before = 0
    for records in batch.slices():
        budget.spend(0, batch.headers - before)
        before = batch.headers
        yield records
        await budget.pace.rest()
