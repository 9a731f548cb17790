"""API tokens: their text, and the digest that is stored.

    rl_4f2a91c07be3_<64 hex digits>     a public id, and 256 random bits
    stored                              id → principal, SHA-256 of the bits, creation and expiry time

The bits are random, so their digest needs neither a salt nor stretching; a check takes a microsecond.  The
comparison takes constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import NamedTuple

import msgspec

PREFIX = "rl_"
ID_BYTES, SECRET_BYTES = 6, 32
CHARACTERS_MAX = 256
_TOKEN = re.compile(r"rl_([0-9a-f]{12})_([0-9a-f]{64})\Z")


class Stored(msgspec.Struct, omit_defaults=True, frozen=True):
    """What is kept of a token.  digest: SHA-256 in hex.  expires_ms 0: never."""

    principal: str
    digest: str
    created_ms: int
    expires_ms: int = 0
    note: str = ""

    def is_over(self, now_ms: int) -> bool:
        return bool(self.expires_ms) and now_ms >= self.expires_ms


class Shown(NamedTuple):
    """A token as a caller shows it, not yet checked."""

    id: str
    secret: bytes


def make() -> tuple[str, Shown]:
    """Returns the text of a new token, which is not stored, and its parts."""
    id, secret = secrets.token_hex(ID_BYTES), secrets.token_bytes(SECRET_BYTES)
    return f"{PREFIX}{id}_{secret.hex()}", Shown(id, secret)


def digest(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()


def read(text: str) -> Shown | None:
    """None for what is no token."""
    found = _TOKEN.match(text) if len(text) <= CHARACTERS_MAX else None
    return None if found is None else Shown(found[1], bytes.fromhex(found[2]))


def fits(shown: Shown, stored: Stored) -> bool:
    return hmac.compare_digest(digest(shown.secret), stored.digest)
