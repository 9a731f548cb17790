"""Registers a subscription and its owner on partition 0, and creates its cursors on the other partitions.

    partition 0        register: kind, incarnation, start, number of partitions; the active consumer
    other partitions   a cursor with the same incarnation

The incarnation is a random word.  It distinguishes a cursor from the leftover of a deleted subscription with its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote

from redis_ledger.cursor.script_errors import checked, text, token
from redis_ledger.cursor.scripts import Kind, Where
from redis_ledger.errors import SubscriptionExists
from redis_ledger.store.keys import PartitionKeys, encode_name
from redis_ledger.store.script_status import Status
from redis_ledger.store.store import Script, Store

KINDS: dict[str, Kind] = {
    "exclusive": "exclusive", "failover": "failover", "shared": "shared", "key_shared": "key_shared", "kafka": "kafka",
}  # fmt: skip
WITHOUT_OWNER: dict[bytes, Kind] = {b"shared": "shared", b"key_shared": "key_shared"}
ORDERED = ("exclusive", "failover")  # kinds with one active consumer, which receives in order

_CREATE = Script.load("cursor/create")
_DELETE = Script.load("cursor/delete")
_CLAIM = Script.load("cursor/claim")
_LEAVE = Script.load("cursor/leave")


class Registration(NamedTuple):
    """A subscription as registered on partition 0.

    start, partitions   its start on the partitions that the topic had at its creation; on later ones it starts at the
                        first record
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
    """On partition 0.  Returns whether this call registered it.  Raises SubscriptionExists if its kind differs."""
    args = (topic_id, encode_name(name), wanted.kind, wanted.start, now_ms, wanted.incarnation, wanted.partitions)
    reply = await store.call(_CREATE, (keys.state, keys.subs, *keys.sub(name).all()), args)
    if reply[0] == Status.EXISTS:
        raise SubscriptionExists(
            f"Subscription {name!r} exists and is {text(reply[1])}; use that kind or another name."
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
) -> None:
    """Creates the cursor on another partition."""
    start = of.start_on(partition)
    args = (topic_id, encode_name(name), of.kind, start, now_ms, of.incarnation, "")
    at = (keys.state, keys.subs, *keys.sub(name).all())
    reply = await store.call(_CREATE, at, args)
    if reply[0] == Status.STALE:
        reply = await store.call(_CREATE, (*at, keys.none), args)
    checked(reply, name)


async def read(store: Store, keys: PartitionKeys, name: str) -> Registration | None:
    """Reads the cursor of one partition; start and partitions are set only on partition 0."""
    row: Sequence[bytes | None] = await store.command(
        "HMGET", keys.sub(name).cursor, "kind", "incarnation", "start", "partitions", key=keys.state
    )
    kind, incarnation, start, partitions = (text(each or b"") for each in row)
    if kind == "":
        return None
    return Registration(KINDS[kind], incarnation, "latest" if start == "latest" else "earliest", int(partitions or 0))


async def delete(store: Store, keys: PartitionKeys, topic_id: str, name: str, incarnation: str = "*") -> str | None:
    """Returns the deleted incarnation, or None.  incarnation: deletes only this one; "*" deletes any."""
    sub = keys.sub(name).all()
    reply = await store.call(_DELETE, (keys.state, keys.subs, *sub), (topic_id, encode_name(name), incarnation))
    _, removed, found = checked(reply, name)
    return text(found) if removed else None


class Claim(NamedTuple):
    """epoch: of the consumer's ownership; None for a stand-by of a failover subscription.  owner: the active consumer,
    left_ms: the rest of its session."""

    epoch: int | None
    owner: str
    left_ms: int = 0


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
) -> Claim | Kind:
    """On partition 0: makes the consumer the owner of an exclusive or failover subscription, or a stand-by, or extends
    its session.  Returns the kind of a subscription without owner.  Ownership survives an outage of Redis.

    take: False only extends.  Raises ConsumerBusy (with the owner and the rest of its session) on an exclusive
    subscription.
    """
    pause = store.pause(keys.state)
    times = ("", "") if pause is None else (now_ms - round(s * 1000) for s in pause)
    args = (topic_id, token(consumer), now_ms, session_ms, int(take), *times)
    reply = await store.call(_CLAIM, (keys.state, keys.sub(name).cursor), args)
    if reply[0] == Status.WRONG_KIND and reply[1] in WITHOUT_OWNER:
        return WITHOUT_OWNER[reply[1]]
    _, epoch, *owner = checked(reply, name)
    return Claim(None, unquote(text(owner[0])), owner[1]) if owner else Claim(int(epoch), consumer)


async def leave(store: Store, keys: PartitionKeys, topic_id: str, name: str, consumer: str) -> None:
    """On one partition: removes a consumer and ends its ownership."""
    reply = await store.call(_LEAVE, (keys.state, keys.sub(name).cursor), (topic_id, token(consumer)))
    checked(reply, name)
