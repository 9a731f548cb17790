"""Writes head and body of a response together: uvicorn uses two system calls, a third of the cost of a small response.

The head is held until the next write; without one (HEAD, 204) it is sent in the next iteration of the event loop.
What is written to a connection that is closing is dropped: uvloop would raise an error.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

JOINED_BYTES_MAX = 65_536  # larger bodies are passed to writelines instead of copied


class Corked:
    """A transport that delays the head of a response; delegates everything else."""

    __slots__ = ("_head", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""
        self._loop = asyncio.get_running_loop()

    def write(self, data: bytes) -> None:
        head = self._head
        if self._transport.is_closing():
            self._head = b""
        elif head:
            self._head = b""
            if len(data) > JOINED_BYTES_MAX:
                self._transport.writelines((head, data))
            else:
                self._transport.write(head + data)
        elif data.startswith(b"HTTP/1.1 ") and not data.startswith(b"HTTP/1.1 1"):
            self._head = data
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            if not self._transport.is_closing():
                self._transport.write(head)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class CorkedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol over a corked transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # narrower, as uvicorn does
        super().connection_made(Corked(transport))  # type: ignore[arg-type]  # duck typing
