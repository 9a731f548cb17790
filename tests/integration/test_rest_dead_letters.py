"""Dead letters over REST and the SDK: the rule is set, shown and removed; moving messages back requires WRITE on the
source topic."""

from __future__ import annotations

import pytest

from redis_ledger import AsyncClient
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.client.redelivery_models import DeadLetters
from tests.support.principals import ROOT
from tests.support.rest import rest
from tests.support.secured_rest import secured
from tests.support.threaded_broker import threaded_broker

SUB = "/v1/topics/orders/subscriptions/billing"
LOOK = "/v1/topics/orders.dead/subscriptions/look"
RULE = {"max_deliveries": 1, "topic": "orders.dead"}


async def died(ask) -> None:
    """A record of orders is in orders.dead."""
    received = None
    for path, body in (
        ("/v1/topics", {"name": "orders"}),
        ("/v1/topics/orders/subscriptions", {"name": "billing"}),
        (f"{SUB}:deadLetters", RULE),
        ("/v1/topics/orders/records", {"records": [{"value": 1}]}),
        (f"{SUB}:receive", {"consumer": "c"}),
        (f"{SUB}:nack", {"consumer": "c", "all": True}),
        (f"{SUB}:receive", {"consumer": "c"}),
        ("/v1/topics/orders.dead/subscriptions", {"name": "look"}),
    ):
        answer = await ask(path, body)
        assert answer.status_code < 300, answer.text
        if path == f"{SUB}:receive":
            received = answer.json()["messages"]
    assert received == []


async def test_a_rule_is_set_shown_obeyed_and_removed(redis_url, prefix):
    async with rest(redis_url, prefix) as http:
        await died(lambda path, body: http.post(path, json=body))
        assert (await http.get(SUB)).json()["dead_letters"] == RULE
        (letter,) = (await http.post(f"{LOOK}:receive", json={"consumer": "c"})).json()["messages"]
        assert letter["headers"] == {
            "dead-letter-topic": "orders", "dead-letter-partition": "0", "dead-letter-offset": "0",
            "dead-letter-subscription": "billing", "dead-letter-deliveries": "1",
            "dead-letter-reason": "max_deliveries", "dead-letter-time-ms": letter["headers"]["dead-letter-time-ms"],
        }  # fmt: skip
        assert (await http.post(f"{LOOK}:putBack")).json() == {"put_back": 0}, "it is leased"
        await http.post(f"{LOOK}:nack", json={"consumer": "c", "all": True})
        assert (await http.post(f"{LOOK}:putBack", json={"limit": 5})).json() == {"put_back": 1}
        removed = await http.post(f"{SUB}:deadLetters", json={"max_deliveries": 0})
        assert "dead_letters" not in removed.json()
        assert "dead_letters" not in (await http.get(SUB)).json()


@pytest.mark.parametrize("body", [{"max_deliveries": 0, "topic": "x"}, {"max_deliveries": 3}, {"topic": "x"}, {}])
async def test_half_a_rule_is_refused(redis_url, prefix, body):
    async with rest(redis_url, prefix) as http:
        await http.post("/v1/topics", json={"name": "orders"})
        await http.post("/v1/topics/orders/subscriptions", json={"name": "billing"})
        answer = await http.post(f"{SUB}:deadLetters", json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


async def test_dead_letters_of_unwritable_topics_stay_and_replays_are_audited(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await died(lambda path, body: world.post(ROOT, path, body))
        await world.allow("ada", Op.READ, Resource.TOPIC, "orders.dead")
        await world.allow("ada", Op.READ, Resource.GROUP, "look")
        assert (await world.post("ada", f"{LOOK}:putBack")).json() == {"put_back": 0}
        await world.allow("ada", Op.WRITE, Resource.TOPIC, "orders")
        assert (await world.post("ada", f"{LOOK}:putBack")).json() == {"put_back": 1}
        audit = (await world.get(ROOT, "/v1/audit")).json()["entries"]
        entries = [(e["act"], e["principal"], e["target"]) for e in audit if e["act"].startswith("subscription.")]
        assert ("subscription.putBack", "User:ada", "orders.dead look") in entries
        assert ("subscription.deadLetters", "User:root", "orders billing") in entries
        assert [e["facts"] for e in audit if e["act"] == "subscription.putBack"] == [{"to": {"orders": 1}}, {"to": {}}]


async def test_a_forged_header_does_not_make_an_operator_write_into_another_topic(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await died(lambda path, body: world.post(ROOT, path, body))
        await world.post(ROOT, "/v1/topics", {"name": "payroll"})
        await world.allow("eve", Op.WRITE, Resource.TOPIC, "orders.dead")
        # Given a record of eve's that says it came from a topic that sends its dead letters elsewhere, or nowhere
        headers = {"dead-letter-topic": "payroll", "dead-letter-partition": "0", "dead-letter-offset": "0"}
        forged = {"text": "EVE WRITES PAYROLL", "headers": headers}
        sent = await world.post("eve", "/v1/topics/orders.dead/records", {"records": [forged]})
        assert sent.status_code == 200
        # When an operator, who may write everywhere, puts dead letters back
        assert (await world.post(ROOT, f"{LOOK}:putBack", {"limit": 10})).json() == {"put_back": 1}
        # Then the forged one stays where it is
        assert (await world.get(ROOT, "/v1/topics/payroll/partitions/0/records")).json()["records"] == []
        (left,) = (await world.post(ROOT, f"{LOOK}:receive", {"consumer": "c"})).json()["messages"]
        assert left["text"] == "EVE WRITES PAYROLL"
        # And the audit names where the other one went
        audit = (await world.get(ROOT, "/v1/audit")).json()["entries"]
        assert [e["facts"]["to"] for e in audit if e["act"] == "subscription.putBack"] == [{"orders": 1}]


async def test_the_sdk_sets_rules_and_puts_back(redis_url, prefix):
    with threaded_broker(redis_url, prefix) as brokers:
        async with AsyncClient(brokers.urls) as client:
            await client.topics.create("orders")
            await client.subscriptions.create("orders", "billing")
            stats = await client.subscriptions.set_dead_letters("orders", "billing", 1, "orders.dead")
            assert stats.dead_letters == DeadLetters(1, "orders.dead")
            await client.subscriptions.create("orders.dead", "look")
            async with client.producer("orders") as producer:
                await producer.send({"bad": True})
            async with client.consumer("orders", "billing", prefetch=0) as consumer:
                (bad,) = await consumer.receive(10)
                await consumer.nack(bad)
                assert await consumer.receive(10) == []
            assert await client.subscriptions.put_back("orders.dead", "look", 10) == 1
            stats = await client.subscriptions.set_dead_letters("orders", "billing", 0)
            assert (stats.dead_letters, stats.backlog) == (None, 1)
