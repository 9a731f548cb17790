"""Starts another process of this package with the same Python and the same code.

`python -m redis_ledger…` alone looks into the current directory first, which may hold another package of that name.
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
    """The environment for it.  A checkout has to be named; what is installed is found."""
    if str(ROOT) in (*site.getsitepackages(), site.getusersitepackages()):
        return dict(present)
    paths = [str(ROOT), *filter(None, present.get("PYTHONPATH", "").split(os.pathsep))]
    return {**present, "PYTHONPATH": os.pathsep.join(paths)}
