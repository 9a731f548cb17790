"""What stands for the base image: Debian bookworm with Debian's own Python 3.11, by debootstrap, kept in the cache.

The real one, python:3.11-slim-bookworm, is the same Debian with a Python built from source in /usr/local.  Ours puts
names there that lead to Debian's, and drops every compiled module as the real one does, so that what the Dockerfile
compiles is what runs.  The mirror is the one this machine's apt uses; no file names it.
"""

from __future__ import annotations

import fcntl
import hashlib
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

from redis_ledger.spark.session import cache_folder

SUITE = "bookworm"
PACKAGES = (
    "python3.11,python3-venv,python3-distutils"  # python3-distutils is asked for by a name debootstrap cannot solve
)
CACHE = cache_folder() / "image"


def base_root() -> Path:
    """The folder; made the first time, which takes a minute or two.  It is only ever copied from."""
    key = hashlib.sha256(f"{SUITE} {PACKAGES} {inspect.getsource(_make)}".encode()).hexdigest()[:16]
    root = CACHE / f"base-{key}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not root.exists():
            for stale in CACHE.glob("base-*"):
                shutil.rmtree(stale)
            fresh = CACHE / "base-unfinished"
            _make(fresh)
            os.rename(fresh, root)
    return root


def _make(root: Path) -> None:
    print(f"image: making {root.parent} with debootstrap (a minute or two, once)", file=sys.stderr, flush=True)
    debs = CACHE / "debs"
    debs.mkdir(exist_ok=True)
    command = ["debootstrap", "--variant=minbase", f"--cache-dir={debs}", f"--include={PACKAGES}", SUITE, str(root)]
    log = CACHE / "debootstrap.log"
    with log.open("w") as output:
        code = subprocess.call([*command, *_mirror()], stdout=output, stderr=output)
    assert code == 0, f"debootstrap failed:\n{log.read_text()[-2000:]}"
    for name in ("python", "python3", "python3.11"):
        (root / "usr/local/bin" / name).symlink_to("/usr/bin/python3.11")
    for compiled in root.rglob("*.pyc"):
        compiled.unlink()
    # What debootstrap took over from this machine.
    for name in ("etc/resolv.conf", "etc/hostname", "etc/apt/sources.list"):
        (root / name).unlink(missing_ok=True)
    shutil.rmtree(root / "var/cache/apt", ignore_errors=True)
    shutil.rmtree(root / "var/lib/apt/lists", ignore_errors=True)


def _mirror() -> list[str]:
    """The machine's own; none lets debootstrap choose."""
    ask = ["apt-get", "indextargets", "--format", "$(CODENAME) $(COMPONENT) $(REPO_URI)", "Created-By: Packages"]
    lines = subprocess.run(ask, capture_output=True, text=True, check=False).stdout.splitlines()
    return [line.split()[2] for line in lines if line.split()[:2] == [SUITE, "main"]][:1]
