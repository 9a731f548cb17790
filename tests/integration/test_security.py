"""The broker's copy of rules and tokens: changes, propagation to other brokers, and behaviour without Redis."""

from __future__ import annotations

import asyncio
import json
import secrets
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from redis_ledger.auth.acl import CLUSTER_NAME, Caller, Effect, Filter, Op, Pattern, Resource, Rule, everything
from redis_ledger.broker.cluster import metadata_cache as module
from redis_ledger.clock import ManualClock
from redis_ledger.errors import (
    ClusterForbidden,
    GroupForbidden,
    InvalidRequest,
    StoredDamaged,
    TopicForbidden,
    TransactionForbidden,
    Unauthenticated,
    UnknownToken,
)
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.telemetry import metrics
from tests.support.broker import eventually, one, two

ADA = Caller("User:ada", "10.0.0.7")
CURVE = jwt.get_algorithm_by_name("ES256").to_jwk(ec.generate_private_key(ec.SECP256R1()).public_key(), as_dict=True)
KEYS = json.dumps({"keys": [CURVE]})
ON: dict[str, Any] = {"auth_required": True, "super_users": "User:root; User:ops;"}


def rule(operation=Op.READ, name="orders", effect=Effect.ALLOW, resource=Resource.TOPIC, pattern=Pattern.LITERAL):
    return Rule(effect, "User:ada", "*", operation, resource, pattern, name)


async def test_a_rule_counts_here_at_once_and_elsewhere_by_itself_soon(redis_url, prefix, monkeypatch):
    monkeypatch.setattr(module, "REFRESH_S", 0.02)
    async with two(redis_url, prefix, **ON) as (here, elsewhere):
        asked = (ADA, Op.READ, Resource.TOPIC, "orders")
        assert await here.security.add_rules([rule(), rule()]) == 1
        assert here.security.allows(*asked)

        async def seen() -> bool:
            return elsewhere.security.allows(*asked)

        assert await eventually(seen, True)
        assert await elsewhere.security.remove_rules([Filter(principal="User:ada")]) == [[rule()]]
        assert not elsewhere.security.allows(*asked)

        async def seen_here() -> bool:
            return here.security.allows(*asked)

        assert await eventually(seen_here, False) is False


async def test_a_token_revoked_elsewhere_is_refused_soon(redis_url, prefix, monkeypatch):
    monkeypatch.setattr(module, "REFRESH_S", 0.02)
    async with two(redis_url, prefix, **ON) as (here, elsewhere):
        id, text = await here.security.create_token("User:ada")
        await elsewhere.security.refresh()
        assert elsewhere.security.principal_of(text) == "User:ada"
        await here.security.revoke_token(id)

        async def counts() -> bool:
            try:
                return bool(elsewhere.security.principal_of(text))
            except Unauthenticated:
                return False

        assert await eventually(counts, False) is False
        with pytest.raises(UnknownToken):
            await elsewhere.security.revoke_token(id)


async def test_a_token_made_elsewhere_counts_at_once_and_unknown_ones_do_not_keep_redis_busy(
    redis_url, prefix, monkeypatch
):
    monkeypatch.setattr(module, "REFRESH_S", 60.0)
    monkeypatch.setattr(module, "CAUGHT_UP_S", 30.0)
    async with two(redis_url, prefix, **ON) as (here, elsewhere):
        # Given a token that was made by another process, as the command line does
        _, text = await here.security.create_token("User:ada")
        # When several requests show it at once
        asked = [elsewhere.security.recognize(text) for _ in range(3)]
        # Then none is refused
        assert await asyncio.gather(*asked) == [("User:ada", 0)] * 3
        # And an unknown one does not make brokers query Redis again and again
        _, later = await here.security.create_token("User:eve")
        with pytest.raises(Unauthenticated):
            await elsewhere.security.recognize(later)


async def test_nothing_that_did_not_change_makes_others_read_again(redis_url, prefix):
    async with one(redis_url, prefix, **ON) as broker:
        await broker.security.add_rules([rule()])
        before = broker.security.generation
        await broker.security.add_rules([rule()])
        await broker.security.remove_rules([Filter(principal="User:eve")])
        await broker.security.refresh()
        assert broker.security.generation == before


@pytest.mark.parametrize(
    ("resource", "name", "error"),
    [
        (Resource.TOPIC, "t", TopicForbidden),
        (Resource.GROUP, "g", GroupForbidden),
        (Resource.CLUSTER, CLUSTER_NAME, ClusterForbidden),
        (Resource.TRANSACTIONAL_ID, "x", TransactionForbidden),
    ],
)
async def test_denial_names_principal_operation_and_resource(redis_url, prefix, resource, name, error):
    async with one(redis_url, prefix, **ON) as broker:
        with pytest.raises(error) as refused:
            broker.security.check(ADA, Op.DESCRIBE, resource, name)
        assert "User:ada may not DESCRIBE" in refused.value.detail
        with pytest.raises(error):
            broker.security.check_some(ADA, Op.DESCRIBE, resource)
        for who in ("User:root", "User:ops"):
            broker.security.check(Caller(who, ""), Op.DESCRIBE, resource, name)


async def test_some_name_will_do_where_any_is_asked_for(redis_url, prefix):
    async with one(redis_url, prefix, **ON) as broker:
        await broker.security.add_rules([rule(Op.WRITE, "only-this")])
        broker.security.check_some(ADA, Op.WRITE, Resource.TOPIC)
        await broker.security.add_rules([rule(Op.WRITE, "*", Effect.DENY)])
        with pytest.raises(TopicForbidden):
            broker.security.check_some(ADA, Op.WRITE, Resource.TOPIC)


async def test_all_includes_every_operation(redis_url, prefix):
    async with one(redis_url, prefix, **ON) as broker:
        await broker.security.add_rules(everything("User:ada"))
        for kind, name in (
            (Resource.TOPIC, "t"), (Resource.GROUP, "g"), (Resource.CLUSTER, CLUSTER_NAME),
            (Resource.TRANSACTIONAL_ID, "x"),
        ):  # fmt: skip
            for operation in set(Op) - {Op.ANY}:
                assert broker.security.allows(ADA, operation, kind, name)


async def test_resources_without_rules_are_open_only_by_setting(redis_url, prefix):
    async with one(redis_url, prefix, **ON, allow_everyone_if_no_acl=True) as broker:
        assert broker.security.allows(ADA, Op.WRITE, Resource.TOPIC, "unnamed")
        await broker.security.add_rules([rule(Op.READ, "named")])
        assert not broker.security.allows(ADA, Op.WRITE, Resource.TOPIC, "named")


async def test_a_token_ends_when_its_time_is_over(redis_url, prefix):
    clock = ManualClock()
    async with one(redis_url, prefix, clock=clock, **ON) as broker:
        _, text = await broker.security.create_token("User:ada", expires_ms=clock.now_ms() + 10)
        assert broker.security.identify(text) == ("User:ada", clock.now_ms() + 10)
        clock.advance(10)
        with pytest.raises(Unauthenticated, match="expired"):
            broker.security.principal_of(text)
        with pytest.raises(InvalidRequest, match="expired already"):
            await broker.security.create_token("User:ada", expires_ms=clock.now_ms())


@pytest.mark.parametrize("principal", ["ada", "User:", "User:a\nb", "User:" + "x" * 300, "", "User:*"])
async def test_a_token_is_of_a_principal(redis_url, prefix, principal):
    async with one(redis_url, prefix, **ON) as broker:
        with pytest.raises(InvalidRequest, match="principal"):
            await broker.security.create_token(principal)


@pytest.mark.parametrize("content", ["", "short", "x" * 31, None])
async def test_a_bootstrap_token_that_can_be_guessed_or_is_not_there_keeps_the_broker_from_starting(
    redis_url, prefix, tmp_path, content
):
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InvalidRequest, match="bootstrap_token_file"):
        async with one(redis_url, prefix, **ON, bootstrap_token_file=str(path)):
            pass


async def test_a_bootstrap_token_may_look_like_a_token(redis_url, prefix, tmp_path):
    text = f"rl_{secrets.token_hex(6)}_{secrets.token_hex(32)}"
    (tmp_path / "token").write_text(text)
    async with one(redis_url, prefix, **ON, bootstrap_token_file=str(tmp_path / "token")) as broker:
        assert broker.security.principal_of(text) == "User:admin"
        assert "User:admin" in broker.security.rules.supers


async def test_a_bootstrap_token_counts_until_its_file_is_taken_away_and_not_until_it_is_half_written(
    redis_url, prefix, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(module, "REFRESH_S", 0.01)
    path, token = tmp_path / "token", secrets.token_hex(32)
    path.write_text(token)
    (tmp_path / "jwks").write_text(KEYS)
    more: dict[str, Any] = {"jwt_jwks": str(tmp_path / "jwks"), "jwt_issuer": "us", "jwt_audience": "ledger"}
    async with one(redis_url, prefix, **ON, bootstrap_token_file=str(path), **more) as broker:

        async def supers() -> bool:
            return "User:admin" in broker.security.rules.supers

        async def looked() -> int:
            """Keys are looked at behind the token, which must not keep them from it."""
            assert broker.security.jwts is not None
            return broker.security.jwts.generation

        path.write_text("half")
        (tmp_path / "jwks").write_text(KEYS + " ")
        assert await eventually(looked, 2) == 2
        assert broker.security.principal_of(token) == "User:admin"
        path.unlink()
        assert await eventually(supers, False) is False
        with pytest.raises(Unauthenticated):
            broker.security.principal_of(token)
        (tmp_path / "jwks").write_text(KEYS + "  ")
        assert await eventually(looked, 3) == 3
        path.write_text(token)
        assert await eventually(supers, True)
    lines = [line for line in capsys.readouterr().err.splitlines() if "bootstrap token" in line]
    assert len(lines) == 3, "each once, though it was looked at again and again"


async def test_a_change_behind_a_failover_that_lost_one_is_taken_up(redis_url, prefix):
    async with two(redis_url, prefix, **ON) as (here, elsewhere):
        # Given a change that both saw, and that Redis loses
        keys, command = here.security._keys, here.store.command
        before = await command("HGET", keys.state, "security", key=keys.state)
        await here.security.add_rules([rule()])
        await elsewhere.security.refresh()
        await command("DEL", keys.acls, key=keys.acls)
        await command("HSET", keys.state, "security", before or "0", key=keys.state)
        # When another one is made of the same table
        await here.security.add_rules([rule(Op.WRITE)])
        # Then it counts for who has seen what was lost
        await elsewhere.security.refresh()
        assert not elsewhere.security.allows(ADA, Op.READ, Resource.TOPIC, "orders")
        assert elsewhere.security.allows(ADA, Op.WRITE, Resource.TOPIC, "orders")


async def test_rules_are_taken_up_although_the_file_of_the_bootstrap_token_has_gone(
    redis_url, prefix, tmp_path, monkeypatch
):
    monkeypatch.setattr(module, "REFRESH_S", 0.01)
    path = tmp_path / "token"
    path.write_text(secrets.token_hex(32))
    async with (
        one(redis_url, prefix, **ON) as other,
        one(redis_url, prefix, **ON, bootstrap_token_file=str(path)) as broker,
    ):
        path.unlink()
        await other.security.add_rules([rule()])

        async def seen() -> bool:
            return broker.security.allows(ADA, Op.READ, Resource.TOPIC, "orders")

        assert await eventually(seen, True)
        await other.security.remove_rules([Filter()])
        assert await eventually(seen, False) is False


async def test_cached_rules_stay_in_effect_if_redis_has_unreadable_ones(redis_url, prefix, monkeypatch):
    monkeypatch.setattr(module, "REFRESH_S", 0.01)
    async with one(redis_url, prefix, **ON) as broker:
        await broker.security.add_rules([rule()])
        keys, command = broker.security._keys, broker.store.command
        await command("HSET", keys.acls, "no rule", "1", key=keys.acls)
        await command("HSET", keys.state, "security", "another", key=keys.state)
        with pytest.raises(StoredDamaged, match="An ACL b'no rule'"):
            await broker.security.refresh()
        assert broker.security.allows(ADA, Op.READ, Resource.TOPIC, "orders")
        # And once that is gone, changes count again
        await command("HDEL", keys.acls, "no rule", key=keys.acls)
        await broker.security.add_rules([rule(Op.WRITE)])
        assert broker.security.allows(ADA, Op.WRITE, Resource.TOPIC, "orders")


async def test_without_authentication_everything_is_allowed(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        broker.security.check(Caller("User:ANONYMOUS", ""), Op.ALTER, Resource.CLUSTER, CLUSTER_NAME)
        broker.security.check_some(ADA, Op.WRITE, Resource.TOPIC)


async def test_authenticating_broker_reports_unauthenticated_ones(redis_url, prefix, capfd):
    async with one(redis_url, prefix, **ON) as closed:
        # Given brokers that all ask
        async with one(redis_url, prefix, **ON):
            await closed.live_brokers.send_heartbeat()
            assert (len(closed.live_brokers.live), closed.live_brokers.unauthenticated) == (2, [])
        # When one comes that does not: a setting was forgotten, or its release had no authentication
        async with one(redis_url, prefix, name="open") as let_in:
            await closed.live_brokers.send_heartbeat()
            await closed.live_brokers.send_heartbeat()
            # Then who asks says so, once, and counts it
            assert [node.name for node in closed.live_brokers.unauthenticated] == [let_in.name]
            await closed.metrics_collector.show()
            assert metrics.brokers_open._value.get() == 1
            lines = [line for line in capfd.readouterr().err.splitlines() if "has no authentication" in line]
            assert len(lines) == 1
            assert f'"broker": "{let_in.name}"' in lines[0]
            await let_in.live_brokers.send_heartbeat()
            assert let_in.live_brokers.unauthenticated == []


async def test_a_broker_of_a_release_without_authentication_counts_as_unauthenticated(redis_url, prefix):
    async with one(redis_url, prefix, **ON) as broker:
        await broker.live_brokers.announce({"": "127.0.0.1:9092"})
        k = CatalogKeys(prefix)
        row = '{"node":7,"http":"http://old","kafka":"127.0.0.1:9093"}'
        await broker.store.command("HSET", k.addresses, "old", row, key=k.addresses)
        await broker.store.command("ZADD", k.brokers, 2**52, "old", key=k.brokers)
        await broker.live_brokers.send_heartbeat()
        assert [node.name for node in broker.live_brokers.unauthenticated] == ["old"]
        assert [node.id for node in broker.live_brokers.nodes()] == sorted({7, broker.live_brokers.node_id})
