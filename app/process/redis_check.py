"""The check of Redis that `serve` and `doctor` share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from redis_ledger.app.embedded_redis.data_dir import CLUSTER_ID, known_cluster
from redis_ledger.config import Config
from redis_ledger.errors import LedgerError
from redis_ledger.store.checks import Report, UnsuitableRedis, check
from redis_ledger.store.copies import MIN_INSYNC_MIN, CopiesRequired
from redis_ledger.store.node_status import START_OVER
from redis_ledger.store.store import Store
from redis_ledger.store.suitability import Durability, Problem

EMBEDDED_HAS_NO_REPLICA = (
    "--durability replicas needs a Redis with replicas, and the embedded server has none: name one with --redis."
)


def at_level(config: Config, durability: Durability) -> Config:
    """The settings with the fewest copies that durability `replicas` makes sense with."""
    if durability != "replicas":
        return config
    return replace(config, min_insync_replicas=max(MIN_INSYNC_MIN, config.min_insync_replicas))


def copies_required(config: Config, durability: Durability) -> CopiesRequired | None:
    """None: answers do not wait for replicas.  config: as `at_level` returned it."""
    if durability != "replicas":
        return None
    return CopiesRequired(config.min_insync_replicas, config.replicas_timeout_ms)


async def checked(
    store: Store, durability: Durability, data_dir: Path | None, copies: CopiesRequired | None = None
) -> Report:
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
        return await check(store, durability, over, copies)
    except LedgerError as error:
        seen = f"Redis at {store.topology.links()[0].name} cannot be used: {error.detail.rstrip('.')}"
        raise UnsuitableRedis([Problem("problem", seen, "See the server's log.")]) from error
