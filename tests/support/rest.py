"""A broker behind its HTTP application, asked in-process: no socket, the same ASGI messages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from redis_ledger.app.http.application import create_app
from redis_ledger.app.http.fast_path import FastPath
from redis_ledger.broker.broker import Broker
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.store.store import Store


@asynccontextmanager
async def open_broker(url: str, prefix: str, *, clock: Clock | None = None, **settings: Any) -> AsyncIterator[Broker]:
    config = Config(prefix=prefix, **settings)
    store = await Store.open(url, prefix=prefix, timeout_ms=config.redis_timeout_ms, retry_ms=config.redis_retry_ms)
    try:
        broker = await Broker.open(store, config, clock=clock)
        try:
            yield broker
        finally:
            await broker.close()
    finally:
        await store.close()


def client_of(broker: Any, app: FastPath | None = None) -> httpx.AsyncClient:
    """broker: a real one, or what stands in for it.  app: around it, if it is not to be made here."""
    transport: Any = httpx.ASGITransport(app=app or create_app(broker), raise_app_exceptions=True)
    return httpx.AsyncClient(transport=transport, base_url="http://broker")


@asynccontextmanager
async def rest(url: str, prefix: str, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with open_broker(url, prefix, **settings) as broker, client_of(broker) as client:
        yield client
