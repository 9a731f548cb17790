"""One write for an answer's head and body.  uvicorn writes them one after the other: two system calls for a small
answer, which is a third of what serving it costs.

A head is held until the next write and leaves with it; if nothing follows (HEAD, 204, an event-loop turn has gone by)
it leaves alone.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

JOINED_BYTES_MAX = 65_536  # a larger body is handed over beside its head, not copied behind it


class Corked:
    """A transport that holds the head of an answer back for a moment; everything else is the transport's own."""

    __slots__ = ("_head", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""
        self._loop = asyncio.get_running_loop()

    def write(self, data: bytes) -> None:
        head = self._head
        if head:
            self._head = b""
            if len(data) > JOINED_BYTES_MAX:
                self._transport.writelines((head, data))
            else:
                self._transport.write(head + data)
        elif data.startswith(b"HTTP/1.1 ") and not data.startswith(b"HTTP/1.1 1"):
            self._head = data
            self._loop.call_soon(self._let_go)
        else:
            self._transport.write(data)

    def close(self) -> None:
        self._let_go()
        self._transport.close()

    def _let_go(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class CorkedProtocol(HttpToolsProtocol):
    """uvicorn's own HTTP, over a corked transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # narrower, as uvicorn does
        super().connection_made(Corked(transport))  # type: ignore[arg-type]  # it quacks
