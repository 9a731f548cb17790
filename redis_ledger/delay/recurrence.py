"""Computes when a recurring record is due again: an ISO 8601 interval, or a cron expression in a time zone.

    PT1H          due 12:00 ── 13:00 ── 14:00 ── 15:00       counted from the first time due; a day is 24 hours
                                    ▲ 14:20: after an outage; 13:00 and 14:00 are skipped
    30 7 * * 1    Mondays at 07:30 local time

Around changes of daylight saving time, cron expressions behave as in Debian's cron: a skipped time fires right after
the change, and a repeated one fires once.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from cronsim import CronSim, CronSimError

from redis_ledger.errors import InvalidRepeat
from redis_ledger.store.stored_json import stored_json

TEXT_MAX: Final = 200
TIMEZONE_MAX: Final = 64
TIMES_MAX: Final = 1_000_000_000
LEAST: Final = timedelta(seconds=1)
LATEST_MS: Final = 253_402_300_799_999  # the end of the year 9999, the last that datetime supports

_MS = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CRON_FIELDS = 5


class Recurrence(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a record repeats.

    text      "PT1H", "P1D", "P1DT12H30M", or a cron expression of five fields
    until_ms  the last moment it may be due, included; milliseconds since 1970, UTC
    times     how many deliveries are left
    timezone  of a cron expression, by its IANA name; for a duration it makes no difference
    """

    text: str
    until_ms: int | None = None
    times: int | None = None
    timezone: str = "UTC"

    @classmethod
    def parse(
        cls, text: str, *, until_ms: int | None = None, times: int | None = None, timezone: str = "UTC"
    ) -> Recurrence:
        """Raises InvalidRepeat, also for a cron expression that no day fits."""
        if times is not None and not 1 <= times <= TIMES_MAX:
            raise InvalidRepeat(f"{times} is not a number of deliveries; give 1 to {TIMES_MAX}, or leave it out.")
        if until_ms is not None and until_ms > LATEST_MS:
            raise InvalidRepeat(f"{until_ms} ms is after the year 9999; choose an earlier end, or leave it out.")
        if len(text) > TEXT_MAX or len(timezone) > TIMEZONE_MAX:
            raise InvalidRepeat(f"A repetition has at most {TEXT_MAX} characters, and a time zone {TIMEZONE_MAX}.")
        repeat = cls(text, until_ms, times, timezone)
        zone = _zone(timezone)
        if not repeat.is_cron:
            _duration(text)
        elif _next_fit(text, 0, zone) is None:
            raise InvalidRepeat(f"{text[:80]!r} is a cron expression that no day fits.")
        return repeat

    @classmethod
    def read(cls, stored: bytes | str) -> Recurrence:
        """Parses what `stored` returned.  Raises StoredDamaged."""
        return _read(stored)

    def stored(self) -> str:
        return msgspec.json.encode(self).decode()

    @property
    def is_cron(self) -> bool:
        return not self.text.upper().startswith(("P", "-P", "+P"))

    def done_once(self) -> Recurrence:
        """The recurrence after one more delivery."""
        return self if self.times is None else msgspec.structs.replace(self, times=max(self.times - 1, 0))

    def next_after(self, due_ms: int, now_ms: int) -> int | None:
        """The next due time after both due_ms and now_ms; None when it has ended.  Missed times are skipped and do not
        count as deliveries.  Raises InvalidRepeat if its time zone is not installed here."""
        if self.times == 0:
            return None
        if self.is_cron:
            found = _next_fit(self.text, max(due_ms, now_ms), _zone(self.timezone))
        else:
            step_ms = _duration(self.text) // _MS
            found = due_ms + (max(now_ms - due_ms, 0) // step_ms + 1) * step_ms
        latest_ms = LATEST_MS if self.until_ms is None else min(self.until_ms, LATEST_MS)
        return None if found is None or found > latest_ms else found


def _duration(text: str) -> timedelta:
    try:
        duration = msgspec.convert(text, timedelta)
    except msgspec.ValidationError:
        raise InvalidRepeat(
            f"{text[:80]!r} is not a duration; use days, hours, minutes and seconds, like PT1H, P1D or P1DT12H30M."
        ) from None
    if duration < LEAST or duration % _MS:
        raise InvalidRepeat(f"{text[:80]!r} is too short or too fine; repeat every second or less often, in whole ms.")
    return duration


_read = stored_json(Recurrence, "A recurrence")


def _zone(name: str) -> dt.tzinfo:
    if name == "UTC":
        return UTC  # also where no time zones are installed
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidRepeat(
            f"{name[:80]!r} is not a time zone that this broker knows; use an IANA name, like UTC or Europe/Berlin."
        ) from None


def _next_fit(text: str, after_ms: int, zone: dt.tzinfo) -> int | None:
    """The first time after after_ms that a cron expression fits; None when there is none within 50 years."""
    if len(text.split()) != _CRON_FIELDS:
        raise InvalidRepeat(
            f"{text[:80]!r} is neither a duration like PT1H nor a cron expression of five fields: minute, hour, day of "
            "month, month, day of week."
        )
    try:
        for found in CronSim(text, (_EPOCH + after_ms * _MS).astimezone(zone)):
            found_ms = (found - _EPOCH) // _MS
            # Right after the clocks were set back, the first that is found may be of the hour before.
            if found_ms > after_ms:
                return found_ms
    except CronSimError as error:
        raise InvalidRepeat(f"{text[:80]!r} is not a cron expression: {error}.") from None
    except (OverflowError, ValueError):
        return None  # past the year 9999
    return None
