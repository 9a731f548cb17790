"""The console in a real browser: tests, and the pictures of its documentation.

    .venv/bin/python scripts/browser.py test [...]             pytest on tests/browser, or on what is named
    .venv/bin/python scripts/browser.py screenshots [FOLDER]   docs/images/console/*.png anew

The browser is the machine's: CHROMIUM, or chromium, chromium-browser or google-chrome on PATH.  What drives it,
requirements/browser.lock, is added to .venv where it is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.optional_packages import install  # noqa: E402  a script has its own folder on sys.path, not the root
from tests.browser.chrome import find  # noqa: E402


def main() -> int:
    command, arguments = sys.argv[1], sys.argv[2:]
    if find(dict(os.environ)) is None:
        print(
            "browser: there is no Chromium here: install one (on Debian: apt install chromium), or name it in CHROMIUM",
            file=sys.stderr,
        )
        return 1
    if code := install("browser"):
        return code
    if command == "screenshots":
        return subprocess.call([sys.executable, "-m", "tests.browser.pictures", *arguments], cwd=ROOT)
    folder = [] if any(argument.startswith("tests") for argument in arguments) else ["tests/browser"]
    return subprocess.call([sys.executable, "-m", "pytest", "-q", *folder, *arguments], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
