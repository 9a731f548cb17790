"""How far subscriptions and groups are behind, for many of them at once: plain reads, where cursor/stats walks the log.

log       start ····· read ▓▓▓▓▓▓▓▓ stable ····· end
cursor    leased and held by transactions + ▓▓▓      markers and aborted records in ▓ are counted, so it is a bound
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from redis_ledger.broker.types import SubscriptionKind
from redis_ledger.errors import UnknownPartition, UnknownTopic
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.partition_offsets import PartitionHead, PartitionOffsets
from redis_ledger.store.store import Store

AT_ONCE = 128  # reads under way
FIELDS = ("kind", "read", "leased", "held", "offset")

NONE: Mapping[str, Sequence[PartitionHead]] = MappingProxyType({})

T = TypeVar("T")
R = TypeVar("R")


class Reader(NamedTuple):
    """A subscription or group of a topic.  kind: kafka is a group."""

    topic: str
    name: str
    kind: SubscriptionKind


class Lag(NamedTuple):
    """records: to get, on all partitions.  is_exact: False for an upper bound."""

    reader: Reader
    records: int
    is_exact: bool


def lag(row: Sequence[bytes | None], head: PartitionHead) -> tuple[int, bool]:
    """Of one cursor, and whether it is exact.  row: FIELDS.  A cursor that was not made yet, and a group that has
    committed nothing here, do not count."""
    kind, read, leased, held, offset = row
    if kind is None:
        return 0, True
    if kind == b"kafka":
        at = int(offset or -1)
        unread = 0 if at < 0 else max(head.stable_offset - max(at, head.start_offset), 0)
        return unread, not unread
    unread = max(head.stable_offset - max(int(read or 0), head.start_offset), 0)
    return int(leased or 0) + int(held or 0) + unread, not unread


class LagReader:
    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store, self._catalog = store, catalog

    async def of(self, readers: Sequence[Reader], heads: Mapping[str, Sequence[PartitionHead]] = NONE) -> list[Lag]:
        """In their order; those of topics that were deleted meanwhile are left out.  heads: of topics whose partitions
        were read just now.  Cost: one read a cursor, and one a partition of the other topics."""
        topics = dict.fromkeys(reader.topic for reader in readers)
        asked = [(topic, heads.get(topic)) for topic in topics]
        places = dict(zip(topics, await _each(self._places, asked), strict=True))
        known = [reader for reader in readers if places[reader.topic] is not None]
        cursors = [(p, reader.name) for reader in known for p, _ in places[reader.topic] or ()]
        rows = iter(await _each(self._cursor, cursors))
        found = []
        for reader in known:
            parts = [lag(next(rows), head) for _, head in places[reader.topic] or ()]
            found.append(Lag(reader, sum(count for count, _ in parts), all(exact for _, exact in parts)))
        return found

    async def _places(
        self, of: tuple[str, Sequence[PartitionHead] | None]
    ) -> list[tuple[Partition, PartitionHead]] | None:
        topic, heads = of
        try:
            count = len(heads) if heads else (await self._catalog.get(topic)).partitions
            partitions = [await self._catalog.partition(topic, number) for number in range(count)]
            return list(
                zip(
                    partitions,
                    heads or await _each(PartitionOffsets.head, [each.offsets for each in partitions]),
                    strict=True,
                )
            )
        except (UnknownTopic, UnknownPartition):
            self._catalog.forget(topic)
            return None

    async def _cursor(self, at: tuple[Partition, str]) -> Any:
        partition, name = at
        return await self._store.command("HMGET", partition.keys.sub(name).cursor, *FIELDS, key=partition.keys.state)


async def _each(ask: Callable[[T], Awaitable[R]], subjects: Sequence[T]) -> list[R]:
    """The answers in order, AT_ONCE of them under way at a time."""
    answers: list[R] = []
    for at in range(0, len(subjects), AT_ONCE):
        answers += await asyncio.gather(*map(ask, subjects[at : at + AT_ONCE]))
    return answers
