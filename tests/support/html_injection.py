"""Texts that would become more than text on a page that writes them as they are, and what a browser makes of a page."""

from __future__ import annotations

from html.parser import HTMLParser

TEXTS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "</style><script>alert(1)</script>",
    "</title></textarea><script>alert(1)</script>",
    "javascript:alert(1)",
    '" onmouseover="alert(1)',
    "--><b>&lt;i&gt;{{ 7 * 7 }}{% raw %}",
    "a\u2028b\u2029c`${alert(1)}`",
    "]]>\x00\x1b[31m",
)
# Attributes whose content is an address.
ADDRESSES = {"action", "formaction", "href", "hx-get", "hx-post", "src"}


class Seen(HTMLParser):
    """shape: tags with the names of their attributes, in order.  addresses: where they lead.  texts: all that is shown,
    with contents of attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.shape: list[tuple[str, ...]] = []
        self.addresses: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.shape.append((tag, *(name for name, _ in attrs)))
        self.addresses += [value or "" for name, value in attrs if name in ADDRESSES]
        self.texts += [value or "" for _, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        self.shape.append(("/" + tag,))

    def handle_comment(self, data: str) -> None:
        self.shape.append(("comment", data))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
