"""What the console is looked at with: a small shop's topics, whose billing is stuck behind an import that hangs.

orders          two partitions; an import (open), one that was given up (aborted), records that wait behind both
invoices, mail  what is made of them; mail has reminders that are scheduled
billing         a subscription of orders that is caught up, and held up; packing has messages out
reports         a Kafka group on orders and invoices, without members
"""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

from redis_ledger.auth.acl import CLUSTER_NAME, Effect, Op, Pattern, Resource, Rule
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import NewRecord
from redis_ledger.ids import TxnId

ORDERS = 120
HOUR_MS = 3_600_000
TIMEOUT_MS = 900_000
NAMES = ("ada", "grace", "edsger", "barbara", "alan", "radia")
GOODS = ("lamp", "kettle", "chair", "rug", "mirror", "shelf")


class Shop(NamedTuple):
    """stuck: the transaction that holds up the readers of orders."""

    stuck: TxnId
    aborted: TxnId


def order(number: int) -> bytes:
    bought = {"order": number, "item": GOODS[number % 6], "customer": NAMES[number * 7 % 6], "total": number % 9 + 0.5}
    return json.dumps(bought).encode()


async def fill(broker: Broker) -> Shop:
    chance = random.Random(7)
    for topic, partitions in (("orders", 2), ("invoices", 2), ("mail", 1), ("audit", 1)):
        await broker.topics.create(topic, partitions)
    for name in ("billing", "packing"):
        await broker.subscriptions.create("orders", name)
    for number in range(0, ORDERS, 10):
        some = [NewRecord(NAMES[n % 6].encode(), order(n), partition=n % 2) for n in range(number, number + 10)]
        await broker.records.produce("orders", some)
    await broker.records.produce(
        "invoices",
        [
            NewRecord(b"%d" % n, json.dumps({"order": n, "bill": n % 9 + 0.5}).encode(), [("source", b"billing")])
            for n in range(48)
        ],
    )
    await broker.records.produce("audit", [NewRecord(None, f"order {n} was paid".encode()) for n in range(5)])
    aborted = (await broker.transactions.begin(TIMEOUT_MS, owner="import-2")).id
    await broker.records.produce("orders", [NewRecord(b"alan", order(900), partition=0)], transaction=aborted)
    await broker.transactions.abort(aborted)
    done = (await broker.transactions.begin(TIMEOUT_MS, owner="import-1")).id
    await broker.records.produce("orders", [NewRecord(b"grace", order(901), partition=1)], transaction=done)
    await broker.transactions.commit(done)
    await _consume(broker)
    waiting = [
        NewRecord(b"%d" % n, json.dumps({"remind": NAMES[n % 6], "order": n}).encode(),
                  deliver_after_ms=HOUR_MS + int(chance.gauss(12, 4) * HOUR_MS / 2))
        for n in range(60)
    ]  # fmt: skip
    await broker.records.produce("mail", waiting)
    return Shop(await hang(broker), aborted)


async def hang(broker: Broker) -> TxnId:
    """An import that has written a record and then nothing, and orders that wait behind it."""
    stuck = (await broker.transactions.begin(TIMEOUT_MS, owner="import-3")).id
    await broker.records.produce("orders", [NewRecord(b"radia", order(902), partition=0)], transaction=stuck)
    behind = [NewRecord(NAMES[n % 6].encode(), order(n), partition=0) for n in range(ORDERS, ORDERS + 14)]
    await broker.records.produce("orders", behind)
    return stuck


async def _consume(broker: Broker) -> None:
    """Billing takes everything, packing takes some and keeps it, reports notes how far it is."""
    while messages := await broker.subscriptions.receive("orders", "billing", "till-1", max_records=50):
        await broker.subscriptions.ack("orders", "billing", "till-1", [each.id for each in messages])
    messages = await broker.subscriptions.receive("orders", "packing", "bench-2", max_records=12)
    await broker.subscriptions.ack("orders", "packing", "bench-2", [each.id for each in messages[:8]])
    await broker.subscriptions.nack("orders", "packing", "bench-2", [each.id for each in messages[8:10]])
    await broker.subscriptions.receive("orders", "packing", "bench-2", max_records=2)
    await broker.external_offsets.note("reports", "orders", {0: 60, 1: 60})
    await broker.external_offsets.note("reports", "invoices", {0: 10, 1: 10})


async def people(broker: Broker) -> dict[str, str]:
    """Tokens by name, for a broker that asks who calls: root may do everything, viewer only look at orders."""
    security = broker.security
    tokens = {
        name: (await security.create_token(f"User:{name}", note=f"{name}'s laptop"))[1] for name in ("root", "viewer")
    }
    see = [
        rule("viewer", Op.DESCRIBE, Resource.TOPIC, "orders"),
        rule("viewer", Op.READ, Resource.TOPIC, "orders"),
        rule("viewer", Op.DESCRIBE, Resource.GROUP, "billing"),
        rule("viewer", Op.DESCRIBE, Resource.GROUP, "reports"),
        rule("viewer", Op.DESCRIBE, Resource.CLUSTER, CLUSTER_NAME),
        rule("till", Op.WRITE, Resource.TOPIC, "orders", Pattern.PREFIXED),
        rule("till", Op.DELETE, Resource.TOPIC, "orders", effect=Effect.DENY),
    ]  # fmt: skip
    await security.add_rules(see)
    await broker.scram_credentials.add("till", "a password of the till")
    await broker.quotas.change("User:till", {"bytes_in_per_s": 1 << 20, "requests_per_s": 500})
    return tokens


def rule(
    name: str, operation: Op, resource: Resource, on: str, pattern: Pattern = Pattern.LITERAL, **more: Any
) -> Rule:
    return Rule(more.get("effect", Effect.ALLOW), f"User:{name}", "*", operation, resource, pattern, on)
