"""Snapshots of subscriptions in the console: one is shown, kept by the reader, and pasted to return to it."""

from __future__ import annotations

import html
import re

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.ids import MessageId
from tests.support.broker import records
from tests.support.console_browser import browser_of
from tests.support.principals import ROOT

PAGE, SHOWN = "/subscription?topic=orders&name=billing", "/snapshot?topic=orders&name=billing"


async def acknowledged(broker, *offsets: int) -> None:
    await broker.subscriptions.ack("orders", "billing", "default", [MessageId(0, each) for each in offsets])


async def ready(broker) -> None:
    """Five records, of which the first and the fourth are acknowledged."""
    await broker.topics.create("orders")
    await broker.subscriptions.create("orders", "billing")
    await broker.records.produce("orders", records(*"abcde"))
    assert len(await broker.subscriptions.receive("orders", "billing")) == 5
    await acknowledged(broker, 0, 3)


def text_of(page: str) -> str:
    (found,) = re.findall(r"<textarea[^>]* readonly[^>]*>(.*?)</textarea>", page, re.DOTALL)
    return html.unescape(found)


async def test_a_snapshot_that_is_pasted_brings_its_state_back(world):
    await ready(world.broker)
    browser = await browser_of(world, ROOT)
    assert 'href="/console/snapshot?topic=orders&amp;name=billing"' in (await browser.get(PAGE)).text
    snapshot = text_of((await browser.get(SHOWN)).text)
    await acknowledged(world.broker, 1, 2, 4)
    sent = await browser.post("/subscription/seek", topic="orders", name="billing", to="snapshot", snapshot=snapshot)
    assert sent.status_code == 303
    said = await browser.said()
    assert re.fullmatch(r"Reset billing on orders to the snapshot of billing from \d{4}-\d\d-\d\d .* UTC\.", said), said
    assert [each.id.offset for each in await world.broker.subscriptions.receive("orders", "billing")] == [1, 2, 4]
    assert [each.act for each in await world.broker.audit.entries(100)].count("subscription.seek") == 1


async def test_what_is_no_snapshot_or_another_ones_is_refused_and_moves_nothing(world):
    broker = world.broker
    await ready(broker)
    browser = await browser_of(world, ROOT)
    snapshot = text_of((await browser.get(SHOWN)).text)
    await broker.topics.create("other")
    await broker.subscriptions.create("other", "billing")
    for topic, given, why in (
        ("orders", "", "Paste the snapshot to return to."),
        ("orders", "soon", "This is not a snapshot of a subscription: "),
        ("orders", snapshot[:-1], "This is not a snapshot of a subscription: "),
        ("orders", snapshot.replace('"version":1', '"version":2'), "This is not a snapshot of a subscription: "),
        ("orders", re.sub(r'"taken_ms":\d+', '"taken_ms":9007199254740992', snapshot), "This is not a snapshot of a"),
        ("other", snapshot, "The snapshot is of topic "),
    ):
        answer = await browser.post("/subscription/seek", topic=topic, name="billing", to="snapshot", snapshot=given)
        assert answer.status_code in (400, 409), answer.text
        assert why in html.unescape(answer.text)
    assert await broker.subscriptions.receive("orders", "billing") == []


async def test_a_group_has_no_snapshot(world):
    await ready(world.broker)
    await world.broker.external_offsets.note("app", "orders", {0: 0})
    browser = await browser_of(world, ROOT)
    page = (await browser.get("/group?name=app")).text
    assert "subscription/seek" in page
    assert 'name="snapshot"' not in page
    refused = await browser.get("/snapshot?topic=orders&name=app")
    assert refused.status_code == 409
    assert "which has offsets only" in html.unescape(refused.text)


async def test_who_may_not_describe_a_subscription_gets_no_snapshot_of_it(world):
    await ready(world.broker)
    ada = await browser_of(world, "ada")
    assert (await ada.get(SHOWN)).status_code == 403
    await world.allow("ada", Op.DESCRIBE, Resource.TOPIC, "orders")
    await world.allow("ada", Op.DESCRIBE, Resource.GROUP, "billing")
    assert text_of((await ada.get(SHOWN)).text)
    assert 'name="snapshot"' not in (await ada.get(PAGE)).text
