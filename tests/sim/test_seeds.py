"""Three seeds that are always the same, and a random one: no rule is broken."""

from __future__ import annotations

import secrets

import pytest

from tests.sim.__main__ import ANY, SEEDS, World, simulate

SECONDS = 10.0
# 48: the primary is killed while its replicas are behind.
FIXED = {1: World("single"), 2: World("cluster"), 48: World("sentinel", "replicas")}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [*FIXED, None])
def test_a_run_breaks_no_rule(seed, tmp_path):
    """seed None: a random one.  A failure prints the seed, the findings, and the command that replays it."""
    world = FIXED.get(seed, ANY)
    findings = simulate(secrets.randbelow(SEEDS) if seed is None else seed, SECONDS, tmp_path / "run", world)
    assert findings == []
