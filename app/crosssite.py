"""What a foreign web page makes a browser send: it may not change anything here.

A browser adds what it has to any request, whoever wrote the page: a client certificate, or the mere place in a network
where nobody is asked who they are.  It also says where the request comes from, and a page cannot change that.  A token
is not among what it adds by itself, so a request with one was meant.
Source: the Fetch standard (Sec-Fetch-Site, Origin); OWASP, "Cross-Site Request Forgery Prevention".
"""

from __future__ import annotations

from collections.abc import Iterable

SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
OWN = (b"same-origin", b"none")  # none: typed in, or not from a page at all


def is_foreign(method: str, headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether the request would change something for a page of another origin."""
    if method in SAFE:
        return False
    site = origin = None
    host = b""
    for name, value in headers:
        if name == b"authorization":
            return False
        if name == b"sec-fetch-site":
            site = value
        elif name == b"origin":
            origin = value
        elif name == b"host":
            host = value
    if site is not None:
        return site not in OWN
    return origin is not None and origin.partition(b"://")[1:] != (b"://", host)
