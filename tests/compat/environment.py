"""Builds tests/compat/.venv from requirements.txt, once; does nothing when nothing changed.

The clients stay out of the project's own lock: what they need must not decide what redis-ledger runs with.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "compat.stamp"
REQUIREMENTS = HERE / "requirements.txt"


def fingerprint() -> str:
    digest = hashlib.sha256(f"{sys.version} {HERE}".encode())
    digest.update(REQUIREMENTS.read_bytes())
    return digest.hexdigest()


def is_ready() -> bool:
    return PYTHON.exists() and STAMP.exists() and STAMP.read_text() == fingerprint()


def build() -> int:
    print("building the Python clients' environment (half a minute)", file=sys.stderr, flush=True)
    # A pip beside this interpreter serves as well; to install another one takes half of the time.
    has_pip = importlib.util.find_spec("pip") is not None
    if subprocess.call([sys.executable, "-m", "venv", "--clear", *["--without-pip"] * has_pip, str(VENV)]) != 0:
        return 1
    pip = [sys.executable, "-m", "pip", "--python", str(PYTHON)] if has_pip else [str(PYTHON), "-m", "pip"]
    install = [*pip, "install", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps"]
    if subprocess.call([*install, "--only-binary", ":all:", "-r", str(REQUIREMENTS)]) != 0:
        return 1
    STAMP.write_text(fingerprint())
    return 0


def main() -> int:
    with (HERE / ".venv.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        return 0 if is_ready() else build()


if __name__ == "__main__":
    sys.exit(main())
