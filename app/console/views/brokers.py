"""The brokers page: live brokers and the Redis servers."""

from __future__ import annotations

import msgspec

from redis_ledger.app.console.pages import NoParameters, PageContext, page
from redis_ledger.auth.acl import Op
from redis_ledger.auth.requirement import cluster
from redis_ledger.broker.cluster.live_brokers import Node
from redis_ledger.store.server_info import NodeInfo


class Broker(msgspec.Struct):
    name: str
    http: str
    kafka: str
    is_this: bool
    is_open: bool  # authentication is off here, but on at another broker


class BrokersPage(msgspec.Struct):
    brokers: list[Broker]
    redis: list[NodeInfo]
    durability: str
    unfit: str  # why writes to Redis are refused
    coordinators: int
    cluster_id: str


@page("brokers", "Brokers and Redis", requires=cluster(Op.DESCRIBE))
async def brokers(context: PageContext, query: NoParameters) -> BrokersPage:
    broker, refusal = context.broker, context.broker.store.admission.refusal()
    return BrokersPage(
        [_shown(each, broker.name, each in broker.live_brokers.unauthenticated) for each in broker.live_brokers.all],
        list(await broker.store.node_info()),
        str(broker.readiness.get("durability", "unknown")),
        refusal.detail if refusal else "",
        len(broker.coordinators),
        broker.live_brokers.cluster_id,
    )


def _shown(node: Node, this: str, is_open: bool) -> Broker:
    kafka = node.kafka
    if node.listeners:
        kafka = ", ".join(f"{name} {address}" for name, address in node.listeners.items())
    return Broker(node.name, node.http, kafka, node.name == this, is_open)
