"""The catalog, and what it names."""

from __future__ import annotations

from collections.abc import Sequence

from redis_ledger.errors import UnknownTopic
from redis_ledger.fsck.finding import Finding
from redis_ledger.fsck.key_table import TypedKey, check_key
from redis_ledger.ledger.place import Place
from redis_ledger.ledger.topic_entry import TopicEntry, parse_topics
from redis_ledger.store.keys import CatalogKeys, PartitionKeys
from redis_ledger.store.reading import PAGE, Reading


async def typed(reading: Reading, where: str, slot: bytes, keys: Sequence[TypedKey]) -> list[Finding]:
    """Those of the keys that are missing, or of another type."""
    found = []
    for at in range(0, len(keys), PAGE):
        some = keys[at : at + PAGE]
        stored = await reading.atomic([("TYPE", key.key) for key in some])
        for key, reply in zip(some, stored, strict=True):
            found += check_key(where, key, (reply or b"none").decode())
    return found


class Keyspace:
    def __init__(self, reading: Reading) -> None:
        self._reading, self._prefix = reading, reading.store.prefix
        self._k = CatalogKeys(self._prefix)

    async def coordinators(self) -> int:
        count = await self._reading.command(self._k.state, "HGET", self._k.state, "coordinators")
        return int(count or 0)

    async def entries(self) -> dict[str, TopicEntry]:
        """The entries of the catalog that can be read."""
        found = dict[str, TopicEntry]()
        async for page in self._reading.rows(self._k.topics, self._k.topics):
            entries, _ = parse_topics([each for row in page for each in row])
            found |= {entry.name: entry for entry in entries}
        return found

    async def places(self, topic: str | None) -> list[Place]:
        """The partitions of ready topics, or of one.  Raises UnknownTopic."""
        entries = await self.entries()
        if topic is not None and (topic not in entries or entries[topic].state == "deleting"):
            raise UnknownTopic(f"Topic {topic!r} does not exist.", topic=topic)
        places = []
        for entry in sorted(entries.values(), key=lambda each: each.name):
            if entry.state == "deleting" or topic not in (None, entry.name):
                continue
            count = entry.partitions if entry.state == "ready" else entry.partitions_made
            keys = [PartitionKeys(self._prefix, entry.name, number) for number in range(count)]
            places += [Place(entry.name, entry.id, number, each) for number, each in enumerate(keys)]
        return places
