"""Lag, seek and deletion of every cursor: subscriptions and Kafka groups by the same calls.

    offset     0 ······ position ▓▓▓▓▓▓▓▓▓▓ stable ░░░░░░ end
    lag                          leased, pending and      undecided: of open transactions,
                                 undelivered records      or behind their records

What is acknowledged is no lag; what is leased, or acknowledged in an open transaction, still is.  Markers, aborted
records and gaps are left out while at most BACKLOG_ENTRIES log entries have to be read to know them; beyond those,
offsets are counted and the lag is an upper bound.  A Kafka group is moved or deleted only while it has no members.
Source: docs/decisions/0049; Kafka's kafka-consumer-groups.sh; Pulsar's `topics stats`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from redis_ledger.broker.groups.lag import Lag, LagReader, Reader
from redis_ledger.broker.groups.offsets import Offsets
from redis_ledger.broker.groups.service import Groups
from redis_ledger.broker.subscriptions.cursors import gather_all
from redis_ledger.broker.subscriptions.service import Subscriptions
from redis_ledger.broker.types import SubscriptionKind, SubscriptionStats
from redis_ledger.cursor import scripts
from redis_ledger.cursor.script_errors import unknown
from redis_ledger.errors import GroupNotEmpty, IllegalGeneration, StoreUnavailable, UnknownTopic
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.entries import parse_log
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import Store

PARTITIONS_MAX = 64  # of one cursor, read by one call
CURSORS_MAX = 2_000  # cursors of partitions that a page of `lags` reads
TOPICS_MAX = 1_000  # topics that a page of `lags` looks at
AT_ONCE = 16
GROUP: SubscriptionKind = "kafka"


class PartitionLag(NamedTuple):
    """position: everything below is acknowledged; -1 for a Kafka group without an offset, whose lag is unknown and 0.

    records     not acknowledged yet: leased, pending, returned or not yet delivered
    undecided   offsets from the stable offset to the end
    oldest_ms   when the log entry at the position was appended; None without a lag
    bytes       estimated by the mean size of the partition's records
    is_exact    False: `records` is an upper bound
    """

    partition: int
    position: int
    stable_offset: int
    end_offset: int
    records: int
    leased: int
    pending: int
    undecided: int
    redelivered: int
    oldest_ms: int | None
    bytes: int
    is_exact: bool


class CursorLag(NamedTuple):
    """next_partition: where to go on; None at the end."""

    reader: Reader
    partitions: list[PartitionLag]
    next_partition: int | None


class LagPage(NamedTuple):
    """following: where to go on, "topic/name" or "topic", behind which the next page begins; None at the end."""

    lags: list[Lag]
    following: str | None


class CursorAdministration:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        subscriptions: Subscriptions,
        groups: Groups,
        offsets: Offsets,
        lag_reader: LagReader,
    ) -> None:
        self._store, self._catalog, self._subscriptions = store, catalog, subscriptions
        self._groups, self._offsets, self._lag_reader = groups, offsets, lag_reader
        self._cursors = subscriptions.cursors

    # -- lag ---------------------------------------------------------------------------------------------------------

    async def lag(self, topic: str, name: str, *, from_partition: int = 0) -> CursorLag:
        """Of PARTITIONS_MAX partitions.  Raises UnknownTopic, UnknownSubscription.  Cost: three reads a partition."""
        every = await self._cursors.partitions(topic, fresh=True)
        last = from_partition + PARTITIONS_MAX
        chosen, found = every[from_partition:last], list[PartitionLag]()
        kind = await self.kind(topic, name)
        for at in range(0, len(chosen), AT_ONCE):
            some = (self._cursors.act(p, name, lambda p: self._of(p, name)) for p in chosen[at : at + AT_ONCE])
            found += await asyncio.gather(*some)
        return CursorLag(Reader(topic, name, kind), found, last if last < len(every) else None)

    async def _of(self, p: Partition, name: str) -> PartitionLag:
        stats = await scripts.stats(self._store, p.keys, p.topic_id, name)
        head = await p.offsets.head()
        oldest = None
        if stats.backlog:
            first = max(stats.mark, head.start_offset)
            log = await self._store.command("XRANGE", p.keys.log, first, "+", "COUNT", 1, key=p.keys.state)
            oldest = next((entry.appended_ms for entry in parse_log(log)), None)
        end, stable = max(head.end_offset, stats.stable), stats.stable
        mean = head.bytes / max(head.end_offset - head.start_offset, 1)
        return PartitionLag(
            p.number, stats.mark, stable, end, stats.backlog, stats.leased, stats.held, end - stable,
            stats.redelivered, oldest, round(stats.backlog * mean), stats.is_exact,
        )  # fmt: skip

    async def lags(
        self,
        topic: str | None = None,
        name: str | None = None,
        *,
        limit: int = 100,
        after: str = "",
        may_see: Callable[[Reader], bool] = lambda _: True,
    ) -> LagPage:
        """By topic and name: those of a topic, of a name, or all; at most `limit`.  after: `following` of a page.

        Cost: a read a topic, and one a cursor and partition; at most TOPICS_MAX and about CURSORS_MAX of them.
        Raises UnknownTopic for a topic that is given.
        """
        entries = [await self._catalog.get(topic, fresh=True)] if topic is not None else await self._catalog.list()
        first, is_within, behind = after.partition("/")
        chosen, room, looked, reached = list[Reader](), CURSORS_MAX, 0, after
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.name < first or (entry.name == first and not is_within):
                continue
            if looked >= TOPICS_MAX or (chosen and len(chosen) >= limit):
                return LagPage(await self._lag_reader.of(chosen), reached)
            looked += 1
            for reader in filter(may_see, await self._readers(entry.name, name)):
                if entry.name == first and reader.name <= behind:
                    continue
                if chosen and (len(chosen) >= limit or room < entry.partitions):
                    return LagPage(await self._lag_reader.of(chosen), reached)
                chosen.append(reader)
                room -= entry.partitions
                reached = f"{entry.name}/{reader.name}"
            reached = entry.name
        return LagPage(await self._lag_reader.of(chosen), None)

    async def _readers(self, topic: str, name: str | None) -> list[Reader]:
        try:
            if name is None:
                return [Reader(topic, *each) for each in await self._subscriptions.list(topic)]
            kind = await self._subscriptions.kind(topic, name)
            return [] if kind is None else [Reader(topic, name, kind)]
        except UnknownTopic:
            return []  # deleted meanwhile

    # -- seek and delete ---------------------------------------------------------------------------------------------

    async def kind(self, topic: str, name: str) -> SubscriptionKind:
        """Raises UnknownTopic, UnknownSubscription."""
        kind = await self._subscriptions.kind(topic, name)
        if kind is None:
            raise unknown(name)
        return kind

    async def seek(
        self,
        topic: str,
        name: str,
        *,
        to: Literal["earliest", "latest"] | None = None,
        offsets: dict[int, int] | None = None,
        timestamp_ms: int | None = None,
    ) -> SubscriptionStats:
        """As Subscriptions.seek, for a Kafka group as well.  Raises GroupNotEmpty for one that has members."""
        if await self.kind(topic, name) != GROUP:
            return await self._subscriptions.seek(topic, name, to=to, offsets=offsets, timestamp_ms=timestamp_ms)
        fences = await self._fences(topic, name)  # before the members: one that joins later raises them
        await self._groups.check_empty(name)
        try:
            return await self._subscriptions.seek(
                topic, name, to=to, offsets=offsets, timestamp_ms=timestamp_ms, fences=fences
            )
        except IllegalGeneration:
            raise GroupNotEmpty(f"Group {name!r} has a member since a moment ago; stop it first.") from None

    async def delete(self, topic: str, name: str) -> None:
        """A subscription, or what a Kafka group has on the topic.  Raises GroupNotEmpty."""
        if await self.kind(topic, name) == GROUP:
            generation = max((await self._fences(topic, name)).values(), default=-1)  # before the members, as in `seek`
            await self._groups.check_empty(name)
            if await self._offsets.forget_topic(name, topic, "always", max(generation, 0)):
                raise StoreUnavailable(f"Some offsets of group {name!r} on {topic!r} may be left; repeat the request.")
        else:
            await self._subscriptions.delete(topic, name)

    async def _fences(self, topic: str, group: str) -> dict[int, int]:
        """The highest generation that has read or committed on each partition; -1: none."""

        async def one(p: Partition) -> int:
            key = p.keys.sub(group).cursor
            return int(await self._store.command("HGET", key, "fence", key=p.keys.state) or -1)

        partitions = await self._cursors.partitions(topic)
        return {
            p.number: fence for p, fence in zip(partitions, await gather_all([one(p) for p in partitions]), strict=True)
        }


def totals(partitions: Sequence[PartitionLag]) -> tuple[int, bool]:
    """The records of all these, and whether they are exact."""
    return sum(each.records for each in partitions), all(each.is_exact for each in partitions)
