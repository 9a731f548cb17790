"""Every key of a partition, a coordinator and a subscription with its type, and the edit that makes it empty.

A key is never empty: it has a sentinel, the member or field "" (a stream exists without entries).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from redis_ledger.fsck.finding import Edit, Finding, Guard, Write, edit
from redis_ledger.store.keys import CoordinatorKeys, PartitionKeys, SubscriptionKeys
from redis_ledger.store.reading import Arg

SENTINELS: Final[dict[str, tuple[str, tuple[Arg, ...]]]] = {
    "hash": ("HSET", ("", "")),
    "zset": ("ZADD", (-1, "")),
    "stream": ("XGROUP CREATE", ()),
}


class TypedKey(NamedTuple):
    """writes: further writes that make it, beside the sentinel.  has_state: its fields are the content of a hash."""

    key: bytes
    type: str
    score: int = -1
    writes: tuple[Write, ...] = ()

    def made(self) -> Edit:
        command, args = SENTINELS[self.type]
        if self.type == "zset":
            args = (self.score, "")
        guard = Guard("EXISTS", self.key, (), 0)
        return Edit((guard,), (Write(command, self.key, args), *self.writes))


def partition_keys(k: PartitionKeys, ledgers: Iterable[tuple[int, int]]) -> list[TypedKey]:
    """ledgers: number, and the number of its last entry."""
    d = k.delay
    hashes = (k.state, k.ledgers, k.producers, k.open, k.watermarks, k.subs, k.offload, d.state, d.live, d.parts,
              d.moved, d.buckets, d.snaps, d.repeats)  # fmt: skip
    zsets = (k.firsts, k.aborted, k.ended, d.open, d.closing, d.queue, d.next)
    found = [TypedKey(key, "hash") for key in hashes] + [TypedKey(key, "zset") for key in zsets]
    found += [TypedKey(k.sidecar, "zset", score=0), TypedKey(k.log, "stream")]
    for number, last in ledgers:
        data = k.data(number)
        found.append(TypedKey(data, "stream", writes=(Write("XSETID", data, (f"0-{last}",)),)))
    return found


def subscription_keys(k: SubscriptionKeys, kind: str) -> list[TypedKey]:
    if kind == "kafka":
        return [TypedKey(k.cursor, "hash"), TypedKey(k.pending, "hash")]
    hashes = (k.cursor, k.acks, k.leases, k.pending)
    return [TypedKey(key, "hash") for key in hashes] + [TypedKey(key, "zset") for key in (k.spans, k.due)]


def coordinator_keys(k: CoordinatorKeys) -> list[TypedKey]:
    hashes = (k.state, k.txns, k.outcomes, k.nonces, k.calls, k.live, k.ids)
    found = [TypedKey(key, "hash") for key in hashes]
    found += [TypedKey(key, "zset") for key in (k.deadlines, k.forget, k.steps)]
    found += [TypedKey(key, "zset", score=0) for key in (k.order, k.wide)]
    return [*found, TypedKey(k.log, "stream")]


def check_key(where: str, key: TypedKey, stored: str) -> list[Finding]:
    """stored: the type that Redis says, "none" if the key is not there."""
    name = key.key.decode()
    if stored == key.type:
        return []
    if stored == "none":
        return [Finding("key_missing", where, name, "", f"The key {name} is missing.", key.made())]
    return [Finding("key_type", where, name, "", f"The key {name} is a {stored}; it must be a {key.type}.")]


# -- names -------------------------------------------------------------------------------------------------------------

_OF_PARTITION = (
    "state|ledgers|log|producers|open|firsts|aborted|ended|watermarks|subs|cold|snapshot|sidecar"
    "|delay:(?:state|open|closing|queue|live|parts|moved|buckets|next|snaps|repeats)"
)
_PARTITION = re.compile(r"\{(?P<topic>[^{}:]+):(?P<number>\d+)\}:(?P<rest>.+)\Z", re.DOTALL)
_REST = re.compile(
    rf"(?:{_OF_PARTITION}|data:(?P<ledger>-?\d+)|delay:snap:(?P<snapshot>[0-9a-f]+)"
    r"|sub:(?P<subscription>[^|]+)(?:\|(?:acks|leases|spans|due|pending))?)\Z"
)
_COORDINATOR = re.compile(
    r"\{tc:(?P<number>\d+)\}:(?:state|txns|order|deadlines|outcomes|forget|nonces|calls|log|live|ids|steps|wide)\Z"
)
_OTHERS = re.compile(
    r"(?:\{group:[^{}]+\}:(?:state|topics)|\{witness:\d+\}:(?:cluster|count|lives|compared)|\{replicated:[^{}]+\}:marker|\{idem:[^{}]+\}(?:\|run|\|layout:[^{}]+)?"
    r"|\{catalog\}:(?:topics|state|claim|epochs|brokers|addresses|groups|users|acls|tokens|quotas|batchedwrites"
    r"|deadletters|redelivery|audit))\Z"
)


class KeyName(NamedTuple):
    """What a key belongs to.  kind: partition, coordinator, other or unknown."""

    kind: str
    topic: str = ""
    number: int = -1
    ledger: str = ""
    snapshot: str = ""
    subscription: str = ""


def parse_key(prefix: str, key: bytes) -> KeyName:
    text = key.decode(errors="replace")
    rest = text.removeprefix(f"{prefix}:")
    if _OTHERS.match(rest):
        return KeyName("other")
    if match := _COORDINATOR.match(rest):
        return KeyName("coordinator", number=int(match["number"]))
    match = _PARTITION.match(rest)
    inner = _REST.match(match["rest"]) if match else None
    if match is None or inner is None:
        return KeyName("unknown")
    return KeyName(
        "partition", match["topic"], int(match["number"]), inner["ledger"] or "", inner["snapshot"] or "",
        inner["subscription"] or "",
    )  # fmt: skip


def orphan(where: str, key: bytes, why: str) -> Finding:
    name = key.decode(errors="replace")
    return Finding("key_orphan", where, name, "", f"The key {name} belongs to {why}.", None)


def deletion(key: bytes) -> Edit:
    return edit([], ("UNLINK", key))
