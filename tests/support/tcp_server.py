"""A TCP server of a few lines, which is gone with all its connections when the test is over."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
ENDED_S_MAX = 1.0  # for a connection whose client is gone


@contextlib.asynccontextmanager
async def small_server(handle: Handler) -> AsyncIterator[int]:
    """Its port on 127.0.0.1.  handle: of one connection; it may fail when the client leaves."""
    handling: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        handling.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await handle(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        if handling:
            _, late = await asyncio.wait(handling, timeout=ENDED_S_MAX)
            for task in late:
                task.cancel()
            await asyncio.gather(*handling, return_exceptions=True)
