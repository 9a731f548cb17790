"""Checks whether a Redis server can keep the promised durability level.  Pure.

    too old, a replica, evicts keys                  a problem at every level
    append-only file off, or fsynced too rarely      a problem, unless the level is `lossy`
    cannot write to its disk (MISCONF)               a problem
    too few replicas in sync, at level `replicas`    a problem
    settings not readable, spare replicas, ...       a warning

Every problem has an observation and a remedy.  The advice survives a restart of Redis, and it never replaces an
append-only file that may hold the data.  `serve`, `doctor` and every new connection use this table.

Levels (docs/howto/run.md): `process` survives the kill of any process, `disk` the crash of a machine, `replicas` the
loss of a machine; `lossy` promises nothing and is reported as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.server_info import NodeInfo

Durability = Literal["process", "disk", "replicas", "lossy"]
VERSION_MIN = (7, 0)
LOSSY_MIGRATION = ((9, 0, 5), (9, 1, 1))  # valkey#4545
ATTACH = "Attach replicas, look why they are gone or lag, or lower min_insync_replicas."
MEMORY_SHARE_MAX = 0.8
# What each level accepts as appendfsync; the first one is what the advice names.
APPENDFSYNC: dict[Durability, tuple[str, ...]] = {
    "process": ("no", "always"),
    "disk": ("always",),
    "replicas": ("no", "always"),
    "lossy": ("everysec", "no", "always"),
}


class Problem(NamedTuple):
    """seen: one clause without a full stop.  cure: the remedy, one or two sentences."""

    level: Literal["problem", "warning"]
    seen: str
    cure: str

    def __str__(self) -> str:
        return f"{self.seen}. {self.cure}"


def problems(
    node: NodeInfo, durability: Durability, *, copies: CopiesRequired | None = None, restarted: bool = False
) -> list[Problem]:
    """Returns the problems, the worst first.

    copies     required at level `replicas`
    restarted  the server had its append-only file on at an earlier check, and has restarted since
    """
    found = [*_refusals(node, durability, restarted), *_warnings(node, durability)]
    if copies is not None:
        found += _replication(node, copies)
    return sorted(found, key=lambda each: each.level)


def is_known(node: NodeInfo, durability: Durability) -> bool:
    """Whether the server reports enough to confirm the level."""
    return durability == "lossy" or (node.appendonly is not None and node.appendfsync is not None)


def _refusals(node: NodeInfo, durability: Durability, restarted: bool) -> Iterator[Problem]:
    at = f"Redis at {node.address}"
    version = re.match(r"(\d+)\.(\d+)", node.version or "")
    if version is not None and (int(version[1]), int(version[2])) < VERSION_MIN:
        yield Problem("problem", f"{at} is version {node.version}", "Use Redis 7.0 or newer, or Valkey.")
    if node.role == "slave":
        yield Problem("problem", f"{at} is a read-only replica of {node.follows}",
                      "Name the primary, or use a redis+sentinel:// or redis+cluster:// URL.")  # fmt: skip
    if node.maxmemory_policy not in (None, "noeviction"):
        seen = f"{at} may evict acknowledged records (maxmemory-policy {node.maxmemory_policy})"
        yield Problem("problem", seen, _set(node, "maxmemory-policy", "noeviction"))
    if durability == "lossy":
        return
    accept = "Or accept losses with --durability lossy."
    if node.appendonly is False:
        seen = f"{at} keeps nothing over a restart (appendonly no)"
        yield Problem("problem", seen, f"{_turn_on_append_only_file(node, restarted)} {accept}")
    allowed = APPENDFSYNC[durability]
    if node.appendfsync is not None and node.appendfsync not in allowed:
        lower = " Or ask for --durability process." if node.appendfsync == "no" else f" {accept}"
        does = {
            "everysec": "may acknowledge writes that it then loses (appendfsync everysec)",
            "no": "does not sync to disk (appendfsync no)",
        }.get(node.appendfsync, f"has an unknown appendfsync, {node.appendfsync}")
        yield Problem("problem", f"{at} {does}", _set(node, "appendfsync", allowed[0]) + lower)


def _warnings(node: NodeInfo, durability: Durability) -> Iterator[Problem]:
    at = f"Redis at {node.address}"
    allow = "Let this user run INFO and CONFIG GET, or check it by hand."
    if not re.match(r"\d+\.\d+", node.version or ""):
        yield Problem("warning", f"{at} does not tell its version; 7.0 or newer is needed", allow)
    if node.maxmemory_policy is None:
        yield Problem("warning", f"{at} does not tell its maxmemory-policy; it has to be noeviction", allow)
    if not is_known(node, durability):
        seen = f"{at} does not tell its appendonly and appendfsync; durability {durability} is unknown"
        yield Problem("warning", seen, allow)
    used, most = node.used_memory_bytes or 0, node.maxmemory_bytes or 0
    if most and used > MEMORY_SHARE_MAX * most:
        seen = f"{at} uses {used >> 20} of {most >> 20} MiB"
        yield Problem("warning", seen, "Raise maxmemory, or shorten retention: a full Redis refuses writes.")
    if node.replicas and node.min_replicas_to_write == 0:
        seen = f"{at} has replicas and min-replicas-to-write 0: a primary that is cut off still acknowledges writes"
        yield Problem("warning", seen, _set(node, "min-replicas-to-write", "1"))
    own = re.match(r"(\d+)\.(\d+)\.(\d+)", node.product_version or "")
    version = () if own is None else tuple(map(int, own.groups()))
    if node.product == "valkey" and node.is_cluster_node and LOSSY_MIGRATION[0] <= version <= LOSSY_MIGRATION[1]:
        seen = f"{at} is Valkey {node.product_version}, whose atomic slot migration may lose writes to the slots"
        yield Problem("warning", seen, "Use a later version, or do not move slots while brokers run.")


def _replication(node: NodeInfo, copies: CopiesRequired) -> Iterator[Problem]:
    """What level `replicas` needs of a primary."""
    at, needed = f"Redis at {node.address}", copies.min_insync - 1
    in_sync = node.replication.in_sync(copies.lag_s_max)
    if in_sync is not None and in_sync < copies.min_insync:
        yield Problem("problem", too_few_replicas(node.address, in_sync, copies), ATTACH)
    if (node.replicas or 0) > needed:
        seen = (
            f"{at} has {node.replicas} replicas, and answers wait for {needed} of them: a failover may elect one that "
            "lacks acknowledged writes"
        )
        cure = (
            f"Set min_insync_replicas to {(node.replicas or 0) + 1}, or keep the other replicas from being elected "
            "(replica-priority 0; in a Redis Cluster cluster-replica-no-failover yes)."
        )
        yield Problem("warning", seen, cure)


def too_few_replicas(address: str, in_sync: int, copies: CopiesRequired) -> str:
    """in_sync: copies, the primary's included."""
    return (
        f"Redis at {address} has {in_sync - 1} of the {copies.min_insync - 1} in-sync replicas that durability "
        f"replicas requires (min_insync_replicas {copies.min_insync})"
    )


def _set(node: NodeInfo, name: str, value: str) -> str:
    """Returns advice that survives a restart, which undoes CONFIG SET alone."""
    if node.config_file == "":
        return (
            f"Run CONFIG SET {name} {value}, and add `{name} {value}` to how Redis is started: it runs without a "
            "configuration file, so a restart undoes CONFIG SET."
        )
    return (
        f"Set `{name} {value}` in redis.conf, or run CONFIG SET {name} {value} and then CONFIG REWRITE: "
        "a restart undoes CONFIG SET alone."
    )


def _turn_on_append_only_file(node: NodeInfo, restarted: bool) -> str:
    """CONFIG SET appendonly yes writes a new file from memory; a restart reads only the file.  The right one depends on
    where the data is."""
    where = "how Redis is started" if node.config_file == "" else "redis.conf"
    restart = f"add `appendonly yes` to {where} and restart Redis, which loads its append-only file"
    keep = "Do not run CONFIG SET appendonly yes: it replaces that file by what is in memory now."
    if restarted:
        return f"Its append-only file was on before it restarted: {restart}. {keep}"
    if not node.keys:
        return f"{restart[:1].upper()}{restart[1:]} if there is one. {keep}"
    return (
        "If it has not restarted since its data was written: run CONFIG SET appendonly yes and then "
        f"{'add `appendonly yes` to ' + where if node.config_file == '' else 'CONFIG REWRITE'}. If it ran with an "
        f"append-only file before its last restart: {restart}, since CONFIG SET would replace that file."
    )
