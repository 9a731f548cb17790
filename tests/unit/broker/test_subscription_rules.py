"""Rules of subscriptions, of topics that are deleted and created again."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.broker.subscriptions.redelivery_rules import RedeliveryRule, RedeliveryRules
from tests.support.cached_tables import TableStore


def rule(source_id: str, min_ms: int = 1_000) -> RedeliveryRule:
    return RedeliveryRule(min_ms, 2.0, 60_000, source_id)


@pytest.fixture
def store() -> Any:
    return TableStore()


@pytest.fixture
def rules(store) -> RedeliveryRules:
    return RedeliveryRules(store)


async def test_a_changed_rule_applies_at_every_broker_that_has_used_the_one_before(store, rules):
    other = RedeliveryRules(store)
    for min_ms in (1_000, 2_000, 500):
        await rules.set("t", "s", rule("1", min_ms))
        await other.refresh()
        assert rules.backoff("t", "1", "s") == other.backoff("t", "1", "s") == f"{min_ms} 2 60000"
    assert await other.remove("t", "s")
    await rules.refresh()
    assert rules.backoff("t", "1", "s") == other.backoff("t", "1", "s") == ""
    assert not await rules.remove("t", "s")


async def test_a_rule_of_a_deleted_topic_does_not_apply_to_its_successor(rules):
    await rules.set("t", "s", rule("1"))
    assert rules.get("t", "2", "s") is None
    await rules.set("t", "s", rule("2"))
    assert rules.get("t", "1", "s") is None
    assert rules.get("t", "2", "s") == rule("2")


async def test_a_deletion_that_ends_late_leaves_the_rules_of_the_topic_that_was_created_again(store, rules):
    # Given a topic that is deleted and created again, by brokers that both have its rules
    await rules.set("t", "old", rule("1"))
    await rules.set("t", "oldest", rule(""))
    await rules.set("u", "s", rule("9"))
    other = RedeliveryRules(store)
    await other.refresh()
    await other.set("t", "s", rule("2"))
    # When the first broker completes the deletion, then only rules of the deleted topic are removed
    await rules.remove_all("t", "1")
    assert rules.by_subscription == {("t", "s"): rule("2"), ("u", "s"): rule("9")}
    await other.refresh()
    assert other.by_subscription == rules.by_subscription


async def test_the_rules_that_another_broker_has_made_go_with_their_topic(store, rules):
    await rules.set("t", "s", rule("1"))
    await RedeliveryRules(store).set("t", "later", rule("1"))
    await rules.remove_all("t", "1")
    assert rules.by_subscription == {}
