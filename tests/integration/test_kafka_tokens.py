"""API tokens as PLAIN passwords, and sessions that end with the token or the user."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.clock import ManualClock
from redis_ledger.kafka import server
from redis_ledger.kafka.protocol.messages.describe_acls_request import DescribeAclsRequest
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest
from redis_ledger.store.store import ReplyError
from tests.support.broker import eventually
from tests.support.kafka_client import KafkaClient
from tests.support.secured_kafka import Secured, log_in, secured

FAILED, CLUSTER_FORBIDDEN = 58, 31
CLOSED = (ConnectionError, asyncio.IncompleteReadError)
WITHIN_S = 5.0


@pytest.fixture
async def world(redis_url, prefix) -> AsyncIterator[Secured]:
    async with secured(redis_url, prefix) as opened:
        await opened.broker.scram_credentials.add("ada", "sesame")
        yield opened


async def is_closed(client: KafkaClient) -> bool:
    try:
        await client.ask(MetadataRequest(), 12)
    except CLOSED:
        return True
    return False


async def test_a_token_is_a_password_of_the_user_token_and_names_its_principal(world):
    async with KafkaClient(world.address) as client:
        assert (await log_in(client, "token", await world.token("bob"))).error_code == 0
        request = DescribeAclsRequest(1, None, 1, None, None, 1, 1)
        refused = await client.ask(request, 3)
        assert (refused.error_code, "User:bob" in refused.error_message) == (CLUSTER_FORBIDDEN, True)
        await world.allow("bob", Op.DESCRIBE, Resource.CLUSTER)
        assert (await client.ask(request, 3)).error_code == 0


@pytest.mark.parametrize("user", ["token", "ada", ""])
async def test_a_foreign_token_is_refused(world, user):
    stranger = "rl_" + "0" * 12 + "_" + "0" * 64
    for password in (stranger, stranger[:-1], "", "sesame" if user == "token" else await world.token("ada")):
        async with KafkaClient(world.address) as client:
            assert (await log_in(client, user, password)).error_code == FAILED


async def test_the_bootstrap_token_is_the_first_administrator(redis_url, prefix, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x" * 40 + "\n")
    async with (
        secured(redis_url, prefix, bootstrap_token_file=str(secret)) as world,
        KafkaClient(world.address) as client,
    ):
        assert (await log_in(client, "token", "x" * 40)).error_code == 0
        assert (await client.ask(DescribeAclsRequest(1, None, 1, None, None, 1, 1), 3)).error_code == 0


async def test_a_connection_ends_when_its_token_is_revoked_and_others_stay(world):
    bob, root = await world.client("bob"), await world.client("root")
    assert not await is_closed(bob)
    (id,) = [id for id, stored in world.broker.security.tokens.items() if stored.principal == "User:bob"]
    await world.broker.security.revoke_token(id)
    assert await eventually(lambda: is_closed(bob), True, WITHIN_S)
    assert not await is_closed(root)


async def test_a_connection_ends_when_its_user_is_removed_and_others_stay(world):
    await world.broker.scram_credentials.add("eve", "sesame")
    async with KafkaClient(world.address) as ada, KafkaClient(world.address) as eve:
        for client, name in ((ada, "ada"), (eve, "eve")):
            assert (await log_in(client, name, "sesame")).error_code == 0
            assert not await is_closed(client)
        await world.broker.scram_credentials.remove("eve")
        assert await eventually(lambda: is_closed(eve), True, WITHIN_S)
        assert not await is_closed(ada)


async def test_a_token_that_expires_ends_its_connections(redis_url, prefix):
    clock = ManualClock(1_800_000_000_000)
    async with secured(redis_url, prefix, clock=clock) as world, KafkaClient(world.address) as client:
        _, token = await world.broker.security.create_token("User:bob", expires_ms=clock.now_ms() + 60_000)
        assert (await log_in(client, "token", token)).error_code == 0
        assert not await is_closed(client)
        clock.advance(60_001)
        assert await eventually(lambda: is_closed(client), True, WITHIN_S)


async def test_a_look_that_fails_is_not_the_last_one(redis_url, prefix, monkeypatch):
    monkeypatch.setattr(server, "CHECK_EVERY_S", 0.02)
    async with secured(redis_url, prefix) as world:
        await world.broker.scram_credentials.add("ada", "sesame")
        marks, asked = world.broker.scram_credentials.marks, []

        async def fails_at_first(names):
            asked.append(names)
            if len(asked) == 1:
                raise ReplyError("NOPERM this user has no permissions")
            return await marks(names)

        monkeypatch.setattr(world.broker.scram_credentials, "marks", fails_at_first)
        async with KafkaClient(world.address) as client:
            assert (await log_in(client, "ada", "sesame")).error_code == 0

            async def looks() -> bool:
                return len(asked) > 2

            assert await eventually(looks, True)
            assert (await client.ask(MetadataRequest(None), 12)).error_code == 0
