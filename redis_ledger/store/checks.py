"""Whether this Redis can keep our promises; asked once, before the first request is served.

    too old, evicts, read-only, refuses scripts  ──▶ UnsuitableRedis, one sentence that says what to do
    loses what it acknowledged                   ──▶ the same, unless the durability level is "lossy"
    does not tell its settings                   ──▶ a warning, and "unknown" in the report

Levels (docs/howto/run.md): `process` survives any process kill, `disk` a machine that stops, `replicas` a machine that
is lost; `lossy` promises nothing and is called so wherever the level is shown.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from dataclasses import dataclass, field
from typing import Literal, get_args

from hiredis import ReplyError

from redis_ledger.errors import LedgerError
from redis_ledger.store.nodes import NodeInfo
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store

Durability = Literal["process", "disk", "replicas", "lossy"]
VERSION_MIN = (7, 0)


class UnsuitableRedis(Exception):
    """The Redis cannot be used; the message is one sentence for whoever started us."""


@dataclass(frozen=True, slots=True)
class Report:
    """durability: what was asked for, or "unknown" where the server does not tell whether it keeps it."""

    nodes: list[NodeInfo]
    durability: Durability | Literal["unknown"]
    warnings: list[str] = field(default_factory=list)


async def check(store: Store, durability: Durability = "process") -> Report:
    """Raises UnsuitableRedis.  Writes and deletes one key under the store's prefix, per cluster not per node."""
    if durability not in get_args(Durability):
        raise ValueError(f"{durability!r} is not a durability level; use {', '.join(get_args(Durability))}.")
    nodes = await store.node_info()
    warnings: list[str] = []
    for node in nodes:
        _judge_version(node, warnings)
        _judge_eviction(node, warnings)
    kept = [_judge_durability(node, durability, warnings) for node in nodes]
    await _try_writing(store)
    await _try_scripts(store)
    return Report(nodes, durability if all(kept) else "unknown", warnings)


def _judge_version(node: NodeInfo, warnings: list[str]) -> None:
    found = re.match(r"(\d+)\.(\d+)", node.version or "")
    if found is None:
        warnings.append(f"Redis at {node.address} does not tell its version; 7.0 or newer is needed.")
    elif (int(found[1]), int(found[2])) < VERSION_MIN:
        raise UnsuitableRedis(f"Redis at {node.address} is version {node.version}; use Redis 7.0 or newer, or Valkey.")


def _judge_eviction(node: NodeInfo, warnings: list[str]) -> None:
    if node.maxmemory_policy is None:
        warnings.append(f"Redis at {node.address} does not tell its maxmemory-policy; it has to be noeviction.")
    elif node.maxmemory_policy != "noeviction":
        raise UnsuitableRedis(
            f"Redis at {node.address} may evict acknowledged records (maxmemory-policy {node.maxmemory_policy}); "
            "run CONFIG SET maxmemory-policy noeviction."
        )


def _judge_durability(node: NodeInfo, durability: Durability, warnings: list[str]) -> bool:
    """Whether the level is known to be kept."""
    if durability == "lossy":
        return True
    if node.appendonly is False:
        raise UnsuitableRedis(
            f"Redis at {node.address} keeps nothing over a restart (appendonly no); "
            "run CONFIG SET appendonly yes, or accept losses with --durability lossy."
        )
    if node.appendfsync == "everysec":
        raise UnsuitableRedis(
            f"Redis at {node.address} may acknowledge writes that it then loses (appendfsync everysec); "
            "set appendfsync to always or no, or accept losses with --durability lossy."
        )
    if durability == "disk" and node.appendfsync == "no":
        raise UnsuitableRedis(
            f"Redis at {node.address} does not sync to disk (appendfsync no); "
            "run CONFIG SET appendfsync always, or ask for --durability process."
        )
    if durability == "replicas" and node.replicas == 0:
        warnings.append(f"Redis at {node.address} has no replica connected now.")
    if node.appendonly is None or node.appendfsync is None:
        warnings.append(f"Redis at {node.address} does not tell its appendfsync; durability {durability} is unknown.")
        return False
    return True


async def _try_writing(store: Store) -> None:
    key = f"{store.prefix}:{{probe:{secrets.token_hex(8)}}}".encode()
    try:
        await store.command(b"SET", key, b"", b"PX", 60_000, key=key)
        await store.command(b"DEL", key, key=key)
    except (LedgerError, ReplyError) as error:
        raise UnsuitableRedis(f"Redis cannot be written to: {error}") from error


async def _try_scripts(store: Store) -> None:
    """Every script is known everywhere; what SCRIPT LOAD refused at connecting is asked again, for its words."""
    scripts = Script.all()
    replies = await asyncio.gather(*(store.everywhere(b"SCRIPT", b"LOAD", script.source) for script in scripts))
    for script, answers in zip(scripts, replies, strict=True):
        for answer in answers:
            if isinstance(answer, Exception):
                raise UnsuitableRedis(f"Redis does not take the script {script.name}: {answer}")
