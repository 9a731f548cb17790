"""Principals whom a broker with auth_required knows, by tokens of theirs, and what they are allowed.

Names are of users, without "User:".
"""

from __future__ import annotations

from typing import Any

from redis_ledger.auth.acl import CLUSTER_NAME, Effect, Op, Pattern, Resource, Rule
from redis_ledger.broker.broker import Broker

ROOT = "root"  # a super user; others have rules only
SECURED: dict[str, Any] = {"auth_required": True, "super_users": f"User:{ROOT}"}


def rule(
    user: str, operation: Op, resource: Resource, name: str = CLUSTER_NAME, *, deny: bool = False,
    prefix: bool = False, host: str = "*",
) -> Rule:  # fmt: skip
    effect, pattern = Effect.DENY if deny else Effect.ALLOW, Pattern.PREFIXED if prefix else Pattern.LITERAL
    return Rule(effect, f"User:{user}", host, operation, resource, pattern, name)


class Principals:
    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.tokens: dict[str, str] = {}

    async def token(self, user: str) -> str:
        if user not in self.tokens:
            self.tokens[user] = (await self.broker.security.create_token(f"User:{user}"))[1]
        return self.tokens[user]

    async def allow(
        self, user: str, operation: Op, resource: Resource, name: str = CLUSTER_NAME, *, deny: bool = False,
        prefix: bool = False, host: str = "*",
    ) -> Rule:  # fmt: skip
        added = rule(user, operation, resource, name, deny=deny, prefix=prefix, host=host)
        await self.broker.security.add_rules([added])
        return added
