"""The release before, as scripts/upgrade.py has laid it out: `scripts/check.py upgrade` says where."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.processes import Release


@pytest.fixture(scope="session")
def old() -> Release:
    assert "PREVIOUS_RELEASE" in os.environ, "run: scripts/check.py upgrade"
    release = Release(Path(os.environ["PREVIOUS_RELEASE"]), Path(os.environ["PREVIOUS_PYTHON"]), "app.cli.main")
    asked = [str(release.python), "-c", "import app, redis_ledger; print(app.__file__); print(redis_ledger.__file__)"]
    found = subprocess.run(asked, cwd=release.root, capture_output=True, text=True, check=True).stdout.split()
    assert [Path(each).parents[1] for each in found] == [release.root] * 2, "it would run other code"
    return release
