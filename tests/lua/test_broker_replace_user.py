"""lua/broker/replace_user: every reply, and the state that each leaves unchanged."""

from __future__ import annotations

import pytest

from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import Node


@pytest.fixture
def change(connect, prefix):
    """The node, and the script on one user: change(seen, wanted)."""
    node = Node(connect(f"{prefix}:{{catalog}}:"), f"{prefix}:{{catalog}}")
    key = CatalogKeys(prefix).users
    return node, lambda seen, wanted, user="ada": node.run("broker/replace_user", (key,), user, seen, wanted)


def test_user_row_changes_only_if_it_is_as_the_caller_read_it(change):
    node, call = change
    assert call("", "one") == [Status.OK]
    assert call("one", "two") == [Status.OK]
    before = node.dump()
    assert call("", "three") == [Status.STALE, "two"]
    assert call("one", "three") == [Status.STALE, "two"]
    assert call("", "") == [Status.STALE, "two"]
    assert node.dump() == before


def test_a_repeated_change_answers_as_the_first_did(change):
    node, call = change
    call("", "one", "bob")
    for seen, wanted in (("", "one"), ("one", "two"), ("two", "")):
        assert call(seen, wanted) == [Status.OK]
        before = node.dump()
        assert call(seen, wanted) == [Status.OK]
        assert node.dump() == before
    assert node.dump() == {"users": {b"bob": b"one"}}, "of this user only"
