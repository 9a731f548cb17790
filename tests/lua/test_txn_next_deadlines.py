"""lua/txn/next_deadlines: one call reads when the next transaction of each coordinator is due."""

from __future__ import annotations

from redis_ledger.store.keys import CoordinatorKeys
from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import Node


def test_the_earliest_deadline_of_each_coordinator(connect, prefix, request):
    """On a cluster, a call has one coordinator."""
    numbers = [1] if "[cluster" in request.node.name else [0, 1, 2]
    keys = [CoordinatorKeys(prefix, number).deadlines for number in numbers]
    node = Node(connect(keys[0].decode()), f"{prefix}:{{tc:1}}")
    for key in keys:
        node.client.zadd(key, {"-": -1})  # as in txn/open
    assert node.run("txn/next_deadlines", keys) == [Status.OK, *[""] * len(keys)]
    node.client.zadd(keys[-1], {"7": 3_000, "8": 2_000, "9": 1_700_000_000_000})
    assert node.run("txn/next_deadlines", keys) == [Status.OK, *[""] * (len(keys) - 1), "2000"]
    node.client.zrem(keys[-1], "7", "8")
    assert node.run("txn/next_deadlines", keys)[-1] == "1700000000000"
