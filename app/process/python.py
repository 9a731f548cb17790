"""Command line and environment of child processes with the same Python and the same code.

`python -m` alone would search the current directory first, which may contain another package of the same name.
"""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[3]


def command(module: str) -> list[str]:
    return [sys.executable, "-P", "-m", module]


def environ(present: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a child process; adds a checkout to PYTHONPATH."""
    if str(ROOT) in (*site.getsitepackages(), site.getusersitepackages()):
        return dict(present)
    paths = [str(ROOT), *filter(None, present.get("PYTHONPATH", "").split(os.pathsep))]
    return {**present, "PYTHONPATH": os.pathsep.join(paths)}
