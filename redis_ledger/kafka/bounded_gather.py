"""Runs the many small jobs of a request with bounded concurrency."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from redis_ledger.decoding.budget import Pace

Item = TypeVar("Item")
Result = TypeVar("Result")


async def gather_bounded(
    act: Callable[[Item], Awaitable[Result]], items: Iterable[Item], at_once: int = 16
) -> list[Result]:
    """Returns the results in the order of the items; after an exception no further job is started.

    Yields to the event loop even if no job waits for anything.
    """
    waiting, pace = list(enumerate(items)), Pace()
    results: dict[int, Result] = {}
    waiting.reverse()

    async def work() -> None:
        while waiting:
            index, item = waiting.pop()
            results[index] = await act(item)
            if pace.is_over:
                await pace.rest()

    try:
        await asyncio.gather(*(work() for _ in range(min(at_once, len(waiting)))))
    finally:
        waiting.clear()
    return [results[index] for index in range(len(results))]
