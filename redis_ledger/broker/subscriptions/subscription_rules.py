"""Rules of subscriptions, which every broker caches: a table of the catalog with one rule for each subscription.

    {catalog}:<table>   ["topic","subscription"] → JSON of its rule      {catalog}:state   "<table>" → version

Each broker caches the rules (cluster/metadata_cache.py), so a receive without a rule costs one dict lookup.  A rule
applies to one incarnation of its topic; completing the deletion of a topic removes its rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, Literal, Protocol, TypeVar

import msgspec

from redis_ledger.broker.cluster.metadata_cache import MetadataCache, Row
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store
from redis_ledger.store.stored_json import stored_json


class Rule(Protocol):
    """source_id: topic id of the source when the rule was made."""

    @property
    def source_id(self) -> str: ...


R = TypeVar("R", bound=Rule)
_place = stored_json(tuple[str, str], "The name of a rule of a subscription")


class SubscriptionRules(Generic[R]):
    """by_subscription: (topic, subscription) → rule; replaced on every change, never changed in place."""

    def __init__(self, store: Store, table: Literal["deadletters", "redelivery"], rule: type[R]) -> None:
        self._key: bytes = getattr(CatalogKeys(store.prefix), table)
        self._cache = MetadataCache(store, table, (self._key,), self._take)
        self._decode = stored_json(rule, f"A row of {table}")
        self.by_subscription: Mapping[tuple[str, str], R] = {}

    async def open(self) -> None:
        await self._cache.open()

    async def close(self) -> None:
        await self._cache.close()

    async def refresh(self) -> None:
        """Reads the rules again if they have changed."""
        await self._cache.refresh()

    def get(self, topic: str, topic_id: str, subscription: str) -> R | None:
        rule = self.by_subscription.get((topic, subscription))
        return rule if rule is not None and rule.source_id == topic_id else None

    async def set(self, topic: str, subscription: str, rule: R) -> None:
        await self._write({(topic, subscription): msgspec.json.encode(rule).decode()})

    async def remove(self, topic: str, subscription: str) -> bool:
        """Returns whether there was a rule."""
        return await self._write({(topic, subscription): ""}) > 0

    async def remove_all(self, topic: str, topic_id: str) -> None:
        """Removes the rules of the topic's subscriptions."""
        await self.refresh()
        rules = self.by_subscription.items()
        await self._write({at: "" for at, rule in rules if at[0] == topic and rule.source_id in (topic_id, "")})

    async def _write(self, rows: Mapping[tuple[str, str], str]) -> int:
        fields = {msgspec.json.encode(where).decode(): row for where, row in rows.items()}
        return await self._cache.write(self._key, fields)

    def _take(self, tables: Sequence[Sequence[Row]]) -> None:
        self.by_subscription = {_place(field): self._decode(row) for field, row in tables[0]}
