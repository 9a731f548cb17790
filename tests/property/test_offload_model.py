"""For any log and any offloaded part of it, a committed reader gets the same records from every offset as before.

log      plain batches of every compression, concurrent transactions that commit or abort, sealed ledgers
offload  up to ends of ledgers or up to the stable offset, in row groups of random size, more than once
reads    from every offset, in responses of random size; by time; through a subscription
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.fetch import offsets_for_times
from redis_ledger.broker.types import Isolation
from redis_ledger.ids import TxnId
from redis_ledger.records.build import encode
from tests.support.broker import one
from tests.support.examples import examples
from tests.support.offload_job import RecordFields, offload, seen

T0 = 1_700_000_000_000
KEEPS: dict[str, Any] = {"retention_ms": -1, "max_transaction_timeout_ms": 10**9, "default_timeout_ms": 10**8}

record = st.tuples(
    st.one_of(st.none(), st.binary(max_size=4)),
    st.one_of(st.none(), st.binary(max_size=40)),
    st.lists(st.tuples(st.text(max_size=3), st.one_of(st.none(), st.binary(max_size=3))), max_size=2),
    st.integers(T0, T0 + 50),
)
batches = st.tuples(st.lists(record, min_size=1, max_size=6), st.sampled_from([0, 0, 0, 1, 2, 3, 4]))
steps = st.one_of(
    st.tuples(st.just("plain"), batches),
    st.tuples(st.just("plain"), batches),
    st.tuples(st.just("in"), st.integers(0, 2), batches),
    st.tuples(st.just("in"), st.integers(0, 2), batches),
    st.tuples(st.just("end"), st.integers(0, 2), st.booleans()),
    st.tuples(st.just("roll")),
    st.tuples(st.just("offload"), st.booleans(), st.integers(1, 600), st.integers(1, 9)),
)


class Run:
    def __init__(self, broker: Broker) -> None:
        self.broker, self.open = broker, dict[int, TxnId]()
        self.known: list[RecordFields] = []

    async def step(self, name: str, *args: Any) -> None:
        event(name)
        await getattr(self, f"do_{name}")(*args)

    async def do_plain(self, batch: tuple[Any, int], txn: TxnId | None = None) -> None:
        rows, compression = batch
        data = encode(rows, compression=compression)
        await self.broker.records.produce_batches("t", 0, data, transaction=txn)

    async def do_in(self, slot: int, batch: tuple[Any, int]) -> None:
        if slot not in self.open:
            self.open[slot] = (await self.broker.transactions.begin(None)).id
        await self.do_plain(batch, self.open[slot])

    async def do_end(self, slot: int, commit: bool) -> None:
        txn = self.open.pop(slot, None)
        if txn is not None:
            await (self.broker.transactions.commit if commit else self.broker.transactions.abort)(txn)

    async def do_roll(self) -> None:
        await (await self.broker.catalog.partition("t", 0)).seal()

    async def do_offload(self, seal: bool, group_bytes: int, rows_max: int) -> None:
        before = await seen(self.broker, "t", 0, 0)
        end = await offload(self.broker, "t", 0, seal=seal, group_bytes=group_bytes, rows_max=rows_max)
        if end:
            event("something was offloaded")
        assert await seen(self.broker, "t", 0, 0) == before


async def fresh(url: str, prefix: str, home: str, offsets: range, sizes: list[int]) -> list[RecordFields]:
    """Returns the records read through another broker, with no state and almost no cache."""
    async with one(url, prefix, offload_home=home, offload_cache_bytes=200, **KEEPS) as broker:
        partition = await broker.catalog.partition("t", 0)
        everything = await seen(broker, "t", 0, 0)
        isolations: tuple[Isolation, ...] = ("read_committed", "read_uncommitted")
        head = await partition.offsets.head()
        for at, offset in enumerate(offsets):
            size = sizes[at % len(sizes)]
            expected = [record for record in everything if record[0] >= offset]
            assert await seen(broker, "t", 0, offset, max_bytes=size) == expected
            loose = await seen(broker, "t", 0, offset, isolation=isolations[1], max_bytes=size)
            assert [record for record in loose if record[0] < head.offloaded_offset] == [
                record for record in expected if record[0] < head.offloaded_offset
            ]
        # By time: the first record at or after it, in offset order.
        for wanted_ms in range(T0, T0 + 52, 7):
            first = next(((s[0], s[1]) for s in everything if s[1] >= wanted_ms), None)
            assert await offsets_for_times.find(partition, wanted_ms, True, broker.partition_fetch.budget()) == first
        # By a subscription: each once, with no backlog at the end.
        await broker.subscriptions.create("t", "s")
        got = []
        while messages := await broker.subscriptions.receive("t", "s", max_records=7):
            got += [(m.id.offset, m.timestamp_ms, m.key, m.value, list(m.headers)) for m in messages]
            await broker.subscriptions.ack("t", "s", "default", [m.id for m in messages])
        assert sorted(got) == sorted(everything)
        (cursor,) = (await broker.subscriptions.stats("t", "s")).cursors
        assert cursor.backlog == 0
        return everything


async def play(
    url: str, history: list[tuple[Any, ...]], sizes: list[int]
) -> tuple[list[RecordFields], list[RecordFields]]:
    """Returns the records read before the last offload, and by another broker after it."""
    prefix = f"t{secrets.token_hex(6)}"
    with tempfile.TemporaryDirectory() as home:
        async with one(url, prefix, offload_home=home, **KEEPS) as broker:
            await broker.topics.create("t")
            run = Run(broker)
            for each in history:
                await run.step(*each)
            before = await seen(broker, "t", 0, 0)
            await offload(broker, "t", 0, group_bytes=300, rows_max=3)
            assert await seen(broker, "t", 0, 0) == before
            end = (await (await broker.catalog.partition("t", 0)).offsets.head()).stable_offset
        return before, await fresh(url, prefix, home, range(end + 1), sizes)


@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
@given(st.lists(steps, min_size=6, max_size=20), st.lists(st.integers(1, 800), min_size=1, max_size=3))
def test_reads_of_an_offloaded_log_are_unchanged(redis_url, monkeypatch, history, sizes):
    monkeypatch.setattr("redis_ledger.offload.to_batches.RECORDS_MAX", 2)  # so that row groups make several batches
    before, after = asyncio.run(play(redis_url, history, sizes))
    assert after == before
