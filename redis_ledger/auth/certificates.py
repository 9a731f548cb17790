"""TLS client certificates: the principal in the subject of a verified certificate.

    cn   User:ada                                      the common name; there must be exactly one
    dn   User:CN=ada,OU=Analysis,O=Example,C=DE        the whole subject, last part first, as Kafka writes it

`ssl` represents a subject as ((("countryName", "DE"),), (("commonName", "ada"),)), first part first.
A principal is authenticated until its certificate expires, however long the connection lasts.
Revocation lists are not checked: issue short-lived certificates, or remove the rules of a principal.
Pure.  Source: RFC 4514 (distinguished names as text), KIP-371 (principals from them).
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from redis_ledger.auth.acl import is_principal_name

CN, DN = "cn", "dn"
WAYS = (CN, DN)
NAME_CHARACTERS_MAX = 250  # with "User:" in front a principal has 255 at most
# Names of a subject's parts as OpenSSL has them → as they are written.
_SHORT = {
    "commonName": "CN", "organizationalUnitName": "OU", "organizationName": "O", "countryName": "C",
    "localityName": "L", "stateOrProvinceName": "ST", "streetAddress": "STREET", "domainComponent": "DC",
    "userId": "UID",
}  # fmt: skip
_SPECIAL = re.compile(r'([,+"\\<>;=]|^[ #]| $)')

Subject: TypeAlias = Iterable[Iterable[tuple[str, str]]]


class Named(NamedTuple):
    """until_s: when the certificate ends, Unix time."""

    principal: str
    until_s: float


def named_by(certificate: Mapping[str, Any] | None, way: str) -> Named | None:
    """As principal_of, and until when."""
    principal = principal_of(certificate, way)
    if certificate is None or principal is None:
        return None
    return Named(principal, ssl.cert_time_to_seconds(certificate["notAfter"]))


def principal_of(certificate: Mapping[str, Any] | None, way: str) -> str | None:
    """way: one of WAYS.  None: there is no certificate, or its subject cannot name anybody."""
    subject: Subject = (certificate or {}).get("subject", ())
    name = _common_name(subject) if way == CN else _distinguished_name(subject)
    if not name or len(name) > NAME_CHARACTERS_MAX or not name.isprintable() or not is_principal_name(name):
        return None
    return f"User:{name}"


def _common_name(subject: Subject) -> str:
    """Returns the CN; empty unless there is exactly one, because several are ambiguous."""
    names = [value for part in subject for kind, value in part if kind == "commonName"]
    return names[0] if len(names) == 1 else ""


def _distinguished_name(subject: Subject) -> str:
    parts = ["+".join(f"{_SHORT.get(kind, kind)}={_escaped(value)}" for kind, value in part) for part in subject]
    return ",".join(reversed(parts))


def _escaped(value: str) -> str:
    return _SPECIAL.sub(r"\\\1", value)
