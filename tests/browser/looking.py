"""One window onto a console: goes to pages, notes what the browser complains of, and measures what people see."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

CONTRAST_MIN = 4.5

MEASURES = Path(__file__).with_name("looking.js").read_text()
HIDDEN = "Object.defineProperty(document, 'hidden', { get: () => true });"


class Looker:
    """complaints: of the browser's console, of the policy, and requests that went to another origin."""

    def __init__(
        self,
        browser: Any,
        url: str,
        *,
        width: int = 1280,
        scheme: str = "light",
        timezone: str = "Europe/Berlin",
        refreshes: bool = True,
    ) -> None:
        self.url, self.complaints = url, list[str]()
        self._context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, locale="en-GB", timezone_id=timezone
        )
        self._context.set_default_timeout(20_000)
        self._context.add_init_script(MEASURES)
        if not refreshes:  # a hidden page is not refreshed
            self._context.add_init_script(HIDDEN)
        self.page = self._context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", self._sent)

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"console: {message.text} {message.location.get('url')}")

    def _sent(self, request: Any) -> None:
        origin = urlsplit(request.url)
        if origin.scheme != "data" and origin.netloc != urlsplit(self.url).netloc:
            self.complaints.append(f"request: {request.url}")

    def go(self, path: str = "") -> Any:
        """The page, as far as its scripts have dressed it."""
        self.page.goto(f"{self.url}{path}")
        self.page.wait_for_load_state("load")
        return self.page

    def log_in(self, token: str) -> None:
        self.go("/login")
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Log in").first.click()
        self.page.wait_for_url("**/console")

    def open_all(self) -> None:
        self.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    def violations(self) -> list[str]:
        found: list[str] = self.page.evaluate("looking.violations")
        return found

    def pale(self) -> list[list[Any]]:
        """Texts with too little contrast."""
        found = self.page.evaluate("looking.contrasts()")
        assert found, "there is no text"
        return [each for each in found if each[0] < CONTRAST_MIN]

    def unlabelled(self) -> list[str]:
        """Fields and buttons without a name."""
        found: list[str] = self.page.evaluate("looking.unlabelled()")
        return found

    def overflow(self) -> int:
        """By how many pixels the document is wider than the window."""
        found: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return max(found, 0)

    def tab_through(self) -> tuple[list[str], list[str]]:
        """What cannot be reached by the Tab key, and what does not show that it is."""
        wanted: list[str] = self.page.evaluate("looking.reachable()")
        reached, unseen, rounds = set(), set(), 0
        for _ in range(3 * len(wanted) + 20):
            self.page.keyboard.press("Tab")
            at = self.page.evaluate("looking.focused()")
            if at["is_out"]:  # where it begins again; the first round may have begun in the midst
                rounds += 1
                if rounds == 2:
                    break
                continue
            reached.add(at["place"])
            if not at["is_seen"]:
                unseen.add(at["place"])
        return (
            [each for place, each in enumerate(wanted) if place not in reached],
            [each for place, each in enumerate(wanted) if place in unseen],
        )

    def colours_of_charts(self) -> list[int]:
        self.page.wait_for_selector("[data-chart] canvas")
        found: list[int] = self.page.evaluate("looking.drawn()")
        return found

    def refreshed(self) -> None:
        """Waits until the page has been refreshed once more, wholly."""
        assert self.page.evaluate("looking.refreshed()")

    def close(self) -> None:
        self._context.close()
