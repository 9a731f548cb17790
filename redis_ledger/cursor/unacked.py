"""Reads the unacknowledged messages of one partition: its leases, without changing them.

    due      first offset of each lease, by redelivery time ─▶ those that are due first
    leases   first offset ─▶ last, consumer, count, deadline

Of a key_shared subscription, `due` has slots, and `leases` their queues: cursor/slot_queues.
A lease may end between the two reads; it is then left out.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

from redis_ledger.cursor import slot_queues
from redis_ledger.cursor.slot_queues import UNSEEN, Entry
from redis_ledger.errors import StoredDamaged
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store


class Lease(NamedTuple):
    """Offsets first to last.  consumer: "" if they were returned and wait for redelivery.  deliveries: earlier ones.
    deadline_ms: time of redelivery."""

    partition: int
    first: int
    last: int
    consumer: str
    deliveries: int
    deadline_ms: int


async def due_first(store: Store, keys: PartitionKeys, partition: int, name: str, most: int) -> list[Lease]:
    """Returns at most `most` leases, the first due first.  Raises StoredDamaged.  Cost: two round trips."""
    of = keys.sub(name)
    firsts = await store.command("ZRANGEBYSCORE", of.due, 0, "+inf", "LIMIT", 0, most, key=of.due)
    if not firsts:
        return []
    names: list[bytes] = [*firsts, *(b"s" + first for first in firsts)]
    rows = await store.command("HMGET", of.leases, *names, key=of.leases)
    found = list[Lease]()
    for field, row in zip(names, rows, strict=True):
        if row is not None and field[:1] == b"s":
            found += queued(partition, int(field[1:]), row)
        elif row is not None:
            found.append(parse(partition, int(field), row))
    return sorted(found, key=lambda each: each.deadline_ms)[:most]


def queued(partition: int, slot: int, row: bytes) -> list[Lease]:
    """What of a queue was delivered, and is neither acknowledged nor held by a transaction."""
    found = (lease_of(partition, each) for each in slot_queues.entries(slot, row))
    return [lease for lease in found if lease is not None]


def lease_of(partition: int, entry: Entry) -> Lease | None:
    """None if a transaction holds it, or it was not delivered."""
    if entry.consumer is None or (entry.consumer == UNSEEN and not entry.deliveries):
        return None
    who = "" if entry.consumer == UNSEEN else unquote(entry.consumer)
    return Lease(partition, entry.offset, entry.offset, who, entry.deliveries, entry.deadline_ms)


def parse(partition: int, first: int, row: bytes) -> Lease:
    """Raises StoredDamaged."""
    try:
        last, consumer, deliveries, deadline, *_ = row.decode().split(" ")  # a fifth word is the name of the request
        who = "" if consumer == UNSEEN else unquote(consumer)
        return Lease(partition, first, int(last), who, int(deliveries), int(deadline))
    except ValueError:
        raise StoredDamaged.of(f"The lease of offset {first} on partition {partition}") from None
