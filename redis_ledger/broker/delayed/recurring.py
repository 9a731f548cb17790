"""Schedules recurring records: every hour, or by a cron expression, until they end.

The record is stored in a transaction, its recurrence next to it, and the commit schedules it.  rearm.py schedules it
again each time it has fired.
"""

from __future__ import annotations

from redis_ledger.broker.delayed import rearm
from redis_ledger.broker.delayed.service import DelayedDelivery
from redis_ledger.broker.produce.service import Records
from redis_ledger.broker.transactions.service import Transactions
from redis_ledger.broker.types import NewRecord, ScheduledRef
from redis_ledger.delay.recurrence import Recurrence
from redis_ledger.errors import InvalidRepeat, LedgerError


class RecurringRecords:
    def __init__(self, delayed: DelayedDelivery, records: Records, transactions: Transactions) -> None:
        self._delayed, self._records, self._transactions = delayed, records, transactions

    async def schedule(self, topic: str, record: NewRecord, repeat: Recurrence) -> ScheduledRef:
        """First fires at the record's own due time if it has one.  Raises InvalidRepeat, and as Records.produce."""
        if record.deliver_at_ms is None and record.deliver_after_ms is None:
            now = self._delayed.server_clock.high_ms()
            first = repeat.next_after(now, now)
            if first is None:
                raise InvalidRepeat("The repetition is over before it begins; choose a later end.")
            record = record._replace(deliver_at_ms=first)
        txn = (await self._transactions.begin()).id
        try:
            (appended,) = await self._records.produce(topic, [record], transaction=txn)
            if not appended.scheduled:
                raise InvalidRepeat(
                    "Only delayed records can repeat: give a time in the future, on a topic with delayed delivery."
                )
            (placed,) = appended.scheduled
            index = (await self._delayed.messages(topic, placed.id.partition)).index
            await index.scripts.set_repeat(str(txn), placed.id.entry, rearm.encode(placed.deliver_at_ms, repeat))
        except LedgerError:
            await self._transactions.abort(txn)
            raise
        await self._transactions.commit(txn)
        return placed
