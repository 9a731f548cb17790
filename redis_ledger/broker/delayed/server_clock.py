"""Redis's clock, estimated from the replies of TIME and of the scripts that fire records."""

from __future__ import annotations

import asyncio


class ServerClock:
    """Bounds of Redis's time: never ahead of it (`low_ms`), never behind it (`high_ms`)."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._low = self._high = (0, 0.0)

    def learn(self, server_ms: int, sent_s: float) -> None:
        """sent_s: the loop's time when the request that returned server_ms was sent."""
        self._low, self._high = (server_ms, self._loop.time()), (server_ms + 1, sent_s)

    def low_ms(self) -> int:
        server_ms, at = self._low
        return server_ms + int((self._loop.time() - at) * 1000)

    def high_ms(self) -> int:
        server_ms, at = self._high
        return server_ms + int((self._loop.time() - at) * 1000) + 1
