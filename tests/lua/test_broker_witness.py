"""lua/broker/witness: the counter of a node, and where each of its lives began."""

from __future__ import annotations

import pytest

from redis_ledger.store.keys import node_lives, write_counter
from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import Node


class Witness:
    def __init__(self, node, prefix):
        self.node, self.keys = node, (write_counter(prefix, 0), node_lives(prefix, 0))

    def raise_counter(self, life, most=4):
        status, count = self.node.run("broker/witness", self.keys, life, most)
        assert status == Status.OK
        return count

    @property
    def lives(self):
        return [row.decode() for row in self.node.client.lrange(self.keys[1], 0, -1)]


@pytest.fixture
def witness(connect, prefix):
    tag = f"{prefix}:{{witness:0}}"
    return Witness(Node(connect(f"{tag}:"), tag), prefix)


def test_a_life_begins_at_the_count_that_it_found(witness):
    assert [witness.raise_counter("run-a id-a") for _ in range(3)] == [1, 2, 3]
    assert [witness.raise_counter("run-b id-b") for _ in range(2)] == [4, 5]
    assert witness.lives == ["run-a id-a 0", "run-b id-b 3"]


def test_another_replication_id_is_another_life(witness):
    for life in ("run-a id-a", "run-a id-b", "run-a id-a"):
        witness.raise_counter(life)
    assert witness.lives == ["run-a id-a 0", "run-a id-b 1", "run-a id-a 2"]


def test_the_newest_lives_are_kept(witness):
    for number in range(6):
        witness.raise_counter(f"run-{number} id")
    assert witness.lives == [f"run-{number} id {number}" for number in range(2, 6)]
