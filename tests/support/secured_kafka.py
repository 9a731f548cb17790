"""A broker with authentication and a Kafka listener, and clients of it that have logged in.

async with secured(url, prefix) as world:
    admin, ada = await world.client("root"), await world.client("ada")     root is a super user
    await world.allow("ada", Op.READ, Resource.TOPIC, "orders")
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from redis_ledger.broker.broker import Broker
from redis_ledger.kafka.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from redis_ledger.kafka.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tests.support.broker import one
from tests.support.kafka_client import KafkaClient, listening
from tests.support.principals import SECURED, Principals


class Secured(Principals):
    def __init__(self, broker: Broker, address: tuple[str, int], stack: contextlib.AsyncExitStack) -> None:
        super().__init__(broker)
        self.address, self._stack = address, stack

    async def client(self, user: str) -> KafkaClient:
        """A connection of its own, logged in by the user's token."""
        client = await self._stack.enter_async_context(KafkaClient(self.address, user))
        assert (await log_in(client, "token", await self.token(user))).error_code == 0
        return client


async def log_in(client: KafkaClient, user: str, password: str) -> Any:
    """The answer to PLAIN."""
    assert (await client.ask(SaslHandshakeRequest("PLAIN"), 1)).error_code == 0
    return await client.ask(SaslAuthenticateRequest(f"\0{user}\0{password}".encode()), 2)


@contextlib.asynccontextmanager
async def secured(url: str, prefix: str, **settings: Any) -> AsyncIterator[Secured]:
    async with (
        one(url, prefix, **SECURED | settings) as broker,
        listening(broker) as address,
        contextlib.AsyncExitStack() as stack,
    ):
        yield Secured(broker, address, stack)
