"""A broker with authentication behind real sockets (Kafka and HTTP), and the bytes an attacker sends.

async with attack_target(url, prefix) as target:
    status, head, body = parse(await target.http(b"GET /v1 HTTP/1.1\\r\\nhost: a\\r\\n\\r\\n"))
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from redis_ledger.app.http.application import create_app
from redis_ledger.app.http.connection_limits import Limits
from redis_ledger.app.http.server import HttpServer
from redis_ledger.broker.broker import Broker
from tests.support.broker import one
from tests.support.kafka_client import listening
from tests.support.principals import SECURED, Principals

RECORDS = b'{"records":[{"value":1}]}'
PRODUCE = b"POST /v1/topics/orders/records HTTP/1.1\r\nhost: a\r\n"
PATIENCE_S = 20.0
LIMITS = Limits(idle_s=0.5, head_s=0.5, body_s=0.5)


class AttackTarget(Principals):
    """kafka, rest: addresses."""

    def __init__(self, broker: Broker, rest: tuple[str, int], kafka: tuple[str, int]) -> None:
        super().__init__(broker)
        self.rest, self.kafka = rest, kafka

    async def http(self, *pieces: bytes) -> bytes:
        """All that is answered until the broker closes the connection, or says nothing more for a while."""
        reader, writer = await asyncio.open_connection(*self.rest)
        answer = b""
        try:
            with contextlib.suppress(ConnectionError, TimeoutError):
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                while more := await asyncio.wait_for(reader.read(65_536), 2.0 if answer else PATIENCE_S):
                    answer += more
                    if is_whole(answer):
                        break
        finally:
            writer.transport.abort()
        return answer

    async def written(self) -> int:
        """The number of records in the first partition of `orders`."""
        return (await self.broker.topics.describe("orders"))[1][0].end_offset

    def with_token(self, name: str = "ada") -> bytes:
        """A header."""
        return b"authorization: Bearer " + self.tokens[name].encode() + b"\r\n"

    async def ask(
        self, name: str | None, method: str, path: str, body: bytes = b"", *headers: bytes
    ) -> tuple[int, bytes]:
        """Status and body.  name: whose token is sent."""
        lines = [f"{method} {path} HTTP/1.1".encode(), b"host: localhost", b"content-length: %d" % len(body), *headers]
        if name is not None:
            lines.append(b"authorization: Bearer " + (await self.token(name)).encode())
        status, _, answer = parse(await self.http(b"\r\n".join(lines) + b"\r\n\r\n" + body))
        return status, answer


def parse(answer: bytes) -> tuple[int, bytes, bytes]:
    """Status, head and body of the first answer; 0 when there is none."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]) if head.startswith(b"HTTP/1.1 ") else 0, head.lower(), body


def is_whole(answer: bytes) -> bool:
    _, head, body = parse(answer)
    if b"content-length: " not in head or b"connection: close" in head:
        return False
    return len(body) >= int(head.split(b"content-length: ")[1].split(b"\r\n")[0])


@contextlib.asynccontextmanager
async def attack_target(
    url: str, prefix: str, *, host: str = "127.0.0.1", **settings: Any
) -> AsyncIterator[AttackTarget]:
    """host: where both doors listen."""
    async with one(url, prefix, **SECURED | settings) as broker, listening(broker, host=host) as kafka:
        server = HttpServer(create_app(broker), host, 0, drain_s=1, limits=LIMITS)
        await server.start()
        try:
            await broker.topics.create("orders", 1)
            yield AttackTarget(broker, (host, int(server.address.rpartition(":")[2])), kafka)
        finally:
            await server.stop()
