"""Rules and tokens that change after they were used, at the broker that changes them and at another one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redis_ledger.auth.acl import ANY_HOST, Caller, Effect, Filter, Op, Pattern, Resource, Rule
from redis_ledger.broker.security.service import Security
from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.errors import Unauthenticated
from tests.support.cached_tables import TableStore

ADA = Caller("User:ada", "10.0.0.1")
ALLOWED = Rule(Effect.ALLOW, ADA.principal, ANY_HOST, Op.READ, Resource.TOPIC, Pattern.PREFIXED, "orders-")
DENIED = Rule(Effect.DENY, ADA.principal, ANY_HOST, Op.READ, Resource.TOPIC, Pattern.LITERAL, "orders-eu")
DAY_MS = 86_400_000


@pytest.fixture
def store() -> Any:
    return TableStore()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def here(store, clock) -> Security:
    return Security(store, Config(auth_required=True), clock)


@pytest.fixture
def elsewhere(store, clock) -> Security:
    return Security(store, Config(auth_required=True), clock)


def reads(security: Security, topic: str = "orders-eu") -> bool:
    """Also with the check of whether there is any topic that the caller may read."""
    assert security.rules.allow_some(ADA, Op.READ, Resource.TOPIC) == security.allows(
        ADA, Op.READ, Resource.TOPIC, "orders-us"
    )
    return security.allows(ADA, Op.READ, Resource.TOPIC, topic)


async def test_every_change_of_rules_applies_to_a_caller_that_was_decided_on(here, elsewhere):
    assert not reads(here)
    for change, expected in (
        (here.add_rules([ALLOWED]), True),
        (here.add_rules([DENIED]), False),
        (here.remove_rules([Filter(effect=Effect.DENY)]), True),
        (here.remove_rules([Filter()]), False),
        (here.add_rules([ALLOWED]), True),
    ):
        await change
        assert reads(here) == expected
        await elsewhere.refresh()
        assert reads(elsewhere) == expected


async def test_a_token_ends_when_it_is_revoked_or_expires_although_it_was_used(here, elsewhere, clock):
    # Given two tokens that both brokers have seen
    kept, text = await here.create_token(ADA.principal, expires_ms=clock.now_ms() + DAY_MS)
    other, revoked = await here.create_token(ADA.principal)
    await elsewhere.refresh()
    for security in (here, elsewhere):
        assert [security.principal_of(each) for each in (text, revoked)] == [ADA.principal] * 2
    # When one is revoked, then the other one stays
    await here.revoke_token(other)
    await elsewhere.refresh()
    for security in (here, elsewhere):
        with pytest.raises(Unauthenticated, match="revoked"):
            security.principal_of(revoked)
        assert security.principal_of(text) == ADA.principal
        assert list(await security.list_tokens()) == [kept]
    # until its time is over
    clock.advance(DAY_MS)
    for security in (here, elsewhere):
        with pytest.raises(Unauthenticated, match="expired"):
            security.principal_of(text)


async def test_each_change_invalidates_cached_decisions_and_wakes_those_who_wait(here, elsewhere):
    await elsewhere.refresh()  # the first copy
    for rule in (ALLOWED, DENIED):
        generation, waiting = elsewhere.generation, asyncio.create_task(elsewhere.changed.wait())
        await elsewhere.refresh()
        await asyncio.sleep(0)
        assert (elsewhere.generation, waiting.done()) == (generation, False)
        await here.add_rules([rule])
        await elsewhere.refresh()
        await asyncio.sleep(0)
        assert elsewhere.generation > generation
        assert waiting.done()


async def test_a_rule_that_is_there_already_is_not_added_again(here, elsewhere):
    assert await here.add_rules([ALLOWED, ALLOWED]) == 1
    assert await elsewhere.add_rules([ALLOWED, DENIED]) == 1
    assert await here.remove_rules([Filter(effect=Effect.DENY), Filter()]) == [[DENIED], [ALLOWED]]
