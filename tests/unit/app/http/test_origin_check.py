"""Which requests a foreign page may have made a browser send."""

from __future__ import annotations

import pytest

from redis_ledger.app.http.origin_check import is_cross_origin, is_rebound

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
        ("POST", [HOST, (b"authorization", b"bearer x"), (b"sec-fetch-site", b"cross-site")], False),
        # credentials that a browser attaches automatically
        ("POST", [HOST, (b"authorization", b"Basic eDp5"), (b"sec-fetch-site", b"cross-site")], True),
        ("POST", [HOST, (b"authorization", b"Negotiate x"), (b"origin", b"https://evil.example")], True),
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
def test_changes_require_the_same_origin_or_no_page(method, headers, foreign):
    assert is_cross_origin(method, headers) is foreign


def test_pages_with_and_without_tls_have_different_origins():
    origin = (b"origin", b"http://broker:8080")
    assert is_cross_origin("POST", [HOST, origin], "https")
    assert not is_cross_origin("POST", [HOST, origin], "http")


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [
        (b"localhost:8080", True), (b"LOCALHOST", True), (b"127.0.0.1", True), (b"[::1]:80", True), (b"10.0.0.7", True),
        (b"app.localhost", True), (b"evil.example:8080", False), (b"127.evil.example", False), (b"", False),
        (b"localhost.evil.example", False), (b"127.0.0.1." + b"a" * 300, False), (b"\xff", False),
    ],
)  # fmt: skip
def test_rebound_host_name_is_detected(host, is_ours):
    for address in ("127.0.0.1", "::1", "127.8.8.8"):
        assert is_rebound(address, [(b"a", b"b"), (b"host", host)]) is not is_ours
    for elsewhere in ("10.0.0.7", "fe80::1", "/run/rl.sock"):
        assert not is_rebound(elsewhere, [(b"host", host)])
    assert not is_rebound("127.0.0.1", []), "no browser leaves it out"
