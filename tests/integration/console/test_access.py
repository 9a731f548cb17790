"""Console login, permissions, and protection against requests from other sites."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import httpx
import pytest

from redis_ledger.app.console import health
from redis_ledger.app.console.pages import ACTIONS, PAGES
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import AuthenticationFailed, Unauthenticated
from tests.support.console_browser import BASE, ConsoleBrowser, fill
from tests.support.principals import ROOT
from tests.support.rest import client_of

# -- other sites -----------------------------------------------------------------------------------------------------


async def test_a_form_of_another_site_does_nothing(broker, browser):
    await browser.get("/topics")
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        answer = await browser.post("/topics/create", headers, name="orders", partitions="1")
        assert answer.status_code == 403, headers
    assert await broker.topics.list() == []


async def test_a_form_without_its_proof_does_nothing(broker, browser):
    await browser.get("/topics")
    ours = browser.csrf
    async with client_of(broker) as http:
        other = ConsoleBrowser(http)
        await other.get("/topics")
        theirs = other.csrf
    for csrf in ("", "0" * 64, theirs):
        browser.csrf = csrf
        assert (await browser.post("/topics/create", name="orders", partitions="1")).status_code == 403
    json = await browser.http.post(f"{BASE}/console/topics/create", json={"csrf": ours, "name": "orders"})
    assert json.status_code == 400, "what a page of another site may send without asking is forms only"
    assert await broker.topics.list() == []
    browser.csrf = ours
    assert (await browser.post("/topics/create", name="orders", partitions="1")).status_code == 303


async def test_a_form_of_another_site_cannot_log_out(world):
    """It comes without the cookie, and the answer must not replace it."""
    answer = await world.http.post(f"{BASE}/console/topics/create", data={"name": "orders"})
    assert (answer.status_code, answer.headers.get("set-cookie")) == (403, None)


async def test_behind_a_proxy_that_ends_tls_cookies_are_kept_from_plain_connections(world):
    answer = await world.http.get(f"{BASE}/console/login", headers={"x-forwarded-proto": "https"})
    assert "; Secure" in answer.headers["set-cookie"]
    assert "; Secure" not in (await world.http.get(f"{BASE}/console/login")).headers.get("set-cookie", "")


async def test_acts_are_no_links(browser):
    await browser.get("/topics")
    for path in ACTIONS:
        assert (await browser.get(f"/{path}?name=orders&csrf={browser.csrf}")).status_code == 404


async def test_a_name_that_was_made_to_point_here_is_refused(broker):
    """DNS rebinding: a page of evil.example asks evil.example, which now is 127.0.0.1."""
    transport: Any = httpx.ASGITransport(app=client_of(broker)._transport.app)  # type: ignore[attr-defined]
    for address in (BASE, "http://[::1]"):
        async with httpx.AsyncClient(transport=transport, base_url=address) as http:
            for path in ("/console", "/v1/topics", "/livez"):
                for host, status in (("evil.example", 403), ("127.0.0.1:8080", 200), ("localhost", 200)):
                    answer = await http.get(path, headers={"host": host})
                    assert answer.status_code == status, (path, host)


# -- who gets in -----------------------------------------------------------------------------------------------------


async def test_pages_require_a_login(world):
    browser = ConsoleBrowser(world.http)
    for page in PAGES:
        answer = await browser.get(f"/{page}")
        assert answer.status_code == 303, page
        assert answer.headers["location"].startswith("/console/login?to=")
        assert (await browser.get(f"/{page}.json")).status_code == 401
    await browser.get("/login")
    for path in ACTIONS:
        assert (await browser.post(f"/{path}")).status_code == 303, path
    assert await world.broker.topics.list() == []


async def test_a_login_holds_until_its_credential_does_not(world):
    browser = ConsoleBrowser(world.http)
    id, token = await world.broker.security.create_token(f"User:{ROOT}")
    await browser.log_in(token)
    assert f"User:{ROOT}" in (await browser.get("")).text
    await world.broker.security.revoke_token(id)
    assert (await browser.get("")).status_code == 303


async def test_a_user_logs_in_with_the_password_kafka_clients_have(world):
    await world.broker.scram_credentials.add(ROOT, "pässword")
    browser = ConsoleBrowser(world.http)
    await browser.get("/login")
    assert (await browser.post("/login", user=ROOT, password="wrong")).status_code == 401
    answer = await browser.post("/login?to=/console/topics", user=ROOT, password="pässword")
    assert answer.headers["location"] == "/console/topics"
    assert (await browser.get("/topics")).status_code == 200
    await world.broker.scram_credentials.add(ROOT, "another")
    assert (await browser.get("/topics")).status_code == 303, "the session of the old password has ended"
    await browser.get("/login")
    await browser.post("/login", user=ROOT, password="another")
    assert (await browser.get("/topics")).status_code == 200
    await world.broker.scram_credentials.remove(ROOT)
    assert (await browser.get("/topics")).status_code == 303


@pytest.mark.parametrize(
    "to", ["https://evil.example", "//evil.example", "/console@evil", "/consoleX", "/\\evil", "/console/\r\nx: y"]
)
async def test_a_login_leads_to_our_own_pages_only(world, to):
    browser = ConsoleBrowser(world.http)
    await browser.get("/login")
    answer = await world.http.post(
        f"{BASE}/console/login", params={"to": to}, data={"csrf": browser.csrf, "token": await world.token(ROOT)}
    )
    assert answer.headers["location"] == "/console"


async def test_logging_out_ends_it(world):
    browser = ConsoleBrowser(world.http)
    await browser.log_in(await world.token(ROOT))
    await browser.get("")
    assert (await browser.post("/logout")).status_code == 303
    assert (await browser.get("")).status_code == 303


async def test_a_wrong_token_tells_nothing_and_is_not_logged(world, capsys):
    browser = ConsoleBrowser(world.http)
    await browser.get("/login")
    token = "rl_000000000000_" + "a" * 64
    answer = await browser.post("/login", token=token)
    assert answer.status_code == 401
    assert "a" * 64 not in answer.text
    assert "a" * 64 not in capsys.readouterr().err


async def test_pages_show_what_their_visitor_may_see(world):
    await fill(world.broker)
    await world.broker.topics.create("secret", 1)
    await world.allow("ada", Op.READ, Resource.TOPIC, "orders")
    browser = ConsoleBrowser(world.http)
    await browser.log_in(await world.token("ada"))
    topics = (await browser.get("/topics.json")).json()["topics"]
    assert [each["name"] for each in topics] == ["orders"]
    assert (await browser.get("/overview.json")).json()["topics"] == 1
    assert (await browser.get("/topic?name=secret")).status_code == 403
    assert (await browser.get("/scheduled?topic=secret")).status_code == 403
    assert (await browser.get("/brokers")).status_code == 403
    assert (await browser.get("/access")).status_code == 403
    assert (await browser.get("/groups.json")).json()["subscriptions"] == []
    assert (await browser.get("/transactions.json")).json()["open"] == []
    (foreign,) = await world.broker.transactions.list(limit=1)
    assert (await browser.get(f"/transaction?id={foreign.id}")).status_code == 403


async def test_every_act_is_refused_without_the_right_to_it(world):
    txn = await fill(world.broker)
    browser = ConsoleBrowser(world.http)
    await browser.log_in(await world.token("unauthorized"))
    await browser.get("/topics")
    form: dict[str, Any] = {
        "name": "orders", "topic": "orders", "value": "x", "confirm": "abort", "id": str(txn), "to": "latest",
        "at": "2100-01-01", "principal": "User:unauthorized", "operation": "ALL", "resource": "TOPIC", "password": "p",
    }  # fmt: skip
    for path in ACTIONS:
        sent = {**form, "id": "0:0.0"} if path.startswith("scheduled") else form
        answer = await browser.post(f"/{path}", **sent)
        assert answer.status_code == 403, (path, answer.text)
    assert len(await world.broker.security.list_rules()) == 0


async def test_users_tokens_and_rules_are_kept_and_noted(world):
    browser = ConsoleBrowser(world.http)
    await browser.log_in(await world.token(ROOT))
    await browser.get("/access")
    rule: dict[str, Any] = {"principal": "User:ada", "operation": "READ", "resource": "TOPIC", "name": "orders"}
    assert (await browser.post("/access/rule/add", **rule)).status_code == 303
    made = await browser.post("/access/token/create", principal="User:ada", note="laptop", days="7")
    token = unescape(re.search(r'class="secret" tabindex="0">([^<]+)<', made.text)[1])  # type: ignore[index]
    assert world.broker.security.principal_of(token) == "User:ada"
    await browser.post("/access/user/add", name="ada", password="secret of ada")
    await world.broker.scram_credentials.check_password("ada", "secret of ada")
    page = (await browser.get("/access")).text
    assert "laptop" in page
    assert token not in page
    data = (await browser.get("/access.json")).text
    assert "digest" not in data
    assert "stored_key" not in data
    [line] = [each for each in (await browser.get("/access.json")).json()["tokens"] if each["note"] == "laptop"]
    await browser.post("/access/token/revoke", id=line["id"])
    with pytest.raises(Unauthenticated):
        world.broker.security.principal_of(token)
    await browser.post("/access/rule/remove", **rule)
    assert await world.broker.security.list_rules() == []
    await browser.post("/access/user/remove", name="ada")
    with pytest.raises(AuthenticationFailed):
        await world.broker.scram_credentials.check_password("ada", "secret of ada")
    noted = [each.act for each in await world.broker.audit.entries(20)]
    assert noted[:6][::-1] == ["acl.add", "token.create", "user.add", "token.revoke", "acl.remove", "user.remove"]
    assert (await browser.post("/access/rule/add", **{**rule, "operation": "JUMP"})).status_code == 400


async def test_write_without_create_does_not_create_topics(world):
    for resource, name in ((Resource.TOPIC, "shop-1"), (Resource.TOPIC, "shop-2")):
        await world.allow("ada", Op.WRITE, resource, name)
    await world.allow("ada", Op.CREATE, Resource.TOPIC, "shop-2")
    browser = ConsoleBrowser(world.http)
    await browser.log_in(await world.token("ada"))
    assert (await browser.post("/topic/produce", topic="shop-1", value="1")).status_code == 403
    assert (await browser.post("/topic/produce", topic="shop-2", value="1")).status_code == 303
    assert [topic.name for topic in await world.broker.topics.list()] == ["shop-2"]


async def test_create_on_the_cluster_permits_any_topic(world):
    browser = ConsoleBrowser(world.http)
    await browser.log_in(await world.token("ada"))
    assert (await browser.post("/topics/create", name="orders")).status_code == 403
    await world.allow("ada", Op.CREATE, Resource.CLUSTER)
    assert (await browser.post("/topics/create", name="orders")).status_code == 303
    assert (await browser.get("/topics.json")).json()["may_create"]


async def test_undescribable_resources_are_on_no_page(world):
    """Ada may describe the groups g and s, and one of the topics that they read."""
    for topic in ("orders", "secret-payroll"):
        await world.broker.topics.create(topic)
        await world.broker.records.produce(topic, [NewRecord(None, b"1")])
        await world.broker.external_offsets.note("g", topic, {0: 0})
        await world.broker.subscriptions.create(topic, "s")
        await world.broker.subscriptions.create(topic, "secret-audit")
    for name in ("g", "s"):
        await world.allow("ada", Op.DESCRIBE, Resource.GROUP, name)
    await world.allow("ada", Op.WRITE, Resource.TOPIC, "orders")
    browser = ConsoleBrowser(world.http)
    await browser.log_in(await world.token("ada"))
    txn = (await world.post("ada", "/v1/transactions")).json()["id"]
    body = {"records": [{"value": 1}], "transaction": txn}
    assert (await world.post("ada", "/v1/topics/orders/records", body)).status_code == 200
    for page in ("/groups", "/group?name=g", f"/transaction?id={txn}", "/topic?name=orders", "/overview", "/topics"):
        path, query = page.partition("?")[::2]
        for answer in (await browser.get(page), await browser.get(f"{path}.json?{query}")):
            assert answer.status_code == 200, page
            assert "secret" not in answer.text, page
    shown = (await browser.get("/group.json?name=g")).json()["topics"]
    assert [each["topic"] for each in shown] == ["orders"]


async def test_owner_of_a_blocking_transaction_is_shown_only_with_permission(world, monkeypatch):
    monkeypatch.setattr(health, "HELD_MS_LOOK", 0)
    await fill(world.broker)
    [message] = await world.broker.subscriptions.receive("orders", "billing/eu", "c")
    await world.broker.subscriptions.ack("orders", "billing/eu", "c", [message.id])
    for user in ("ada", "eve"):
        await world.allow(user, Op.READ, Resource.TOPIC, "orders")
        await world.allow(user, Op.READ, Resource.GROUP, "billing/eu")
    await world.allow("eve", Op.DESCRIBE, Resource.CLUSTER)
    for user, is_told in (("ada", False), ("eve", True), (ROOT, True)):
        browser = ConsoleBrowser(client_of(world.broker))
        await browser.log_in(await world.token(user))
        for page in ("/overview.json", "/subscription.json?topic=orders&name=billing/eu"):
            said = (await browser.get(page)).text
            assert "transaction 0-" in said or "transaction 1-" in said, (user, page)
            assert ("importer" in said) is is_told, (user, page)


async def test_acts_that_were_refused_are_noted(world):
    browser = ConsoleBrowser(world.http)
    await browser.log_in(await world.token("eve"))
    form: dict[str, Any] = {
        "topic": "t",
        "to": "earliest",
        "confirm": "t",
        "id": "3-1",
        "password": "p",
        "max_deliveries": "0",
    }
    rule: dict[str, Any] = {"name": "n", "principal": "User:eve", "operation": "READ", "resource": "TOPIC"}
    noted = {
        path: page.audit_action for path, page in ACTIONS.items() if page.audit_action and path != "transaction/abort"
    }
    for path in noted:
        assert (await browser.post(f"/{path}", **form, **rule)).status_code == 403, path
    entries = await world.broker.audit.entries(100)
    assert [each.act for each in entries][::-1] == list(noted.values())
    assert {(each.outcome, each.principal) for each in entries} == {("refused", "User:eve")}
    assert {"t n", "n", "3-1", "User:eve", "User:eve READ TOPIC n"} == {each.target for each in entries}


async def test_an_open_broker_makes_no_credentials(broker, browser):
    await browser.get("/access")
    answer = await browser.post("/access/token/create", principal="User:ada")
    assert answer.status_code == 409
    assert await broker.security.list_tokens() == {}


async def test_a_bearer_token_is_enough_for_data(world):
    good = await world.http.get(f"{BASE}/console/topics.json", headers=await world.headers(ROOT))
    assert good.json() == {
        "topics": [], "shown": {"first": 0, "last": 0, "total": 0, "page": 1, "pages": 1}, "may_create": True,
    }  # fmt: skip
    bad = await world.http.get(f"{BASE}/console/topics.json", headers={"authorization": "Bearer nonsense"})
    assert bad.status_code == 401
