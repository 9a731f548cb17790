"""The machine's own Chromium, driven by Playwright."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage", "--font-render-hinting=none", "--force-color-profile=srgb")


def find(environ: dict[str, str]) -> str | None:
    """CHROMIUM, or the first of NAMES on PATH."""
    asked = environ.get("CHROMIUM")
    if asked:
        return shutil.which(asked)
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextlib.contextmanager
def chrome() -> Iterator[Any]:
    """A browser of playwright.sync_api."""
    from playwright.sync_api import sync_playwright

    path = find(dict(os.environ))
    assert path, "there is no Chromium here"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()
