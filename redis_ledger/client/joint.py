"""Transactions that are committed by one step together: deciding and splitting only.

    commit ─┐                                            ┌─→ its offsets
    commit ─┼─→ one transaction of the broker, or none ──┼─→ its offsets
    commit ─┘      refused: two halves, each by itself   └─→ its offsets

Each is atomic because all of them together are.  Two that acknowledge one message are never joined: both would be
committed.  Source: group commit of databases; docs/decisions/0050.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from redis_ledger.client.batches import Batch, SendResult
from redis_ledger.client.models import Executed, RecordPosition
from redis_ledger.ids import MessageId

Place: TypeAlias = tuple[str, int]  # topic, partition
AckSource: TypeAlias = tuple[str, str, str]  # topic, subscription, consumer
Places: TypeAlias = Mapping[Place, SendResult]

PARTS_MAX = 64
BYTES_MAX = 256 << 10  # of records; the broker reads a larger body in steps
COUNT_MAX = 2_000  # records and ids
PARTICIPANTS_MAX = 32  # partitions and subscriptions; the broker ends more of them in several calls


class Part(NamedTuple):
    """What one transaction has sent and acknowledged.  timeout_ms: what is left of its timeout."""

    batches: Mapping[Place, Batch[Any]]
    acks: Mapping[AckSource, Iterable[MessageId]]
    timeout_ms: int


class Joint:
    """Which parts go together."""

    def __init__(self) -> None:
        self._parts = self._bytes = self._count = 0
        self._participants: set[tuple[Any, ...]] = set()
        self._messages: set[tuple[str, str, MessageId]] = set()

    def add(self, part: Part) -> bool:
        """Whether the part joins; the first one always does."""
        size = sum(batch.size for batch in part.batches.values())
        messages = [(topic, name, id) for (topic, name, _), ids in part.acks.items() for id in ids]
        count = len(messages) + sum(len(batch.entries) for batch in part.batches.values())
        participants = self._participants.union(part.batches, ((t, name, id.partition) for t, name, id in messages))
        if self._parts and (
            self._parts == PARTS_MAX
            or self._bytes + size > BYTES_MAX
            or self._count + count > COUNT_MAX
            or len(participants) > PARTICIPANTS_MAX
            or not self._messages.isdisjoint(messages)
        ):
            return False
        self._parts += 1
        self._bytes += size
        self._count += count
        self._participants = participants
        self._messages.update(messages)
        return True


def counts_of(part: Part) -> dict[Place, int]:
    """Records by place."""
    return {place: len(batch.entries) for place, batch in part.batches.items()}


def split(executed: Executed, counts: Sequence[Mapping[Place, int]]) -> list[Places]:
    """Where the records of each part went.  counts: of each.  Empty if the broker does not know it any more."""
    offsets: dict[Place, list[int]] = {}
    for each in executed.results:
        of_place = offsets.setdefault((each.topic, each.partition), [])
        of_place.extend(range(each.base_offset, each.base_offset + each.records))
    taken = dict.fromkeys(offsets, 0)
    found: list[Places] = []
    for part in counts:
        places: dict[Place, SendResult] = {}
        for place, count in part.items():
            if place in offsets:
                first = taken[place]
                places[place] = _positions(place[1], offsets[place][first : first + count])
                taken[place] = first + count
        found.append(places)
    return found


def _positions(partition: int, offsets: Sequence[int]) -> SendResult:
    """The base offset if the broker wrote them side by side."""
    if offsets[-1] - offsets[0] == len(offsets) - 1:
        return offsets[0]
    return [RecordPosition(partition, offset) for offset in offsets]
