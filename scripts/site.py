"""The documentation site: docs/ and the pages beside the code, as HTML with a search that works without a server.

    .venv/bin/python scripts/site.py          builds build/site/; a dead link is an error
    .venv/bin/python scripts/site.py serve    serves it on http://127.0.0.1:8000 and rebuilds it at each change

mkdocs.yml has the navigation, scripts/site_hooks.py what mkdocs does not do by itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.optional_packages import install  # noqa: E402  a script has its own folder on sys.path, not the root


def main() -> int:
    command = sys.argv[1] if len(sys.argv) > 1 else "build"
    if code := install("site"):
        return code
    return subprocess.call(
        [sys.executable, "-m", "mkdocs", command, "--strict"],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},  # mkdocs-material prints a notice about itself otherwise
    )


if __name__ == "__main__":
    sys.exit(main())
