"""Which request heads are refused although the parser accepts them."""

from __future__ import annotations

import pytest

from redis_ledger.app.http.request_head import flaw

HOST = (b"host", b"a:80")


@pytest.mark.parametrize(
    ("version", "target", "headers"),
    [
        ("1.1", b"/v1", [HOST]),
        ("1.1", b"/v1?q=%23", [HOST]),
        ("1.1", b"/http://b/v1", [HOST]),
        ("1.1", b"*", [HOST]),
        ("1.0", b"/v1", []),
        ("1.0", b"/v1", [HOST]),
        ("1.1", b"/v1", [(b"host", b"")]),
        ("1.1", b"/v1", [HOST, (b"transfer-encoding", b"Chunked")]),
        ("1.1", b"http://a:80/v1", [HOST]),
        ("1.1", b"HTTPS://A:80?q", [HOST]),
    ],
)
def test_a_head_that_can_be_read_in_one_way_is_accepted(version, target, headers):
    assert flaw(version, target, headers) is None


@pytest.mark.parametrize(
    ("version", "target", "headers", "reason"),
    [
        ("2.0", b"/v1", [HOST], "HTTP/1.1"),
        ("0.9", b"/v1", [HOST], "HTTP/1.1"),
        ("1.1", b"/v1", [], "Host"),
        ("1.1", b"/v1", [HOST, HOST], "Host"),
        ("1.0", b"/v1", [HOST, HOST], "Host"),
        ("1.1", b"/v1#x", [HOST], "%23"),
        ("1.1", b"/v1?a#x", [HOST], "%23"),
        ("1.1", b"http://b/v1", [HOST], "neither"),
        ("1.1", b"http://a/v1", [HOST], "neither"),
        ("1.1", b"http://u@a:80/v1", [HOST], "neither"),
        ("1.1", b"http:///v1", [HOST], "neither"),
        ("1.1", b"ftp://a:80/v1", [HOST], "neither"),
        ("1.1", b"a:80", [HOST], "neither"),
        ("1.0", b"http://a:80/v1", [], "neither"),
        ("1.0", b"/v1", [HOST, (b"transfer-encoding", b"chunked")], "Transfer-Encoding"),
        ("1.1", b"/v1", [HOST, (b"transfer-encoding", b"xchunked")], "Transfer-Encoding"),
        ("1.1", b"/v1", [HOST, (b"transfer-encoding", b"gzip, chunked")], "Transfer-Encoding"),
        ("1.1", b"/v1", [HOST, *[(b"transfer-encoding", b"chunked")] * 2], "Transfer-Encoding"),
    ],
)
def test_a_head_that_can_be_read_in_two_ways_is_refused(version, target, headers, reason):
    assert reason in (flaw(version, target, headers) or "")
