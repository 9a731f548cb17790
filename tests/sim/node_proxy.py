"""A proxy in front of a Redis server that several kinds of clients reach at one address: each kind has a link.

    brokers ──▶ ┌────────────┐   link "brokers-r0"
    replicas ─▶ │ NodeProxy  │   link "replicas-r0"     ──▶ r0
    sentinels ▶ └────────────┘   no faults

A server announces one address to everyone.  The first bytes of a connection say whose it is: a replica sends PING and
waits for the answer, a sentinel sets its name, and a broker sends several commands at once.
"""

from __future__ import annotations

import asyncio
import ssl

from tests.support.proxy import Proxy

FIRST_BYTES = 4_096
PING = b"*1\r\n$4\r\nPING\r\n"


class Link(Proxy):
    """One kind of connections of a NodeProxy, with faults of its own."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self.keeps_requests = False
        self.is_refused = False

    async def listen(self, tls: ssl.SSLContext | None) -> None:
        self.is_refused = False

    async def refuse(self) -> None:
        self.is_refused = True
        self.cut()

    async def close(self) -> None:
        self.release()
        self.cut()


class NodeProxy(Proxy):
    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self.brokers, self.replicas, self.sentinels = Link(host, port), Link(host, port), Link(host, port)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.read(FIRST_BYTES)
        link = self._of(first)
        if not first or link.is_refused:
            writer.transport.abort()
            return
        await link.relay(reader, writer, first)

    def _of(self, first: bytes) -> Link:
        if first == PING:
            return self.replicas
        return self.sentinels if b"sentinel-" in first[:200] else self.brokers

    async def close(self) -> None:
        await super().close()
        for link in (self.brokers, self.replicas, self.sentinels):
            await link.close()
