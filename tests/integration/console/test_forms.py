"""Forms by permission, partial page refreshes, and quotas in the console."""

from __future__ import annotations

import time

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.auth.quota import Quota
from redis_ledger.broker.types import NewRecord
from redis_ledger.clock import ManualClock
from tests.support.console_browser import ConsoleBrowser, browser_of, fill, forms
from tests.support.principals import ROOT
from tests.support.redis_servers import redis_server
from tests.support.rest import client_of, open_broker


async def test_pages_have_the_forms_that_their_visitor_may_send(world):
    txn = await fill(world.broker)
    await world.broker.external_offsets.note("app", "orders", {0: 0, 1: 0})
    addresses = {
        "topics": {"topics/create"},
        "topic?name=orders": {"topic/produce", "topic/delete"},
        "subscription?topic=orders&name=billing/eu": {"subscription/seek", "subscription/delete"},
        "group?name=app": {"subscription/seek", "group/delete"},
        "scheduled?topic=orders": {"scheduled/move", "scheduled/cancel"},
        f"transaction?id={txn}": {"transaction/abort"},
        "access": {
            "access/rule/add", "access/token/create", "access/token/revoke", "access/user/add", "access/quota/set",
        },
    }  # fmt: skip
    for operation, resource, name in (
        (Op.DESCRIBE, Resource.CLUSTER, "kafka-cluster"),
        (Op.READ, Resource.TOPIC, "orders"),
        (Op.DESCRIBE, Resource.GROUP, "billing/eu"),
        (Op.DESCRIBE, Resource.GROUP, "app"),
    ):
        await world.allow("ada", operation, resource, name)
    root, ada = await browser_of(world, ROOT), await browser_of(world, "ada")
    for address, expected in addresses.items():
        assert forms((await root.get(f"/{address}")).text) >= expected, address
        seen = await ada.get(f"/{address}")
        assert (seen.status_code, forms(seen.text)) == (200, set()), address
    await world.allow("ada", Op.CREATE, Resource.TOPIC, "ada-")
    await world.allow("ada", Op.READ, Resource.GROUP, "app")
    assert forms((await ada.get("/topics")).text) == {"topics/create"}
    assert forms((await ada.get("/group?name=app")).text) == {"subscription/seek"}


async def test_the_menu_has_the_pages_that_its_visitor_may_see(world):
    root, unauthorized = await browser_of(world, ROOT), await browser_of(world, "unauthorized")
    assert 'href="/console/access"' in (await root.get("")).text
    assert 'href="/console/access"' not in (await unauthorized.get("")).text
    overview = (await unauthorized.get("")).text
    assert 'href="/console/topics"' in overview
    assert 'href="/console/brokers"' not in overview
    assert "There are no topics that you may describe" in overview
    assert "Records per second" not in overview
    assert "All consumers are up to date" not in overview


async def test_a_refresh_without_a_login_leads_the_whole_page_to_it(world):
    browser = ConsoleBrowser(world.http)
    answer = await browser.get("/topics", **{"hx-request": "true"})
    assert answer.headers["hx-redirect"] == "/console/login?to=%2Fconsole%2Ftopics"
    assert (answer.status_code, answer.text) == (401, "")


async def test_an_act_without_a_login_does_nothing_and_comes_back_to_the_overview(world):
    browser = ConsoleBrowser(world.http)
    await browser.get("/login")
    answer = await browser.post("/topics/create", name="orders")
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/login?to=%2Fconsole")
    assert await world.broker.topics.list() == []


async def test_quotas_are_set_shown_and_removed(world):
    browser = await browser_of(world, ROOT)
    await browser.get("/access")
    made = await browser.post(
        "/access/quota/set", principal="User:ada", requests_per_s="1500", bytes_in_per_s="", open_transactions="0"
    )
    assert made.status_code == 303
    assert await world.broker.quotas.all() == {"User:ada": Quota(requests_per_s=1500, open_transactions=0)}
    page = (await browser.get("/access")).text
    assert "1\u202f500" in page
    assert (await browser.get("/access.json")).json()["quotas"] == [
        {"principal": "User:ada", "quota": {"requests_per_s": 1500, "open_transactions": 0}}
    ]
    wrong = await browser.post("/access/quota/set", principal="User:ada", requests_per_s="-1")
    assert wrong.status_code == 400
    await browser.post("/access/quota/remove", principal="User:ada")
    assert await world.broker.quotas.all() == {}
    noted = [each.act for each in await world.broker.audit.entries(2)]
    assert noted == ["quota.remove", "quota.set"]


async def test_a_subscription_shows_what_came_back_most_and_what_is_out_longest(world):
    broker, name = world.broker, ("orders", "billing/eu")
    await fill(broker)
    browser = await browser_of(world, ROOT)
    address = "/subscription.json?topic=orders&name=billing/eu"
    assert (await browser.get(address)).json()["unacked"] == []
    some = [NewRecord(None, b"%d" % n, partition=1) for n in range(4)]
    await broker.records.produce("orders", some)
    first, *_ = await broker.subscriptions.receive(*name, "a b", partitions=[1], max_records=2)
    await broker.subscriptions.nack(*name, "a b", [first.id])
    await broker.subscriptions.receive(*name, "c", partitions=[1], max_records=1)
    await broker.subscriptions.receive(*name, "d", partitions=[1], max_records=2)
    out = (await browser.get(address)).json()["unacked"]
    shown = [(each["first"], each["last"], each["consumer"], each["deliveries"]) for each in out]
    assert shown == [(0, 0, "c", 1), (1, 1, "a b", 0), (2, 3, "d", 0)]
    assert all(each["left_ms"] > 0 for each in out)
    assert "a b" in (await browser.get("/subscription?topic=orders&name=billing/eu")).text
    mine = await broker.subscriptions.receive(*name, "d", partitions=[1])
    assert mine == []
    await broker.subscriptions.nack(*name, "d", None)
    out = (await browser.get(address)).json()["unacked"]
    assert [(each["first"], each["consumer"]) for each in out if not each["consumer"]] == [(2, "")]


async def test_a_subscription_says_when_its_consumers_kept_their_messages_for_too_long(redis_url, prefix):
    clock = ManualClock(int(time.time() * 1000))
    async with open_broker(redis_url, prefix, clock=clock, ack_timeout_ms=20_000) as broker, client_of(broker) as http:
        await broker.topics.create("orders")
        await broker.subscriptions.create("orders", "billing")
        await broker.records.produce("orders", [NewRecord(None, b"%d" % n) for n in range(5)])
        for consumer in ("a", "b"):
            await broker.subscriptions.receive("orders", "billing", consumer, max_records=2)
            clock.advance(15_000)

        async def waits() -> str:
            found = (await ConsoleBrowser(http).get("/subscription.json?topic=orders&name=billing")).json()
            return str(found["diagnosis"]["sentence"])

        assert (await waits()).startswith("Consumers have 4 unacknowledged messages"), "one of them is in time"
        clock.advance(15_000)
        assert (await waits()).startswith("4 messages past the ack timeout")


async def test_without_its_redis_a_broker_has_a_page_that_says_so_and_tries_again(prefix):
    with redis_server() as redis:
        async with open_broker(redis.url, prefix, redis_timeout_ms=2_000, redis_retry_ms=1_000) as broker:
            await broker.topics.create("orders")
            await broker.records.produce("orders", [NewRecord(None, b"x")])
            async with client_of(broker) as http:
                fresh, known = ConsoleBrowser(http), ConsoleBrowser(http)
                await known.get("")
                redis.stop()
                for browser in (known, fresh):
                    answer = await browser.get("/topic?name=orders")
                    assert answer.status_code in (503, 504)
                    assert answer.headers["content-type"] == "text/html; charset=utf-8"
                    assert "<h1>Redis" in answer.text
                    assert '<meta http-equiv="refresh" content="5">' in answer.text
                redis.start()


async def test_console_shows_that_redis_was_never_reached(prefix):
    with redis_server() as redis:
        async with open_broker(redis.url, prefix, redis_timeout_ms=2_000, redis_retry_ms=1_000) as broker:
            async with client_of(broker) as http:
                redis.stop()
                answer = await ConsoleBrowser(http).get("")
                assert answer.status_code in (503, 504)
                assert "<h1>Redis" in answer.text
                assert (await ConsoleBrowser(http).get("/topics.json")).headers[
                    "content-type"
                ] == "application/problem+json"
                redis.start()
