"""Records of a sidecar topic behind the log start: what is trimmed goes, and nothing else."""

from __future__ import annotations

import pytest

from tests.support.broker import one, records, values_of


@pytest.mark.parametrize("coordinator", [0, 1, 2])
async def test_trimming_in_front_of_a_committed_transaction_keeps_the_records_behind_it(redis_url, prefix, coordinator):
    """Its log entry names its coordinator where those of others name a ledger; the plain records are in ledger 1."""
    async with one(redis_url, prefix, coordinators=3) as broker:
        await broker.topics.create("t", settings={"txn_buffer": 1})
        await broker.records.produce("t", records("trimmed"))
        txn = (await broker.transactions.begin()).id
        while txn.coordinator != coordinator:
            txn = (await broker.transactions.begin()).id
        for value in ("a", "b"):
            await broker.records.produce("t", records(value), transaction=txn)
        await broker.transactions.commit(txn)
        await broker.records.produce("t", records("c"))
        assert await broker.topics.delete_records("t", 0, 1) == 1
        assert await values_of(broker, "t") == ["a", "b", "c"]
