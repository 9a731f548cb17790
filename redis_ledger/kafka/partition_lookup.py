"""The partitions that one request names: what is not there is looked for once, however often it is named.

    60 000 topics that do not exist ─ expect ─▶ one read of the catalog's version ─ get ─▶ refused from memory

A topic that is unknown, and a number beyond a topic's partitions, are not remembered beyond the request.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Set

from redis_ledger.errors import InvalidTopicName, LedgerError, UnknownPartition, UnknownTopic, UnknownTopicId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition

FEW = 16  # unknown topics that are looked for one by one


class PartitionLookup:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._absent: Set[str] = frozenset()
        self._refused: dict[str, UnknownTopic | InvalidTopicName] = {}
        self._partitions: dict[str, int] = {}  # of topics whose numbers were beyond them

    async def expect(self, names: Iterable[str] = (), ids: Iterable[bytes] = ()) -> PartitionLookup:
        """These are going to be asked for."""
        wanted, wanted_ids = {name for name in names if self._catalog.known(name) is None}, {id.hex() for id in ids}
        if len(wanted) + len(wanted_ids) > FEW:
            with contextlib.suppress(LedgerError):  # whoever asks for one is told why it cannot be known now
                self._absent = await self._catalog.absent(wanted, wanted_ids)
        return self

    async def name(self, topic_id: bytes) -> str:
        """Raises UnknownTopicId."""
        id = topic_id.hex()
        if id in self._absent:
            raise UnknownTopicId(f"There is no topic of id {id} (any more).")
        return (await self._catalog.by_id(topic_id)).name

    def check(self, topic: str) -> None:
        """Raises UnknownTopic for a topic that is known not to be there, InvalidTopicName."""
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
