"""Scheduled records after a permission ends: accepted ones are delivered, and their principal cannot change them."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from redis_ledger.auth.acl import Filter, Op, Resource
from tests.support.console_browser import browser_of, forms
from tests.support.principals import ROOT
from tests.support.secured_rest import World, secured

ALL = "/v1/topics/orders/scheduled"
FAR = "2999-01-01T00:00:00Z"
SECRET = "the price is 4711"


@pytest.fixture
async def world(redis_url: str, prefix: str) -> Any:
    async with secured(redis_url, prefix) as made:
        assert (await made.post(ROOT, "/v1/topics", {"name": "orders"})).status_code == 201
        yield made


async def schedule(world: World, name: str, **body: Any) -> str:
    answer = await world.post(name, ALL, {"value": SECRET, **body})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["scheduled"][0]["id"])


async def revoke(world: World, name: str) -> None:
    assert (await world.broker.security.remove_rules([Filter(principal=f"User:{name}")]))[0]


async def delivered(world: World) -> list[Any]:
    found = (await world.get(ROOT, "/v1/topics/orders/partitions/0/records")).json()["records"]
    return [each["value"] for each in found]


async def seen(world: World, count: int) -> list[Any]:
    until = time.monotonic() + 30
    while len(values := await delivered(world)) < count and time.monotonic() < until:
        await asyncio.sleep(0.02)
    return values


def everything(id: str) -> list[tuple[str, str, Any]]:
    """Each way to look at what waits, or to change it."""
    return [
        ("GET", ALL, None), ("GET", f"{ALL}?key=k", None), ("GET", f"{ALL}/{id}", None), ("GET", f"{ALL}:stats", None),
        ("GET", f"{ALL}:histogram", None), ("PATCH", f"{ALL}/{id}", {"deliver_after": 1}),
        ("DELETE", f"{ALL}/{id}", None),
        ("POST", f"{ALL}:cancel", {"ids": [id]}), ("DELETE", ALL, None), ("POST", f"{ALL}:rebuild", {}),
        ("POST", ALL, {"value": 1, "deliver_at": FAR}), ("POST", ALL, {"value": 1, "repeat": "PT1H"}),
    ]  # fmt: skip


async def test_accepted_scheduled_records_are_delivered_after_the_permission_ended(world):
    await world.allow("ada", Op.WRITE, Resource.TOPIC, "orders")
    await schedule(world, "ada", deliver_after=1_500)
    repeated = await schedule(world, "ada", value="tick", repeat="PT1S", deliver_after=1_500)
    await revoke(world, "ada")
    assert (await world.post("ada", "/v1/topics/orders/records", {"records": [{"value": 1}]})).status_code == 403
    values = await seen(world, 4)
    assert values.count(SECRET) == 1
    assert values.count("tick") >= 3

    # Any other principal with READ and WRITE finds and ends the repetition.
    await world.allow("bob", Op.WRITE, Resource.TOPIC, "orders")
    await world.allow("bob", Op.READ, Resource.TOPIC, "orders")
    until = time.monotonic() + 30
    while not (waits := (await world.get("bob", ALL)).json()["scheduled"]) and time.monotonic() < until:
        await asyncio.sleep(0.02)  # it has just fired, and its next time is about to be stored
    assert [(each["id"], each["repeat"]) for each in waits] == [(repeated, "PT1S")]
    assert (await world.ask("bob", "DELETE", f"{ALL}/{repeated}")).status_code == 204
    count = len(await delivered(world))
    await asyncio.sleep(1.5)  # longer than its step
    assert len(await delivered(world)) == count


async def test_revoked_principal_cannot_see_or_change_its_scheduled_records(world):
    await world.allow("ada", Op.WRITE, Resource.TOPIC, "orders")
    ids = [await schedule(world, "ada", key="k", deliver_at=FAR), await schedule(world, "ada", repeat="PT1H")]
    before = (await world.get(ROOT, ALL)).json()
    await revoke(world, "ada")
    # An id that there is and one that there is not are refused alike.
    for id in (*ids, "0:99.0"):
        for method, path, body in everything(id):
            refused = await world.ask("ada", method, path, body)
            assert (refused.status_code, refused.json()["code"]) == (403, "topic_forbidden"), (method, path)
            assert SECRET not in refused.text
    ada = await browser_of(world, "ada")
    assert (await ada.post("/scheduled/cancel", topic="orders", id=ids[0])).status_code == 403
    assert (await ada.post("/scheduled/move", topic="orders", id=ids[0], at=FAR)).status_code == 403
    assert (await ada.get("/scheduled.json?topic=orders")).status_code == 403
    assert (await world.get(ROOT, ALL)).json() == before


async def test_write_permits_changing_scheduled_records_but_not_listing_them(world):
    await world.allow("ada", Op.WRITE, Resource.TOPIC, "orders")
    id = await schedule(world, ROOT, key="k", deliver_at=FAR)
    answers = {(method, path): await world.ask("ada", method, path, body) for method, path, body in everything(id)[:5]}
    assert [each.status_code for each in answers.values()] == [403, 403, 403, 200, 200]
    moved = await world.ask("ada", "PATCH", f"{ALL}/{id}", {"deliver_at": "2998-01-01T00:00:00Z"})
    assert moved.status_code == 200
    ada = await browser_of(world, "ada")
    page, found = await ada.get("/scheduled?topic=orders"), (await ada.get("/scheduled.json?topic=orders")).json()
    assert (found["records"], found["rows"]) == (1, [])
    cancelled = await world.post("ada", f"{ALL}:cancel", {"ids": [id, "0:99.0"]})
    assert [each["outcome"] for each in cancelled.json()["results"]] == ["cancelled", "unknown"]
    assert [each.text for each in (*answers.values(), moved, page, cancelled) if SECRET in each.text] == []


async def test_read_permits_listing_scheduled_records_but_not_changing_them(world):
    await world.allow("ada", Op.READ, Resource.TOPIC, "orders")
    id = await schedule(world, ROOT, key="k", deliver_at=FAR)
    statuses = [(await world.ask("ada", method, path, body)).status_code for method, path, body in everything(id)]
    assert statuses == [200] * 5 + [403] * 7
    ada = await browser_of(world, "ada")
    page = (await ada.get("/scheduled?topic=orders")).text
    assert SECRET in page
    assert forms(page) & {"scheduled/cancel", "scheduled/move"} == set()
    assert [each["id"] for each in (await world.get("ada", ALL)).json()["scheduled"]] == [id]
