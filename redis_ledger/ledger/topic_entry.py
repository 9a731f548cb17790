"""A topic as the catalog stores it."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from redis_ledger.config import Config
from redis_ledger.errors import StoredDamaged
from redis_ledger.ledger import settings as settings_of


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


_decode = msgspec.json.Decoder(TopicEntry).decode


def parse_topic(row: bytes) -> TopicEntry:
    """Raises StoredDamaged."""
    try:
        return _decode(row)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise StoredDamaged.of(f"The entry {row[:100]!r} of a topic") from None
