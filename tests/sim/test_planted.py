"""The simulation finds bugs that are planted in the brokers, and each by the rule that is meant for it."""

from __future__ import annotations

import pytest

from tests.sim.__main__ import simulate
from tests.sim.planted import BUGS

SEED, SECONDS = 1, 8.0


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name, tmp_path):
    findings = simulate(SEED, SECONDS, tmp_path / "run", bug=name)
    assert {finding.rule for finding in findings} >= set(BUGS[name].rules)
