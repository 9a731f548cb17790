"""The ways into one broker, over real sockets: REST, the SDK and the Kafka protocol."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import NamedTuple

import httpx

from redis_ledger import AsyncClient
from redis_ledger.app.http.application import create_app
from redis_ledger.app.http.server import HttpServer
from redis_ledger.broker.broker import Broker
from tests.support.kafka_client import KafkaClient, listening


class Doors(NamedTuple):
    http: httpx.AsyncClient
    sdk: AsyncClient
    kafka: KafkaClient


@contextlib.asynccontextmanager
async def doors_of(broker: Broker) -> AsyncIterator[Doors]:
    server = HttpServer(create_app(broker), "127.0.0.1", 0, drain_s=2)
    await server.start()
    try:
        async with (
            listening(broker) as address,
            KafkaClient(address) as kafka,
            AsyncClient(server.address) as sdk,
            httpx.AsyncClient(base_url=server.address, timeout=30) as http,
        ):
            yield Doors(http, sdk, kafka)
    finally:
        await server.stop()
