"""Deletes the payload of aborted transactions in one partition, up to an offset, in bounded calls.

Each call goes on from where the last one of any broker ended (lua/ledger/reclaim), so it may be repeated.
Source: docs/decisions/0042.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from redis_ledger.errors import UnknownTopic
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store

RECLAIM = Script.load("ledger/reclaim")

ENTRIES_PER_S = 20_000  # log entries that one broker reads for this


class Reclaimed(NamedTuple):
    """offset: all that was aborted below it has no payload any more.  bytes, entries: what these calls deleted."""

    offset: int
    entries: int
    bytes: int


async def reclaim(store: Store, keys: PartitionKeys, topic: str, topic_id: str, limit: int) -> Reclaimed:
    """limit: an offset that was the stable offset.  Raises UnknownTopic."""
    ledger, deleted, freed = "", 0, 0
    while True:
        named = (keys.data(int(ledger)),) if ledger else ()
        own = (keys.state, keys.ledgers, keys.log, keys.aborted, *named)
        reply = await store.call(RECLAIM, own, (topic_id, ledger, limit))
        if reply[0] != Status.OK:
            raise UnknownTopic.gone(topic)
        deleted, freed, ledger = deleted + int(reply[2]), freed + int(reply[3]), reply[6].decode()
        if not reply[5]:
            return Reclaimed(int(reply[1]), deleted, freed)
        await asyncio.sleep(int(reply[4]) / ENTRIES_PER_S)
