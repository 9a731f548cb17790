"""Reads all topics of the catalog."""

from __future__ import annotations

from collections.abc import Set

from redis_ledger.ledger.topic_entry import TopicEntry, parse_topics
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store
from redis_ledger.telemetry.logs import get

_log = get()


class CatalogRows:
    """damaged: names of topics whose entries could not be read the last time."""

    def __init__(self, store: Store) -> None:
        self._store, self._keys = store, CatalogKeys(store.prefix)
        self.damaged: Set[str] = frozenset()

    async def version(self) -> int:
        """Call it before `all`: the entries are then at least as new as the version."""
        return int(await self._store.command("HGET", self._keys.state, "version", key=self._keys.state) or 0)

    async def all(self) -> list[TopicEntry]:
        """Without damaged entries: the other topics go on, and fsck reports those."""
        rows = await self._store.command("HGETALL", self._keys.topics, key=self._keys.topics)
        entries, damaged = parse_topics(rows)
        for name in damaged.keys() - self.damaged:
            _log.error("a topic cannot be read; the others go on", topic=name, reason=damaged[name].detail)
        self.damaged = frozenset(damaged)
        return entries
