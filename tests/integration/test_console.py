"""The console over HTTP: every page and its data, who gets in, what other sites cannot do, and every act.

In a browser it is tested by tests/browser.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html import unescape
from typing import Any

import httpx
import pytest

from app.console.pages import ACTS, PAGES
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import AuthenticationFailed, Unauthenticated
from redis_ledger.ids import TxnId
from tests.support.rest import client_of, open_broker
from tests.support.secured_rest import ROOT, World, secured

CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')
BASE = "http://127.0.0.1"


class Visitor:
    """A browser without its screen: keeps cookies, and sends forms as its pages have them."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.csrf = ""

    async def get(self, path: str, **headers: str) -> httpx.Response:
        answer = await self.http.get(f"{BASE}/console{path}", headers=headers)
        if found := re.search(r'data-csrf="([0-9a-f]{64})"', answer.text):
            self.csrf = found[1]
        return answer

    async def post(self, path: str, headers: dict[str, str] | None = None, **form: Any) -> httpx.Response:
        sent = {"csrf": self.csrf, **form}
        return await self.http.post(f"{BASE}/console{path}", data=sent, headers=headers or {})

    async def said(self) -> str:
        """What the act before said, on the page it led to."""
        found = re.search(r'class="said" role="status">(.*?)</p>', (await self.get("/topics")).text)
        return unescape(found[1]) if found else ""

    async def log_in(self, token: str) -> None:
        await self.get("/login")
        assert (await self.post("/login", token=token)).status_code == 303


@pytest.fixture
async def broker(redis_url, prefix) -> AsyncIterator[Any]:
    async with open_broker(redis_url, prefix, coordinators=2) as opened:
        yield opened


@pytest.fixture
async def visitor(broker) -> AsyncIterator[Visitor]:
    async with client_of(broker) as http:
        yield Visitor(http)


@pytest.fixture
async def world(redis_url, prefix) -> AsyncIterator[World]:
    async with secured(redis_url, prefix) as made:
        yield made


async def fill(broker) -> TxnId:
    """A topic with a subscription, something scheduled, and an open transaction that holds readers up."""
    await broker.topics.create("orders", 2)
    await broker.records.produce("orders", [NewRecord(b"k", b"<b>one</b>", partition=0)])
    await broker.subscriptions.create("orders", "billing/eu")
    await broker.records.produce("orders", [NewRecord(b"l", b"later", partition=0, deliver_after_ms=3_600_000)])
    txn = (await broker.transactions.begin(600_000, owner="importer")).id
    await broker.records.produce("orders", [NewRecord(b"k", b"two", partition=0)], transaction=txn)
    return txn


def pages(txn: TxnId) -> list[str]:
    """Every page, with what it takes."""
    taken = {
        "topic": "?name=orders&show=all", "transaction": f"?id={txn}", "scheduled": "?topic=orders",
        "subscription": "?topic=orders&name=billing/eu", "group": "?name=nobody",
    }  # fmt: skip
    return [path + taken.get(path, "") for path in PAGES]


# -- pages -----------------------------------------------------------------------------------------------------------


async def test_every_page_is_html_and_its_json_is_the_same_data(broker, visitor):
    txn = await fill(broker)
    for page in pages(txn):
        expected = 404 if page.startswith("group?") else 200
        html = await visitor.get(f"/{page}")
        assert html.status_code == expected, (page, html.text)
        assert html.headers["content-type"] == "text/html; charset=utf-8"
        assert "<h1>" in html.text
        path, _, query = page.partition("?")
        data = await visitor.get(f"/{path}.json?{query}")
        assert data.status_code == expected
        assert data.json() is not None


async def test_the_overview_says_who_is_held_up_and_leads_there(broker, visitor):
    txn = await fill(broker)
    data = (await visitor.get("/transaction.json?id=" + str(txn))).json()
    assert data["touched"] == [
        {
            "topic": "orders", "partition": 0, "first_offset": 1, "held": 1, "is_holding": True,
            "waiting": ["billing/eu"],
        }
    ]  # fmt: skip
    assert "billing/eu" in data["sentence"]
    messages = await broker.subscriptions.receive("orders", "billing/eu", "c")
    await broker.subscriptions.ack("orders", "billing/eu", "c", [each.id for each in messages])
    waits = (await visitor.get("/subscription.json?topic=orders&name=billing/eu")).json()["waits"]
    assert waits["transaction"] == str(txn)
    assert "1 record cannot be got" in waits["sentence"]


async def test_records_are_labelled_by_what_became_of_them(broker, visitor):
    txn = await fill(broker)
    aborted = (await broker.transactions.begin()).id
    await broker.records.produce("orders", [NewRecord(None, b"never", partition=0)], transaction=aborted)
    await broker.transactions.abort(aborted)
    await broker.records.produce("orders", [NewRecord(None, b"behind", partition=0)])
    rows = (await visitor.get("/topic.json?name=orders&show=all")).json()["rows"]
    assert {row["value"]: row["state"] for row in rows} == {
        "<b>one</b>": "committed", "two": "open", "never": "aborted", "behind": "held",
    }  # fmt: skip
    await broker.transactions.commit(txn)
    rows = (await visitor.get("/topic.json?name=orders&show=all")).json()["rows"]
    assert {row["value"]: row["state"] for row in rows} == {
        "<b>one</b>": "committed", "two": "committed", "never": "aborted", "behind": "committed",
    }  # fmt: skip
    seen = (await visitor.get("/topic.json?name=orders")).json()["rows"]
    assert [row["value"] for row in seen if row["value"] == "never"] == []


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
async def test_records_are_filtered(broker, visitor, query, expected):
    await fill(broker)
    found = (await visitor.get(f"/topic.json?name=orders&show=all&{query}")).json()
    assert {row["value"] for row in found["rows"]} == expected


@pytest.mark.parametrize("query", ["offset=99", "offset=x", "partition=9"])
async def test_a_place_that_is_not_there_is_told(broker, visitor, query):
    await fill(broker)
    found = await visitor.get(
        f"/topic.json?name=orders&partition=0&{query}".replace("partition=0&partition", "partition")
    )
    assert found.json()["told"]


async def test_what_records_hold_is_text_and_never_markup(broker, visitor):
    await fill(broker)
    html = (await visitor.get("/topic?name=orders")).text
    assert "&lt;b&gt;one&lt;/b&gt;" in html
    assert "<b>one" not in html


async def test_pages_load_nothing_from_elsewhere_and_run_no_script_of_others(broker, visitor):
    await fill(broker)
    for page in pages(TxnId(0, 0)):
        answer = await visitor.get(f"/{page}")
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert re.findall(r'(?:src|href)="(?!/)([^"#][^"]*)"', answer.text) == []
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|javascript:", answer.text)


@pytest.mark.parametrize("path", ["/nope", "/topic", "/topic?name=none", "/transaction?id=x", "/topics?x=1&"])
async def test_what_is_not_there_is_a_page_too(visitor, path):
    answer = await visitor.get(path)
    assert answer.status_code == (200 if path.startswith("/topics") else 404 if "=" in path or "nope" in path else 400)
    assert "<h1>" in answer.text


@pytest.mark.parametrize(
    "name", ["../console.py", "..%2fsite.py", "vendor/../../site.py", ".hidden", "", "vendor", "//etc/passwd", "a\\b"]
)
async def test_static_files_are_those_of_the_folder(visitor, name):
    assert (await visitor.get(f"/static/{name}")).status_code == 404


async def test_what_the_pages_need_is_served(visitor):
    html = (await visitor.get("")).text
    for path in re.findall(r'(?:src|href)="(/console/static/[^"]+)"', html):
        answer = await visitor.http.get(f"{BASE}{path}")
        assert answer.status_code == 200, path
        assert answer.content


# -- acts ------------------------------------------------------------------------------------------------------------


async def test_topics_are_made_written_to_and_deleted(broker, visitor):
    await visitor.get("/topics")
    made = await visitor.post("/topics/create", name="orders", partitions="3")
    assert (made.status_code, made.headers["location"]) == (303, "/console/topic?name=orders")
    assert await visitor.said() == "Made topic orders."
    assert await visitor.said() == "", "once"
    await visitor.post("/topic/produce", topic="orders", key="k", value="héllo", partition="2")
    assert await visitor.said() == "Wrote a record to partition 2, offset 0."
    await visitor.post("/topic/delete", name="orders", confirm="order")
    assert len(await broker.topics.list()) == 1, "the name was another one"
    await visitor.post("/topic/delete", name="orders", confirm="orders")
    assert await broker.topics.list() == []


async def test_a_transaction_is_aborted(broker, visitor):
    txn = await fill(broker)
    await visitor.get(f"/transaction?id={txn}")
    await visitor.post("/transaction/abort", id=str(txn), confirm="abort")
    assert (await broker.transactions.get(txn)).status in ("aborting", "aborted")
    again = await visitor.post("/transaction/abort", id="99-99", confirm="abort")
    assert again.status_code == 404


async def test_a_subscription_is_moved_and_deleted(broker, visitor):
    await fill(broker)
    await visitor.get("/groups")
    await visitor.post("/subscription/seek", topic="orders", name="billing/eu", to="latest")
    stats = await broker.subscriptions.stats("orders", "billing/eu")
    assert sum(each.backlog for each in stats.cursors) == 0
    moved = await visitor.post(
        "/subscription/seek", topic="orders", name="billing/eu", to="time", time="1970-01-01T00:00"
    )
    assert moved.status_code == 303
    stats = await broker.subscriptions.stats("orders", "billing/eu")
    assert sum(each.backlog for each in stats.cursors) == 1
    wrong = await visitor.post("/subscription/seek", topic="orders", name="billing/eu", to="time", time="soon")
    assert wrong.status_code == 400
    await visitor.post("/subscription/delete", topic="orders", name="billing/eu")
    assert await broker.subscriptions.list("orders") == []


async def test_a_group_is_moved_while_nobody_is_in_it(broker, visitor):
    await fill(broker)
    await broker.positions.note("app", "orders", {0: 1, 1: 0})
    await visitor.get("/group?name=app")
    data = (await visitor.get("/group.json?name=app")).json()
    assert data["topics"][0]["lag"] == 1
    assert data["topics"][0]["waits"]["transaction"]
    await visitor.post("/subscription/seek", topic="orders", name="app", to="earliest")
    stats = await broker.subscriptions.stats("orders", "app")
    assert [each.mark_delete for each in stats.cursors] == [0, 0]
    await visitor.post("/group/delete", name="app")
    assert "app" not in await broker.groups.names()


async def test_what_is_scheduled_is_moved_and_cancelled(broker, visitor):
    await fill(broker)
    data = (await visitor.get("/scheduled.json?topic=orders")).json()
    [row] = data["rows"]
    assert (row["value"], data["records"], sum(each["records"] for each in data["histogram"])) == ("later", 1, 1)
    await visitor.get("/scheduled?topic=orders")
    await visitor.post("/scheduled/move", topic="orders", id=row["id"], at="2100-01-01T00:00")
    [row] = (await visitor.get("/scheduled.json?topic=orders")).json()["rows"]
    assert row["deliver_at_ms"] == 4_102_444_800_000
    await visitor.post("/scheduled/cancel", topic="orders", id=row["id"])
    assert (await visitor.get("/scheduled.json?topic=orders")).json()["rows"] == []


# -- other sites -----------------------------------------------------------------------------------------------------


async def test_a_form_of_another_site_does_nothing(broker, visitor):
    await visitor.get("/topics")
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        answer = await visitor.post("/topics/create", headers, name="orders", partitions="1")
        assert answer.status_code == 403, headers
    assert await broker.topics.list() == []


async def test_a_form_without_its_proof_does_nothing(broker, visitor):
    await visitor.get("/topics")
    ours = visitor.csrf
    async with client_of(broker) as http:
        other = Visitor(http)
        await other.get("/topics")
        theirs = other.csrf
    for csrf in ("", "0" * 64, theirs):
        visitor.csrf = csrf
        assert (await visitor.post("/topics/create", name="orders", partitions="1")).status_code == 403
    json = await visitor.http.post(f"{BASE}/console/topics/create", json={"csrf": ours, "name": "orders"})
    assert json.status_code == 400, "what a page of another site may send without asking is forms only"
    assert await broker.topics.list() == []
    visitor.csrf = ours
    assert (await visitor.post("/topics/create", name="orders", partitions="1")).status_code == 303


async def test_acts_are_no_links(visitor):
    await visitor.get("/topics")
    for path in ACTS:
        assert (await visitor.get(f"/{path}?name=orders&csrf={visitor.csrf}")).status_code == 404


async def test_a_name_that_was_made_to_point_here_is_refused(broker):
    """DNS rebinding: a page of evil.example asks evil.example, which now is 127.0.0.1."""
    transport: Any = httpx.ASGITransport(app=client_of(broker)._transport.app)  # type: ignore[attr-defined]
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as http:
        for host, status in (("evil.example", 403), ("127.0.0.1:8080", 200), ("localhost", 200), ("[::1]:1", 200)):
            answer = await http.get("/console", headers={"host": host})
            assert answer.status_code == status, host


# -- who gets in -----------------------------------------------------------------------------------------------------


async def test_nobody_sees_anything_without_a_login(world):
    visitor = Visitor(world.http)
    for page in PAGES:
        answer = await visitor.get(f"/{page}")
        assert answer.status_code == 303, page
        assert answer.headers["location"].startswith("/console/login?to=")
        assert (await visitor.get(f"/{page}.json")).status_code == 401
    await visitor.get("/login")
    for path in ACTS:
        assert (await visitor.post(f"/{path}")).status_code == 303, path
    assert await world.broker.topics.list() == []


async def test_a_login_holds_until_its_credential_does_not(world):
    visitor = Visitor(world.http)
    id, token = await world.broker.security.create_token(f"User:{ROOT}")
    await visitor.log_in(token)
    assert f"User:{ROOT}" in (await visitor.get("")).text
    await world.broker.security.revoke_token(id)
    assert (await visitor.get("")).status_code == 303


async def test_a_user_logs_in_with_the_password_kafka_clients_have(world):
    await world.broker.users.add(ROOT, "pässword")
    visitor = Visitor(world.http)
    await visitor.get("/login")
    assert (await visitor.post("/login", user=ROOT, password="wrong")).status_code == 401
    answer = await visitor.post("/login?to=/console/topics", user=ROOT, password="pässword")
    assert answer.headers["location"] == "/console/topics"
    assert (await visitor.get("/topics")).status_code == 200
    await world.broker.users.remove(ROOT)
    assert (await visitor.get("/topics")).status_code == 303


@pytest.mark.parametrize(
    "to", ["https://evil.example", "//evil.example", "/console@evil", "/consoleX", "/\\evil", "/console/\r\nx: y"]
)
async def test_a_login_leads_to_our_own_pages_only(world, to):
    visitor = Visitor(world.http)
    await visitor.get("/login")
    answer = await world.http.post(
        f"{BASE}/console/login", params={"to": to}, data={"csrf": visitor.csrf, "token": await world.token(ROOT)}
    )
    assert answer.headers["location"] == "/console"


async def test_logging_out_ends_it(world):
    visitor = Visitor(world.http)
    await visitor.log_in(await world.token(ROOT))
    await visitor.get("")
    assert (await visitor.post("/logout")).status_code == 303
    assert (await visitor.get("")).status_code == 303


async def test_a_wrong_token_tells_nothing_and_is_not_logged(world, capsys):
    visitor = Visitor(world.http)
    await visitor.get("/login")
    token = "rl_000000000000_" + "a" * 64
    answer = await visitor.post("/login", token=token)
    assert answer.status_code == 401
    assert "a" * 64 not in answer.text
    assert "a" * 64 not in capsys.readouterr().err


async def test_pages_show_what_their_visitor_may_see(world):
    await fill(world.broker)
    await world.broker.topics.create("secret", 1)
    await world.allow("ada", Op.READ, Resource.TOPIC, "orders")
    visitor = Visitor(world.http)
    await visitor.log_in(await world.token("ada"))
    topics = (await visitor.get("/topics.json")).json()["topics"]
    assert [each["name"] for each in topics] == ["orders"]
    assert (await visitor.get("/overview.json")).json()["topics"] == 1
    assert (await visitor.get("/topic?name=secret")).status_code == 403
    assert (await visitor.get("/scheduled?topic=secret")).status_code == 403
    assert (await visitor.get("/brokers")).status_code == 403
    assert (await visitor.get("/access")).status_code == 403
    assert (await visitor.get("/groups.json")).json()["subscriptions"] == []
    assert (await visitor.get("/transactions.json")).json()["open"] == []
    assert (await visitor.get("/transaction?id=0-0")).status_code == 403


async def test_every_act_is_refused_without_the_right_to_it(world):
    txn = await fill(world.broker)
    visitor = Visitor(world.http)
    await visitor.log_in(await world.token("nobody"))
    await visitor.get("/topics")
    form = {
        "name": "orders", "topic": "orders", "value": "x", "confirm": "abort", "id": str(txn), "to": "latest",
        "at": "2100-01-01", "principal": "User:nobody", "operation": "ALL", "resource": "TOPIC", "password": "p",
    }  # fmt: skip
    for path in ACTS:
        sent = {**form, "id": "0:0.0"} if path.startswith("scheduled") else form
        answer = await visitor.post(f"/{path}", **sent)
        assert answer.status_code == 403, (path, answer.text)
    assert len(await world.broker.security.list_rules()) == 0


async def test_users_tokens_and_rules_are_kept_and_noted(world):
    visitor = Visitor(world.http)
    await visitor.log_in(await world.token(ROOT))
    await visitor.get("/access")
    rule = {"principal": "User:ada", "operation": "READ", "resource": "TOPIC", "name": "orders"}
    assert (await visitor.post("/access/rule/add", **rule)).status_code == 303
    made = await visitor.post("/access/token/create", principal="User:ada", note="laptop", days="7")
    token = unescape(re.search(r'class="secret" tabindex="0">([^<]+)<', made.text)[1])  # type: ignore[index]
    assert world.broker.security.principal_of(token) == "User:ada"
    await visitor.post("/access/user/add", name="ada", password="secret of ada")
    await world.broker.users.check_password("ada", "secret of ada")
    page = (await visitor.get("/access")).text
    assert "laptop" in page
    assert token not in page
    data = (await visitor.get("/access.json")).text
    assert "digest" not in data
    assert "stored_key" not in data
    [line] = [each for each in (await visitor.get("/access.json")).json()["tokens"] if each["note"] == "laptop"]
    await visitor.post("/access/token/revoke", id=line["id"])
    with pytest.raises(Unauthenticated):
        world.broker.security.principal_of(token)
    await visitor.post("/access/rule/remove", **rule)
    assert await world.broker.security.list_rules() == []
    await visitor.post("/access/user/remove", name="ada")
    with pytest.raises(AuthenticationFailed):
        await world.broker.users.check_password("ada", "secret of ada")
    noted = [each.act for each in await world.broker.audit.entries(20)]
    assert noted[:6][::-1] == ["acl.add", "token.create", "user.add", "token.revoke", "acl.remove", "user.remove"]
    assert (await visitor.post("/access/rule/add", **{**rule, "operation": "JUMP"})).status_code == 400


async def test_an_open_broker_makes_no_credentials(broker, visitor):
    await visitor.get("/access")
    answer = await visitor.post("/access/token/create", principal="User:ada")
    assert answer.status_code == 409
    assert await broker.security.list_tokens() == {}


async def test_a_bearer_token_is_enough_for_data(world):
    good = await world.http.get(f"{BASE}/console/topics.json", headers=await world.headers(ROOT))
    assert good.json() == {"topics": [], "is_cut": False}
    bad = await world.http.get(f"{BASE}/console/topics.json", headers={"authorization": "Bearer nonsense"})
    assert bad.status_code == 401
