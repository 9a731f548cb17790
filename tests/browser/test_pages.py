"""Every page, wide and narrow, light and dark: nothing is broken, cut off, pale, or without a name."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from aiokafka import AIOKafkaConsumer

from redis_ledger.broker.types import NewRecord

WIDTHS, SCHEMES = (1280, 390), ("light", "dark")
NAMES = {
    "overview": "Overview",
    "topics": "Topics",
    "topic": "orders",
    "topic all": "orders",
    "transactions": "Transactions",
    "transaction": "Transaction {stuck}",
    "groups": "Groups and subscriptions",
    "group": "Group reports",
    "subscription": "Subscription billing",
    "packing": "Subscription packing",
    "buffer": "Transaction buffer of orders, partition 0",
    "pending": "Pending acknowledgements of billing",
    "scheduled": "Scheduled records",
    "scheduled mail": "Scheduled records of mail",
    "brokers": "Brokers and Redis",
    "snapshot": "Snapshot of billing",
    "access": "Access control",
    "nothing": "There is nothing at this path",
}


def address(site, name: str) -> str:
    return {
        "overview": "",
        "topic": "/topic?name=orders",
        "topic all": "/topic?name=orders&show=all",
        "transaction": f"/transaction?id={site.shop.stuck}",
        "group": "/group?name=reports",
        "subscription": "/subscription?topic=orders&name=billing",
        "packing": "/subscription?topic=orders&name=packing",
        "buffer": "/buffer?topic=orders",
        "pending": "/pending?topic=orders&name=billing&record=0:0&partition=0",
        "snapshot": "/snapshot?topic=orders&name=billing",
        "scheduled mail": "/scheduled?topic=mail",
    }.get(name, f"/{name}")


def check_sound(looker, *, told: int = 0) -> None:
    """told: complaints that the browser has for good reason, of a page that is an error."""
    assert looker.violations() == []
    assert len(looker.complaints) <= told, looker.complaints
    assert looker.overflow() == 0
    assert looker.page.locator("h1").count() == 1
    looker.open_all()
    assert looker.overflow() == 0
    assert looker.pale() == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_check_sound(open_shop, look, width, scheme):
    looker = look(open_shop, width=width, scheme=scheme)
    for name, heading in NAMES.items():
        page = looker.go(address(open_shop, name))
        looker.page.wait_for_selector("h1")
        assert page.title().endswith("redis-ledger"), name
        assert page.title() != "redis-ledger", name
        if name != "nothing":
            assert page.locator("h1").inner_text() == heading.format(stuck=open_shop.shop.stuck)
        check_sound(looker, told=1 if name == "nothing" else 0)
    assert len(looker.complaints) == 1, "the page that is not there"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_pages_of_a_broker_that_asks_who_calls_are_sound(asking_shop, look, width, scheme):
    looker = look(asking_shop, width=width, scheme=scheme)
    looker.go("/login")
    check_sound(looker)
    looker.log_in(asking_shop.tokens["root"])
    for name in ("overview", "access", "topic", "transaction"):
        looker.go(address(asking_shop, name))
        check_sound(looker)
    looker.go("/access")
    assert looker.page.get_by_text("1 048 576".replace(" ", "\u202f")).count() == 1, "the quota of the till"


@pytest.mark.parametrize("name", [*NAMES])
def test_everything_can_be_reached_by_keyboard_and_has_a_name(asking_shop, look, name):
    looker = look(asking_shop, token=asking_shop.tokens["root"], refreshes=False)
    looker.go(address(asking_shop, name))
    looker.open_all()
    assert looker.unlabelled() == []
    assert looker.tab_through() == ([], [])


def test_the_login_can_be_reached_by_keyboard_and_its_first_field_is_ready(asking_shop, look):
    looker = look(asking_shop)
    page = looker.go("/login")
    assert page.evaluate("document.activeElement.name") == "token"
    page.evaluate("document.activeElement.blur()")
    assert looker.unlabelled() == []
    assert looker.tab_through() == ([], [])


def test_one_can_skip_to_the_page(open_shop, look):
    page = look(open_shop).go()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")


def test_nothing_is_there_yet_and_the_pages_say_what_to_do(empty_shop, look):
    looker = look(empty_shop, width=390)
    for path, said in {
        "": "serves no topics yet. Create a topic, or produce to one",
        "/topics": "No topics that you may describe. Create one here",
        "/transactions": "No open transactions",
        "/groups": "REST and SDK consumers create them on a topic",
        "/scheduled": "No scheduled records",
        "/access": "No ACLs",
    }.items():
        page = looker.go(path)
        page.get_by_text(said).first.wait_for()
        check_sound(looker)
    empty_shop.do(empty_shop.broker.topics.create("bare"))
    page = looker.go("/topic?name=bare&show=all")
    page.get_by_text("No records.").wait_for()
    page.get_by_text("No subscriptions and no consumer groups").wait_for()
    check_sound(looker)


def test_charts_are_drawn(open_shop, look):
    looker = look(open_shop)
    looker.go("/scheduled?topic=mail")
    assert looker.colours_of_charts() > [10], "lines, bars and figures"
    looker.go()
    looker.page.wait_for_selector("[data-chart=rates] canvas")  # after two looks at all topics
    assert looker.colours_of_charts() > [10]
    assert looker.complaints == []


def test_long_names_and_values_are_kept_within_the_page(shop, look):
    broker, long = shop.broker, "a" * 200
    shop.do(broker.topics.create(long))
    value = json.dumps({"text": "x" * 1_500}).encode()
    shop.do(broker.records.produce(long, [NewRecord(b"k" * 300, value, [("h" * 100, b"v" * 100)])]))
    shop.do(broker.records.produce(long, [NewRecord(b"k" * 300, value, deliver_after_ms=60_000)]))
    shop.do(broker.subscriptions.create(long, long))
    for width in WIDTHS:
        looker = look(shop, width=width)
        for path in ("", "/topics", f"/topic?name={long}", f"/scheduled?topic={long}", "/groups",
                     f"/subscription?{urlencode({'topic': long, 'name': long})}"):  # fmt: skip
            looker.go(path)
            check_sound(looker)


def test_the_members_of_a_kafka_group_are_shown(shop, look):
    host, port = shop.served.kafka

    async def join() -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            "orders",
            bootstrap_servers=f"{host}:{port}",
            group_id="till",
            client_id="till-7",
            auto_offset_reset="earliest",
        )
        await consumer.start()
        await consumer.getmany(timeout_ms=2_000)
        await consumer.commit()
        return consumer

    consumer = shop.do(join())
    try:
        looker = look(shop)
        page = looker.go("/groups")
        page.get_by_role("link", name="till", exact=True).click()
        page.get_by_role("cell", name="till-7", exact=True).wait_for()
        assert page.locator(".fact", has_text="members").locator("b").inner_text() == "1"
        check_sound(looker)
    finally:
        shop.do(consumer.stop())
    page.get_by_text("No members.").wait_for()
