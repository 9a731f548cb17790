"""A cursor and its partition, read at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from redis_ledger.broker.types import SubscriptionKind
from redis_ledger.cursor.registration import KINDS
from redis_ledger.cursor.script_errors import unknown
from redis_ledger.errors import UnknownTopic
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.reading import Read, Reading


class CursorNow(NamedTuple):
    """Of a Kafka group, mark and read are its offset, or -1.  ahead: the end of acknowledgements beyond read."""

    start: int
    stable: int
    end: int
    kind: SubscriptionKind
    mark: int
    read: int
    held: int
    ahead: int = 0

    @property
    def first(self) -> int:
        """The first offset of the backlog."""
        return max(self.mark, self.start)

    @property
    def acked_end(self) -> int:
        """No offset from here on is acknowledged."""
        return max(self.read, self.ahead)


async def cursor_now(
    reading: Reading, p: Partition, name: str, reads: Sequence[Read] = ()
) -> tuple[CursorNow, list[Any]]:
    """The cursor, and further reads of the same moment.  Raises UnknownTopic, UnknownSubscription."""
    k, of = p.keys, p.keys.sub(name)
    state, row, *rest = await reading.atomic([
        ("HMGET", k.state, "topic_id", "start", "stable", "next"),
        ("HMGET", of.cursor, "kind", "mark", "read", "held", "ahead", "offset"),
        *reads,
    ])  # fmt: skip
    if state is None or state[0] is None or state[0].decode() != p.topic_id:
        raise UnknownTopic.gone(p.topic)
    start, stable, end = (int(each or 0) for each in state[1:])
    if row is None or row[0] is None:
        raise unknown(name)
    kind, mark, read, held, ahead, offset = row
    if kind == b"kafka":
        return CursorNow(start, stable, end, "kafka", int(offset or -1), int(offset or -1), 0), rest
    numbers = (max(int(mark or 0), start), max(int(read or 0), start), int(held or 0), int(ahead or 0))
    return CursorNow(start, stable, end, KINDS[kind.decode()], *numbers), rest
