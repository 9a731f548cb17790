"""A broker that asks everybody who they are, with a Kafka listener, and clients of it that have logged in.

async with secured(url, prefix) as world:
    admin, ada = await world.client("root"), await world.client("ada")     root is a super user, others have rules only
    await world.allow("ada", Op.READ, Resource.TOPIC, "orders")
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from redis_ledger.auth.acl import CLUSTER_NAME, Effect, Op, Pattern, Resource, Rule
from redis_ledger.broker.broker import Broker
from redis_ledger.kafka.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from redis_ledger.kafka.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from tests.support.broker import one
from tests.support.kafka import KafkaClient, listening

SUPER = "root"


def rule(
    user: str, operation: Op, resource: Resource, name: str = CLUSTER_NAME, *, deny: bool = False, prefix: bool = False
) -> Rule:
    """From any host."""
    effect, pattern = Effect.DENY if deny else Effect.ALLOW, Pattern.PREFIXED if prefix else Pattern.LITERAL
    return Rule(effect, f"User:{user}", "*", operation, resource, pattern, name)


class Secured:
    def __init__(self, broker: Broker, address: tuple[str, int], stack: contextlib.AsyncExitStack) -> None:
        self.broker, self.address, self._stack = broker, address, stack
        self._tokens: dict[str, str] = {}

    async def token(self, user: str) -> str:
        if user not in self._tokens:
            _, self._tokens[user] = await self.broker.security.create_token(f"User:{user}")
        return self._tokens[user]

    async def client(self, user: str) -> KafkaClient:
        """A connection of its own, logged in by the user's token."""
        client = await self._stack.enter_async_context(KafkaClient(self.address, user))
        assert (await log_in(client, "token", await self.token(user))).error_code == 0
        return client

    async def allow(
        self, user: str, operation: Op, resource: Resource, name: str = CLUSTER_NAME, *, deny: bool = False,
        prefix: bool = False,
    ) -> None:  # fmt: skip
        await self.broker.security.add_rules([rule(user, operation, resource, name, deny=deny, prefix=prefix)])


async def log_in(client: KafkaClient, user: str, password: str) -> Any:
    """The answer to PLAIN."""
    assert (await client.ask(SaslHandshakeRequest("PLAIN"), 1)).error_code == 0
    return await client.ask(SaslAuthenticateRequest(f"\0{user}\0{password}".encode()), 2)


@contextlib.asynccontextmanager
async def secured(url: str, prefix: str, **settings: Any) -> AsyncIterator[Secured]:
    settings = {"auth_required": True, "super_users": f"User:{SUPER}", **settings}
    async with (
        one(url, prefix, **settings) as broker,
        listening(broker) as address,
        contextlib.AsyncExitStack() as stack,
    ):
        yield Secured(broker, address, stack)
