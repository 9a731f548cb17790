"""A recurring record whose transaction ends while it is being scheduled leaves nothing behind."""

from __future__ import annotations

import pytest

from redis_ledger.broker.delayed.service import DelayedDelivery
from redis_ledger.broker.types import NewRecord
from redis_ledger.delay.recurrence import Recurrence
from redis_ledger.errors import TransactionError
from tests.support.broker import one


async def test_a_repetition_whose_transaction_has_ended_is_not_stored(redis_url, prefix, monkeypatch):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", 1, {})
        produce, messages, begun = broker.records.produce, DelayedDelivery.messages, []

        async def noting(topic, records, *, transaction, **more):
            begun.append(transaction)
            return await produce(topic, records, transaction=transaction, **more)

        async def aborted_first(self, *args, **more):
            await broker.transactions.abort(begun[0])  # as a timeout does
            found = await messages(self, *args, **more)
            assert not await found.index.scripts.settle_all(str(begun[0])), "it is settled already"
            return found

        monkeypatch.setattr(broker.records, "produce", noting)
        monkeypatch.setattr(DelayedDelivery, "messages", aborted_first)
        with pytest.raises(TransactionError):
            await broker.recurring.schedule("t", NewRecord(None, b"tick"), Recurrence.parse("PT1H"))
        monkeypatch.undo()
        index = (await broker.delayed.messages("t", 0)).index
        assert await index.scripts.repeats() == {}
        # Undisturbed, it is stored
        await broker.recurring.schedule("t", NewRecord(None, b"tick"), Recurrence.parse("PT1H"))
        assert len(await index.scripts.repeats()) == 1
