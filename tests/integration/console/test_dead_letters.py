"""Dead letters on a subscription's page: the rule is shown, set and removed, and messages are moved back."""

from __future__ import annotations

from typing import Any

from redis_ledger.auth.acl import Op, Resource
from tests.support.broker import records
from tests.support.console_browser import browser_of, forms
from tests.support.principals import ROOT

BILLING = "/subscription?topic=orders&name=billing"
LOOK = "/subscription?topic=dead&name=look"


async def ready(broker) -> None:
    for topic, name in (("orders", "billing"), ("dead", "look")):
        await broker.topics.create(topic)
        await broker.subscriptions.create(topic, name)


def rules(broker):
    return {
        where: (rule.max_deliveries, rule.topic) for where, rule in broker.dead_letters.rules.by_subscription.items()
    }


async def test_a_rule_is_set_shown_and_removed_and_letters_are_put_back(world):
    broker = world.broker
    await ready(broker)
    browser = await browser_of(world, ROOT)
    assert "subscription/put-back" not in forms((await browser.get(LOOK)).text)
    sent = await browser.post("/subscription/dead-letters", topic="orders", name="billing", max_deliveries=1, to="dead")
    assert sent.status_code == 303
    assert await browser.said() == "billing sends a message to dead after one delivery without acknowledgement."
    assert rules(broker) == {("orders", "billing"): (1, "dead")}
    page = (await browser.get(BILLING)).text
    assert "dead letters after 1 delivery to" in page
    assert 'href="/console/topic?name=dead"' in page
    await broker.records.produce("orders", records("bad"))
    assert len(await broker.subscriptions.receive("orders", "billing")) == 1
    await broker.subscriptions.nack("orders", "billing", "default", None)
    assert await broker.subscriptions.receive("orders", "billing") == []
    assert "subscription/put-back" in forms((await browser.get(LOOK)).text)
    await browser.post("/subscription/put-back", topic="dead", name="look", reason="expired")
    assert await browser.said() == "Put 0 dead letters of dead back to the original topics."
    await browser.post("/subscription/put-back", topic="dead", name="look", reason="max_deliveries")
    assert await browser.said() == "Put 1 dead letter of dead back to the original topics."
    await browser.post("/subscription/dead-letters", topic="orders", name="billing", max_deliveries=0)
    assert broker.dead_letters.rules.by_subscription == {}
    assert "dead letters after" not in (await browser.get(BILLING)).text
    acts = [each.act for each in await broker.audit.entries(100)]
    assert [acts.count(f"subscription.{act}") for act in ("deadLetters", "putBack")] == [2, 2]


async def test_a_retry_topic_and_an_expiry_are_set_and_shown(world):
    await ready(world.broker)
    browser = await browser_of(world, ROOT)
    await browser.get(BILLING)
    rule: dict[str, Any] = {"max_deliveries": 3, "to": "dead"}
    rule |= {"retry_topic": "again", "max_attempts": 4, "expire_ms": 7_200_000}
    await browser.post("/subscription/dead-letters", topic="orders", name="billing", **rule)
    page = (await browser.get(BILLING)).text
    assert "; 4 attempts in" in page
    assert 'href="/console/topic?name=again"' in page
    assert "; expiry after 2" in page
    (kept,) = world.broker.dead_letters.rules.by_subscription.values()
    assert (kept.retry_topic, kept.max_attempts, kept.expire_ms) == ("again", 4, 7_200_000)


async def test_dead_letter_rule_requires_write_on_the_other_topic(world):
    await ready(world.broker)
    await world.allow("ada", Op.DESCRIBE, Resource.TOPIC, "orders")
    await world.allow("ada", Op.DESCRIBE, Resource.GROUP, "billing")
    ada = await browser_of(world, "ada")
    assert forms((await ada.get(BILLING)).text) == set()
    await world.allow("ada", Op.READ, Resource.TOPIC, "orders")
    await world.allow("ada", Op.READ, Resource.GROUP, "billing")
    assert forms((await ada.get(BILLING)).text) == {
        "subscription/seek",
        "subscription/dead-letters",
        "subscription/redelivery",
    }
    await ada.post("/subscription/dead-letters", topic="orders", name="billing", max_deliveries=1, to="dead")
    assert world.broker.dead_letters.rules.by_subscription == {}
    await world.allow("ada", Op.WRITE, Resource.TOPIC, "dead")
    await ada.post("/subscription/dead-letters", topic="orders", name="billing", max_deliveries=1, to="dead")
    assert rules(world.broker) == {("orders", "billing"): (1, "dead")}
