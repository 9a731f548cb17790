"""Diagnosis of a subscription or group that makes no progress, from its cursors and the open transactions.

    blocked by an open transaction           the transaction and its age
    unacknowledged messages                  the consumers do not acknowledge
    backlog without unacknowledged messages  no consumer receives
    no backlog                               up to date

`explain` is pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from redis_ledger.app.console.health import HELD_MS_BAD
from redis_ledger.app.console.pages import PageContext
from redis_ledger.app.console.rendering import counted, duration, number
from redis_ledger.broker.types import CursorStats, SubscriptionStats
from redis_ledger.errors import LedgerError


class Holder(msgspec.Struct):
    """The open transaction that blocks a partition.  owner: empty if the caller may not describe the transaction."""

    partition: int
    transaction: str
    owner: str
    age_ms: int
    held: int


class Diagnosis(msgspec.Struct):
    level: Literal["good", "look", "bad"]
    sentence: str
    transaction: str = ""


async def diagnose(context: PageContext, stats: SubscriptionStats, consumers: int | None, late: int = 0) -> Diagnosis:
    """consumers: members of a group; None if unknown.  late: messages past their ack timeout."""
    _, states = await context.broker.topics.describe(stats.topic)
    held = {s.partition: s.end_offset - s.stable_offset for s in states if s.stable_offset < s.end_offset}
    holders = []
    seen: set[int] = set()
    for each in await context.broker.topics.open_transactions(stats.topic):
        if not each.holds_readers or each.partition not in held or each.partition in seen:
            continue
        seen.add(each.partition)
        try:
            txn = await context.broker.transactions.get(each.transaction)
            is_shown = await context.broker.transaction_owners.is_shown(context.caller, txn.id)
        except LedgerError:
            continue  # it has ended
        age = max(context.now_ms - txn.started_ms, 0)
        owner = (txn.principal or txn.owner) if is_shown else ""
        holders.append(Holder(each.partition, str(txn.id), owner, age, held[each.partition]))
    return explain(stats.kind, stats.cursors, holders, consumers, late)


def explain(
    kind: str, cursors: Sequence[CursorStats], holders: Sequence[Holder], consumers: int | None, late: int = 0
) -> Diagnosis:
    """Returns the first reason for the lack of progress.  late: messages past their ack timeout."""
    is_group = kind == "kafka"
    there = sum(each.backlog for each in cursors)
    leased = sum(each.leased for each in cursors)
    # The lag ends at the last stable offset; a group that reads uncommitted records may be beyond it.
    waiting = {each.partition for each in cursors if 0 <= each.mark_delete <= each.end}
    blamed = [each for each in holders if each.partition in waiting]
    if blamed and not there:
        count = sum(each.held for each in blamed)
        first, who = _oldest(blamed)
        return Diagnosis(
            "look" if first.age_ms < HELD_MS_BAD else "bad",
            f"Blocked by {who}: {counted(count, 'record')} not readable until it ends.",
            first.transaction,
        )
    if not there:
        return Diagnosis("good", "Up to date.")
    sentence = _at_hand(there, leased, late, consumers, is_group=is_group)
    if not blamed:
        return Diagnosis("look", sentence)
    first, who = _oldest(blamed)
    return Diagnosis("look", f"{sentence} Later records are blocked by {who}.", first.transaction)


def _at_hand(there: int, leased: int, late: int, consumers: int | None, *, is_group: bool) -> str:
    """Why the available records are not consumed."""
    if consumers == 0:
        return f"The group has no members: {counted(there, 'record')} not consumed."
    if is_group:
        return f"The committed offsets lag by {counted(there, 'record')}."
    if leased and late >= leased:
        messages = counted(leased, "message")
        return f"{messages} past the ack timeout, and no consumer receives; the backlog is {number(there)}."
    if leased:
        return f"Consumers have {counted(leased, 'unacknowledged message')}; the backlog is {number(there)}."
    return f"No consumer receives; the backlog is {counted(there, 'record')}."


def _oldest(holders: Sequence[Holder]) -> tuple[Holder, str]:
    first = max(holders, key=lambda each: each.age_ms)
    who = f" of {first.owner}" if first.owner else ""
    more = len({each.transaction for each in holders}) - 1
    others = f" and {counted(more, 'newer one')}" if more else ""
    return first, f"transaction {first.transaction}{who}, open for {duration(first.age_ms)}{others}"
