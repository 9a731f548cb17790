"""Protection against cross-site request forgery and DNS rebinding.

A browser attaches ambient credentials to cross-site requests: client certificates, saved passwords, access to a network
without authentication.  It also sends the origin in headers that a page cannot change.  A bearer token is never
attached automatically, so requests with one are allowed.

    is_cross_origin  a state-changing request from another origin
    is_rebound       a loopback connection with a foreign host name in Host; checked while authentication is off
Source: the Fetch standard (Sec-Fetch-Site, Origin); OWASP, "Cross-Site Request Forgery Prevention".
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
OWN = (b"same-origin", b"none")  # none: entered by the user, or not from a page
HOST_BYTES_MAX = 300
Headers = Iterable[tuple[bytes, bytes]]


def is_cross_origin(method: str, headers: Headers, scheme: str = "http") -> bool:
    """Whether a state-changing request comes from another origin.  A proxy may terminate TLS."""
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
    """Whether the local address of the connection is loopback and Host is neither localhost nor an IP address."""
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
    """Whether Host is localhost or an IP address."""
    text = host.decode("latin-1").lower()
    name = text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
