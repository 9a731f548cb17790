"""Offsets of readers that store their own position, such as a Spark query, recorded as a Kafka group's offsets.

Such a reader fetches by offset and needs no leases.  It records its offsets in the transaction of its output, so that
its lag is visible: a subscription of the kind `kafka`.
"""

from __future__ import annotations

from collections.abc import Mapping

from redis_ledger.broker.groups.offsets import OffsetEntry, Offsets
from redis_ledger.broker.transactions.participant_registry import ParticipantRegistry
from redis_ledger.ids import TxnId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.txn.coordinator import Participant


class ExternalOffsets:
    def __init__(self, offsets: Offsets, registry: ParticipantRegistry, catalog: Catalog) -> None:
        self._offsets, self._registry, self._catalog = offsets, registry, catalog

    async def note(self, group: str, topic: str, offsets: Mapping[int, int], transaction: TxnId | None = None) -> None:
        """offsets: by partition, of what is to be read next; with a transaction they count when it commits.
        Raises UnknownTopic, UnknownPartition, WrongSubscriptionKind, and what registering raises."""
        places = [await self._catalog.partition(topic, number) for number in offsets]
        entries = [OffsetEntry(topic, number, offset) for number, offset in offsets.items()]
        if transaction is not None:
            touched = [Participant(topic, place.topic_id, place.number, group) for place in places]
            await self._registry.register(transaction, touched)
        for outcome in await self._offsets.commit(group, entries, fence=-1, transaction=transaction, places=places):
            if outcome is not None:
                raise outcome
