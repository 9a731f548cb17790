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

from redis_ledger.app.console.health import HELD_MS_BAD
from redis_ledger.app.console.pages import Visit
from redis_ledger.app.console.rendering import counted, duration, number
from redis_ledger.broker.types import CursorStats, SubscriptionStats
from redis_ledger.errors import LedgerError


class Holder(msgspec.Struct):
    """The open transaction that a partition's readers wait for.  owner: empty for who may not see the transaction."""

    partition: int
    transaction: str
    owner: str
    age_ms: int
    held: int


class Waits(msgspec.Struct):
    level: Literal["good", "look", "bad"]
    sentence: str
    transaction: str = ""


async def why(visit: Visit, stats: SubscriptionStats, consumers: int | None, late: int = 0) -> Waits:
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
            is_shown = await visit.broker.transaction_owners.is_shown(visit.caller, txn.id)
        except LedgerError:
            continue  # it ended meanwhile
        age = max(visit.now_ms - txn.started_ms, 0)
        owner = (txn.principal or txn.owner) if is_shown else ""
        holders.append(Holder(each.partition, str(txn.id), owner, age, held[each.partition]))
    return explain(stats.kind, stats.cursors, holders, consumers, late)


def explain(
    kind: str, cursors: Sequence[CursorStats], holders: Sequence[Holder], consumers: int | None, late: int = 0
) -> Waits:
    """The first thing that keeps it from getting on.  late: messages that are out for longer than they may be."""
    is_group = kind == "kafka"
    holding = {each.partition: each for each in holders}
    there = sum(each.backlog for each in cursors)
    leased = sum(each.leased for each in cursors)
    # A group's backlog counts to the end of the log, also what is held back; that of others ends before it.
    held = sum(min(holding[c.partition].held, c.backlog) for c in cursors if c.partition in holding) if is_group else 0
    blamed = [
        each for each in holders if not is_group or any(c.partition == each.partition and c.backlog for c in cursors)
    ]
    if blamed and there == held and consumers != 0:
        count = held if is_group else sum(each.held for each in blamed)
        first, who = _oldest(blamed)
        return Waits(
            "look" if first.age_ms < HELD_MS_BAD else "bad",
            f"It waits for {who}: {counted(count, 'record')} cannot be got until that ends.",
            first.transaction,
        )
    if not there:
        return Waits("good", "It has got everything.")
    sentence = _at_hand(there, held, leased, late, consumers, is_group=is_group)
    if not blamed:
        return Waits("look", sentence)
    first, who = _oldest(blamed)
    return Waits(
        "look", f"{sentence} Behind {'them' if there > 1 else 'it'} it will wait for {who}.", first.transaction
    )


def _at_hand(there: int, held: int, leased: int, late: int, consumers: int | None, *, is_group: bool) -> str:
    """Why it does not get what it could."""
    are = "is" if there == 1 else "are"
    if consumers == 0:
        count = there - held or there
        return f"Nobody consumes it: {counted(count, 'record')} wait{'s' if count == 1 else ''} for a member to join."
    if is_group:
        return (
            f"{counted(there - held, 'record')} {'is' if there - held == 1 else 'are'} ahead of its committed offsets."
        )
    if leased and late >= leased:
        return (
            f"Consumers took {counted(leased, 'record')} and did not acknowledge in time, and nobody has asked since; "
            f"{number(there)} in all {are} not acknowledged."
        )
    if leased:
        return (
            f"Consumers have {counted(leased, 'record')} that they have not acknowledged yet; {number(there)} in all "
            f"{are} not."
        )
    return f"{counted(there, 'record')} {are} there, and no consumer has asked for more."


def _oldest(holders: Sequence[Holder]) -> tuple[Holder, str]:
    first = max(holders, key=lambda each: each.age_ms)
    who = f" of {first.owner}" if first.owner else ""
    more = len({each.transaction for each in holders}) - 1
    others = f" and {counted(more, 'younger one')}" if more else ""
    return first, f"transaction {first.transaction}{who}, open for {duration(first.age_ms)}{others}"
