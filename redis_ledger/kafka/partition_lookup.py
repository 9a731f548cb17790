"""Lookup of the partitions of a request.  Absent ones are read once, even if they occur many times.

    60 000 topics that do not exist ─ expect ─▶ one read of the catalog's version ─ get ─▶ rejected from memory

Unknown topics and partition numbers are cached for this request only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Set

from redis_ledger.errors import InvalidTopicName, LedgerError, UnknownPartition, UnknownTopic, UnknownTopicId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition

FEW = 16  # up to this number, unknown topics are looked up one by one


class PartitionLookup:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._absent: Set[str] = frozenset()
        self._refused: dict[str, UnknownTopic | InvalidTopicName] = {}
        self._partitions: dict[str, int] = {}  # of topics with unknown partition numbers

    async def expect(self, names: Iterable[str] = (), ids: Iterable[bytes] = ()) -> PartitionLookup:
        """Prepares lookups of these topics."""
        requested, wanted_ids = {name for name in names if self._catalog.known(name) is None}, {id.hex() for id in ids}
        if len(requested) + len(wanted_ids) > FEW:
            with contextlib.suppress(LedgerError):  # `get` then raises the error for each topic
                self._absent = await self._catalog.absent(requested, wanted_ids)
        return self

    async def name(self, topic_id: bytes) -> str:
        """Raises UnknownTopicId."""
        id = topic_id.hex()
        if id in self._absent:
            raise UnknownTopicId(f"There is no topic with the id {id}; it may have been deleted.")
        return (await self._catalog.by_id(topic_id)).name

    def check(self, topic: str) -> None:
        """Raises UnknownTopic for a topic that is known to be absent, InvalidTopicName."""
        if topic in self._absent:
            raise UnknownTopic(f"Topic {topic!r} does not exist.", topic=topic)
        if (refused := self._refused.get(topic)) is not None:
            raise refused.with_traceback(None)

    async def get(self, topic: str, number: int) -> Partition:
        """Raises UnknownTopic, InvalidTopicName, UnknownPartition."""
        found = self._catalog.opened(topic, number)
        if found is not None:
            return found
        self.check(topic)
        count = self._partitions.get(topic)
        if count is not None and not 0 <= number < count:
            raise UnknownPartition(f"Topic {topic!r} has partitions 0 to {count - 1}, not {number}.", partitions=count)
        try:
            return await self._catalog.partition(topic, number)
        except UnknownPartition as error:
            self._partitions[topic] = int(error.facts["partitions"])
            raise
        except (UnknownTopic, InvalidTopicName) as error:
            self._refused[topic] = error
            raise
