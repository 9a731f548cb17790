"""Schedules recurring records again after they have fired.

    fire    marks the entry as owed its next time, in the script that fires it
    rearm   computes the next time; the same payload is scheduled again under the same id

If a broker dies between the two, the mark stays and another broker rearms the record.  Missed times are skipped: the
next time is the first that lies ahead.
"""

from __future__ import annotations

from typing import Any

import structlog

from redis_ledger.delay.index import DelayIndex
from redis_ledger.delay.recurrence import Recurrence
from redis_ledger.errors import InvalidRepeat

log = structlog.get_logger(__name__)


async def rearm(index: DelayIndex, now_ms: int) -> bool:
    """Schedules the recurring records that have fired; returns whether there were any."""
    has_done = False
    rows = await index.scripts.repeats()
    for name, owed in rows.items():
        if not name.startswith(b"!"):
            continue
        text = rows.get(name[1:])
        if text is None:
            continue
        try:
            repeat = decode(text).done_once()
            due = repeat.next_after(int(owed.split(b" ")[0]), now_ms)
        except InvalidRepeat as error:
            # This machine may lack the time zone; a broker that has it will rearm the record.
            log.warning("a record cannot be repeated here", entry=name[1:].decode(), error=str(error))
            continue
        await index.scripts.rearm(int(name[1:]), owed, due, "" if due is None else encode(due, repeat))
        has_done = True
    return has_done


def encode(due_ms: int, repeat: Recurrence) -> str:
    """The stored form: the due time, a space, the recurrence."""
    return f"{due_ms} {repeat.stored()}"


def decode(text: bytes) -> Recurrence:
    return Recurrence.read(text.partition(b" ")[2])


def fields(text: bytes) -> dict[str, Any]:
    """The fields of `Scheduled` that describe a recurrence."""
    repeat = decode(text)
    return {"repeat": repeat.text, "until_ms": repeat.until_ms, "times_left": repeat.times}
