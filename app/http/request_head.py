"""Rules for a request head that the HTTP parser does not check.  A request that can be read in two ways is refused.

    version            1.0 or 1.1
    Host               exactly one; in 1.0 at most one
    target             a path or *, or an absolute URL whose authority is the Host; no "#"
    Transfer-Encoding  chunked only, and not in 1.0

Source: RFC 9112, sections 3.2, 6.1 and 6.3.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_ABSOLUTE = re.compile(rb"https?://([^/?#]*)", re.IGNORECASE)


def flaw(version: str, target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
    """The reason to refuse a request; None if there is none.  headers: names in lower case."""
    hosts, codings = list[bytes](), list[bytes]()
    for name, value in headers:
        if name == b"host":
            hosts.append(value)
        elif name == b"transfer-encoding":
            codings.append(value)
    if version not in ("1.0", "1.1"):
        return "The broker supports HTTP/1.1."
    if len(hosts) > 1 or (not hosts and version == "1.1"):
        return "A request has exactly one Host header."
    if b"#" in target:
        return 'A request target has no "#"; encode it as %23.'
    if target[:1] not in (b"/", b"*"):
        absolute = _ABSOLUTE.match(target)
        if absolute is None or [absolute[1].lower()] != [host.lower() for host in hosts]:
            return "The request target is neither a path nor a URL of the host that Host names."
    if codings and (version == "1.0" or [coding.lower() for coding in codings] != [b"chunked"]):
        return "The only Transfer-Encoding is chunked, and only in HTTP/1.1."
    return None
