"""For every key of store/keys.py: its name in the scene, how it is damaged, and what fsck says of it.

deleted, damaged    words of the report; "" if nothing else holds what is lost, or brokers write it again
lost                kinds of findings that may be left after --repair, since nothing can rebuild them
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from redis_ledger.store import keys as module
from redis_ledger.store.keys import CatalogKeys, CoordinatorKeys, GroupKeys, PartitionKeys
from tests.support.fsck_scene import Scene


class Case(NamedTuple):
    key: Callable[[Scene], bytes]
    deleted: str
    damage: tuple[Any, ...] = ()  # command and what follows the key
    damaged: str = ""
    lost: tuple[str, ...] = ()


def partition(name: str, topic: str = "t") -> Callable[[Scene], bytes]:
    def key(scene: Scene) -> bytes:
        k: Any = PartitionKeys(scene.broker.store.prefix, topic, 0)
        for part in name.split("."):
            k = getattr(k, part)
        return bytes(k)

    return key


def data(ledger: int) -> Callable[[Scene], bytes]:
    return lambda scene: scene.partition.data(ledger)


def sub(name: str) -> Callable[[Scene], bytes]:
    return lambda scene: bytes(getattr(scene.partition.sub("s"), name))


def coordinator(name: str) -> Callable[[Scene], bytes]:
    return lambda scene: bytes(getattr(CoordinatorKeys(scene.broker.store.prefix, 0), name))


def catalog(name: str) -> Callable[[Scene], bytes]:
    return lambda scene: bytes(getattr(CatalogKeys(scene.broker.store.prefix), name))


def group(name: str) -> Callable[[Scene], bytes]:
    return lambda scene: bytes(getattr(GroupKeys(scene.broker.store.prefix, "g"), name))


MISSING = "is missing"
PAYLOAD = ("payload", "delay_payload")
CASES: dict[str, Case] = {
    "rl:{orders:3}:state": Case(partition("state"), MISSING, ("HSET", "stable", "1"), "'stable' is 1"),
    "rl:{orders:3}:ledgers": Case(partition("ledgers"), MISSING, ("HSET", "1", "9 9 0 9 0 9 9"), "Ledger 1 has"),
    "rl:{orders:3}:data:<ledger>": Case(data(1), "in ledger 1, is missing", ("XDEL", "0-2"), "is missing", PAYLOAD),
    "rl:{orders:3}:log": Case(
        partition("log"), "have no log entry", ("XDEL", "19-1"), "have no log entry", ("log_gap", "payload")
    ),
    "rl:{orders:3}:producers": Case(
        partition("producers"), "has no window", ("HSET", "<producer>", "x"), "another form"
    ),
    "rl:{orders:3}:open": Case(partition("open"), "`open` has nothing", ("HSET", "77", "0 0 77 3"), "Producer 77"),
    "rl:{orders:3}:firsts": Case(partition("firsts"), "`firsts` has None", ("ZADD", "3", "77"), "Producer 77"),
    "rl:{orders:3}:aborted": Case(
        partition("aborted"), "is not in the set", ("ZADD", "3", "77 2 4"), "abort of producer 77"
    ),
    "rl:{orders:3}:ended": Case(partition("ended"), MISSING),
    "rl:{orders:3}:watermarks": Case(
        partition("watermarks"), MISSING, ("HSET", "0", "140000000000000"), "The watermark of coordinator 0"
    ),
    "rl:{orders:3}:subs": Case(partition("subs"), MISSING, ("HSET", "s", "x"), "lists the subscription as 'x'"),
    "rl:{orders:3}:cold": Case(
        partition("offload", "h"), "in no segment of the manifest", ("HSET", "plan", "x"), "The plan cannot be read",
        ("offload_segment",),
    ),
    "rl:{orders:3}:snapshot": Case(partition("snapshot"), "", ("HSET", "index", "x"), "the checksum of its 1 bytes"),
    "rl:{orders:3}:sidecar": Case(partition("sidecar"), MISSING),
    "rl:{orders:3}:sub:<name>": Case(sub("cursor"), "no mark", ("HSET", "leased", "99"), "'leased' is 99"),
    "...:<name>|acks": Case(sub("acks"), "are in no place", ("HSET", "0", b"\xff" * 1024), "leased or held as well"),
    "...:<name>|leases": Case(sub("leases"), "are in no place", ("HSET", "1", "x"), "The lease 1 has another form"),
    "...:<name>|spans": Case(sub("spans"), "The lease from", ("ZADD", "5", "99"), "There is no lease from 99"),
    "...:<name>|due": Case(sub("due"), "The lease from", ("ZADD", "5", "99"), "There is no lease from 99"),
    "...:<name>|pending": Case(sub("pending"), "are in no place", ("HSET", "0-5", "I 3-4-1"), "Transaction 0-5"),
    "rl:{orders:3}:delay:state": Case(
        partition("delay.state"), MISSING, ("HSET", "records", "1"), "'records' is 1", ("delay_held",)
    ),
    "rl:{orders:3}:delay:open": Case(partition("delay.open"), "are in no index"),
    "rl:{orders:3}:delay:closing": Case(
        partition("delay.closing"), MISSING, ("ZADD", "4000000000000", "000000000003 -1 1 70 1"), "is closing"
    ),
    "rl:{orders:3}:delay:queue": Case(partition("delay.queue"), "are in no index"),
    "rl:{orders:3}:delay:live": Case(partition("delay.live"), "not live", ("HSET", "5", b"\xff" * 512), "are live"),
    "rl:{orders:3}:delay:parts": Case(partition("delay.parts"), "due by themselves"),
    "rl:{orders:3}:delay:moved": Case(partition("delay.moved"), "was rescheduled"),
    "rl:{orders:3}:delay:buckets": Case(
        partition("delay.buckets"), "which is not listed", ("HSET", "1-1", "x"), "another form"
    ),
    "rl:{orders:3}:delay:next": Case(partition("delay.next"), "is due to be loaded"),
    "rl:{orders:3}:delay:snaps": Case(partition("delay.snaps"), "is not listed"),
    "rl:{orders:3}:delay:repeats": Case(partition("delay.repeats"), MISSING),
    "rl:{orders:3}:delay:snap:<id>": Case(
        lambda scene: scene.partition.delay.snapshot(scene.snapshot),
        "cannot be read", ("HSET", "0", "x"), "cannot be read",
    ),
    "rl:{tc:5}:state": Case(coordinator("state"), MISSING, ("HSET", "next", "5"), "'next' is 5"),
    "rl:{tc:5}:txns": Case(coordinator("txns"), "has no row", ("HSET", "<txn>", "x"), "has another form"),
    "rl:{tc:5}:order": Case(coordinator("order"), "is not in `order`", ("ZADD", "0", "000000000000005"), "is not live"),
    "rl:{tc:5}:deadlines": Case(coordinator("deadlines"), "`deadlines` has None", ("ZADD", "5", "5"), "is not live"),
    "rl:{tc:5}:outcomes": Case(coordinator("outcomes"), "has no outcome", ("HSET", "5", "x"), "has another form"),
    "rl:{tc:5}:forget": Case(coordinator("forget"), "`forget` has None", ("ZADD", "5", "5"), "has no outcome"),
    "rl:{tc:5}:nonces": Case(coordinator("nonces"), "is not stored", ("HSET", "n9", "5"), "which is forgotten"),
    "rl:{tc:5}:steps": Case(coordinator("steps"), MISSING, ("ZADD", "5", "!x"), "has no nonce"),
    "rl:{tc:5}:wide": Case(coordinator("wide"), MISSING, ("ZADD", "0", "5 t/id/0"), "which has none there"),
    "rl:{tc:5}:calls": Case(coordinator("calls"), MISSING, ("HSET", "b", "x"), "has another form"),
    "rl:{tc:5}:log": Case(coordinator("log"), "which is not there", ("XADD", "*", "r", "x"), "log", ("txn_log_entry",)),
    "rl:{tc:5}:live": Case(coordinator("live"), "`live` has None", ("HSET", "9999", "1"), "which is not there"),
    "rl:{tc:5}:ids": Case(coordinator("ids"), MISSING, ("HSET", "other", "x"), "has another form"),
    "rl:{group:<name>}:state": Case(group("state"), "", ("HSET", "members", "9"), "'members' is b'9'"),
    "rl:{group:<name>}:topics": Case(group("topics"), "is not among its topics"),
    "rl:{catalog}:topics": Case(catalog("topics"), "and no entry", ("HSET", "t", "x"), "cannot be read"),
    "rl:{catalog}:state": Case(catalog("state"), "'cluster' is", ("HSET", "coordinators", "0"), "'coordinators' is"),
    "rl:{catalog}:brokers": Case(catalog("brokers"), ""),
    "rl:{catalog}:addresses": Case(catalog("addresses"), "", ("HSET", "b9", "x"), "cannot be read", ("metadata",)),
    "rl:{catalog}:groups": Case(catalog("groups"), "is not in the list of groups"),
    "rl:{catalog}:users": Case(catalog("users"), "", ("HSET", "bob", "{"), "cannot be read", ("metadata",)),
    "rl:{catalog}:acls": Case(catalog("acls"), "", ("HSET", "{", "1"), "cannot be read", ("metadata",)),
    "rl:{catalog}:tokens": Case(catalog("tokens"), "", ("HSET", "x", "{"), "cannot be read", ("metadata",)),
    "rl:{catalog}:quotas": Case(catalog("quotas"), "", ("HSET", "User:b", "{"), "cannot be read", ("metadata",)),
    "rl:{catalog}:batchedwrites": Case(
        catalog("batchedwrites"), "", ("HSET", "pending_acks", "{"), "cannot be read", ("metadata",)
    ),
    "rl:{catalog}:deadletters": Case(
        catalog("deadletters"), "", ("HSET", '["a","b"]', "{"), "cannot be read", ("metadata",)
    ),
    "rl:{catalog}:redelivery": Case(
        catalog("redelivery"), "", ("HSET", '["a","b"]', "{"), "cannot be read", ("metadata",)
    ),
    "rl:{catalog}:epochs": Case(catalog("epochs"), "", ("HSET", "gone:0", "3"), "no longer exists"),
    "rl:{catalog}:audit": Case(catalog("audit"), ""),
}  # fmt: skip

# Not made, or gone by themselves: channels, a guard that never exists, values with an expiry.
WITHOUT_CASE = {
    "rl:{witness:<n>}:count",
    "rl:{witness:<n>}:lives",
    "rl:{witness:<n>}:compared",
    "rl:{orders:3}:none",
    "rl:{orders:3}:wake",
    "rl:{catalog}:claim",
    "rl:{witness:<n>}:cluster",
    "rl:{catalog}:changes",
    "rl:{catalog}:due",
    "rl:{idem:<digest>}",
    "rl:{replicated:<n>}:marker",
    "rl:{idem:<digest>}|run",
    "rl:{idem:<digest>}|layout:<topic-id>",
}


def documented() -> set[str]:
    """The names in the table of store/keys.py."""
    return set(re.findall(r"^    ((?:rl:|\.\.\.:)\S+) ", module.__doc__ or "", re.MULTILINE))
