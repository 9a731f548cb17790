"""Long lists in the console: paged, searchable by name, and at constant cost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redis_ledger.app.console.paging import ROWS_MAX, paged
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.types import NewRecord
from tests.support.console_browser import browser_of
from tests.support.rest import open_broker

TOPICS = 230


@pytest.fixture
async def many(broker) -> None:
    """Topics t000 ... with a subscription each, and a group on some."""
    names = [f"t{n:03}" for n in range(TOPICS)]
    await asyncio.gather(*(broker.topics.create(name) for name in names))
    await asyncio.gather(*(broker.subscriptions.create(name, f"sub-{name}") for name in names))
    await broker.records.produce("t229", [NewRecord(None, b"x")])
    await broker.external_offsets.note("app", "t229", {0: 0})


@pytest.mark.parametrize(
    ("rows", "page", "expected"),
    [
        (0, 1, (0, 0, 1, 1)),
        (1, 1, (1, 1, 1, 1)),
        (ROWS_MAX, 1, (1, ROWS_MAX, 1, 1)),
        (ROWS_MAX + 1, 2, (ROWS_MAX + 1, ROWS_MAX + 1, 2, 2)),
        (ROWS_MAX + 1, 9, (ROWS_MAX + 1, ROWS_MAX + 1, 2, 2)),
    ],
)
def test_a_page_tells_where_it_is(rows, page, expected):
    chosen, shown = paged(range(1, rows + 1), page)
    assert (shown.first, shown.last, shown.page, shown.pages) == expected
    assert shown.total == rows
    assert list(chosen) == (list(range(shown.first, shown.last + 1)) if rows else [])


async def test_topics_come_a_page_at_a_time_and_are_found_by_name(many, browser):
    first = (await browser.get("/topics.json")).json()
    assert [each["name"] for each in first["topics"]] == [f"t{n:03}" for n in range(ROWS_MAX)]
    last = (await browser.get("/topics.json?page=3")).json()
    assert (last["topics"][-1]["name"], last["topics"][-1]["records"]) == ("t229", 1)
    assert last["shown"] == {"first": 201, "last": 230, "total": 230, "page": 3, "pages": 3}
    page = (await browser.get("/topics?page=2&find=t")).text
    assert "101 – 200 of 230 topics" in page
    assert 'href="/console/topics?find=t&amp;page=1"' in page
    assert 'href="/console/topics?find=t&amp;page=3"' in page
    assert 'hx-get="/console/topics?find=t&amp;page=2"' in page
    found = (await browser.get("/topics.json?find=29")).json()
    assert [each["name"] for each in found["topics"]] == ["t029", "t129", "t229"]
    assert "No matching topics." in (await browser.get("/topics?find=nope")).text
    assert (await browser.get("/topics?page=0")).status_code == 400


async def test_subscriptions_and_groups_come_a_page_at_a_time_and_are_found_by_name_or_topic(many, browser):
    first = (await browser.get("/groups.json")).json()
    assert len(first["subscriptions"]) == ROWS_MAX
    assert first["shown"]["total"] == TOPICS
    assert first["groups"] == [{"name": "app", "topics": ["t229"], "lag": 1}]
    found = (await browser.get("/groups.json?find=t229")).json()
    assert [(each["name"], each["lag"]) for each in found["subscriptions"]] == [("sub-t229", 1)]
    assert len(found["groups"]) == 1
    assert "201 – 230 of 230 subscriptions" in (await browser.get("/groups?page=3")).text


async def test_a_refresh_costs_redis_what_is_shown(many, broker, browser):
    """Redis's own count, of one client: a page of topics takes two reads a topic, the overview four."""
    await browser.get("")
    counted = 0
    command, call = broker.store.command, broker.store.call

    def count(through: Any) -> Any:
        def counting(*args: Any, **more: Any) -> Any:
            nonlocal counted
            counted += 1
            return through(*args, **more)

        return counting

    broker.store.command, broker.store.call = count(command), count(call)
    try:
        await browser.get("/topics")
        assert counted <= 2 * ROWS_MAX + 20
        counted = 0
        await asyncio.sleep(2.1)  # a snapshot is shared for two seconds
        await browser.get("")
        assert 4 * TOPICS <= counted <= 4 * TOPICS + 60
    finally:
        broker.store.command, broker.store.call = command, call


async def test_topic_recreated_elsewhere_is_read_again(broker, browser, redis_url, prefix):
    async with open_broker(redis_url, prefix) as other:
        await broker.topics.create("orders")
        await browser.get("/topics.json")
        await other.topics.delete("orders")
        await other.topics.create("orders", 3)
        [found] = (await browser.get("/topics.json")).json()["topics"]
    assert (found["name"], found["partitions"]) == ("orders", 3)


async def test_lists_name_no_topic_that_their_visitor_may_not_see(world):
    for topic in ("orders", "secret"):
        await world.broker.topics.create(topic)
        await world.broker.subscriptions.create(topic, "billing")
        await world.broker.external_offsets.note("app", topic, {0: 0})
    await world.allow("ada", Op.DESCRIBE, Resource.TOPIC, "orders")
    await world.allow("ada", Op.DESCRIBE, Resource.GROUP, "*")
    ada = await browser_of(world, "ada")
    for address in ("/groups", "/group?name=app", ""):
        page = (await ada.get(address)).text
        assert "orders" in page or not address
        assert "secret" not in page, address
