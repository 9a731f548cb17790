"""Checks that this Redis can keep the promised durability, for `serve` before its first request, and for `doctor`.

problems of every node (suitability.py), a write, every script  ──▶ UnsuitableRedis with all of them
warnings                                                        ──▶ the report
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from hiredis import ReplyError

from redis_ledger.errors import LedgerError, StorageFull
from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.node_status import START_OVER, ExpectedNode
from redis_ledger.store.scripts import Script
from redis_ledger.store.server_info import NodeInfo
from redis_ledger.store.store import Store
from redis_ledger.store.suitability import Durability, Problem, is_known, problems

LIBRARIES_CURE = (
    "Let its user run FCALL and FUNCTION LIST, LOAD and DELETE, or free memory, whichever the reason names. Until then "
    "EVALSHA calls the scripts, which costs Redis more."
)


class UnsuitableRedis(Exception):
    """The Redis cannot be used.  problems: all of them, each with its remedy."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = problems
        super().__init__(render_problems(problems))


def render_problems(problems: Sequence[Problem]) -> str:
    """One sentence, or a numbered list."""
    if len(problems) == 1:
        return str(problems[0])
    lines = [f"  {number}. {each}" for number, each in enumerate(problems, 1)]
    return "\n".join([f"{len(problems)} things keep this Redis from being used:", *lines])


@dataclass(frozen=True, slots=True)
class Report:
    """durability: the requested level, or "unknown" if the server does not report whether it keeps it."""

    nodes: list[NodeInfo]
    durability: Durability | Literal["unknown"]
    warnings: list[Problem] = field(default_factory=list)


async def check(
    store: Store,
    durability: Durability = "process",
    start_over: str = START_OVER,
    copies: CopiesRequired | None = None,
) -> Report:
    """Holds the store to this durability from now on.  Raises UnsuitableRedis.

    Writes and deletes one key under the store's prefix, per cluster not per node.
    start_over: how an operator gives up acknowledged records, for the message; copies: required at level `replicas`
    """
    if durability not in get_args(Durability):
        raise ValueError(f"{durability!r} is not a durability level; use {', '.join(get_args(Durability))}.")
    store.admission.promised = ExpectedNode(start_over=start_over)
    nodes = await store.node_info()
    found = [each for node in nodes for each in problems(node, durability, copies=copies)]
    bad = [each for each in found if each.level == "problem"]
    bad += [
        Problem("problem", f"Redis at {node.address} is a node of a Redis Cluster", "Use a redis+cluster:// URL.")
        for node in nodes
        if node.is_cluster_node and not store.topology.has_slots
    ]
    await store.admission.look()
    lost = [status for _, status in store.admission.statuses() if not status.is_readable]
    bad += [_as_problem(status.sentence) for status in lost]
    if not bad:
        bad += await _writing(store)
    if not bad and (why := store.topology.scripts.refusal):
        bad += await _scripts(store)
        found.append(Problem("warning", f"Redis takes no function libraries: {why}", LIBRARIES_CURE))
    if bad:
        raise UnsuitableRedis(bad)
    store.admission.promised = ExpectedNode(durability, start_over, copies)
    return Report(nodes, durability if all(is_known(node, durability) for node in nodes) else "unknown", found)


def _as_problem(sentence: str) -> Problem:
    seen, _, cure = sentence.partition(". ")
    return Problem("problem", seen, cure)


async def _writing(store: Store) -> list[Problem]:
    key = f"{store.prefix}:{{probe:{secrets.token_hex(8)}}}".encode()
    try:
        await store.command(b"SET", key, b"", b"PX", 60_000, key=key)
        await store.command(b"DEL", key, key=key)
    except StorageFull:
        return []  # reads, acknowledgements, ends and retention go on: a broker that starts now is needed for them
    except (LedgerError, ReplyError) as error:
        return [
            Problem("problem", f"Redis cannot be written to: {str(error).rstrip('.')}", "Look at the server's log.")
        ]
    return []


async def _scripts(store: Store) -> list[Problem]:
    """Loads every script everywhere, for nodes that take no libraries."""
    scripts = Script.all()
    replies = await asyncio.gather(*(store.everywhere(b"SCRIPT", b"LOAD", script.source) for script in scripts))
    return [
        Problem(
            "problem", f"Redis does not take the script {script.name}: {answer}", "Use Redis 7.0 or newer, or Valkey."
        )
        for script, answers in zip(scripts, replies, strict=True)
        for answer in answers
        if isinstance(answer, Exception)
    ]
