"""Checks of a topic's settings before they are stored."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from redis_ledger.config import Config
from redis_ledger.errors import InvalidRequest, InvalidTopicName, TopicBusy
from redis_ledger.ledger import settings as settings_of
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from redis_ledger.ledger.topic_entry import TopicEntry
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store

# Kafka's tools expect this topic once there are groups.  It stays empty: offsets are stored with their partitions.
OFFSETS_TOPIC = "__consumer_offsets"


def refuse_internal(name: str, act: str) -> None:
    """act: what clients may not do with the internal topic.  Raises InvalidTopicName."""
    if name == OFFSETS_TOPIC:
        raise InvalidTopicName(f"{name!r} is an internal topic; it cannot be {act}.")


def check(config: Config, partitions: int, settings: Mapping[str, int]) -> None:
    """Raises InvalidRequest."""
    if not 1 <= partitions <= config.partitions_max:
        raise InvalidRequest(f"A topic has 1 to {config.partitions_max} partitions, not {partitions}.")
    settings_of.check(settings)


async def check_buffer(store: Store, config: Config, before: TopicEntry | None, settings: Mapping[str, int]) -> None:
    """Refuses a change of the transaction buffer while a transaction is open in the topic.  before: None for a new one.

    A transaction that begins right after the check ends in the buffer in which it began.
    Raises TopicBusy.
    """
    default = BUFFERS[config.txn_buffer]
    if before is None or settings.get(TXN_BUFFER, default) == before.settings.get(TXN_BUFFER, default):
        return
    keys = [PartitionKeys(store.prefix, before.name, number) for number in range(before.partitions)]
    counts = await asyncio.gather(*(store.command("HLEN", k.open, key=k.state) for k in keys))
    if any(count > 1 for count in counts):  # one is the sentinel
        raise TopicBusy(
            f"Topic {before.name!r} has open transactions; its txn_buffer can be changed when they have ended.",
            topic=before.name,
        )
