"""Three seeds that are always the same break no rule, and what each of them is there for happens."""

from __future__ import annotations

import shutil
from typing import NamedTuple

import pytest

from tests.sim.__main__ import World, simulate
from tests.sim.history import History
from tests.sim.long_run import totals
from tests.support.processes import ROOT

SECONDS = 6.0
KEPT = ROOT / "build" / "sim"


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
def test_a_run_breaks_no_rule(seed):
    """A failure prints the seed, the findings, and the command that replays it; the run stays until the next one."""
    fixed, folder = FIXED[seed], KEPT / f"seed-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    findings = simulate(seed, SECONDS, folder, fixed.world)
    assert findings == []
    history = History.load(folder / "history.jsonl")
    assert {note["fault"] for note in history.notes("fault")} >= fixed.faults
    assert totals(history).promotions >= fixed.promotions_min
    assert totals(history).transactions > 0
