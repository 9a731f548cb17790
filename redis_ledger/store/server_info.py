"""Reads the version, settings and state of Redis servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from redis_ledger.store.replication_info import UNKNOWN, ReplicationInfo, replication_of


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """One server.  None: not reported (CONFIG or INFO is refused, or lacks the field).

    version      the compatible Redis version; product: "redis" or "valkey"; product_version: its own version
    run_id       new at each start of the server
    config_file  "" if the server was started without one: then CONFIG REWRITE fails
    keys         in all databases
    follows      "host:port" of the primary, if this is a replica
    """

    address: str
    version: str | None
    product: str
    product_version: str | None
    role: str | None
    used_memory_bytes: int | None
    fragmentation: float | None  # memory allocated by the system / memory used
    maxmemory_bytes: int | None  # 0 is no limit
    maxmemory_policy: str | None
    appendonly: bool | None
    appendfsync: str | None
    replicas: int | None
    replication_id: str | None
    run_id: str | None = None
    config_file: str | None = None
    keys: int | None = None
    follows: str | None = None
    min_replicas_to_write: int | None = None
    is_cluster_node: bool = False
    replication: ReplicationInfo = UNKNOWN


CONFIG_NAMES = (b"maxmemory-policy", b"appendonly", b"appendfsync", b"maxmemory", b"min-replicas-to-write")
QUESTIONS: tuple[tuple[bytes, ...], ...] = ((b"INFO",), (b"CONFIG", b"GET", *CONFIG_NAMES))


def read_node(address: str, replies: Sequence[Any]) -> NodeInfo:
    """replies: those to QUESTIONS, in order; an error means unknown."""
    info, rows = replies
    facts = parse_facts(info) if isinstance(info, bytes) else {}
    settings = dict(zip(rows[::2], rows[1::2], strict=True)) if isinstance(rows, list) else {}
    config = {name: settings[name].decode() if name in settings else None for name in CONFIG_NAMES}
    appendonly = config[b"appendonly"] or {"1": "yes", "0": "no"}.get(facts.get("aof_enabled", ""))
    valkey = facts.get("valkey_version")
    return NodeInfo(
        address=address,
        version=facts.get("redis_version"),
        product="valkey" if valkey else "redis",
        product_version=valkey or facts.get("redis_version"),
        role=facts.get("role"),
        used_memory_bytes=_number(facts.get("used_memory")),
        fragmentation=_ratio(facts.get("mem_fragmentation_ratio")),
        maxmemory_bytes=_number(config[b"maxmemory"] or facts.get("maxmemory")),
        maxmemory_policy=config[b"maxmemory-policy"] or facts.get("maxmemory_policy"),
        appendonly=None if appendonly is None else appendonly == "yes",
        appendfsync=config[b"appendfsync"],
        replicas=_number(facts.get("connected_slaves")),
        replication_id=facts.get("master_replid"),
        run_id=facts.get("run_id"),
        config_file=facts.get("config_file"),
        keys=_keys(facts) if facts else None,
        follows=f"{facts['master_host']}:{facts.get('master_port', '?')}" if "master_host" in facts else None,
        min_replicas_to_write=_number(config[b"min-replicas-to-write"]),
        is_cluster_node=facts.get("cluster_enabled") == "1",
        replication=replication_of(facts),
    )


def _keys(facts: dict[str, str]) -> int:
    """From lines like db0:keys=12,expires=3,avg_ttl=0."""
    rows = (value for name, value in facts.items() if name.startswith("db") and value.startswith("keys="))
    return sum(_number(row.removeprefix("keys=").partition(",")[0]) or 0 for row in rows)


def parse_facts(info: bytes) -> dict[str, str]:
    lines = (line.partition(":") for line in info.decode(errors="replace").splitlines() if not line.startswith("#"))
    return {name: value for name, separator, value in lines if separator}


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _ratio(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
