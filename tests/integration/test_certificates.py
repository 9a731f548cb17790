"""Authentication by client certificate: expiry, and the effect of a login."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from redis_ledger.app.http import connection_limits
from redis_ledger.app.http.application import create_app
from redis_ledger.app.http.connection_limits import Limits
from redis_ledger.app.http.server import HttpServer
from redis_ledger.app.process import tls
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.config import Config
from redis_ledger.kafka import server
from redis_ledger.kafka.listener import Listener
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest
from redis_ledger.kafka.server import KafkaServer
from tests.support.broker import one
from tests.support.certificates import Authority
from tests.support.kafka_client import KafkaClient
from tests.support.principals import rule
from tests.support.secured_kafka import log_in

CLOSED = (ConnectionError, asyncio.IncompleteReadError)
WITHIN_S = 20.0


class Doors:
    def __init__(self, authority: Authority, broker: Any, rest: str, kafka: tuple[str, int]) -> None:
        self.authority, self.broker, self.rest, self.kafka = authority, broker, rest, kafka


@pytest.fixture
async def doors(redis_url, prefix, tmp_path: Path) -> AsyncIterator[Doors]:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("broker")
    files = {"tls_certificate": str(certificate), "tls_key": str(key), "tls_client_ca": str(authority.ca)}
    made = tls.Tls(Config(**files))  # type: ignore[arg-type]  # all of them are text
    async with one(redis_url, prefix, auth_required=True) as broker, contextlib.AsyncExitStack() as stack:
        bound = socket.create_server(("127.0.0.1", 0))
        bound.setblocking(False)
        kafka = KafkaServer(broker, [Listener(bound, tls=made.doorway("kafka"))], made.named_by)
        await kafka.start()
        stack.push_async_callback(kafka.stop, 0.2)
        limits = Limits.of(broker.config, broker.client_memory, made.named_by)
        rest = HttpServer(create_app(broker), "127.0.0.1", 0, drain_s=1, tls=made.doorway("http"), limits=limits)
        await rest.start()
        stack.push_async_callback(rest.stop)
        await broker.topics.create("orders")
        yield Doors(authority, broker, rest.address, bound.getsockname()[:2])


async def asking(kafka: KafkaClient) -> None:
    """Again and again, until the connection is closed."""
    until = time.monotonic() + WITHIN_S
    while time.monotonic() < until:
        await kafka.ask(MetadataRequest(None), 12)
        await asyncio.sleep(0.1)  # the server looks once a second


async def test_a_connection_is_known_by_a_certificate_until_that_ends(doors, monkeypatch):
    await doors.broker.security.add_rules([rule("ada", Op.READ, Resource.TOPIC, "orders")])
    trusting = doors.authority.trusting(doors.authority.issue("ada", days=1))
    async with (
        httpx.AsyncClient(base_url=doors.rest, verify=trusting, trust_env=False, timeout=WITHIN_S) as http,
        KafkaClient(doors.kafka, tls=trusting) as kafka,
    ):
        assert (await http.get("/v1/topics")).json()["topics"][0]["name"] == "orders"
        assert (await kafka.ask(MetadataRequest(None), 12)).topics[0].name == "orders"
        later = SimpleNamespace(time=lambda: time.time() + 86_401, monotonic=time.monotonic)
        for module in (connection_limits, server):
            monkeypatch.setattr(module, "time", later)
        assert (await http.get("/v1/topics")).status_code == 401
        with pytest.raises(CLOSED):
            await asking(kafka)


async def test_login_overrides_the_certificate_until_the_session_ends(doors):
    await doors.broker.security.add_rules([rule("ada", Op.READ, Resource.TOPIC, "orders")])
    await doors.broker.scram_credentials.add("ada", "sesame")
    trusting = doors.authority.trusting(doors.authority.issue("proxy"))
    async with KafkaClient(doors.kafka, tls=trusting) as kafka:
        assert (await kafka.ask(MetadataRequest(None), 12)).topics == []
        assert (await log_in(kafka, "ada", "sesame")).error_code == 0
        assert (await kafka.ask(MetadataRequest(None), 12)).topics[0].name == "orders"
        await doors.broker.scram_credentials.remove("ada")
        with pytest.raises(CLOSED):
            await asking(kafka)
    async with KafkaClient(doors.kafka, tls=trusting) as kafka:
        assert (await log_in(kafka, "ada", "sesame")).error_code == 58
        with pytest.raises(CLOSED):
            await kafka.ask(MetadataRequest(None), 12)
