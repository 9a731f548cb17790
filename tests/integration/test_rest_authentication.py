"""Authentication of REST requests: bearer tokens, certificates, and invalid credentials."""

from __future__ import annotations

import re
import secrets
from typing import Any, cast

import pytest

from redis_ledger.app.http.application import OPERATIONS, create_app
from redis_ledger.app.http.authentication import PEER
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.clock import ManualClock
from tests.support.principals import ROOT
from tests.support.rest import client_of, open_broker
from tests.support.secured_rest import secured

PARAMETERS = {"topic": "orders", "name": "billing", "id": "0-1", "partition": "0", "scheduled": "0:1.0"}


REFUSED = (401, "unauthenticated", "Bearer")


def problem(answer):
    return answer.status_code, answer.json()["code"], answer.headers.get("www-authenticate")


@pytest.mark.parametrize(
    "operation", [each for each in OPERATIONS if not each.is_public], ids=lambda operation: operation.id
)
async def test_access_requires_authentication(redis_url, prefix, operation):
    async with secured(redis_url, prefix) as world:
        path = re.sub(r"\{(\w+)\}", lambda found: PARAMETERS.get(found[1], "some"), operation.path)
        assert problem(await world.http.request(operation.method, path)) == REFUSED


async def test_login_page_and_probes_are_public_and_show_no_other_data(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        for path in ("/livez", "/readyz", "/v1", "/openapi.json", "/docs"):
            assert (await world.http.get(path)).status_code == 200
        assert {each.path for each in OPERATIONS if each.is_public} == {"/livez", "/readyz", "/v1"}


@pytest.mark.parametrize(
    "header",
    [
        "", "Bearer", "Bearer ", "Basic cm9vdDpyb290", "Bearer rl_000000000000_" + "0" * 64, "Bearer a.b.c", "Token x",
        "Bearer " + "x" * 10_000,
    ],
)  # fmt: skip
async def test_invalid_tokens_are_refused_without_a_reason(redis_url, prefix, header):
    async with secured(redis_url, prefix) as world:
        answer = await world.http.get("/v1/topics", headers={"authorization": header})
        assert problem(answer) == REFUSED
        assert header.partition(" ")[2] not in answer.json()["detail"] or len(header) < 10


async def test_a_token_is_not_taken_from_the_query_nor_from_one_of_two_headers(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        headers = await world.headers(ROOT)
        token = world.tokens[ROOT]
        answer = await world.http.get(f"/v1/topics?access_token={token}")
        assert problem(answer) == REFUSED
        assert "query" in answer.json()["detail"]
        assert token not in answer.text
        twice = [("authorization", headers["authorization"])] * 2
        answer = await world.http.get("/v1/topics", headers=twice)
        assert problem(answer) == REFUSED
        assert "twice" in answer.json()["detail"]
        assert (await world.http.get("/v1/topics", headers=headers)).status_code == 200


async def test_a_token_counts_until_it_is_revoked_or_expires_also_when_it_was_just_used(redis_url, prefix):
    clock = ManualClock()
    async with open_broker(redis_url, prefix, clock=clock, auth_required=True, super_users="User:ada") as broker:
        id, lasting = await broker.security.create_token("User:ada")
        _, short = await broker.security.create_token("User:ada", expires_ms=clock.now_ms() + 1_000)
        async with client_of(broker) as http:

            async def status(token):
                return (await http.get("/v1/topics", headers={"authorization": f"Bearer {token}"})).status_code

            assert [await status(lasting), await status(short)] == [200, 200]
            clock.advance(1_000)
            assert [await status(lasting), await status(short)] == [200, 401]
            await broker.security.revoke_token(id)
            assert await status(lasting) == 401


async def test_the_bootstrap_token_is_an_administrator_and_follows_its_file(redis_url, prefix, tmp_path):
    path, first, second = tmp_path / "token", secrets.token_hex(20), secrets.token_hex(21)
    path.write_text(f"{first}\n")
    async with secured(redis_url, prefix, bootstrap_token_file=str(path)) as world:

        async def status(token):
            return (await world.http.get("/metrics", headers={"authorization": f"bearer {token}"})).status_code

        assert [await status(first), await status(second)] == [200, 401]
        path.write_text(second)
        world.broker.security._read_bootstrap()
        assert [await status(first), await status(second)] == [401, 200]


async def test_the_certificate_names_the_caller_unless_a_token_does(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        app = create_app(world.broker)

        async def with_certificate(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, PEER: "User:cert"}, receive, send)

        await world.allow("cert", Op.DESCRIBE, Resource.TOPIC, "seen")
        await world.allow("ada", Op.DESCRIBE, Resource.TOPIC, "other")
        for name in ("seen", "other"):
            await world.broker.topics.create(name)
        async with client_of(world.broker, cast(Any, with_certificate)) as http:
            by_certificate = await http.get("/v1/topics")
            by_token = await http.get("/v1/topics", headers=await world.headers("ada"))
            assert problem(await http.get("/v1/topics", headers={"authorization": "Bearer no"})) == REFUSED
        assert [t["name"] for t in by_certificate.json()["topics"]] == ["seen"]
        assert [t["name"] for t in by_token.json()["topics"]] == ["other"]


async def test_the_host_of_a_rule_is_the_address_of_the_connection(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await world.allow("ada", Op.DESCRIBE, Resource.CLUSTER, host="10.9.9.9")
        assert (await world.get("ada", "/metrics")).status_code == 403
        await world.allow("ada", Op.DESCRIBE, Resource.CLUSTER, host="127.0.0.1")
        assert (await world.get("ada", "/metrics")).status_code == 200


async def test_without_authentication_every_request_is_accepted(redis_url, prefix):
    async with secured(redis_url, prefix, auth_required=False) as world:
        answer = await world.http.get("/v1/topics", headers={"authorization": "Bearer nonsense"})
        assert answer.status_code == 200
