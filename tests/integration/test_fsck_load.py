"""fsck beside a mixed load finds nothing."""

from __future__ import annotations

import asyncio
import contextlib
import random

from redis_ledger.broker.broker import Broker
from redis_ledger.clock import SystemClock
from redis_ledger.errors import LedgerError
from redis_ledger.fsck.service import Fsck, Report
from tests.support.broker import records
from tests.support.buffer_snapshots import take

LOAD_S = 4.0


async def checked(broker: Broker, **more: object) -> Report:
    """From snapshots, or everything."""
    more.setdefault("full", random.random() < 0.5)
    return await Fsck(broker.store, broker.config, SystemClock()).run(**more)  # type: ignore[arg-type]


def told(report: Report) -> list[str]:
    return [f"{finding.kind} {finding.where} {finding.item}: {finding.detail}" for finding in report.left]


async def test_a_log_with_transactions_is_clean(broker: Broker):
    for number in range(20):
        await broker.records.produce("t", records(*(f"{number}-{i}" for i in range(10))))
        txn = (await broker.transactions.begin(None)).id
        await broker.records.produce("t", records("x", "y"), transaction=txn)
        if number % 3 == 0:
            await broker.transactions.commit(txn)
        elif number % 3 == 1:
            await broker.transactions.abort(txn)
    report = await checked(broker)
    assert told(report) == []
    assert report.bytes > 0


async def test_nothing_is_found_beside_a_mixed_load(pair: tuple[Broker, Broker]):
    one, _ = pair
    stop = asyncio.Event()
    rng = random.Random(7)
    await one.topics.create("m", 2, {"retention_bytes": 200_000, "ledger_age_ms_max": 1000})
    await one.subscriptions.create("m", "s", "shared")

    async def write(broker: Broker) -> None:
        while not stop.is_set():
            txn = (await broker.transactions.begin(None)).id if rng.random() < 0.5 else None
            for _ in range(rng.randint(1, 3)):
                later = 300 if rng.random() < 0.3 else None
                rows = [row._replace(deliver_after_ms=later) if later else row for row in records("v" * 100, "w")]
                await broker.records.produce("m", rows, transaction=txn)
            if txn is not None:
                end = broker.transactions.commit if rng.random() < 0.6 else broker.transactions.abort
                await end(txn)

    async def consume(broker: Broker) -> None:
        while not stop.is_set():
            got = await broker.subscriptions.receive("m", "s", "c1", max_records=20, wait_ms=50)
            txn = (await broker.transactions.begin(None)).id if rng.random() < 0.3 else None
            with contextlib.suppress(LedgerError):
                if got:
                    await broker.subscriptions.ack("m", "s", "c1", [m.id for m in got[::2]], transaction=txn)
                    await broker.subscriptions.nack("m", "s", "c1", [m.id for m in got[1::2]])
            if txn is not None:
                await (broker.transactions.commit if rng.random() < 0.5 else broker.transactions.abort)(txn)

    async def maintain(broker: Broker) -> None:
        while not stop.is_set():
            await broker.retention.retain()
            await take(broker, "m")
            await asyncio.sleep(0.2)

    tasks = [asyncio.create_task(work(b)) for b in pair for work in (write, write, consume, maintain)]
    try:
        until = asyncio.get_running_loop().time() + LOAD_S
        while asyncio.get_running_loop().time() < until:
            report = await checked(one)
            assert told(report) == []
    finally:
        stop.set()
        await asyncio.gather(*tasks)
