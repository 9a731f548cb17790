"""The console over HTTP: every page with its data, and every action.

Who gets in, and what other sites cannot do, is in test_access.py; in a browser it is tested by tests/browser.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable

import pytest

from redis_ledger.app.console.pages import PAGES
from redis_ledger.app.console.views.transactions import FINISHED_MAX
from redis_ledger.broker.types import DelayStats, NewRecord
from redis_ledger.ids import TxnId
from redis_ledger.telemetry import exposition
from tests.support.broker import eventually
from tests.support.console_browser import BASE, ConsoleBrowser, fill
from tests.support.redis_servers import redis_server
from tests.support.rest import client_of, open_broker


def pages(txn: TxnId) -> list[str]:
    """Every page, with what it takes."""
    taken = {
        "topic": "?name=orders&show=all", "transaction": f"?id={txn}", "scheduled": "?topic=orders",
        "subscription": "?topic=orders&name=billing/eu", "group": "?name=unknown", "why": "?name=orders",
        "coordinator": f"?number={txn.coordinator}", "snapshot": "?topic=orders&name=billing/eu",
        "buffer": "?topic=orders", "pending": "?topic=orders&name=billing/eu&record=0:0&partition=0",
    }  # fmt: skip
    return [path + taken.get(path, "") for path in PAGES]


# -- pages -----------------------------------------------------------------------------------------------------------


async def test_every_page_is_html_and_its_json_is_the_same_data(broker, browser):
    txn = await fill(broker)
    for page in pages(txn):
        expected = 404 if page.startswith("group?") else 200
        html = await browser.get(f"/{page}")
        assert html.status_code == expected, (page, html.text)
        assert html.headers["content-type"] == "text/html; charset=utf-8"
        assert "<h1>" in html.text
        path, _, query = page.partition("?")
        data = await browser.get(f"/{path}.json?{query}")
        assert data.status_code == expected
        assert data.json() is not None


async def test_pages_are_counted_among_the_requests(browser):
    def counted(outcome: str) -> float:
        labels = {"operation": "console", "outcome": outcome}
        return exposition.REGISTRY.get_sample_value("redis_ledger_http_requests_total", labels) or 0.0

    before = counted("ok"), counted("route_not_found")
    await browser.get("/topics")
    await browser.get("/topics.json")
    await browser.get("/nowhere")
    assert (counted("ok"), counted("route_not_found")) == (before[0] + 2, before[1] + 1)


async def test_overview_shows_blocked_consumers_with_links(broker, browser):
    txn = await fill(broker)
    data = (await browser.get("/transaction.json?id=" + str(txn))).json()
    (written,) = data["txn_partitions"]
    assert written.pop("bytes") > 0
    assert written == {
        "topic": "orders", "partition": 0, "first_offset": 1, "last_offset": 1, "records": 1, "batches": 1,
        "marker": "", "is_cut": False, "held": 1, "is_holding": True, "consumers": ["billing/eu"],
    }  # fmt: skip
    assert "billing/eu" in data["sentence"]
    messages = await broker.subscriptions.receive("orders", "billing/eu", "c")
    await broker.subscriptions.ack("orders", "billing/eu", "c", [each.id for each in messages])
    waits = (await browser.get("/subscription.json?topic=orders&name=billing/eu")).json()["diagnosis"]
    assert waits["transaction"] == str(txn)
    assert "1 record not readable" in waits["sentence"]


async def test_coordinators_are_listed_with_their_logs(broker, browser):
    txn = await fill(broker)
    listed = (await browser.get("/coordinators.json")).json()["coordinators"]
    assert [each["stats"]["number"] for each in listed] == list(range(len(broker.coordinators)))
    assert [each["stats"]["live"] for each in listed].count(1) == 1
    shown = (await browser.get(f"/coordinator.json?number={txn.coordinator}")).json()
    assert [(each["kind"], each["transaction"], each["is_live"]) for each in shown["records"]] == [
        ("new", str(txn), True), ("add partition", str(txn), True),
    ]  # fmt: skip
    assert shown["following"] is None
    assert (await browser.get("/coordinator?number=999")).status_code == 404


async def test_held_records_show_their_transaction_and_what_to_do(broker, browser):
    txn = await fill(broker)
    (held,) = (await browser.get("/why.json?name=orders")).json()["held"]
    assert (held["transaction"], held["owner"], held["held_records"]) == (str(txn), "importer", 1)
    assert f"txns abort {txn}" in held["advice"]
    await broker.transactions.abort(txn)
    assert "No transaction holds up" in (await browser.get("/why?name=orders")).text


async def test_a_transactions_page_shows_its_pending_acknowledgements(broker, browser):
    txn = await fill(broker)
    messages = await broker.subscriptions.receive("orders", "billing/eu", "c")
    await broker.subscriptions.ack("orders", "billing/eu", "c", [each.id for each in messages], transaction=txn)
    shown = (await browser.get(f"/transaction.json?id={txn}")).json()
    assert shown["acknowledged"] == [
        {
            "topic": "orders", "partition": 0, "subscription": "billing/eu", "pending": 1, "ranges": ["0"],
            "group_offset": None, "is_cut": False,
        }
    ]  # fmt: skip
    assert "billing/eu" in (await browser.get(f"/transaction?id={txn}")).text


async def test_a_transactions_page_shows_its_steps(broker, browser):
    """OB-25"""
    txn = await fill(broker)
    messages = await broker.subscriptions.receive("orders", "billing/eu", "c")
    await broker.subscriptions.ack("orders", "billing/eu", "c", [each.id for each in messages], transaction=txn)
    await broker.transactions.commit(txn)
    shown = (await browser.get(f"/transaction.json?id={txn}")).json()
    assert [(each["name"], each["participant"]) for each in shown["steps"]] == [
        ("begin", ""), ("add_partition", "orders:0"), ("append", "orders:0"),
        ("add_subscription", "orders:0 billing/eu"), ("pending_ack", "orders:0 billing/eu"), ("decide", ""),
        ("end_partition", "orders:0"), ("end_subscription", "orders:0 billing/eu"), ("complete", ""),
    ]  # fmt: skip
    assert shown["steps"][0]["after_ms"] == 0
    assert not shown["are_steps_cut"]
    assert "<td>pending_ack</td><td>orders:0 billing/eu</td>" in (await browser.get(f"/transaction?id={txn}")).text


async def test_transactions_that_ended_last_are_the_first_of_those_that_ended_lately(broker, browser):
    oldest = (await broker.transactions.begin(owner="began first, ended last")).id
    for number in range(FINISHED_MAX + 10):
        txn = (await broker.transactions.begin(owner=f"{number}")).id
        await (broker.transactions.commit(txn) if number % 2 else broker.transactions.abort(txn))
    await broker.transactions.commit(oldest)

    async def finished() -> list[str]:
        return [each["owner"] for each in (await browser.get("/transactions.json")).json()["finished"]]

    assert await eventually(lambda: _first(finished()), "began first, ended last") == "began first, ended last"
    assert len(await finished()) == FINISHED_MAX
    [last, *_] = (await browser.get("/transactions.json")).json()["finished"]
    assert (last["partitions"], last["subscriptions"]) == (None, None), "who took part is not remembered, and not 0"
    assert "0" not in await finished(), "the oldest are left out"


async def _first(found: Awaitable[list[str]]) -> str:
    return (await found)[0]


async def test_overview_shows_redis_nearly_full_and_late_work(prefix):
    with redis_server() as server:
        async with open_broker(server.url, prefix, coordinators=2) as broker, client_of(broker) as http:
            await fill(broker)
            used = (await broker.store.node_info())[0].used_memory_bytes
            server.ask("CONFIG", "SET", "maxmemory", int((used or 0) / 0.82))
            [waiting] = [each for each in await broker.delayed.counts("orders") if each.records]

            async def late(topic: str) -> list[DelayStats]:
                return [waiting._replace(overdue=1, first_due_ms=broker.delayed.now_ms() - 7_000)]

            broker.delayed.counts = late  # type: ignore[method-assign]  # nothing is late with a broker that lives
            found = (await ConsoleBrowser(http).get("/overview.json")).json()["health"]
    assert [each["level"] for each in found] == ["bad", "look"]
    assert re.match(r"1 scheduled record is overdue, by up to 7.s", found[0]["text"])
    assert re.match(r"Redis uses [89]\d% of maxmemory", found[1]["text"])


async def test_records_are_labelled_by_what_became_of_them(broker, browser):
    """OB-27"""
    txn = await fill(broker)
    aborted = (await broker.transactions.begin()).id
    await broker.records.produce("orders", [NewRecord(None, b"never", partition=0)], transaction=aborted)
    await broker.transactions.abort(aborted)
    await broker.records.produce("orders", [NewRecord(None, b"behind", partition=0)])
    rows = (await browser.get("/topic.json?name=orders&show=all")).json()["rows"]
    assert {row["value"]: row["state"] for row in rows} == {
        "<b>one</b>": "committed", "two": "open", "never": "aborted", "behind": "held",
    }  # fmt: skip
    await broker.transactions.commit(txn)
    rows = (await browser.get("/topic.json?name=orders&show=all")).json()["rows"]
    assert {row["value"]: row["state"] for row in rows} == {
        "<b>one</b>": "committed", "two": "committed", "never": "aborted", "behind": "committed",
    }  # fmt: skip
    seen = (await browser.get("/topic.json?name=orders")).json()["rows"]
    assert [row["value"] for row in seen if row["value"] == "never"] == []
    # And markers, on request
    log = (await browser.get("/topic.json?name=orders&show=markers")).json()["rows"]
    ends = {row["transaction"]: (row["value"], row["state"]) for row in log if row["value"].startswith("[marker")}
    assert ends == {str(txn): ("[marker: commit]", "committed"), str(aborted): ("[marker: abort]", "aborted")}
    assert [row for row in log if not row["value"].startswith("[marker")] == rows


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("find=o", {"<b>one</b>", "two"}),
        ("find=k", {"<b>one</b>", "two"}),
        ("find=nothing", set()),
        ("partition=1", set()),
        ("partition=0&offset=1", {"two"}),
    ],
)
async def test_records_are_filtered(broker, browser, query, expected):
    await fill(broker)
    found = (await browser.get(f"/topic.json?name=orders&show=all&{query}")).json()
    assert {row["value"] for row in found["rows"]} == expected


@pytest.mark.parametrize("query", ["offset=99", "offset=x", "partition=9"])
async def test_missing_place_is_reported(broker, browser, query):
    await fill(broker)
    found = await browser.get(
        f"/topic.json?name=orders&partition=0&{query}".replace("partition=0&partition", "partition")
    )
    assert found.json()["note"]


async def test_record_content_is_escaped(broker, browser):
    await fill(broker)
    html = (await browser.get("/topic?name=orders")).text
    assert "&lt;b&gt;one&lt;/b&gt;" in html
    assert "<b>one" not in html


async def test_pages_load_nothing_from_elsewhere_and_run_no_script_of_others(broker, browser):
    await fill(broker)
    for page in pages(TxnId(0, 0)):
        answer = await browser.get(f"/{page}")
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert re.findall(r'(?:src|href)="(?!/)([^"#][^"]*)"', answer.text) == []
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|javascript:", answer.text)


@pytest.mark.parametrize("path", ["/nope", "/topic", "/topic?name=none", "/transaction?id=x", "/topics?x=1&"])
async def test_missing_resources_have_a_page(browser, path):
    answer = await browser.get(path)
    assert answer.status_code == (200 if path.startswith("/topics") else 404 if "=" in path or "nope" in path else 400)
    assert "<h1>" in answer.text


@pytest.mark.parametrize(
    "name", ["../console.py", "..%2fsite.py", "vendor/../../site.py", ".hidden", "", "vendor", "//etc/passwd", "a\\b"]
)
async def test_static_files_are_those_of_the_folder(browser, name):
    assert (await browser.get(f"/static/{name}")).status_code == 404


async def test_page_assets_are_served(browser):
    html = (await browser.get("")).text
    for path in re.findall(r'(?:src|href)="(/console/static/[^"]+)"', html):
        answer = await browser.http.get(f"{BASE}{path}")
        assert answer.status_code == 200, path
        assert answer.content
        assert answer.headers.get_list("cache-control") == ["max-age=2592000, immutable"], (
            "its address tells its version"
        )
        assert "?" in path


# -- acts ------------------------------------------------------------------------------------------------------------


async def test_topics_are_made_written_to_and_deleted(broker, browser):
    await browser.get("/topics")
    made = await browser.post("/topics/create", name="orders", partitions="3")
    assert (made.status_code, made.headers["location"]) == (303, "/console/topic?name=orders")
    assert await browser.said() == "Created topic orders."
    assert await browser.said() == "", "once"
    await browser.post("/topic/produce", topic="orders", key="k", value="héllo", partition="2")
    assert await browser.said() == "Produced a record to partition 2, offset 0."
    await browser.post("/topic/delete", name="orders", confirm="order")
    assert len(await broker.topics.list()) == 1, "the name was another one"
    await browser.post("/topic/delete", name="orders", confirm="orders")
    assert await broker.topics.list() == []


async def test_a_transaction_is_aborted(broker, browser):
    txn = await fill(broker)
    await browser.get(f"/transaction?id={txn}")
    await browser.post("/transaction/abort", id=str(txn), confirm="abort")
    assert (await broker.transactions.get(txn)).status in ("aborting", "aborted")
    again = await browser.post("/transaction/abort", id="99-99", confirm="abort")
    assert again.status_code == 404


async def test_a_subscription_is_moved_and_deleted(broker, browser):
    await fill(broker)
    await browser.get("/groups")
    await browser.post("/subscription/seek", topic="orders", name="billing/eu", to="latest")
    stats = await broker.subscriptions.stats("orders", "billing/eu")
    assert sum(each.backlog for each in stats.cursors) == 0
    moved = await browser.post(
        "/subscription/seek", topic="orders", name="billing/eu", to="time", time="1970-01-01T00:00"
    )
    assert moved.status_code == 303
    stats = await broker.subscriptions.stats("orders", "billing/eu")
    assert sum(each.backlog for each in stats.cursors) == 1
    wrong = await browser.post("/subscription/seek", topic="orders", name="billing/eu", to="time", time="soon")
    assert wrong.status_code == 400
    await browser.post("/subscription/delete", topic="orders", name="billing/eu")
    assert await broker.subscriptions.list("orders") == []


async def test_a_group_is_moved_while_it_is_empty(broker, browser):
    await fill(broker)
    await broker.external_offsets.note("app", "orders", {0: 1, 1: 0})
    await browser.get("/group?name=app")
    data = (await browser.get("/group.json?name=app")).json()
    assert data["topics"][0]["lag"] == 0
    assert data["topics"][0]["diagnosis"]["transaction"]
    await browser.post("/subscription/seek", topic="orders", name="app", to="earliest")
    stats = await broker.subscriptions.stats("orders", "app")
    assert [each.mark_delete for each in stats.cursors] == [0, 0]
    await browser.post("/group/delete", name="app")
    assert "app" not in await broker.groups.names()


async def test_scheduled_records_are_moved_and_cancelled(broker, browser):
    await fill(broker)
    data = (await browser.get("/scheduled.json?topic=orders")).json()
    [row] = data["rows"]
    assert (row["value"], data["records"], sum(each["records"] for each in data["histogram"])) == ("later", 1, 1)
    await browser.get("/scheduled?topic=orders")
    await browser.post("/scheduled/move", topic="orders", id=row["id"], at="2100-01-01T00:00")
    [row] = (await browser.get("/scheduled.json?topic=orders")).json()["rows"]
    assert row["deliver_at_ms"] == 4_102_444_800_000
    await browser.post("/scheduled/cancel", topic="orders", id=row["id"])
    assert (await browser.get("/scheduled.json?topic=orders")).json()["rows"] == []
