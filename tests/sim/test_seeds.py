"""Three seeds that are always the same break no rule, and what each of them is there for happens."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.sim.__main__ import World, simulate
from tests.sim.history import History
from tests.sim.long_run import totals

SECONDS = 6.0


class Fixed(NamedTuple):
    """faults: kinds that happen in a run of SECONDS."""

    world: World
    faults: frozenset[str]
    promotions_min: int = 0


FIXED = {
    1: Fixed(World("single"), frozenset({"broker.kill", "client.kill", "link.lose_replies"})),
    2: Fixed(World("cluster"), frozenset({"redis.pause", "broker.pause", "client.kill", "link.break_reply"})),
    # The primary is killed while its replicas are behind.
    48: Fixed(World("sentinel", "replicas"), frozenset({"shard.behind", "broker.pause", "client.kill"}), 1),
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", FIXED)
def test_a_run_breaks_no_rule(seed, tmp_path):
    """A failure prints the seed, the findings, and the command that replays it."""
    fixed = FIXED[seed]
    findings = simulate(seed, SECONDS, tmp_path / "run", fixed.world)
    assert findings == []
    history = History.load(tmp_path / "run" / "history.jsonl")
    assert {note["fault"] for note in history.notes("fault")} >= fixed.faults
    assert totals(history).promotions >= fixed.promotions_min
    assert totals(history).transactions > 0
