"""The space of aborted records."""

from __future__ import annotations

import os

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.transactions import aborted_payload
from redis_ledger.broker.types import NewRecord
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from redis_ledger.records.read import decode
from tests.support.broker import eventually, one
from tests.support.redis_servers import redis_server

ABORTED_BYTES, COMMITTED_BYTES = 1 << 20, 1 << 10
LEFT_BYTES_MAX = 10_000_000  # more than before it, for a megabyte that is committed


async def used_bytes(broker: Broker) -> int:
    info = (await broker.store.command("INFO", "memory")).decode()
    (line,) = [line for line in info.splitlines() if line.startswith("used_memory:")]
    return int(line.partition(":")[2])


async def committed(broker: Broker) -> dict[int, bytes]:
    """Offset → value."""
    found: dict[int, bytes] = {}
    at = 0
    while True:
        fetched = await broker.records.fetch("t", 0, at, max_bytes=4 << 20)
        if not fetched.batches:
            return found
        for batch in fetched.batches:
            found |= {record.offset: record.value or b"" for record in decode(batch.data)}
        at = fetched.next_offset


@pytest.mark.parametrize(
    ("buffer", "parts"), [("marker", 128), ("sidecar", 128), pytest.param("marker", 1_024, marks=pytest.mark.full)]
)
async def test_space_of_aborted_records_comes_back_and_the_others_keep_their_offsets(
    prefix, monkeypatch, buffer, parts
):
    """TB-36, SC-16: 128 MiB or 1 GiB are aborted around 128 KiB or 1 MiB that are committed; within a minute Redis
    holds less than 10 MB of the log."""
    monkeypatch.setattr(aborted_payload, "OWN_S", 0.5)
    monkeypatch.setattr(aborted_payload, "LOOK_S", 0.5)
    with redis_server() as server:
        async with one(server.url, prefix, aborted_payload_retention_ms=1_000, tail_cache_bytes=0) as broker:
            await broker.topics.create("t", settings={TXN_BUFFER: BUFFERS[buffer]})
            empty = await used_bytes(broker)
            txn = (await broker.transactions.begin()).id
            expected: dict[int, bytes] = {}
            for number in range(parts):
                await broker.records.produce("t", [NewRecord(None, os.urandom(ABORTED_BYTES))], transaction=txn)
                value = os.urandom(COMMITTED_BYTES)
                kept = (await broker.transactions.begin()).id
                (result,) = await broker.records.produce("t", [NewRecord(None, value)], transaction=kept)
                await broker.transactions.commit(kept)
                expected[result.base_offset if buffer == "marker" else number] = value
            assert await used_bytes(broker) - empty > parts * ABORTED_BYTES
            await broker.transactions.abort(txn)
            assert await committed(broker) == expected

            async def has_space() -> bool:
                return await used_bytes(broker) - empty < LEFT_BYTES_MAX

            assert await eventually(has_space, True, 60.0)
            assert await committed(broker) == expected
        async with one(server.url, prefix) as another:
            assert await committed(another) == expected


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
async def test_readers_get_past_what_was_deleted(redis_url, prefix, isolation):
    """TB-36: a reader that begins before it continues behind it."""
    async with one(redis_url, prefix, aborted_payload_retention_ms=0) as broker:
        await broker.topics.create("t")
        txn = (await broker.transactions.begin()).id
        await broker.records.produce("t", [NewRecord(None, b"never")], transaction=txn)
        await broker.transactions.abort(txn)
        await broker.records.produce("t", [NewRecord(None, b"kept")])
        await broker.aborted_payload.look_at_all()
        await broker.aborted_payload.reclaim_due()
    async with one(redis_url, prefix) as another:
        found, at = [], 0
        while at < 3:
            fetched = await another.records.fetch("t", 0, at, isolation=isolation)
            found += [r.value for b in fetched.batches if not b.is_control for r in decode(b.data)]
            at = fetched.next_offset
        assert found == [b"kept"]
