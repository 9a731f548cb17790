"""Decodes on the event loop without blocking it: large batches are unpacked in a thread and read in slices.

unpack ≤ 256 KiB here, more in a thread ─▶ slice ─▶ slice ─ 2 ms are over: other tasks run ─▶ slice ...
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from redis_ledger.decoding.budget import Budget
from redis_ledger.errors import BadRequest, TooLargeToDecode
from redis_ledger.records import filter, split_by_due
from redis_ledger.records.batch import HEADER_BYTES, BatchHeader, Buffer, read_header
from redis_ledger.records.budget import Limits
from redis_ledger.records.read import OFFSET_MAX, Record, Unread, within

QUICK_BYTES = 256 << 10  # unpacked in less than a millisecond
QUICK_BLOCK_BYTES = 16 << 10  # decoded in less than TURN_S, whatever they hold
_threads = ThreadPoolExecutor(2, thread_name_prefix="redis-ledger-unpack")  # few, for each may take 100 MB
T = TypeVar("T")


async def decode(data: Buffer, budget: Budget, first_offset: int = 0, last_offset: int = OFFSET_MAX) -> list[Record]:
    """The records of one batch from first_offset to last_offset.  Spends of the budget, also for what is refused, and
    holds the batch's memory until the budget ends.

    Raises CorruptBatch, UnsupportedCompression, TooLargeToDecode, DecodingBusy.
    """
    batch = await opened(data, budget)
    try:
        if batch.is_small:
            found = batch.between(first_offset, last_offset)
            budget.spend(0, batch.headers)
            await budget.pace.rest()
            return found
        found = []
        async for records in _slices(batch, budget):
            found += within(records, first_offset, last_offset)
        return found
    except BadRequest:
        budget.give(batch.body_bytes)
        raise


async def slices(data: Buffer, budget: Budget) -> AsyncGenerator[list[Record], None]:
    """All records of one batch, a few at a time.  Spends and raises as `decode`; holds memory until the last one."""
    batch = await opened(data, budget)
    try:
        async for records in _slices(batch, budget):
            yield records
    finally:
        budget.give(batch.body_bytes)


async def read_through(data: Buffer, budget: Budget) -> None:
    """Reads all records of one batch and keeps none.  Spends and raises as `decode`."""
    async with contextlib.aclosing(slices(data, budget)) as found:
        async for _ in found:
            pass


async def opened(data: Buffer, budget: Budget) -> Unread:
    """The batch, unpacked.  What it unpacks to is spent and held."""
    is_packed = bool(read_header(data).compression)
    try:
        return await _aside(partial(Unread, data), lambda batch: batch.body_bytes, len(data), is_packed, budget)
    except TooLargeToDecode:
        budget.spend(budget.limits.decoded_bytes if is_packed else len(data) - HEADER_BYTES, 0)
        raise


async def unpacked(header: BatchHeader, data: Buffer, budget: Budget) -> bytes:
    """As `later.unpacked`, of a batch that is packed.  What it unpacks to is spent and held."""
    return await _aside(partial(split_by_due.unpacked, header, data), len, len(data), True, budget)


async def sifted(data: Buffer, kept: Sequence[str]) -> list[bytes]:
    """As `filter.sift`.  At most two blocks are unpacked at a time, each to 32 MiB at most."""
    if len(data) <= QUICK_BLOCK_BYTES and not read_header(data).compression:
        return filter.sift(data, kept)
    return await asyncio.get_running_loop().run_in_executor(_threads, filter.sift, data, kept)


async def _aside(
    unpack: Callable[[Limits], T], size_of: Callable[[T], int], size: int, is_packed: bool, budget: Budget
) -> T:
    """Unpacks here where that is quick, else in a thread.  A small batch that turns out to be a large one is begun
    twice."""
    limits, most = budget.limits, budget.limits.decoded_bytes
    if size <= QUICK_BYTES:
        if not is_packed or most <= QUICK_BYTES:
            return await _held(unpack, size_of, limits, most if is_packed else size, budget, in_thread=False)
        quick = limits._replace(decoded_bytes=QUICK_BYTES)
        try:
            return await _held(unpack, size_of, quick, QUICK_BYTES, budget, in_thread=False)
        except TooLargeToDecode as error:
            if error.facts["setting"] != "batch_decoded_bytes_max":
                raise
    await budget.reserve()
    return await _held(unpack, size_of, limits, most if is_packed else min(size, most), budget, in_thread=True)


async def _held(
    unpack: Callable[[Limits], T],
    size_of: Callable[[T], int],
    limits: Limits,
    most: int,
    budget: Budget,
    *,
    in_thread: bool,
) -> T:
    """Takes memory for the most that it may unpack to, and gives back what it did not."""
    await budget.take(most)
    kept = 0
    try:
        if in_thread:
            done = await asyncio.get_running_loop().run_in_executor(_threads, unpack, limits)
        else:
            done = unpack(limits)
        kept = min(size_of(done), most)
        budget.spend(kept, 0)
        return done
    finally:
        budget.give(most - kept)


async def _slices(batch: Unread, budget: Budget) -> AsyncIterator[list[Record]]:
    before = 0
    for records in batch.slices():
        budget.spend(0, batch.headers - before)
        before = batch.headers
        yield records
        await budget.pace.rest()
