"""The keys of a Kafka group's offset, and the keys that scripts declare."""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import Subscription
from tests.support.group_offset_scripts import Group

OK = Status.OK


@pytest.fixture
def group(ledger) -> Group:
    """On a log of ten records."""
    for _ in range(5):
        ledger.append(2)
    return Group(ledger)


def test_a_register_has_two_keys(group):
    group.commit(7)
    assert sorted(group.held()) == ["cursor", "pending"]


def test_an_end_names_only_the_keys_that_a_register_has(group):
    group.commit(7)
    group.commit(9, txn="0-7")
    group.log.end({"txn": (0, 7), "commit": True, "groups": ["g"]})
    assert (group.offset, group.pending) == (9, set())
    assert sorted(group.held()) == ["cursor", "pending"]


def test_an_end_that_takes_a_subscription_for_a_group_does_nothing(group):
    sub = Subscription(group.log, "s")
    sub.receive("c1", 4)
    sub.hold("0-7", [0])
    before = sub.content(), group.log.client.hgetall(group.log.keys.state)
    group.commit(9, txn="0-7")
    assert group.log.end({"txn": (0, 7), "commit": True, "subs": ["g"], "groups": ["s"]}) == [Status.STALE]
    assert (sub.content(), group.log.client.hgetall(group.log.keys.state)) == before
    assert group.pending == {"0-7"}
