"""Upgrades from the release before: takes it out of git, lays it out beside this one, and runs both on one Redis.

    .venv/bin/python scripts/upgrade.py [...]               pytest on tests/upgrade, or on what is named
    .venv/bin/python scripts/upgrade.py --from REF [...]    from another commit or tag than HEAD

It lies in the user's cache folder, once for each commit.  It runs in this environment if that has all that its own lock
asks for, else in one that is built from the lock.  Missing parts are reported as failures: nothing is skipped.
"""

from __future__ import annotations

import argparse
import fcntl
import io
import os
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import Requirement

from redis_ledger.spark.session import cache_folder

ROOT = Path(__file__).resolve().parent.parent
LOCK = Path("requirements") / "demo.lock"
MADE = ".made"


class Missing(Exception):
    """A requirement is missing; the message has the remedy."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Tests of upgrading from the release before, broker by broker.")
    parser.add_argument("--from", dest="previous", default="HEAD", metavar="REF")
    asked, rest = parser.parse_known_args()
    try:
        commit = commit_of(asked.previous)
        release = laid_out(commit)
        python = interpreter(release)
    except Missing as missing:
        print(f"upgrade: {missing}", file=sys.stderr)
        return 1
    if code := subprocess.call([sys.executable, str(ROOT / "tests" / "compat" / "environment.py")]):
        print("upgrade: the environment of confluent-kafka could not be built (tests/compat)", file=sys.stderr)
        return code
    print(f"upgrade: from {commit[:12]} in {release}, run by {python}", file=sys.stderr, flush=True)
    environ = os.environ | {"PREVIOUS_RELEASE": str(release), "PREVIOUS_PYTHON": str(python)}
    folder = [] if any(argument.startswith("tests") for argument in rest) else ["tests/upgrade"]
    return subprocess.call([sys.executable, "-m", "pytest", "-q", *folder, *rest], cwd=ROOT, env=environ)


def git(*arguments: str) -> bytes:
    """Raises Missing."""
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise Missing(
            "git is not installed, and the release before is taken out of this repository's history"
        ) from None
    if done.returncode != 0:
        raise Missing(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def commit_of(name: str) -> str:
    """Raises Missing."""
    try:
        return git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").decode().strip()
    except Missing:
        pass
    if not (ROOT / ".git").exists():
        raise Missing(
            f"{ROOT} is not a git clone, and the release before ({name}) is taken out of its history: clone it"
        )
    is_shallow = git("rev-parse", "--is-shallow-repository").strip() == b"true"
    why = "this clone is shallow: git fetch --unshallow --tags" if is_shallow else "git fetch --tags, or name another"
    raise Missing(f"commit {name}, the release before, is not in this clone; {why}")


def laid_out(commit: str) -> Path:
    """The folder that holds the commit's files."""
    home = cache_folder() / "releases"
    home.mkdir(parents=True, exist_ok=True)
    release = home / commit
    with (home / "lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # two runs at a time make it once
        if not (release / MADE).exists():
            shutil.rmtree(release, ignore_errors=True)
            with tarfile.open(fileobj=io.BytesIO(git("archive", "--format=tar", commit))) as archive:
                archive.extractall(release, filter="data")
            (release / MADE).touch()
    return release


def interpreter(release: Path) -> Path:
    """The Python interpreter for a release.  Raises Missing."""
    lock = release / LOCK
    if all(is_here(pin) for pin in pins(lock)):
        return Path(sys.executable)
    home = release / ".venv"
    python = home / "bin" / "python"
    with (release.parent / "lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not (home / MADE).exists():
            build(home, python, lock)
            (home / MADE).touch()
    return python


def pins(lock: Path) -> list[Requirement]:
    lines = (line.rstrip(" \\") for line in lock.read_text().splitlines() if line[:1].isalnum())
    found = [Requirement(line) for line in lines]
    return [each for each in found if each.marker is None or each.marker.evaluate()]


def is_here(pin: Requirement) -> bool:
    try:
        return version(pin.name) in pin.specifier
    except PackageNotFoundError:
        return False


def build(home: Path, python: Path, lock: Path) -> None:
    print(f"upgrade: building {home} (a minute, once)", file=sys.stderr, flush=True)
    made = [sys.executable, "-m", "venv", "--clear", str(home)]
    pip = [str(python), "-m", "pip"]
    if subprocess.call(made, stdout=subprocess.DEVNULL) != 0:
        # Debian splits ensurepip off; a pip beside the interpreter serves as well.
        pip = [sys.executable, "-m", "pip", "--python", str(python)]
        if subprocess.call([*made, "--without-pip"]) != 0:
            raise Missing("python3 -m venv does not work here")
    install = [*pip, "install", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    if subprocess.call([*install, "-r", str(lock)]) != 0:
        raise Missing(f"pip could not install {lock}; its message is above")


if __name__ == "__main__":
    sys.exit(main())
