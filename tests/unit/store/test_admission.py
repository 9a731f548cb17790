"""When a node is compared with what was answered, with nodes that are only names."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from redis_ledger.store.admission import Admission, Probed


class NamedNode:
    """A node that counts how often its data is to be compared."""

    def __init__(self) -> None:
        self.rechecks = 0

    def recheck(self) -> None:
        self.rechecks += 1


class Compared:
    """What an admission has compared; it fails as often as `failures`."""

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.lives = failures, list[str]()

    async def __call__(self, node: Probed, within_s: float) -> None:
        self.lives.append(node.life)
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the connection broke")


async def unused(commands: Sequence[Any]) -> list[Any]:
    raise AssertionError(f"{commands} is not expected")


@pytest.fixture
def node() -> Any:
    return NamedNode()


@pytest.fixture
def admission(node: Any) -> Admission:
    topology: Any = SimpleNamespace(has_slots=False, slot=lambda key: 0, owner=lambda slot: node, links=lambda: [node])
    made = Admission(topology, "rl")
    made.open()
    return made


async def test_a_node_in_doubt_is_compared_once(admission: Admission, node: Any):
    compared = Compared()
    admission.on_compare.append(compared)
    await admission.compare(node, unused, within_s=0.0)
    assert compared.lives == []
    admission.doubt(node)
    assert node.rechecks == 1
    for _ in range(2):
        await admission.compare(node, unused, within_s=0.0)
    assert len(compared.lives) == 1


async def test_a_node_stays_in_doubt_while_its_comparison_fails(admission: Admission, node: Any):
    compared = Compared(failures=2)
    admission.on_compare.append(compared)
    admission.doubt(node)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            await admission.compare(node, unused, within_s=0.0)
    await admission.compare(node, unused, within_s=0.0)
    await admission.compare(node, unused, within_s=0.0)
    assert len(compared.lives) == 3


async def test_before_the_store_is_open_no_node_has_replaced_another(node: Any):
    topology: Any = SimpleNamespace(has_slots=False, slot=lambda key: 0, owner=lambda slot: node, links=lambda: [node])
    Admission(topology, "rl").doubt(node)
    assert node.rechecks == 0
