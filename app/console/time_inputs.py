"""Times in forms and messages.

A datetime-local field has no time zone.  The page's script sends the time as UTC; without scripts the label asks for
UTC.
"""

from __future__ import annotations

import datetime
import re

from redis_ledger.app.http.times import moment_ms
from redis_ledger.errors import InvalidRequest

_OF_A_FIELD = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?", re.ASCII)


def moment(text: str) -> int:
    """Milliseconds since 1970.  Raises InvalidRequest."""
    return moment_ms(f"{text}Z" if _OF_A_FIELD.fullmatch(text) else text, "The time", InvalidRequest)


def shown(ms: int) -> str:
    """ "2026-11-22 08:00:00 UTC"."""
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
