"""The check of Redis that `serve` and `doctor` share."""

from __future__ import annotations

from pathlib import Path

from redis_ledger.app.embedded_redis.data_dir import CLUSTER_ID, known_cluster
from redis_ledger.errors import LedgerError
from redis_ledger.store.checks import Report, UnsuitableRedis, check
from redis_ledger.store.node_status import START_OVER
from redis_ledger.store.store import Store
from redis_ledger.store.suitability import Durability, Problem


async def checked(store: Store, durability: Durability, data_dir: Path | None) -> Report:
    """data_dir: of the embedded server; None for an external Redis.

    Raises UnsuitableRedis, CommandError (the data directory is damaged).
    """
    over = START_OVER
    if data_dir is not None:
        store.admission.expect(known_cluster(data_dir, store.prefix))
        over = f"stop all brokers, delete {data_dir / CLUSTER_ID} and start them again"
    elif store.topology.has_slots:
        over = f"stop all brokers, run redis-cli HDEL {store.prefix}:{{catalog}}:state witnesses and start them again"
    try:
        return await check(store, durability, over)
    except LedgerError as error:
        seen = f"Redis at {store.topology.links()[0].name} cannot be used: {error.detail.rstrip('.')}"
        raise UnsuitableRedis([Problem("problem", seen, "See the server's log.")]) from error
