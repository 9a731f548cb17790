"""Delivery time of a record: the headers deliver-at and deliver-after.

    deliver-at      1767225600000   2026-01-01T00:00:00Z   2026-01-01T01:00:00+01:00      not before this time
    deliver-after   90000           PT1M30S                P1DT12H               90s      not before receipt and this

A bare number is in milliseconds, since 1970 in UTC for a time.  A fraction of a millisecond is rounded up, so that no
record is delivered early.  A time without a zone and a duration in months or years are ambiguous, and refused.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from redis_ledger.errors import InvalidDelay

AT, AFTER = "deliver-at", "deliver-after"
LATEST_MS = 253_402_300_799_999  # the end of the year 9999; 15 digits, as the largest number below

_EXAMPLES = {AT: "1767225600000 (ms) or 2026-01-01T00:00:00Z", AFTER: "90000 (ms), 90s or PT1M30S"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DURATION = re.compile(
    r"P(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?=\d)(?:(\d{1,12})H)?(?:(\d{1,12})M)?(?:(\d{1,12})(?:[.,](\d{1,9}))?S)?)?\Z",
    re.ASCII,
)
_SHORT = re.compile(r"(\d{1,12})(ms|s|m|h|d|w)\Z", re.ASCII)
_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_WEEK, _DAY, _HOUR, _MINUTE, _SECOND = (each * 1_000_000_000 for each in (604_800, 86_400, 3_600, 60, 1))  # ns


def at_ms(value: bytes | None) -> int:
    """The value of deliver-at, in ms since 1970 (UTC).  Raises InvalidDelay."""
    return int(value) if value is not None and len(value) <= 14 and value.isdigit() else _read(AT, value)


def after_ms(value: bytes | None) -> int:
    """The value of deliver-after, in ms.  Raises InvalidDelay."""
    return int(value) if value is not None and len(value) <= 14 and value.isdigit() else _read(AFTER, value)


def _read(name: str, value: bytes | None) -> int:
    if value is None:
        raise InvalidDelay(f"The header {name} has no value.")
    try:
        text = value.decode("ascii")
        if text.isdigit():
            number = int(text[:16])
        else:
            number = moment_ms(text) if name == AT else duration_ms(text)
    except (ValueError, OverflowError):  # decoding and dates have theirs
        number = -1
    if not 0 <= number <= LATEST_MS:
        raise InvalidDelay(f"The header {name} is {value[:40]!r}; give {_EXAMPLES[name]}, not beyond the year 9999.")
    return number


def moment_ms(text: str) -> int:
    """ISO 8601 with a zone → ms since 1970.  Raises ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return -(-((moment - _EPOCH) // _MICROSECOND) // 1_000)


def duration_ms(text: str) -> int:
    """90s, or ISO 8601 of a length that does not depend on when it begins → ms.  Raises ValueError."""
    short = _SHORT.match(text)
    if short is not None:
        return int(short[1]) * _UNITS_MS[short[2]]
    found = _DURATION.match(text)
    if found is None or len(text) < 3:
        raise ValueError("no duration of fixed length")
    weeks, days, hours, minutes, seconds = (int(found[n] or 0) for n in range(1, 6))
    nanoseconds = int((found[6] or "").ljust(9, "0"))
    whole = weeks * _WEEK + days * _DAY + hours * _HOUR + minutes * _MINUTE + seconds * _SECOND
    return -(-(whole + nanoseconds) // 1_000_000)
