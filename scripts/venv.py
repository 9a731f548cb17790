"""Builds .venv from a lock file, once; says what it does; does nothing when nothing changed.

    python3 scripts/venv.py demo    what running redis-ledger needs          requirements/demo.lock
    python3 scripts/venv.py dev     that, and what its tests and tools need  requirements/dev.lock

`dev` contains `demo` at the same versions, so a dev environment serves both.  A stamp inside .venv holds a digest of
the lock, pyproject.toml, the interpreter and the folder; any change of these installs again.  Two make targets may ask
at the same time: a file lock lets the second wait.

Runs on whatever `python3` is, so it keeps to syntax that Python 3.6 reads, and tells old ones what is missing.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "redis-ledger.stamp"
SUPPORTED = ((3, 11), (3, 12), (3, 13))


def main() -> int:
    level = sys.argv[1]
    if sys.version_info[:2] not in SUPPORTED:
        return hand_over_to_a_supported_python()
    with open(str(ROOT / ".venv.lock"), "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if is_ready(level):
            return 0
        return build(level)


def hand_over_to_a_supported_python() -> int:
    here = "{}.{}".format(*sys.version_info[:2])
    for major, minor in reversed(SUPPORTED):
        other = shutil.which(f"python{major}.{minor}")
        # A shim of a version manager may be on PATH without an interpreter behind it.
        if other and subprocess.call([other, "-c", ""], stderr=subprocess.DEVNULL) == 0:
            say(f"python3 is {here}; using {other}")
            return subprocess.call([other, *sys.argv])
    say(f"redis-ledger needs Python 3.11, 3.12 or 3.13, and {sys.executable} is {here}.")
    say("Install one of them and run: make PYTHON=python3.11 ...")
    return 1


def is_ready(level: str) -> bool:
    try:
        stamp = STAMP.read_text()
    except OSError:
        return False
    return PYTHON.exists() and stamp in (fingerprint(level), fingerprint("dev"))


def fingerprint(level: str) -> str:
    digest = hashlib.sha256("\n".join((level, str(ROOT), sys.version)).encode())
    for part in (lock_file(level), ROOT / "pyproject.toml", Path(__file__)):
        digest.update(part.read_bytes())
    return f"{level} {digest.hexdigest()}\n"


def lock_file(level: str) -> Path:
    return ROOT / "requirements" / f"{level}.lock"


def build(level: str) -> int:
    began = time.monotonic()
    pip = [str(PYTHON), "-m", "pip"]
    if not venv_answers():
        say("creating {} with Python {}.{}".format(VENV.name, *sys.version_info[:2]))
        if subprocess.call([sys.executable, "-m", "venv", "--clear", str(VENV)], stdout=subprocess.DEVNULL) != 0:
            # Debian splits ensurepip off; a pip beside the interpreter serves as well.
            outside = [sys.executable, "-m", "pip", "--python", str(PYTHON)]
            bare = [sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV)]
            if subprocess.call(bare) != 0 or subprocess.call([*outside, "--version"], stdout=subprocess.DEVNULL) != 0:
                say("python3 -m venv does not work here. On Debian and Ubuntu: apt install python3-venv")
                return 1
            pip = outside
    if STAMP.exists():
        STAMP.unlink()
    lock = lock_file(level)
    count = sum(1 for line in lock.read_text().splitlines() if line[:1].isalnum())
    say(f"installing {count} packages from {lock.relative_to(ROOT)} (a minute or two)")
    install = [*pip, "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    # The lock is complete, so pip need not resolve anything: --no-deps.
    if subprocess.call([*install, "--no-deps", "--require-hashes", "-r", str(lock)]) != 0:
        say(f"pip could not install {lock.relative_to(ROOT)}; its message is above.")
        return 1
    if subprocess.call([*install, "--no-deps", "--no-build-isolation", "--no-index", "--editable", str(ROOT)]) != 0:
        say("pip could not install redis-ledger itself; its message is above.")
        return 1
    STAMP.write_text(fingerprint(level))
    say(f"{VENV.name} is ready after {time.monotonic() - began:.0f} s")
    return 0


def venv_answers() -> bool:
    """Whether .venv is an environment of this interpreter's version, in this place, with pip."""
    probe = "import sys, pip; print(sys.prefix, '{}.{}'.format(*sys.version_info[:2]))"
    try:
        seen = subprocess.check_output([str(PYTHON), "-c", probe], stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return False
    return os.fsdecode(seen).strip() == "{} {}.{}".format(VENV, *sys.version_info[:2])


def say(text: str) -> None:
    print("setup: " + text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
