"""What does the batched transaction log (PIP-160) gain?

`1`, `16`, `128` and `512` transactions at a time, each with the four steps of `bench.coordinator`, on one broker in
this process.  The switch is changed between rounds, as an operator changes it; see `rounds` for how they are compared.
`min_ratio` is life cycles per second with batching to those without.
"""

from __future__ import annotations

from functools import partial

from bench.coordinator import cycles
from bench.lab import Lab, Metrics
from bench.processes import redis
from bench.txn.rounds import NOT_SLOWER, compared
from redis_ledger.broker.broker import Broker
from redis_ledger.store.store import Store
from redis_ledger.txn.batched_write import TRANSACTION_LOG

CONCURRENT = (1, 16, 128, 512)
METRIC = "lifecycles_per_s"
GOALS = {1: NOT_SLOWER, 128: 2.0}


async def measure(lab: Lab) -> None:
    async with redis("process") as server:
        store = await Store.open(server.url)
        broker = await Broker.open(store)
        for concurrent in CONCURRENT:
            on, off = (partial(switched, broker, is_on, concurrent) for is_on in (True, False))
            found = await compared(lab, on, off, METRIC)
            lab.note(f"{concurrent}_on", METRIC, found.first[METRIC], "lifecycles/s", "process")
            lab.note(f"{concurrent}_off", METRIC, found.second[METRIC], "lifecycles/s", "process")
            lab.note(str(concurrent), "min_ratio", found.ratio, "x", "process", GOALS.get(concurrent))
        await broker.close()
        await store.close()


async def switched(broker: Broker, is_on: bool, concurrent: int, seconds: float) -> Metrics:
    await broker.batched_writes.change(TRANSACTION_LOG, {"enabled": is_on})
    return await cycles(broker.coordinators, concurrent, seconds)
