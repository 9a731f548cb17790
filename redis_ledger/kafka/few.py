"""Many small jobs of one request, a few at a time: what a request may ask for is not what may run at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


async def few_at_once(
    act: Callable[[Item], Awaitable[Result]], items: Iterable[Item], at_once: int = 16
) -> list[Result]:
    """The results in the order of the items; after an exception no other job is begun."""
    waiting = list(enumerate(items))
    results: dict[int, Result] = {}
    waiting.reverse()

    async def work() -> None:
        while waiting:
            index, item = waiting.pop()
            results[index] = await act(item)

    try:
        await asyncio.gather(*(work() for _ in range(min(at_once, len(waiting)))))
    finally:
        waiting.clear()
    return [results[index] for index in range(len(results))]
