"""Times on the command line: ISO 8601 with a time zone, or milliseconds since 1970."""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta

from redis_ledger.spark.filters import EPOCH


def moment_ms(text: str) -> int:
    """Parses 2026-01-01T12:00:00Z, 2026-01-01T13:00+01:00, 1767268800000.  Raises ArgumentTypeError."""
    if text.isascii() and text.isdigit() and len(text) <= 18:
        return int(text)
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time; write 2026-01-01T12:00:00Z, or milliseconds since 1970"
        ) from None
    if read.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text!r} has no time zone; write 2026-01-01T12:00:00Z, or 13:00:00+01:00")
    if read < EPOCH:
        raise argparse.ArgumentTypeError(f"{text!r} is before 1970")
    return (read - EPOCH) // timedelta(milliseconds=1)
