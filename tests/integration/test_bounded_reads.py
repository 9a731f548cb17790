"""A read fetches only the batches that it needs for the requested records."""

from __future__ import annotations

from redis_ledger.records.batch import split
from redis_ledger.records.read import decode
from tests.support.broker import one, records, two


async def test_a_read_of_one_record_takes_one_batch(redis_url, prefix):
    async with two(redis_url, prefix) as (writer, other):
        await writer.topics.create("t")
        for n in range(40):
            await writer.records.produce("t", records(str(n)))
        await writer.records.produce("t", records("a", "b", "c"))
        for broker in (writer, other):  # from its tail, and from Redis
            for wanted in (1, 3):
                fetched = await broker.records.fetch("t", 0, 5, records_max=wanted)
                assert [each.base_offset for each in fetched.batches] == list(range(5, 5 + wanted))
            # In the middle of a batch what comes before the offset does not count.
            fetched = await broker.records.fetch("t", 0, 42, records_max=1)
            assert [each.base_offset for each in fetched.batches] == [40]


async def test_aborted_records_are_skipped_for_any_limit(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t")
        for _ in range(20):
            txn = (await broker.transactions.begin()).id
            await broker.records.produce("t", records("no"), transaction=txn)
            await broker.transactions.abort(txn)
        await broker.records.produce("t", records("yes"))
        (found,) = (await broker.records.fetch("t", 0, 0, records_max=1)).batches
        assert [each.value for each in decode(split(found.data)[0][1])] == [b"yes"]
