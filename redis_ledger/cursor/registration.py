"""A subscription's existence and its owner: what is decided on partition 0, and the cursors made after it.

    partition 0        register: kind, incarnation, start, number of partitions; of an exclusive one its owner
    other partitions   a cursor that carries the same incarnation

The incarnation is a random word.  It tells a cursor from the leftover of a deleted subscription of the same name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from redis_ledger.cursor.script_errors import checked, text, token
from redis_ledger.cursor.scripts import Kind, Where
from redis_ledger.errors import SubscriptionExists
from redis_ledger.store.keys import PartitionKeys, encode_name
from redis_ledger.store.script_status import Status
from redis_ledger.store.store import Script, Store

KINDS: dict[str, Kind] = {"exclusive": "exclusive", "shared": "shared", "kafka": "kafka"}

_CREATE = Script.load("cursor/create")
_DELETE = Script.load("cursor/delete")
_CLAIM = Script.load("cursor/claim")


class Registration(NamedTuple):
    """A subscription as partition 0 knows it.

    start, partitions   where it began, on the partitions that the topic had then; on later ones it begins at the first
                        record.  Subscriptions of earlier releases have 0 partitions and no incarnation.
    """

    kind: Kind
    incarnation: str
    start: Where = "earliest"
    partitions: int = 0

    def start_on(self, partition: int) -> Where:
        return self.start if partition < self.partitions else "earliest"


async def register(
    store: Store, keys: PartitionKeys, topic_id: str, name: str, wanted: Registration, now_ms: int
) -> bool:
    """On partition 0: whether this call registered it.  Raises SubscriptionExists if it is there with another kind."""
    args = (topic_id, encode_name(name), wanted.kind, wanted.start, now_ms, wanted.incarnation, wanted.partitions, 1)
    reply = await store.call(_CREATE, (keys.state, keys.subs, *keys.sub(name).all()), args)
    if reply[0] == Status.EXISTS:
        raise SubscriptionExists(
            f"Subscription {name!r} exists and is {text(reply[1])}; use it so, or choose another name."
        )
    return bool(checked(reply, name)[1])


async def make(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    of: Registration,
    partition: int,
    now_ms: int,
    *,
    anew: bool,
) -> None:
    """The cursor on another partition.  anew: the subscription was registered just now, so a cursor of an earlier
    release is a leftover."""
    start = of.start_on(partition)
    args = (topic_id, encode_name(name), of.kind, start, now_ms, of.incarnation, "", int(anew))
    at = (keys.state, keys.subs, *keys.sub(name).all())
    reply = await store.call(_CREATE, at, args)
    if reply[0] == Status.STALE:
        reply = await store.call(_CREATE, (*at, keys.none), args)
    checked(reply, name)


async def read(store: Store, keys: PartitionKeys, name: str) -> Registration | None:
    """The cursor of one partition; start and partitions are known on partition 0 only."""
    row: Sequence[bytes | None] = await store.command(
        "HMGET", keys.sub(name).cursor, "kind", "incarnation", "start", "partitions", key=keys.state
    )
    kind, incarnation, start, partitions = (text(each or b"") for each in row)
    if kind == "":
        return None
    return Registration(KINDS[kind], incarnation, "latest" if start == "latest" else "earliest", int(partitions or 0))


async def delete(store: Store, keys: PartitionKeys, topic_id: str, name: str, incarnation: str = "*") -> str | None:
    """The incarnation that was removed, or None.  incarnation: remove it only if it is this one; "*" removes any."""
    sub = keys.sub(name).all()
    reply = await store.call(_DELETE, (keys.state, keys.subs, *sub), (topic_id, encode_name(name), incarnation))
    _, removed, found = checked(reply, name)
    return text(found) if removed else None


async def claim(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    consumer: str,
    *,
    now_ms: int,
    session_ms: int,
    take: bool = True,
) -> int | None:
    """On partition 0: makes the consumer the owner of an exclusive subscription, or prolongs its session.  Returns the
    epoch of its ownership, or None for a shared subscription.  An owner keeps it through a pause of Redis.

    take: False only prolongs.  Raises ConsumerBusy (with the owner and how long its session lasts).
    """
    pause = store.pause(keys.state)
    times = ("", "") if pause is None else (now_ms - round(s * 1000) for s in pause)
    args = (topic_id, token(consumer), now_ms, session_ms, int(take), *times)
    reply = await store.call(_CLAIM, (keys.state, keys.sub(name).cursor), args)
    if reply[0] == Status.WRONG_KIND and reply[1] == b"shared":
        return None
    return int(checked(reply, name)[1])
