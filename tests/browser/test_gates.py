"""Who gets in, what they are offered, and what pages of other sites cannot do."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from playwright.sync_api import expect

ADDRESSES = (
    "/topics",
    "/topic?name=orders",
    "/subscription?topic=orders&name=billing",
    "/group?name=reports",
    "/scheduled?topic=orders",
    "/access",
)


def test_one_logs_in_by_token_and_out(secured_shop, look):
    looker = look(secured_shop)
    page = looker.go("/topics")
    assert page.url.endswith("/console/login?to=%2Fconsole%2Ftopics")
    page.get_by_label("Token").fill("rl_000000000000_wrong")
    page.get_by_role("button", name="Log in").first.click()
    page.get_by_role("alert").get_by_text("Login failed").wait_for()
    assert looker.violations() == []
    page.get_by_label("Token").fill(secured_shop.tokens["root"])
    page.get_by_role("button", name="Log in").first.click()
    page.get_by_role("link", name="invoices").wait_for()
    assert page.get_by_text("User:root").count() == 1
    assert secured_shop.tokens["root"] not in page.content()
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("heading", name="Log in").wait_for()
    looker.go("/topics")
    assert "/console/login" in page.url


def test_one_logs_in_by_name_and_password(secured_shop, look):
    page = look(secured_shop).go("/login")
    page.get_by_label("User").fill("till")
    page.get_by_label("Password").fill("a password of the till")
    page.get_by_role("button", name="Log in").last.click()
    expect(page.get_by_text("User:till")).to_be_visible()


def test_who_may_only_look_is_offered_nothing_else_and_a_forged_form_is_refused(secured_shop, look):
    looker = look(secured_shop, token=secured_shop.tokens["viewer"])
    for address in (*ADDRESSES, f"/transaction?id={secured_shop.shop.stuck}"):
        page = looker.go(address)
        assert page.locator("form[method=post]").count() == 1, "logging out"
    assert looker.complaints == []
    page = looker.go("/topics")
    assert page.get_by_role("link", name="invoices").count() == 0
    forge = """async ([path, fields]) => {
      const body = new URLSearchParams({ csrf: document.body.dataset.csrf, ...fields });
      return (await fetch(`/console/${path}`, { method: "POST", body })).status;
    }"""
    orders = {"topic": "orders", "name": "billing"}
    for path, fields in {
        "topics/create": {"name": "mine"},
        "topic/produce": {"topic": "orders", "value": "x"},
        "topic/delete": {"name": "orders", "confirm": "orders"},
        "subscription/seek": {**orders, "to": "latest"},
        "subscription/delete": orders,
        "subscription/dead-letters": {**orders, "max_deliveries": "3", "to": "orders.dead"},
        "subscription/put-back": orders,
        "group/delete": {"name": "reports"},
        "transaction/abort": {"id": str(secured_shop.shop.stuck), "confirm": "abort"},
        "access/quota/set": {"principal": "User:viewer", "requests_per_s": "0"},
        "access/token/create": {"principal": "User:root"},
    }.items():
        assert page.evaluate(forge, [path, fields]) == 403, path
    assert secured_shop.do(secured_shop.broker.transactions.get(secured_shop.shop.stuck)).status == "open"


def test_a_token_is_made_and_shown_once(secured_shop, look):
    looker = look(secured_shop, token=secured_shop.tokens["root"])
    page = looker.go("/access")
    page.get_by_text("Create a token").click()
    card = page.locator("details", has_text="Create a token")
    card.get_by_label("Principal").fill("User:till")
    card.get_by_label("Note").fill("the till's")
    card.get_by_role("button").click()
    token = page.locator(".secret").inner_text()
    assert secured_shop.broker.security.principal_of(token) == "User:till"
    assert looker.pale() == []
    page.get_by_role("link", name="Continue").click()
    page.get_by_role("cell", name="the till's").wait_for()
    assert token not in page.content()


def test_rules_and_quotas_are_set_and_removed(secured_shop, look):
    page = look(secured_shop, token=secured_shop.tokens["root"]).go("/access")
    page.get_by_text("Set a quota").click()
    card = page.locator("details", has_text="Set a quota")
    card.get_by_label("Principal").fill("User:*")
    card.get_by_label("Open transactions").fill("12")
    card.get_by_role("button").click()
    page.get_by_text("Set the quota of User:*").wait_for()
    row = page.locator("tr", has_text="default")
    assert row.locator("td.n").last.inner_text() == "12"
    page.get_by_role("button", name="Remove the quota of User:*").click()
    page.get_by_text("Removed the quota of User:*").wait_for()
    page.get_by_text("Add an ACL").click()
    card = page.locator("details", has_text="Add an ACL")
    card.get_by_label("Principal").fill("User:till")
    card.get_by_label("Operation").select_option("READ")
    card.get_by_label("Resource name, or *").fill("mail")
    card.get_by_role("button").click()
    page.get_by_text("Added the ACL: ALLOW User:till READ on TOPIC mail").wait_for()


@contextlib.contextmanager
def other_site(target: str) -> Iterator[int]:
    """A site whose page sends a form to the target as soon as it is opened; its port."""
    html = f"""<!doctype html><title>other</title><form method="post" action="{target}">
        <input name="name" value="stolen"><input name="partitions" value="1"></form>
        <script>document.forms[0].submit()</script>"""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # as the standard library spells it
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])  # the same site by another port, and another site
def test_a_form_that_another_site_sends_is_refused(shop, look, name):
    page = look(shop).go("/topics")
    with other_site(f"{shop.url}/topics/create") as port:
        with page.expect_response(f"{shop.url}/topics/create") as told:
            page.goto(f"http://{name}:{port}/")
        assert told.value.status == 403
    assert "stolen" not in [each.name for each in shop.do(shop.broker.topics.list())]


def test_a_link_of_another_site_leads_to_the_page_and_logs_nobody_out(secured_shop, look):
    looker = look(secured_shop, token=secured_shop.tokens["root"])
    page = looker.page
    page.route("http://chat.localhost/", lambda route: route.fulfill(
        content_type="text/html", body=f'<a href="{secured_shop.url}/topics">look at this</a>'))  # fmt: skip
    page.goto("http://chat.localhost/")
    page.get_by_role("link", name="look at this").click()
    page.get_by_role("link", name="invoices").wait_for()
    assert page.url == f"{secured_shop.url}/topics"


def test_another_site_cannot_show_the_console_in_a_frame(shop, look):
    page = look(shop).go("/topics")
    with other_site(f"{shop.url}/topics") as port:
        page.route("**/frame", lambda route: route.fulfill(
            content_type="text/html", body=f'<iframe src="{shop.url}/topics"></iframe>'))  # fmt: skip
        page.goto(f"http://localhost:{port}/frame")
        page.wait_for_timeout(500)
        assert [frame for frame in page.frames if frame.url.startswith(shop.url)] == []
