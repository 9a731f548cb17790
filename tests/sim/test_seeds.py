"""Three seeds that are always the same, and a random one: no rule is broken."""

from __future__ import annotations

import secrets

import pytest

from tests.sim.__main__ import SEEDS, simulate

SECONDS = 10.0


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2, 3, None])
def test_a_run_breaks_no_rule(seed, tmp_path):
    """seed None: a random one, which the output names."""
    findings = simulate(secrets.randbelow(SEEDS) if seed is None else seed, SECONDS, tmp_path / "run")
    assert findings == []
