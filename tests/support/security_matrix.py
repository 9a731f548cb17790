"""Who there is in the security matrix, and the ground they stand on: one broker with both doors.

stranger  no rules                         member    reads orders, as g-rest, g-kafka and g-note; tx-member is its own
reader    reads orders                     prefixed  reads and writes ord*, reads as g-*, tx-pre* are its own
writer    writes orders; tx-writer         admin     everything, by rules
denied    everything, by rules, and a DENY for all there is on the ground
root      a super user: no rule is asked

These have one right of the two that some acts need:
sender    writes orders, under no transactional id         joiner    reads as g-*, and no topic; tx-joiner is its own
namer     tx-namer is its own, and no topic                knower    describes orders and g-*, and reads neither
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx

from redis_ledger.auth.acl import CLUSTER_NAME, Effect, Filter, Op, Pattern, Resource, Rule
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.error_metrics import finder
from redis_ledger.kafka.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.support.kafka_client import KafkaClient
from tests.support.kafka_groups import QUICK
from tests.support.principals import ROOT
from tests.support.rest import client_of
from tests.support.secured_kafka import Secured, secured

TOPIC, GROUP, CLUSTER, TXN = Resource.TOPIC, Resource.GROUP, Resource.CLUSTER, Resource.TRANSACTIONAL_ID
EXACT, PREFIX = Pattern.LITERAL, Pattern.PREFIXED
ALLOW, DENY = Effect.ALLOW, Effect.DENY
FORBIDDEN = (29, 30, 31, 53)  # topic, group, cluster, transactional id
Given = tuple[Effect, Op, Resource, Pattern, str]
Body = dict[str, Any]

_EVERYTHING: list[Given] = [
    (ALLOW, Op.ALL, CLUSTER, EXACT, CLUSTER_NAME),
    *[(ALLOW, Op.ALL, kind, EXACT, "*") for kind in (TOPIC, GROUP, TXN)],
]
RULES: dict[str, list[Given]] = {
    "stranger": [],
    "reader": [(ALLOW, Op.READ, TOPIC, EXACT, "orders")],
    "writer": [(ALLOW, Op.WRITE, TOPIC, EXACT, "orders"), (ALLOW, Op.WRITE, TXN, EXACT, "tx-writer")],
    "member": [
        (ALLOW, Op.READ, TOPIC, EXACT, "orders"),
        *[(ALLOW, Op.READ, GROUP, EXACT, f"g-{name}") for name in ("rest", "kafka", "note", "new")],
        (ALLOW, Op.WRITE, TXN, EXACT, "tx-member"),
    ],
    "prefixed": [
        (ALLOW, Op.READ, TOPIC, PREFIX, "ord"),
        (ALLOW, Op.WRITE, TOPIC, PREFIX, "ord"),
        (ALLOW, Op.READ, GROUP, PREFIX, "g-"),
        (ALLOW, Op.WRITE, TXN, PREFIX, "tx-pre"),
    ],
    "sender": [(ALLOW, Op.WRITE, TOPIC, EXACT, "orders")],
    "joiner": [(ALLOW, Op.READ, GROUP, PREFIX, "g-"), (ALLOW, Op.WRITE, TXN, EXACT, "tx-joiner")],
    "namer": [(ALLOW, Op.WRITE, TXN, EXACT, "tx-namer")],
    "knower": [(ALLOW, Op.DESCRIBE, TOPIC, EXACT, "orders"), (ALLOW, Op.DESCRIBE, GROUP, PREFIX, "g-")],
    "admin": _EVERYTHING,
    "denied": [
        *_EVERYTHING,
        (DENY, Op.ALL, CLUSTER, EXACT, CLUSTER_NAME),
        (DENY, Op.ALL, TOPIC, EXACT, "orders"),
        (DENY, Op.ALL, TOPIC, EXACT, "held"),
        (DENY, Op.ALL, GROUP, PREFIX, "g-"),
        (DENY, Op.ALL, TXN, EXACT, "*"),
    ],
    ROOT: [],
}
ALL_USERS = frozenset(RULES)
NO_USERS = frozenset[str]()


class Ground:
    """step: REST calls and Kafka requests of one principal.  user: on whose behalf."""

    def __init__(self, world: Secured, http: httpx.AsyncClient) -> None:
        self.world, self.broker, self.http = world, world.broker, http
        self.user = ""
        self.clients: dict[str, KafkaClient] = {}

    async def kafka(self, user: str) -> KafkaClient:
        if user not in self.clients:
            self.clients[user] = await self.world.client(user)
        return self.clients[user]

    async def ask(self, request: Any, version: int) -> Any:
        """A Kafka request of the present user."""
        return await (await self.kafka(self.user)).ask(request, version)

    async def code(self, request: Any, version: int) -> int:
        """The first error in the answer."""
        answer = await self.ask(request, version)
        found: int = finder(type(answer))(answer)
        return found

    async def rest(self, method: str, path: str, body: Body | None = None, user: str = "") -> httpx.Response:
        headers = {"authorization": f"Bearer {await self.world.token(user or self.user)}"}
        return await self.http.request(method, path, json=body, headers=headers)

    async def reset(self) -> None:
        """orders with a record, one that is scheduled, and a subscription with a message under way; held; g-kafka."""
        for name in [topic.name for topic in await self.broker.topics.list()]:
            await self.broker.topics.delete(name)
        for name in await self.broker.scram_credentials.all():
            await self.broker.scram_credentials.remove(name)
        with contextlib.suppress(LedgerError):
            await self.broker.groups.delete("g-kafka")
        await self.broker.security.remove_rules([Filter(principal="User:made")])
        for method, path, body in (
            ("POST", "/v1/topics", {"name": "orders", "partitions": 1}),
            ("POST", "/v1/topics", {"name": "held", "partitions": 1}),
            ("POST", "/v1/topics/orders/records", {"records": [{"value": 1}]}),
            ("POST", "/v1/topics/orders/scheduled", {"value": 1, "partition": 0, "deliver_at": "2999-01-01T00:00:00Z"}),
            ("POST", "/v1/topics/orders/subscriptions", {"name": "g-rest"}),
            ("POST", "/v1/topics/orders/subscriptions/g-rest:receive", {"consumer": "c"}),
            ("PUT", "/v1/users/made", {"password": "sesame and more"}),
        ):
            answer = await self.rest(method, path, body, ROOT)
            assert answer.status_code < 300, answer.text
        user, self.user = self.user, ROOT
        entry = OffsetCommitRequestTopic("orders", partitions=[OffsetCommitRequestPartition(0, 1)])
        assert await self.code(OffsetCommitRequest("g-kafka", -1, "", topics=[entry]), 8) == 0
        self.user = user


@contextlib.asynccontextmanager
async def ground(url: str, prefix: str, offload_home: str) -> AsyncIterator[Ground]:
    async with secured(url, prefix, offload_home=offload_home, **QUICK) as world, client_of(world.broker) as http:
        rules = [Rule(g[0], f"User:{who}", "*", *g[1:]) for who, given in RULES.items() for g in given]
        await world.broker.security.add_rules(rules)
        yield Ground(world, http)
