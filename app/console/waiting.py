"""Why somebody does not get on: the answer in a sentence, from where its cursors stand and who holds their partitions.

    behind an open transaction ─▶ which one, and since when
    messages out, none coming back ─▶ its consumers do not acknowledge
    messages there, none out ─▶ nobody asks for them
    nothing there ─▶ it has got everything

`explain` is pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from app.console.pages import Visit
from app.console.rendering import duration, number
from redis_ledger.broker.types import CursorStats, SubscriptionStats
from redis_ledger.errors import LedgerError


class Holder(msgspec.Struct):
    """The open transaction that a partition's readers wait for."""

    partition: int
    transaction: str
    owner: str
    age_ms: int
    held: int


class Waits(msgspec.Struct):
    level: Literal["good", "look", "bad"]
    sentence: str
    transaction: str = ""


async def why(visit: Visit, stats: SubscriptionStats, consumers: int | None) -> Waits:
    """consumers: of a group, None where that is not known."""
    _, states = await visit.broker.topics.describe(stats.topic)
    held = {s.partition: s.end_offset - s.stable_offset for s in states if s.stable_offset < s.end_offset}
    holders = []
    seen: set[int] = set()
    for each in await visit.broker.topics.holding(stats.topic):
        if each.partition not in held or each.partition in seen:
            continue
        seen.add(each.partition)
        try:
            txn = await visit.broker.transactions.get(each.transaction)
        except LedgerError:
            continue  # it ended meanwhile
        age = max(visit.now_ms - txn.started_ms, 0)
        holders.append(Holder(each.partition, str(txn.id), txn.principal or txn.owner, age, held[each.partition]))
    return explain(stats.kind, stats.cursors, holders, consumers)


def explain(kind: str, cursors: Sequence[CursorStats], holders: Sequence[Holder], consumers: int | None) -> Waits:
    """The first thing that keeps it from getting on."""
    is_group = kind == "kafka"
    there = sum(each.backlog for each in cursors)
    leased = sum(each.leased for each in cursors)
    # A group's backlog counts to the end of the log; what is held back it cannot get.
    caught_up = {each.partition for each in cursors if each.backlog == 0 or is_group}
    held = [each for each in holders if each.partition in caught_up]
    if held and (is_group or not there):
        first = max(held, key=lambda each: each.age_ms)
        who = f" of {first.owner}" if first.owner else ""
        return Waits(
            "look" if first.age_ms < 30_000 else "bad",
            f"It waits for transaction {first.transaction}{who}, open for {duration(first.age_ms)}: "
            f"{records(sum(each.held for each in held))} cannot be got until that ends.",
            first.transaction,
        )
    if not there:
        return Waits("good", "It has got everything.")
    are = "is" if there == 1 else "are"
    if consumers == 0:
        return Waits(
            "look", f"Nobody consumes it: {records(there)} wait{'s' if there == 1 else ''} for a member to join."
        )
    if is_group:
        return Waits("look", f"{records(there)} {are} ahead of its committed offsets.")
    if leased:
        return Waits(
            "look",
            f"Consumers have {records(leased)} that they have not acknowledged yet; {number(there)} in all {are} not.",
        )
    return Waits("look", f"{records(there)} {are} there, and no consumer has asked for more.")


def records(count: int) -> str:
    return f"{number(count)} record{'s' if count != 1 else ''}"
