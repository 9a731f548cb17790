"""Committed offsets of Kafka groups on one partition: one function per script, with the order of its KEYS and ARGV.

An offset is a cursor of kind `kafka` at a subscription's keys, so it is listed with the topic's subscriptions, and the
end of a transaction settles it like acknowledgements.  All calls are idempotent; the store repeats a call whose reply
was lost.  Source: KIP-98, KIP-447, KIP-496.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from redis_ledger.errors import IllegalGeneration, TransactionEnded, UnknownTopic, WrongSubscriptionKind
from redis_ledger.ids import TxnId
from redis_ledger.store.keys import PartitionKeys, encode_name
from redis_ledger.store.script_status import Status
from redis_ledger.store.store import Script, Store

_COMMIT = Script.load("cursor/offset_commit")
_FETCH = Script.load("cursor/offset_fetch")
_DELETE = Script.load("cursor/offset_delete")

What = Literal["offset", "register"]
When = Literal["always", "empty", "idle"]


class GroupOffset(NamedTuple):
    """time_ms: of the commit; -1 without an offset.  pending: at most 100 open transactions with pending commits."""

    offset: int
    leader_epoch: int
    metadata: str
    time_ms: int
    pending: tuple[TxnId, ...]


NOTHING = GroupOffset(-1, -1, "", -1, ())


async def commit(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    group: str,
    *,
    offset: int,
    leader_epoch: int,
    metadata: str,
    generation: int,
    txn: TxnId | None,
    now_ms: int,
) -> bool:
    """Returns True if the register was created.  generation -1: the commit has no generation.

    Raises IllegalGeneration (fenced by a later one), TransactionEnded, WrongSubscriptionKind, UnknownTopic.
    """
    args = (
        topic_id, encode_name(group), now_ms, generation, offset, leader_epoch, metadata.encode(),
        "" if txn is None else txn.coordinator, "" if txn is None else txn.serial,
    )  # fmt: skip
    register = keys.sub(group).of_register()
    reply = await store.call(_COMMIT, (keys.state, keys.subs, keys.ended, keys.watermarks, *register), args)
    return bool(_checked(reply, group, generation, txn)[1])


async def fetch(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    group: str,
    *,
    generation: int = -1,
    make: bool = False,
    now_ms: int,
) -> GroupOffset:
    """Reads the committed offset.  A generation fences earlier ones, including commits in flight.
    make: creates a missing register.  Raises WrongSubscriptionKind, UnknownTopic."""
    args = (topic_id, encode_name(group), now_ms, generation, 1 if make else 0)
    reply = _checked(await store.call(_FETCH, (keys.state, keys.subs, *keys.sub(group).of_register()), args), group)
    pending = (name.split(b"-") for name in reply[5:])
    return GroupOffset(
        int(reply[1]), int(reply[2]), reply[3].decode(), int(reply[4]), tuple(TxnId(int(c), int(s)) for c, s in pending)
    )


async def delete(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    group: str,
    what: What,
    when: When = "always",
    before_ms: int = 0,
    generation: int = -1,
) -> bool:
    """Returns whether the register remains.  generation: of the group that is deleted, -1 if it goes on.  Raises
    IllegalGeneration if a later one was seen here: there is a group of this name again.

    what  offset: the offset and pending commits; the register stays and keeps its fence.  register: everything
    when  empty: if there is no offset; idle: if no member was seen since before_ms; both only without pending commits
    """
    args = (topic_id, encode_name(group), what, when, before_ms, generation)
    sub = keys.sub(group)
    reply = await store.call(_DELETE, (keys.state, keys.subs, *sub.of_register()), args)
    return bool(_checked(reply, group, generation)[1])


def _checked(reply: list[Any], group: str, generation: int = -1, txn: TxnId | None = None) -> list[Any]:
    status = Status(reply[0])
    if status == Status.OK:
        return reply
    if status == Status.UNKNOWN_TOPIC:
        raise UnknownTopic()
    if status == Status.FENCED:
        raise IllegalGeneration(
            f"Generation {generation} of group {group!r} was fenced by generation {reply[1]}; join the group again.",
            generation=reply[1],
        )
    if status == Status.TXN_ENDED:
        raise TransactionEnded(f"Transaction {txn} has ended; begin a new one.", transaction=str(txn))
    assert status == Status.WRONG_KIND, f"an offset script answered {reply!r}"
    raise WrongSubscriptionKind(
        f"{group!r} is a subscription of the kind {reply[1].decode()}; a Kafka group needs another name."
    )
