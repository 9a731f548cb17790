"""lua/broker/update_rows: the version changes if and only if a row changes."""

from __future__ import annotations

import pytest

from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import Node


@pytest.fixture
def change(connect, prefix):
    node = Node(connect(f"{prefix}:{{catalog}}:"), f"{prefix}:{{catalog}}")
    keys = CatalogKeys(prefix)
    return node, lambda *given: node.run("broker/update_rows", (keys.acls, keys.state), "security", *given)


def test_rows_are_set_changed_and_removed(change):
    node, call = change
    assert call("v1", "a", "1", "b", "2") == [Status.OK, 2]
    assert call("v2", "a", "3", "b", "") == [Status.OK, 2]
    assert node.dump() == {"acls": {b"a": b"3"}, "state": {b"security": b"v2"}}


def test_a_repeated_call_changes_nothing(change):
    node, call = change
    for rows in (("a", "1"), ("a", "2", "b", "1"), ("a", "")):
        call("first", *rows)
        before = node.dump()
        assert call("again", *rows) == [Status.OK, 0]
        assert node.dump() == before


def test_removing_what_is_not_there_is_no_news(change):
    node, call = change
    assert call("v1", "a", "") == [Status.OK, 0]
    assert node.dump() == {}
