"""Kafka clients of the test's own: brokers with a listener in this process, and requests over a real socket.

    async with listening(broker) as address, KafkaClient(address) as client:
        answer = await client.ask(MetadataRequest(), 12)

`ask` finds API key, encoder and decoder by the message's class.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any, Self

from redis_ledger.broker.broker import Broker
from redis_ledger.kafka.listener import Listener
from redis_ledger.kafka.protocol.messages import API_VERSIONS
from redis_ledger.kafka.server import KafkaServer
from tests.support.kafka_codec import read_response, request

KEYS = {f"{api.name}Request": key for key, api in API_VERSIONS.items()}
PATIENCE_S = 60.0  # a limit for a broker that never answers


class KafkaClient:
    """One connection.  Requests may be asked at once; answers come in their order, as Kafka's do."""

    def __init__(self, address: tuple[str, int], client_id: str = "test", *, tls: ssl.SSLContext | None = None) -> None:
        self._address, self._client_id, self._tls = address, client_id, tls
        self._number = 0
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(*self._address, ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()

    async def ask(self, message: Any, version: int, within_s: float = PATIENCE_S) -> Any:
        return await asyncio.wait_for(self._ask(message, version), within_s)

    async def _ask(self, message: Any, version: int) -> Any:
        key = KEYS[type(message).__name__]
        self._number += 1
        number = self._number
        async with self._turn:  # waiters are served in their order
            for piece in request(key, version, number, self._client_id, message):
                self._writer.write(piece)
            size = int.from_bytes(await self._reader.readexactly(4), "big")
            frame = memoryview(await self._reader.readexactly(size))
        answered, answer = read_response(key, version, frame)
        assert answered == number, f"asked {number}, answered {answered}"
        return answer


class BrokerClient(KafkaClient):
    """A connection to a broker that the test can also look into."""

    def __init__(self, broker: Broker, address: tuple[str, int]) -> None:
        super().__init__(address)
        self.broker, self.address = broker, address


@contextlib.asynccontextmanager
async def listening(broker: Broker, drain_s: float = 0.2, *, host: str = "127.0.0.1") -> AsyncIterator[tuple[str, int]]:
    """A Kafka listener of this broker on a free port; its address.  host "::": of both families."""
    async with listening_at(broker, {"": ""}, drain_s, host=host) as addresses:
        yield addresses[""]


@contextlib.asynccontextmanager
async def listening_at(
    broker: Broker, listeners: Mapping[str, str], drain_s: float = 0.2, *, host: str = "127.0.0.1"
) -> AsyncIterator[dict[str, tuple[str, int]]]:
    """Listeners of these names, each with its advertised address ("" is the bound one); their addresses."""
    made, is_both = [], ":" in host
    family = socket.AF_INET6 if is_both else socket.AF_INET
    for name, advertised in listeners.items():
        bound = socket.create_server((host, 0), family=family, dualstack_ipv6=is_both)
        bound.setblocking(False)
        made.append(Listener(bound, name, advertised))
    server = KafkaServer(broker, made)
    await server.start()
    try:
        yield {each.name: each.bound.getsockname()[:2] for each in made}
    finally:
        await server.stop(drain_s)
