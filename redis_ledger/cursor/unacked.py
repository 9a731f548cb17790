"""What is out on one partition: leases as they lie, read without changing anything.

    due      first offset of each lease, by when it may be delivered again ─▶ those that are due first
    leases   first offset ─▶ last, consumer, count, deadline

Between the two reads a lease may end; then it is left out.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store

UNSEEN = "%"  # as lua/include/cursor has it


class Lease(NamedTuple):
    """Offsets first to last.  consumer: "" when they were given back and wait.  deliveries: how often they were
    delivered before this time.  deadline_ms: when they may be delivered again."""

    partition: int
    first: int
    last: int
    consumer: str
    deliveries: int
    deadline_ms: int


async def due_first(store: Store, keys: PartitionKeys, partition: int, name: str, most: int) -> list[Lease]:
    """At most `most` of them, the first due first.  Cost: two round trips."""
    of = keys.sub(name)
    firsts = await store.command("ZRANGEBYSCORE", of.due, 0, "+inf", "LIMIT", 0, most, key=of.due)
    if not firsts:
        return []
    rows = await store.command("HMGET", of.leases, *firsts, key=of.leases)
    return [parse(partition, int(first), row.decode()) for first, row in zip(firsts, rows, strict=True) if row]


def parse(partition: int, first: int, row: str) -> Lease:
    last, consumer, deliveries, deadline = row.split(" ")
    who = "" if consumer == UNSEEN else unquote(consumer)
    return Lease(partition, first, int(last), who, int(deliveries), int(deadline))
