"""Snapshots of subscriptions: a document of what is acknowledged, and the seek that returns to it.

    snapshot ──▶ partition 0: mark-delete position 17, acknowledged 18 to 20 and 22
                 partition 1: ...
    seek     ◀── the same topic, a subscription of the same kind

Nothing is stored.  Each partition is of one moment, and is set in one step; not all of them together.
Source: docs/decisions/0047; Google Pub/Sub's snapshots.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from redis_ledger.broker.subscriptions.cursor_now import cursor_now
from redis_ledger.broker.subscriptions.cursors import gather_all
from redis_ledger.broker.subscriptions.service import Subscriptions
from redis_ledger.broker.types import SubscriptionKind, SubscriptionStats
from redis_ledger.clock import Clock
from redis_ledger.cursor import ack_chunks, scripts, snapshot
from redis_ledger.cursor.ranges import Range
from redis_ledger.cursor.script_errors import unknown
from redis_ledger.cursor.snapshot import BadSnapshot
from redis_ledger.errors import (
    InvalidRequest,
    RequestTooLarge,
    SnapshotMismatch,
    SnapshotTooLarge,
    UnknownPartition,
    WrongSubscriptionKind,
)
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.waiters import Waiters
from redis_ledger.store.reading import Reading, pairs
from redis_ledger.store.store import Store

RANGES_MAX = 50_000  # of a snapshot
FIELDS_MAX = 2_048  # of the acknowledgements on a partition, a kilobyte each: one call reads or writes them
AT_ONCE = 4


class PartitionSnapshot(NamedTuple):
    """acknowledged: beyond the mark-delete position, as cursor/snapshot.py encodes it."""

    partition: int
    mark_delete: int
    acknowledged: str


class CursorSnapshot(NamedTuple):
    topic: str
    topic_id: str
    subscription: str
    kind: SubscriptionKind
    taken_ms: int
    partitions: Sequence[PartitionSnapshot]


class CursorSnapshots:
    def __init__(self, store: Store, subscriptions: Subscriptions, waiters: Waiters, clock: Clock) -> None:
        self._store, self._subscriptions, self._waiters, self._clock = store, subscriptions, waiters, clock
        self._cursors = subscriptions.cursors
        self._reading = Reading(store)

    async def take(self, topic: str, name: str) -> CursorSnapshot:
        """Raises UnknownTopic, UnknownSubscription, WrongSubscriptionKind, SnapshotTooLarge.  Cost: two reads a
        partition."""
        kind, partitions = await self._kind(topic, name), await self._cursors.partitions(topic, fresh=True)
        taken_ms, found, room = self._clock.now_ms(), list[PartitionSnapshot](), RANGES_MAX
        for at in range(0, len(partitions), AT_ONCE):
            some = [self._cursors.act(p, name, lambda p: self._fields(p, name)) for p in partitions[at : at + AT_ONCE]]
            for p, (mark, end, fields) in zip(partitions[at : at + AT_ONCE], await gather_all(some), strict=True):
                if ack_chunks.count_runs(fields) > room:
                    raise SnapshotTooLarge(_too_large(name, f"{RANGES_MAX} ranges"))
                ranges = ack_chunks.ranges(fields, mark, end)
                room -= len(ranges)
                found.append(PartitionSnapshot(p.number, mark, snapshot.encode(mark, ranges)))
                await asyncio.sleep(0)
        return CursorSnapshot(topic, partitions[0].topic_id, name, kind, taken_ms, found)

    async def seek(self, topic: str, name: str, to: CursorSnapshot) -> SubscriptionStats:
        """Returns to a snapshot, which may be of another subscription of the topic.  Drops what leases and open
        transactions hold, as every seek.

        Raises UnknownTopic, UnknownSubscription, UnknownPartition, OffsetOutOfRange, WrongSubscriptionKind,
        SnapshotMismatch, RequestTooLarge, InvalidRequest.
        """
        kind, partitions = await self._kind(topic, name), await self._cursors.partitions(topic, fresh=True)
        check(to, topic, partitions[0].topic_id, kind, len(partitions))
        marks = {each.partition: each.mark_delete for each in to.partitions}
        acked, room = dict[int, list[Range]](), RANGES_MAX
        for each in to.partitions:
            acked[each.partition] = ranges = _decoded(each)
            room -= len(ranges)
            if room < 0:
                raise RequestTooLarge(f"$.snapshot has more than {RANGES_MAX} ranges of acknowledgements.")
            await asyncio.sleep(0)
        fields = {number: _stored(number, ranges) for number, ranges in acked.items()}

        async def move(p: Partition) -> None:
            if p.number not in marks:  # added since
                await scripts.seek(self._store, p.keys, p.topic_id, name, "earliest")
                return
            mark, ranges = marks[p.number], acked[p.number]
            ahead = ranges[-1].last + 1 if ranges else mark
            await snapshot.restore(self._store, p.keys, p.topic_id, name, kind, mark, ahead, fields[p.number])

        await self._cursors.act_on_all(partitions, name, move)
        await gather_all([self._waiters.poke(p.keys) for p in partitions])
        return await self._subscriptions.stats(topic, name)

    async def _kind(self, topic: str, name: str) -> SubscriptionKind:
        kind = await self._subscriptions.kind(topic, name)
        if kind is None:
            raise unknown(name)
        if kind == "kafka":
            raise WrongSubscriptionKind(f"{name!r} is a Kafka group, which has offsets only; seek to them.")
        return kind

    async def _fields(self, p: Partition, name: str) -> tuple[int, int, dict[bytes, bytes]]:
        """The mark-delete position, the end of the acknowledgements, and their fields."""
        acks = p.keys.sub(name).acks
        if await self._store.command("HLEN", acks, key=p.keys.state) > FIELDS_MAX + 1:  # one is a sentinel
            raise SnapshotTooLarge(_too_large(name, f"{FIELDS_MAX} fields on partition {p.number}"))
        now, (rows,) = await cursor_now(self._reading, p, name, [("HGETALL", acks)])
        return now.mark, max(now.acked_end, now.mark), pairs(rows)


def check(to: CursorSnapshot, topic: str, topic_id: str, kind: SubscriptionKind, partitions: int) -> None:
    """Raises if a snapshot does not fit a subscription of this kind on this topic."""
    if (to.topic, to.topic_id) != (topic, topic_id):
        again = f"Topic {topic!r} was deleted and created again since the snapshot was taken."
        raise SnapshotMismatch(again if to.topic == topic else f"The snapshot is of topic {to.topic!r}, not {topic!r}.")
    if to.kind != kind:
        raise SnapshotMismatch(f"The snapshot is of a subscription of the kind {to.kind}; this one is {kind}.")
    numbers = [each.partition for each in to.partitions]
    if numbers != list(range(len(numbers))):
        raise InvalidRequest("$.snapshot.partitions: the partitions are not complete, from 0 on.")
    if len(numbers) > partitions:
        raise UnknownPartition(f"The snapshot has {len(numbers)} partitions; topic {topic!r} has {partitions}.")


def _decoded(of: PartitionSnapshot) -> list[Range]:
    try:
        return snapshot.decode(of.mark_delete, of.acknowledged)
    except BadSnapshot as error:
        raise InvalidRequest(f"$.snapshot.partitions[{of.partition}].acknowledged: {error}.") from None


def _stored(number: int, ranges: Sequence[Range]) -> dict[bytes, bytes]:
    fields = ack_chunks.fields_of(ranges, FIELDS_MAX)
    if fields is None:
        raise RequestTooLarge(f"$.snapshot.partitions[{number}].acknowledged spans too many offsets.")
    return fields


def _too_large(name: str, bound: str) -> str:
    return f"The acknowledgements of {name!r} beyond its mark-delete position are more than {bound}."
