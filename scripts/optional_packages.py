"""Adds the packages of a lock file to .venv where they are missing: what only some make targets need.

browser.lock   scripts/check.py console, scripts/check.py console-screenshots
site.lock      make site
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def install(name: str) -> int:
    """Installs what requirements/NAME.lock pins and .venv lacks, or has in another version.  Returns the exit code."""
    lock = ROOT / "requirements" / f"{name}.lock"
    with (ROOT / ".venv.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        pins = [line.split()[0].split("==") for line in lock.read_text().splitlines() if line[:1].isalnum()]
        if all(installed(package) == pin for package, pin in pins):
            return 0
        print(f"{name}: installing {len(pins)} packages from {lock.relative_to(ROOT)}", file=sys.stderr, flush=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
        return subprocess.call([*pip, "--no-deps", "--require-hashes", "-r", str(lock)])


def installed(package: str) -> str:
    """The installed version, or "" where there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
