"""Values that are stored in Redis as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from redis_ledger.errors import StoredDamaged

T = TypeVar("T")


def stored_json(kind: type[T], what: str, *, is_secret: bool = False) -> Callable[[bytes | str], T]:
    """A function that decodes such a value.  It raises StoredDamaged, which names `what` and, unless it is secret, the
    beginning of the value.  msgspec's own errors are those of a request's body: app/http/errors.py makes a 400 of them.
    """
    decode = msgspec.json.Decoder(kind).decode

    def read(text: bytes | str) -> T:
        try:
            return decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise StoredDamaged.of(what if is_secret else f"{what} {text[:100]!r}") from None

    return read
