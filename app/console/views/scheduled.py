"""Scheduled records: counts, due times, the next records, rescheduling and cancelling."""

from __future__ import annotations

import msgspec

from redis_ledger.app.console.cluster_snapshot import scheduled_counts
from redis_ledger.app.console.pages import ActionResult, PageContext, action, href, page
from redis_ledger.app.console.records import short, text
from redis_ledger.app.console.time_inputs import moment, shown
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.auth.requirement import named
from redis_ledger.broker.types import Scheduled
from redis_ledger.ids import ScheduledId

LISTED = 50
BINS = 48


class ScheduledQuery(msgspec.Struct):
    """after: cursor of the next page."""

    topic: str = ""
    after: str = ""


class Bin(msgspec.Struct):
    from_ms: int
    to_ms: int
    records: int


class ScheduledRow(msgspec.Struct):
    id: str
    deliver_at_ms: int
    key: str | None
    value: str | None
    repeat: str


class OnTopic(msgspec.Struct):
    topic: str
    records: int


class ScheduledPage(msgspec.Struct):
    """Without a topic: the topics with scheduled records."""

    topics: list[OnTopic]
    records: int
    held: int
    overdue: int
    first_due_ms: int
    last_due_ms: int
    histogram: list[Bin]
    rows: list[ScheduledRow]
    after: str
    may_change: bool


@page("scheduled", "Scheduled")
async def scheduled(context: PageContext, query: ScheduledQuery) -> ScheduledPage:
    if not query.topic:
        return await _overview(context)
    context.check(Op.DESCRIBE, Resource.TOPIC, query.topic)
    delays = context.broker.delayed
    stats = await delays.counts(query.topic)
    rows: list[Scheduled] = []
    after = None
    if context.may(Op.READ, Resource.TOPIC, query.topic):
        rows, after = await delays.list(
            query.topic, limit=LISTED, after=query.after or None, charge=context.charge_decoded
        )
    dues = [each for each in stats if each.first_due_ms >= 0]
    bins = await delays.histogram(query.topic, bins=BINS) if dues else []
    return ScheduledPage(
        topics=[],
        records=sum(each.records for each in stats),
        held=sum(each.held for each in stats),
        overdue=sum(each.overdue for each in stats),
        first_due_ms=min((each.first_due_ms for each in dues), default=-1),
        last_due_ms=max((each.last_due_ms for each in dues), default=-1),
        histogram=[Bin(*each) for each in bins],
        rows=[_shown(each) for each in rows],
        after=after or "",
        may_change=context.may(Op.WRITE, Resource.TOPIC, query.topic),
    )


async def _overview(context: PageContext) -> ScheduledPage:
    topics = [
        each for each in await context.broker.topics.list() if context.may(Op.DESCRIBE, Resource.TOPIC, each.name)
    ]
    found = [OnTopic(topic, records) for topic, records in await scheduled_counts(context.broker, topics) if records]
    total = sum(each.records for each in found)
    return ScheduledPage(sorted(found, key=lambda each: -each.records), total, 0, 0, -1, -1, [], [], "", False)


def _shown(each: Scheduled) -> ScheduledRow:
    key, value = (None if each is None else short(text(each)) for each in (each.key, each.value))
    if each.too_large:
        value = "(too large to decode)"
    return ScheduledRow(str(each.id), each.deliver_at_ms, key, value, each.repeat or "")


class Cancel(msgspec.Struct):
    topic: str
    id: str


@action("scheduled/cancel", requires=named(Op.WRITE, Resource.TOPIC, "topic"))
async def cancel(context: PageContext, form: Cancel) -> ActionResult:
    [outcome] = await context.broker.delayed.cancel(form.topic, [ScheduledId.parse(form.id)])
    if outcome is not None:
        raise outcome
    return ActionResult(f"Cancelled {form.id}; it will not be delivered.", href("scheduled", topic=form.topic))


class Move(msgspec.Struct):
    """at: ISO 8601, by default UTC."""

    topic: str
    id: str
    at: str


@action("scheduled/move", requires=named(Op.WRITE, Resource.TOPIC, "topic"))
async def move(context: PageContext, form: Move) -> ActionResult:
    when = moment(form.at)
    await context.broker.delayed.reschedule(form.topic, ScheduledId.parse(form.id), deliver_at_ms=when)
    return ActionResult(f"Rescheduled {form.id} to {shown(when)}.", href("scheduled", topic=form.topic))
