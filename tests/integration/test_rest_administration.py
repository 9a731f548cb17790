"""Rules, tokens, users and the audit over REST, for administrators and for other principals."""

from __future__ import annotations

import pytest

from redis_ledger.auth.acl import Op, Resource
from tests.support.principals import ROOT
from tests.support.secured_rest import secured

ORDERS = {"principal": "User:ada", "operation": "WRITE", "resource": "TOPIC", "name": "orders-", "pattern": "PREFIXED"}
WHOLE = {**ORDERS, "permission": "ALLOW", "host": "*"}


async def test_rules_are_added_listed_and_deleted_and_count_at_once(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await world.post(ROOT, "/v1/topics", {"name": "orders-eu"})
        records = {"records": [{"value": 1}]}
        assert (await world.post("ada", "/v1/topics/orders-eu/records", records)).status_code == 403
        assert (await world.post(ROOT, "/v1/acls", {"acls": [ORDERS]})).json() == {"added": 1}
        assert (await world.post(ROOT, "/v1/acls", {"acls": [ORDERS]})).json() == {"added": 0}
        assert (await world.post("ada", "/v1/topics/orders-eu/records", records)).status_code == 200
        for query in ("", "?principal=User:ada", "?resource=TOPIC&name=orders-eu&pattern=MATCH", "?operation=WRITE"):
            assert (await world.get(ROOT, f"/v1/acls{query}")).json() == {"acls": [WHOLE]}, query
        assert (await world.get(ROOT, "/v1/acls?name=orders-eu")).json() == {"acls": []}
        deleted = await world.post(ROOT, "/v1/acls:delete", {"filters": [{"principal": "User:ada"}]})
        assert deleted.json() == {"deleted": [WHOLE]}
        assert (await world.post("ada", "/v1/topics/orders-eu/records", records)).status_code == 403


@pytest.mark.parametrize(
    "acl",
    [
        {**ORDERS, "operation": "CLUSTER_ACTION"}, {**ORDERS, "principal": "ada"}, {**ORDERS, "pattern": "MATCH"},
        {**ORDERS, "resource": "CLUSTER"}, {**ORDERS, "name": ""}, {**ORDERS, "operation": "ANY"},
    ],
)  # fmt: skip
async def test_an_impossible_rule_is_refused_and_those_beside_it_are_not_added(redis_url, prefix, acl):
    async with secured(redis_url, prefix) as world:
        answer = await world.post(ROOT, "/v1/acls", {"acls": [ORDERS, acl]})
        assert answer.status_code == 400
        assert (await world.get(ROOT, "/v1/acls")).json() == {"acls": []}


async def test_empty_filter_deletes_nothing(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await world.post(ROOT, "/v1/acls", {"acls": [ORDERS]})
        assert (await world.post(ROOT, "/v1/acls:delete", {"filters": [{}]})).status_code == 400
        assert len((await world.get(ROOT, "/v1/acls")).json()["acls"]) == 1


async def test_a_token_is_shown_once_and_not_stored(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        made = await world.post(ROOT, "/v1/tokens", {"principal": "User:bob", "note": "laptop"}, idempotency_key="k")
        assert made.status_code == 201
        token, id = made.json()["token"], made.json()["id"]
        assert (await world.http.get("/v1/topics", headers={"authorization": f"Bearer {token}"})).status_code == 200
        listed = (await world.get(ROOT, "/v1/tokens?principal=User:bob")).json()["tokens"]
        assert listed == [{**{k: v for k, v in made.json().items() if k != "token"}}]
        secret = token.rpartition("_")[2]
        keys = await world.broker.store.command("KEYS", f"{prefix}:*", key=None)
        assert keys
        for key in keys:
            assert secret.encode() not in (await world.broker.store.command("DUMP", key, key=key)), key
        assert (await world.ask(ROOT, "DELETE", f"/v1/tokens/{id}")).status_code == 204
        assert (await world.http.get("/v1/topics", headers={"authorization": f"Bearer {token}"})).status_code == 401
        assert (await world.ask(ROOT, "DELETE", f"/v1/tokens/{id}")).status_code == 404


async def test_a_super_token_allows_everything(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        made = await world.post(ROOT, "/v1/tokens", {"principal": "User:chief", "super": True})
        world.tokens["chief"] = made.json()["token"]
        assert (await world.post("chief", "/v1/topics", {"name": "t"})).status_code == 201
        assert (await world.get("chief", "/metrics")).status_code == 200
        begun = await world.post("chief", "/v1/transactions", {"together": "x"})
        assert begun.status_code == 201
        assert (await world.post("chief", "/v1/tokens", {"principal": "User:x"})).status_code == 201


async def test_users_may_list_and_revoke_their_own_tokens_only(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await world.token("ada")
        eves, _ = await world.broker.security.create_token("User:eve")
        spare, _ = await world.broker.security.create_token("User:ada", note="spare")
        shown = (await world.get("ada", "/v1/tokens")).json()["tokens"]
        assert {each["principal"] for each in shown} == {"User:ada"}
        assert spare in {each["id"] for each in shown}
        assert (await world.ask("ada", "DELETE", f"/v1/tokens/{eves}")).status_code == 403
        assert (await world.ask("ada", "DELETE", "/v1/tokens/000000000000")).status_code == 403
        assert (await world.ask("ada", "DELETE", f"/v1/tokens/{spare}")).status_code == 204
        await world.allow("ada", Op.DESCRIBE, Resource.CLUSTER)
        everybodys = (await world.get("ada", "/v1/tokens")).json()["tokens"]
        assert {each["principal"] for each in everybodys} >= {"User:ada", "User:eve"}


async def test_users_get_passwords_over_rest(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        assert (await world.ask(ROOT, "PUT", "/v1/users/ada", {"password": "one"})).json() == {
            "user": "ada",
            "new": True,
        }
        assert (await world.ask(ROOT, "PUT", "/v1/users/ada", {"password": "two"})).json()["new"] is False
        await world.broker.scram_credentials.check_password("ada", "two")
        assert [each["user"] for each in (await world.get(ROOT, "/v1/users")).json()["users"]] == ["ada"]
        assert (await world.ask(ROOT, "DELETE", "/v1/users/ada")).status_code == 204
        assert (await world.ask(ROOT, "DELETE", "/v1/users/ada")).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "operation"),
    [
        ("GET", "/v1/acls", None, Op.DESCRIBE),
        ("POST", "/v1/acls", {"acls": [ORDERS]}, Op.ALTER),
        ("POST", "/v1/acls:delete", {"filters": [{"host": "*"}]}, Op.ALTER),
        ("POST", "/v1/tokens", {"principal": "User:eve"}, Op.ALTER),
        ("GET", "/v1/users", None, Op.DESCRIBE),
        ("PUT", "/v1/users/ada", {"password": "x"}, Op.ALTER),
        ("GET", "/v1/audit", None, Op.DESCRIBE),
    ],
)
async def test_administration_takes_a_right_on_the_cluster(redis_url, prefix, method, path, body, operation):
    async with secured(redis_url, prefix) as world:
        answer = await world.ask("ada", method, path, body)
        assert (answer.status_code, answer.json()["code"]) == (403, "cluster_forbidden")
        await world.allow("ada", operation, Resource.CLUSTER)
        assert (await world.ask("ada", method, path, body)).status_code in (200, 201)


@pytest.mark.parametrize("path", ["/v1/acls", "/v1/tokens", "/v1/users"])
async def test_without_authentication_rules_and_tokens_cannot_be_created(redis_url, prefix, path):
    async with secured(redis_url, prefix, auth_required=False) as world:
        assert (await world.http.get(path)).json()["code"] == "security_disabled"
        body = {"principal": "User:eve", "super": True} if path == "/v1/tokens" else {"acls": [ORDERS]}
        method, where = ("PUT", f"{path}/eve") if path == "/v1/users" else ("POST", path)
        answer = await world.http.request(method, where, json={"password": "x"} if path == "/v1/users" else body)
        assert answer.json()["code"] == "security_disabled"
        await world.broker.security.refresh()
        assert (world.broker.security.tokens, world.broker.security.rules.all) == ({}, ())


async def test_the_audit_tells_what_was_done_and_refused_and_holds_no_secret(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await world.post(ROOT, "/v1/topics", {"name": "orders", "partitions": 2})
        await world.ask("eve", "DELETE", "/v1/topics/orders")
        await world.ask(ROOT, "PATCH", "/v1/topics/orders", {"settings": {"retention_ms": 5}})
        made = (await world.post(ROOT, "/v1/tokens", {"principal": "User:bob"})).json()
        await world.ask(ROOT, "PUT", "/v1/users/ada", {"password": "a-secret-word"})
        await world.post(ROOT, "/v1/acls", {"acls": [ORDERS]})
        await world.ask(ROOT, "DELETE", "/v1/topics/orders")
        found = (await world.get(ROOT, "/v1/audit")).json()["entries"]
        assert [(e["principal"], e["act"], e["target"], e["outcome"]) for e in reversed(found)] == [
            ("User:root", "topic.create", "orders", "done"),
            ("User:eve", "topic.delete", "orders", "refused"),
            ("User:root", "topic.change", "orders", "done"),
            ("User:root", "token.create", "User:bob", "done"),
            ("User:root", "user.add", "ada", "done"),
            ("User:root", "acl.add", "1 rule of User:ada", "done"),
            ("User:root", "topic.delete", "orders", "done"),
        ]
        assert found[0]["host"] == "127.0.0.1"
        assert found[-3]["facts"] == {"settings": {"retention_ms": 5}}
        assert "a-secret-word" not in str(found)
        assert made["token"].rpartition("_")[2] not in str(found)
        assert (await world.get(ROOT, f"/v1/audit?limit=1&before={found[0]['id']}")).json()["entries"] == [found[1]]
