"""Parses times and durations to milliseconds.

    1795943400000   "2026-11-29T09:10:00Z"   "2026-11-29T10:10+01:00"     a moment, in ms since 1970 UTC
    5000            "5s"   "2h"   "PT5S"   "P1DT12H"                        a duration, in ms

Fractions of a millisecond are rounded up, so that no record is delivered early.
"""

from __future__ import annotations

from collections.abc import Callable

from redis_ledger.errors import InvalidDelay
from redis_ledger.records import delivery_headers

_DIGITS_MAX = 16


def moment_ms(given: int | str, where: str, error: Callable[[str], Exception] = InvalidDelay) -> int:
    """where: the field or option, for the error message."""
    try:
        ms = _number(given)
        ms = delivery_headers.moment_ms(str(given)) if ms is None else ms
    except (ValueError, OverflowError):
        ms = -1
    if not 0 <= ms <= delivery_headers.LATEST_MS:
        raise error(
            f"{where}: {str(given)[:64]!r} is not a valid time; use ISO 8601 with a zone, as "
            "2027-01-31T09:00:00Z, or in milliseconds since 1970."
        )
    return ms


def duration_ms(given: int | str, where: str, error: Callable[[str], Exception] = InvalidDelay) -> int:
    try:
        ms = _number(given)
        ms = delivery_headers.duration_ms(str(given)) if ms is None else ms
    except ValueError:
        ms = -1
    if not 0 <= ms <= delivery_headers.LATEST_MS:
        raise error(
            f"{where}: {str(given)[:64]!r} is not a valid duration; use 5s, 2h, PT5S or P1DT12H, or in milliseconds."
        )
    return ms


def delivery(at: int | str | None, after: int | str | None, where: str) -> tuple[int | None, int | None]:
    """deliver_at and deliver_after in milliseconds; at most one of them may be given.  Raises InvalidDelay."""
    if at is not None and after is not None:
        raise InvalidDelay(f"{where} has both deliver_at and deliver_after; give one of them.")
    at_ms = None if at is None else moment_ms(at, f"{where}.deliver_at")
    after_ms = None if after is None else duration_ms(after, f"{where}.deliver_after")
    return at_ms, after_ms


def _number(given: int | str) -> int | None:
    if isinstance(given, int):
        return given
    return int(given[:_DIGITS_MAX]) if given.isascii() and given.isdigit() else None
