"""Scheduled records that come again: every hour, or as a cron expression says, until they end.

    schedule   in a transaction: the record is put aside, how it repeats is stored, the commit lets it wait
    fire       the entry is owed its next time: the mark is written in the script that fires it
    rearm      the next time is worked out, and the same payload waits again under the same id

A broker that dies between firing and rearming leaves the mark, and the next one to look goes on from it.  Times that
passed while nobody was there are not made up for: after the overdue one comes the first that lies ahead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog

from redis_ledger.broker.delayed.tracker import DelayedDeliveryTracker
from redis_ledger.broker.types import NewRecord, Placed
from redis_ledger.delay.recurrence import Recurrence
from redis_ledger.errors import InvalidRepeat, LedgerError

if TYPE_CHECKING:
    from redis_ledger.broker.delayed.service import DelayedDelivery
    from redis_ledger.broker.produce.service import Records
    from redis_ledger.broker.transactions.service import Transactions

log = structlog.get_logger(__name__)


class RecurringRecords:
    """records, transactions: set by the broker, which makes them later."""

    records: Records
    transactions: Transactions

    def __init__(self, delays: DelayedDelivery) -> None:
        self._delays = delays

    async def schedule(self, topic: str, record: NewRecord, repeat: Recurrence) -> Placed:
        """Its first time is the record's own due time if it has one.  Raises InvalidRepeat, and what produce raises."""
        delays = self._delays
        if record.deliver_at_ms is None and record.deliver_after_ms is None:
            now = delays.server.high_ms()
            first = repeat.next_after(now, now)
            if first is None:
                raise InvalidRepeat("The repetition is over before it begins; choose a later end.")
            record = record._replace(deliver_at_ms=first)
        txn = (await self.transactions.begin()).id
        try:
            (appended,) = await self.records.produce(topic, [record], transaction=txn)
            if not appended.scheduled:
                raise InvalidRepeat(
                    "Only what is delivered later can repeat: give a time ahead, on a topic that delays."
                )
            (placed,) = appended.scheduled
            waiting = await delays.waiting(topic, placed.id.partition)
            await waiting.index.set_repeat(placed.id.entry, _text(placed.deliver_at_ms, repeat))
        except LedgerError:
            await self.transactions.abort(txn)
            raise
        await self.transactions.commit(txn)
        return placed

    async def rearm(self, clockwork: DelayedDeliveryTracker) -> bool:
        """Schedules again what has fired and repeats; whether there was anything."""
        index, has_done = clockwork.index, False
        rows = await index.repeats()
        for name, owed in rows.items():
            if not name.startswith(b"!"):
                continue
            text = rows.get(name[1:])
            if text is None:
                continue
            try:
                repeat = Recurrence.read(text.partition(b" ")[2]).done_once()
                due = repeat.next_after(int(owed.split(b" ")[0]), self._delays.server.high_ms())
            except InvalidRepeat as error:
                # This machine may not know the time zone: the record waits for one that does.
                log.warning("a record cannot be repeated here", entry=name[1:].decode(), error=str(error))
                continue
            await index.rearm(int(name[1:]), owed, due, "" if due is None else _text(due, repeat))
            has_done = True
        return has_done


def repeat_of(text: bytes) -> dict[str, Any]:
    """What is shown of a repetition as it is stored."""
    repeat = Recurrence.read(text.partition(b" ")[2])
    return {"repeat": repeat.text, "until_ms": repeat.until_ms, "times_left": repeat.times}


def _text(due_ms: int, repeat: Recurrence) -> str:
    return f"{due_ms} {repeat.stored()}"
