"""The documentation site: docs/ and the pages beside the code, as HTML with a search that works without a server.

    .venv/bin/python scripts/site.py          builds build/site/; fails on a dead link or a file of another server
    .venv/bin/python scripts/site.py serve    serves it on http://127.0.0.1:8000 and rebuilds it at each change

mkdocs.yml has the navigation, scripts/site_hooks.py what mkdocs does not do by itself.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.optional_packages import install  # noqa: E402  a script has its own folder on sys.path, not the root

SITE = ROOT / "build" / "site"


def main() -> int:
    command = sys.argv[1] if len(sys.argv) > 1 else "build"
    if code := install("site"):
        return code
    code = subprocess.call(
        [sys.executable, "-m", "mkdocs", command, "--strict"],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},  # mkdocs-material prints a notice about itself otherwise
    )
    if code or command != "build":
        return code
    found = [
        f"{page.relative_to(SITE)}: {url}"
        for page in SITE.rglob("*.html")
        for url in loaded_elsewhere(page.read_text())
    ]
    print("\n".join(f"site: loads from another server: {each}" for each in found) or f"site: open {SITE}/index.html")
    return 1 if found else 0


def loaded_elsewhere(html: str) -> list[str]:
    """The scripts, styles and images of a page that are not files of the site."""
    tags = re.findall(r"<(?:script|img|iframe|link(?![^>]*rel=.?canonical))\b[^>]*>", html)
    return [url for tag in tags for url in re.findall(r"(?:src|href)=[\"']?((?:https?:)?//[^\s\"'>]+)", tag)]


if __name__ == "__main__":
    sys.exit(main())
