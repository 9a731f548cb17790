"""The console in a real browser: tests, and the pictures of its documentation.

    .venv/bin/python scripts/browser.py test [...]             pytest on tests/browser, or on what is named
    .venv/bin/python scripts/browser.py screenshots [FOLDER]   docs/images/console/*.png anew

The browser is the machine's: CHROMIUM, or chromium, chromium-browser or google-chrome on PATH.  What drives it,
requirements/browser.lock, is added to .venv where it is missing.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser.chrome import find  # noqa: E402  a script has its own folder on sys.path, not the root

LOCK = ROOT / "requirements" / "browser.lock"


def main() -> int:
    command, arguments = sys.argv[1], sys.argv[2:]
    if find(dict(os.environ)) is None:
        print(
            "browser: there is no Chromium here: install one (on Debian: apt install chromium), or name it in CHROMIUM",
            file=sys.stderr,
        )
        return 1
    if code := install():
        return code
    if command == "screenshots":
        return subprocess.call([sys.executable, "-m", "tests.browser.pictures", *arguments], cwd=ROOT)
    folder = [] if any(argument.startswith("tests") for argument in arguments) else ["tests/browser"]
    return subprocess.call([sys.executable, "-m", "pytest", "-q", *folder, *arguments], cwd=ROOT)


def install() -> int:
    """What the lock has and .venv has not, or not in that version."""
    with (ROOT / ".venv.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        pins = [line.split()[0].split("==") for line in LOCK.read_text().splitlines() if line[:1].isalnum()]
        if all(there(name) == pin for name, pin in pins):
            return 0
        print(f"browser: installing {len(pins)} packages from {LOCK.relative_to(ROOT)}", file=sys.stderr, flush=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
        return subprocess.call([*pip, "--no-deps", "--require-hashes", "-r", str(LOCK)])


def there(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
