"""A broker that asks who is calling, and people who call it over REST.

async with secured(redis_url, prefix) as world:
    await world.allow("ada", Op.WRITE, Resource.TOPIC, "orders")
    answer = await world.post("ada", "/v1/topics/orders/records", {"records": [{"value": 1}]})
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from redis_ledger.broker.broker import Broker
from tests.support.principals import SECURED, Principals
from tests.support.rest import client_of, open_broker


class World(Principals):
    def __init__(self, broker: Broker, http: httpx.AsyncClient) -> None:
        super().__init__(broker)
        self.http = http

    async def headers(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {await self.token(name)}"}

    async def ask(self, name: str, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        sent = {**await self.headers(name), **{key.replace("_", "-"): value for key, value in headers.items()}}
        return await self.http.request(method, path, json=body, headers=sent)

    async def get(self, name: str, path: str, **headers: str) -> httpx.Response:
        return await self.ask(name, "GET", path, **headers)

    async def post(self, name: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return await self.ask(name, "POST", path, {} if body is None else body, **headers)


@asynccontextmanager
async def secured(url: str, prefix: str, **settings: Any) -> AsyncIterator[World]:
    given = {**SECURED, "coordinators": 2, **settings}
    async with open_broker(url, prefix, **given) as broker, client_of(broker) as http:
        yield World(broker, http)
