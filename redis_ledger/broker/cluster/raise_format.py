"""Raises the stored format, when every live broker can read the newer one.  It cannot be lowered again."""

from __future__ import annotations

from redis_ledger.broker.cluster import storage_format
from redis_ledger.broker.cluster.live_brokers import SILENT_MS, reads_of
from redis_ledger.errors import InvalidRequest
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store


async def raise_format(store: Store) -> tuple[int, int]:
    """Returns the format before and now.  Raises UnreadableFormat, InvalidRequest."""
    k, command = CatalogKeys(store.prefix), store.command
    before = await storage_format.agree(store)
    seconds, micros = await command("TIME", key=k.state)
    now_ms = int(seconds) * 1000 + int(micros) // 1000
    live = await command("ZRANGEBYSCORE", k.brokers, now_ms - SILENT_MS, "+inf", key=k.state)
    rows = await command("HMGET", k.addresses, *live, key=k.state) if live else []
    older = [name.decode() for name, row in zip(live, rows, strict=True) if reads_of(row) < storage_format.FORMAT]
    if older:
        raise InvalidRequest(
            f"These brokers cannot read format {storage_format.FORMAT}: {', '.join(older)}. Upgrade them first."
        )
    if before < storage_format.FORMAT:
        await store.write_allow_oom("HSET", k.state, "format", storage_format.FORMAT)
    return before, storage_format.FORMAT
