"""Reads the unacknowledged messages of one partition: its leases, without changing them.

    due      first offset of each lease, by redelivery time ─▶ those that are due first
    leases   first offset ─▶ last, consumer, count, deadline

A lease may end between the two reads; it is then left out.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store

UNSEEN = "%"  # as in lua/include/cursor


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
    """Returns at most `most` leases, the first due first.  Cost: two round trips."""
    of = keys.sub(name)
    firsts = await store.command("ZRANGEBYSCORE", of.due, 0, "+inf", "LIMIT", 0, most, key=of.due)
    if not firsts:
        return []
    rows = await store.command("HMGET", of.leases, *firsts, key=of.leases)
    return [parse(partition, int(first), row.decode()) for first, row in zip(firsts, rows, strict=True) if row]


def parse(partition: int, first: int, row: str) -> Lease:
    last, consumer, deliveries, deadline, *_ = row.split(" ")  # a fifth word is the name of the request
    who = "" if consumer == UNSEEN else unquote(consumer)
    return Lease(partition, first, int(last), who, int(deliveries), int(deadline))
