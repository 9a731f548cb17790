"""Pages stay up to date, and lose nothing by it: not what is typed, opened, focused, marked or scrolled to."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

from redis_ledger.broker.types import NewRecord
from tests.browser.conftest import SECURED, Site
from tests.browser.shop import fill, people
from tests.support.redis_servers import redis_server
from tests.support.threaded_broker import threaded_broker


def produce(site, topic: str, *values: str, partition: int = 1) -> None:
    some = [NewRecord(b"k", each.encode(), partition=partition) for each in values]
    site.do(site.broker.records.produce(topic, some))


def test_a_record_that_is_produced_elsewhere_appears_in_the_tail_if_the_filter_wants_it(shop, look):
    page = look(shop).go("/topic?name=orders&find=gondola")
    page.get_by_text("No matching records.").wait_for()
    produce(shop, "orders", "a red gondola", "a red chair")
    page.get_by_text("a red gondola").wait_for()
    assert page.get_by_text("a red chair").count() == 0


def test_the_overview_counts_on(shop, look):
    page = look(shop).go()
    shown = page.locator(".fact", has_text="records").locator("b")
    before = int(shown.inner_text())
    produce(shop, "orders", *("more" for _ in range(5)))
    expect(page.locator(".fact b", has_text=str(before + 5))).to_be_visible()


def test_a_topic_that_is_made_elsewhere_appears_on_a_page_that_had_none(empty_shop, look):
    page = look(empty_shop).go("/topics")
    page.get_by_text("No topics that you may describe").wait_for()
    empty_shop.do(empty_shop.broker.topics.create("parcels"))
    expect(page.get_by_role("link", name="parcels")).to_be_visible()


def test_what_is_open_and_typed_stays_through_refreshes(shop, look):
    looker = look(shop)
    page = looker.go("/topic?name=orders")
    page.get_by_text("Produce a record").click()
    page.get_by_label("Value").fill("half a senten")
    page.get_by_label("Contains").fill("lam")
    for _ in range(2):
        looker.refreshed()
    assert page.get_by_label("Value").is_visible()
    assert page.get_by_label("Value").input_value() == "half a senten"
    assert page.get_by_label("Contains").input_value() == "lam"
    looker.go("/scheduled?topic=mail")
    page.get_by_text("Reschedule or cancel").first.click()
    looker.refreshed()
    assert page.get_by_role("button", name="Reschedule").first.is_visible()


def test_the_focus_a_marked_text_and_a_scrolled_table_stay_through_refreshes(shop, look):
    looker = look(shop, width=390)
    page = looker.go()
    link = page.locator("#live").get_by_role("link", name="broker", exact=True)
    link.focus()
    looker.refreshed()
    assert page.evaluate("document.activeElement.textContent") == "broker"
    looker.go("/topic?name=orders&show=all")
    page.evaluate("document.querySelector('#tail .scroll').scrollLeft = 77")
    looker.refreshed()
    assert page.evaluate("document.querySelector('#tail .scroll').scrollLeft") == 77
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#tail td.value'))")
    marked = page.evaluate("getSelection().toString()")
    with page.expect_response(lambda answer: "topic?name=orders" in answer.url):
        pass
    with page.expect_response(lambda answer: "topic?name=orders" in answer.url):
        pass
    assert page.evaluate("getSelection().toString()") == marked
    assert marked.startswith("{")


def test_what_stands_above_the_records_is_refreshed_with_them_and_loses_nothing(shop, look):
    looker = look(shop, width=390)
    page = looker.go("/topic?name=orders&offset=0")
    told = page.get_by_text("read_committed consumers are blocked")
    told.wait_for()
    link = page.locator("#live").get_by_role("link", name="1", exact=True)
    link.focus()
    page.evaluate("document.querySelector('#live .scroll').scrollLeft = 55")
    shop.do(shop.broker.transactions.abort(shop.shop.stuck))
    told.wait_for(state="detached")
    assert page.evaluate("document.querySelector('#live .scroll').scrollLeft") == 55
    assert page.evaluate("document.activeElement.getAttribute('href')") == link.get_attribute("href")
    assert looker.complaints == []


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin"])
def test_times_are_local(open_shop, look, zone):
    page = look(open_shop, timezone=zone, refreshes=False).go("/topic?name=orders")
    time = page.locator("#tail time").first
    at = datetime.fromtimestamp(int(time.get_attribute("data-ms")) / 1000, UTC).astimezone(ZoneInfo(zone))
    assert time.inner_text().endswith(at.strftime("%H:%M:%S"))
    page.goto(f"{open_shop.url}/scheduled?topic=mail")
    assert page.locator("[data-zone]").first.text_content() == zone


def test_a_login_that_is_over_leads_to_the_login_and_back(secured_shop, look):
    looker = look(secured_shop, token=secured_shop.tokens["root"])
    page = looker.go("/topics")
    broker = secured_shop.broker
    [id] = [id for id, each in broker.security.tokens.items() if each.principal == "User:root"]
    secured_shop.do(broker.security.revoke_token(id))
    page.wait_for_url("**/console/login?to=**")
    _, token = secured_shop.do(broker.security.create_token("User:root"))
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").first.click()
    page.wait_for_url("**/console/topics")
    expect(page.get_by_role("link", name="invoices")).to_be_visible()


@pytest.mark.timeout(180)
def test_without_its_redis_the_console_says_so_and_recovers(prefix, look):
    settings = {**SECURED, "redis_timeout_ms": 3_000, "redis_retry_ms": 1_000}
    with (
        redis_server(appendonly="yes", appendfsync="always") as redis,
        threaded_broker(redis.url, prefix, **settings) as brokers,
    ):
        broker = brokers.brokers[0]
        site = Site(brokers, brokers.do(fill(broker)), brokers.do(people(broker)))
        watching, coming = (look(site, token=site.tokens["root"]) for _ in range(2))
        page = watching.go()
        redis.stop()
        stale = page.locator("#stale")
        stale.wait_for(state="visible", timeout=60_000)
        assert "Last updated at" in stale.inner_text()
        assert "Retrying." in stale.inner_text()
        assert "Redis" in stale.inner_text()
        assert page.locator("#live .fact").count() == 5, "what was known is still shown"
        assert watching.pale() == []
        error = coming.go("/topic?name=orders")
        assert "Redis" in error.locator("h1").inner_text()
        assert coming.pale() == []
        assert coming.overflow() == 0
        redis.start()
        stale.wait_for(state="hidden", timeout=60_000)
        error.get_by_role("heading", name="orders", exact=True).wait_for(timeout=60_000)
        assert watching.violations() == []
