"""Many small jobs of one request, a few at a time: what a request may ask for is not what may run at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from redis_ledger.decoding.budget import Pace

Item = TypeVar("Item")
Result = TypeVar("Result")


async def few_at_once(
    act: Callable[[Item], Awaitable[Result]], items: Iterable[Item], at_once: int = 16
) -> list[Result]:
    """The results in the order of the items; after an exception no other job is begun.  Others on the event loop have
    turns also while no job waits for anything."""
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
