"""A topic as the catalog stores it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from redis_ledger.config import Config
from redis_ledger.errors import StoredDamaged
from redis_ledger.ledger import settings as settings_of
from redis_ledger.store.stored_json import stored_json


@dataclass(frozen=True, slots=True)
class TopicEntry:
    """A topic as stored.  partitions_made: how many are ready; more are being added when `partitions` is larger."""

    name: str
    id: str
    partitions: int
    state: str
    created_ms: int
    settings: dict[str, int]
    partitions_made: int = 0

    def encoded(self) -> bytes:
        return msgspec.json.encode(self)

    def setting(self, name: str, config: Config) -> int:
        """The topic's own value, or the broker's."""
        own = self.settings.get(name)
        return int(getattr(config, name)) if own is None else own

    def over(self, config: Config) -> Config:
        """The broker's settings as they are for this topic."""
        return settings_of.over(self.settings, config)

    @property
    def delays_by_headers(self) -> bool:
        return settings_of.delays_by_headers(self.settings)


parse_topic = stored_json(TopicEntry, "The entry of a topic")  # raises StoredDamaged


def parse_topics(flat: Sequence[bytes]) -> tuple[list[TopicEntry], dict[str, StoredDamaged]]:
    """HGETALL's reply as entries, and by name why an entry cannot be read."""
    entries, damaged = list[TopicEntry](), dict[str, StoredDamaged]()
    for name, row in zip(flat[::2], flat[1::2], strict=True):
        if row:
            try:
                entries.append(parse_topic(row))
            except StoredDamaged as error:
                damaged[name.decode(errors="backslashreplace")] = error
    return entries, damaged
