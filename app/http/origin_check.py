"""What a web page of somebody else makes a browser send: it may not change anything here, nor pass for one of ours.

A browser adds what it has to any request, whoever wrote the page: a client certificate, a password it remembers, or the
mere place in a network where nobody is asked who they are.  It also says where the request comes from, and a page
cannot change that.  A bearer token is not among what it adds by itself, so a request with one was meant.

    is_cross_origin   another origin asks for a change
    is_rebound   a page's own name was made to point at this machine (DNS rebinding), so that the browser takes what is
                 here for the page's own; where everybody is let in, only names that are this machine's will do
Source: the Fetch standard (Sec-Fetch-Site, Origin); OWASP, "Cross-Site Request Forgery Prevention".
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
OWN = (b"same-origin", b"none")  # none: typed in, or not from a page at all
HOST_BYTES_MAX = 300
Headers = Iterable[tuple[bytes, bytes]]


def is_cross_origin(method: str, headers: Headers, scheme: str = "http") -> bool:
    """Whether the request would change something for a page of another origin.  A proxy may end TLS before us."""
    if method in SAFE:
        return False
    site = origin = None
    host = b""
    for name, value in headers:
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            return False
        if name == b"sec-fetch-site":
            site = value
        elif name == b"origin":
            origin = value
        elif name == b"host":
            host = value
    if site is not None:
        return site not in OWN
    own = (b"https://" + host, b"http://" + host if scheme == "http" else b"")
    return origin is not None and origin not in own


def is_rebound(address: str, headers: Headers) -> bool:
    """address: where the connection ended here.  Whether that is a loopback address and the Host another's name."""
    if not _is_loopback(address):
        return False
    return not all(len(value) <= HOST_BYTES_MAX and _is_here(value) for name, value in headers if name == b"host")


@lru_cache(64)
def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:  # a Unix socket
        return False


@lru_cache(256)
def _is_here(host: bytes) -> bool:
    """An address is nobody's to rename."""
    text = host.decode("latin-1").lower()
    name = text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
