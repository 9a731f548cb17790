"""The stable offset as readers poll it, while brokers die and others start."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.errors import LedgerError
from tests.support.broker import eventually, heads, live_transactions, one, records, vanish

POLL_S = 0.01
KILLS = 8


@pytest.mark.parametrize("commits", [True, False])
async def test_the_stable_offset_never_moves_backwards_while_brokers_die(redis_url, prefix, commits):
    """TB-07: polled every 10 ms at one broker that lives and at each one that starts."""
    async with one(redis_url, prefix, name="lives", default_timeout_ms=300) as living:
        await living.topics.create("t")
        seen: list[int] = []
        over = asyncio.Event()

        async def poll(broker: Broker) -> None:
            while not over.is_set():
                before = max(seen, default=0)  # by any broker
                with contextlib.suppress(LedgerError):  # "unavailable" is allowed
                    seen.append((await heads(broker))[1])
                    assert seen[-1] >= before
                await asyncio.sleep(POLL_S)

        async def write(broker: Broker) -> None:
            """Ends some transactions, and has others open and half ended when it dies."""
            while True:
                txn = (await broker.transactions.begin()).id
                await broker.records.produce("t", records("a"), transaction=txn)
                await (broker.transactions.commit if commits else broker.transactions.abort)(txn)
                await broker.records.produce("t", records("plain"))

        polling = asyncio.create_task(poll(living))
        for number in range(KILLS):
            async with one(redis_url, prefix, name=f"d{number}", default_timeout_ms=300) as broker:
                tasks = [asyncio.create_task(write(broker)) for _ in range(3)]
                tasks.append(asyncio.create_task(poll(broker)))
                await asyncio.sleep(0.15)
                assert not [task for task in tasks if task.done()]
                await vanish(broker)
                for task in tasks:
                    task.cancel()
                ends = await asyncio.gather(*tasks, return_exceptions=True)
                assert not [each for each in ends if isinstance(each, AssertionError)]
        assert await eventually(lambda: live_transactions(living), 0) == 0
        start, _, end, _ = await heads(living)
        over.set()
        await polling
        assert start == 0
        assert max(seen) <= end
        assert len(set(seen)) > KILLS, "it moved while it was polled"
