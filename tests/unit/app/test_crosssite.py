"""Which requests a foreign page may have made a browser send."""

from __future__ import annotations

import pytest

from app.crosssite import is_foreign

HOST = (b"host", b"broker:8080")


@pytest.mark.parametrize(
    ("method", "headers", "foreign"),
    [
        ("POST", [HOST], False),  # no browser
        ("POST", [HOST, (b"origin", b"https://broker:8080")], False),
        ("POST", [HOST, (b"origin", b"https://evil.example")], True),
        ("POST", [HOST, (b"origin", b"https://broker:8081")], True),
        ("POST", [HOST, (b"origin", b"null")], True),
        ("POST", [(b"origin", b"null")], True),
        ("POST", [HOST, (b"sec-fetch-site", b"cross-site")], True),
        ("POST", [HOST, (b"sec-fetch-site", b"same-site")], True),
        ("POST", [HOST, (b"sec-fetch-site", b"cross-site"), (b"authorization", b"Bearer x")], False),
        ("POST", [HOST, (b"authorization", b"Bearer x"), (b"origin", b"https://evil.example")], False),
        (
            "POST",
            [HOST, (b"sec-fetch-site", b"same-origin"), (b"origin", b"https://outside.example")],
            False,
        ),  # a proxy
        ("POST", [HOST, (b"sec-fetch-site", b"nonsense")], True),
        ("DELETE", [HOST, (b"origin", b"https://evil.example")], True),
        ("PUT", [HOST, (b"sec-fetch-site", b"none")], False),
        ("GET", [HOST, (b"origin", b"https://evil.example")], False),
        ("HEAD", [HOST, (b"sec-fetch-site", b"cross-site")], False),
    ],
)
def test_what_changes_something_comes_from_our_own_pages_or_from_no_page(method, headers, foreign):
    assert is_foreign(method, headers) is foreign
