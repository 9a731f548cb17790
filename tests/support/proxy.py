"""A TCP relay that misbehaves: between a store and its Redis, or between a client and its broker.

    store ──▶ proxy ──▶ Redis        cuts        the next reply is dropped and both sides are closed
          ◀──       ◀──              cut_after   the next reply breaks off after so many bytes
                                     cut_request_after  the next request breaks off after so many bytes
                                     delay_s     each piece is relayed so much later
                                     muted       replies vanish, the connection stays
                                     hold()      nothing is relayed until release()

`requests` counts the pieces that arrived from the store, one per write that was not merged on the way.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator


class Proxy:
    def __init__(self, host: str, port: int) -> None:
        self.requests: list[bytes] = []
        self.cuts = 0  # so many of the next replies are dropped, each with its connection
        self.cut_after: int | None = None  # bytes of replies that are relayed before the connection closes, once
        self.cut_request_after: int | None = None  # the same of requests
        self.delay_s = 0.0
        self.keeps_requests = True
        self.muted = 0  # so many connections, from the first on, stay open and lose every reply
        self.connections = 0
        self.port = 0
        self._host, self._target = host, port
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._tls: ssl.SSLContext | None = None

    async def listen(self, tls: ssl.SSLContext | None) -> None:
        self._tls = tls
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def lead_to(self, host: str, port: int) -> None:
        """New connections go there, as behind a name whose address has changed."""
        self._host, self._target = host, port

    def hold(self) -> None:
        self._flowing.clear()

    def release(self) -> None:
        self._flowing.set()

    def cut(self) -> None:
        """Breaks every connection now."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def refuse(self) -> None:
        """Stops listening and breaks the existing connections."""
        assert self._server is not None
        self._server.close()
        self.cut()
        await asyncio.sleep(0)

    async def accept_again(self) -> None:
        await self.listen(self._tls)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.relay(reader, writer)

    async def relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bytes = b"") -> None:
        """Relays a connection until one side closes it.  first: what was read from it already."""
        self.connections += 1
        try:
            up_reader, up_writer = await asyncio.open_connection(self._host, self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, up_writer}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._requests(reader, up_writer, writer, first))
                group.create_task(self._replies(self.connections, up_reader, writer, up_writer))
        finally:
            self._writers -= {writer, up_writer}

    async def _requests(
        self, reader: asyncio.StreamReader, to: asyncio.StreamWriter, back: asyncio.StreamWriter, first: bytes
    ) -> None:
        with contextlib.suppress(OSError):
            while data := first or await reader.read(1 << 20):
                first = b""
                if self.keeps_requests:
                    self.requests.append(data)
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                await self._flowing.wait()
                if self.cut_request_after is not None:
                    part, self.cut_request_after = data[: self.cut_request_after], None
                    to.write(part)
                    to.close()  # which sends what was written, unlike abort
                    await to.wait_closed()
                    break
                to.write(data)
        to.transport.abort()
        back.transport.abort()

    async def _replies(
        self, number: int, reader: asyncio.StreamReader, to: asyncio.StreamWriter, back: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 20):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                await self._flowing.wait()
                if self.cuts:
                    self.cuts -= 1
                    break
                if self.cut_after is not None:
                    part, self.cut_after = data[: self.cut_after], max(self.cut_after - len(data), 0)
                    to.write(part)
                    if self.cut_after:
                        continue
                    self.cut_after = None
                    to.close()  # which sends what was written, unlike abort
                    await to.wait_closed()
                    break
                if number > self.muted:
                    to.write(data)
        to.transport.abort()
        back.transport.abort()

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        self.release()
        self.cut()
        await asyncio.sleep(0.01)  # lets the relays see that their sockets are gone


@contextlib.asynccontextmanager
async def proxy(host: str, port: int, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Proxy]:
    """tls: what the side of the store speaks; Redis itself is spoken to in the clear."""
    relay = Proxy(host, port)
    await relay.listen(tls)
    try:
        yield relay
    finally:
        await relay.close()
