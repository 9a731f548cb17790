"""How many transactions without participants can be begun and ended in a second?

    begin ─▶ commit        each step awaits the one before: two replies of Redis

128 independent transactions at a time drive the coordinators of one broker, which runs in this process.  With no
participants the decision also completes the transaction.
"""

from __future__ import annotations

from functools import partial

from bench.coordinator import repeated
from bench.lab import Lab, Metrics
from bench.processes import Cpu, redis
from redis_ledger.broker.broker import Broker
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Coordinators
from redis_ledger.txn.states import TxnState

CONCURRENT, METRIC, GOAL = 128, "lifecycles_per_s", 40_000
TIMEOUT_MS = 60_000


async def measure(lab: Lab) -> None:
    async with redis("process") as server:
        store = await Store.open(server.url)
        broker = await Broker.open(store)
        measured = await lab.medians(Cpu(None, server.redis_pid), partial(cycles, broker.coordinators, CONCURRENT))
        case = f"empty_{CONCURRENT}"
        lab.note(case, METRIC, measured[METRIC], "lifecycles/s", "process", GOAL)
        lab.note_costs(case, measured, "process")
        await broker.close()
        await store.close()


async def cycles(coordinators: Coordinators, concurrent: int, seconds: float) -> Metrics:
    async def cycle() -> None:
        txn, _ = await coordinators.begin(TIMEOUT_MS)
        decision = await coordinators.decide(txn, commit=True, known=())
        assert decision.state is TxnState.COMMITTED, decision

    return await repeated(cycle, concurrent, seconds)
