"""Deletes what no reader needs from the sidecar buffer: batches of aborted and trimmed transactions, and their payload.

Each call deletes a page (lua/ledger/release_sidecar), so any broker can go on at any time.
Source: docs/decisions/0044; requirements SC-14, SC-16.
"""

from __future__ import annotations

from typing import NamedTuple

from redis_ledger.errors import UnknownTopic
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store

RELEASE = Script.load("ledger/release_sidecar")


class Released(NamedTuple):
    """Batches of the buffer, and the bytes of their payload."""

    batches: int
    bytes: int


async def has_released(store: Store, keys: PartitionKeys) -> bool:
    """Whether there is something to delete.  Cost: one read."""
    found = await store.command("ZRANGEBYLEX", keys.sidecar, "[!", '("', "LIMIT", 0, 1, key=keys.state)
    return bool(found)


async def release_sidecar(store: Store, keys: PartitionKeys, topic: str, topic_id: str) -> Released:
    """Raises UnknownTopic."""
    ledger, batches, freed = "", 0, 0
    while True:
        named = (keys.data(int(ledger)),) if ledger else ()
        own = (keys.state, keys.ledgers, keys.sidecar, *named)
        reply = await store.call(RELEASE, own, (topic_id, ledger))
        if reply[0] != Status.OK:
            raise UnknownTopic.gone(topic)
        batches, freed, ledger = batches + int(reply[1]), freed + int(reply[2]), reply[4].decode()
        if not reply[3]:
            return Released(batches, freed)
