"""A browser without its screen: it keeps cookies and sends forms as the console's pages have them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

import httpx

from redis_ledger.broker.types import NewRecord
from redis_ledger.ids import TxnId
from tests.support.rest import client_of
from tests.support.secured_rest import World

BASE = "http://127.0.0.1"


class ConsoleBrowser:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.csrf = ""

    async def get(self, path: str, **headers: str) -> httpx.Response:
        answer = await self.http.get(f"{BASE}/console{path}", headers=headers)
        if found := re.search(r'data-csrf="([0-9a-f]{64})"', answer.text):
            self.csrf = found[1]
        return answer

    async def post(self, path: str, headers: Mapping[str, str] | None = None, **form: Any) -> httpx.Response:
        sent = {"csrf": self.csrf, **form}
        return await self.http.post(f"{BASE}/console{path}", data=sent, headers=headers or {})

    async def said(self) -> str:
        """The message of the previous act, on the page it led to."""
        found = re.search(r'class="message" role="status">(.*?)</p>', (await self.get("/topics")).text)
        return unescape(found[1]) if found else ""

    async def log_in(self, token: str) -> None:
        await self.get("/login")
        assert (await self.post("/login", token=token)).status_code == 303
        await self.get("/topics")  # whose forms are of this session


async def browser_of(world: World, name: str) -> ConsoleBrowser:
    browser = ConsoleBrowser(client_of(world.broker))  # with cookies of its own
    await browser.log_in(await world.token(name))
    return browser


def forms(html: str) -> set[str]:
    """Acts that a page has a form for, but logging out."""
    return set(re.findall(r'method="post" action="/console/([^"]+)"', html)) - {"logout"}


async def fill(broker) -> TxnId:
    """A topic with a subscription, something scheduled, and an open transaction that holds readers up."""
    await broker.topics.create("orders", 2)
    await broker.records.produce("orders", [NewRecord(b"k", b"<b>one</b>", partition=0)])
    await broker.subscriptions.create("orders", "billing/eu")
    await broker.records.produce("orders", [NewRecord(b"l", b"later", partition=0, deliver_after_ms=3_600_000)])
    txn: TxnId = (await broker.transactions.begin(600_000, owner="importer")).id
    await broker.records.produce("orders", [NewRecord(b"k", b"two", partition=0)], transaction=txn)
    return txn
