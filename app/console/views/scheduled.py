"""What waits for its time: how much and when, one by one, cancelled or moved."""

from __future__ import annotations

import msgspec

from redis_ledger.app.console.cluster_snapshot import waiting
from redis_ledger.app.console.pages import Done, Visit, act, href, page
from redis_ledger.app.console.records import short, text
from redis_ledger.app.console.time_inputs import moment, shown
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.types import Scheduled
from redis_ledger.ids import ScheduledId

LISTED = 50
BINS = 48


class ScheduledQuery(msgspec.Struct):
    """after: where the next page begins."""

    topic: str = ""
    after: str = ""


class Bin(msgspec.Struct):
    from_ms: int
    to_ms: int
    records: int


class Waiting(msgspec.Struct):
    id: str
    deliver_at_ms: int
    key: str | None
    value: str | None
    repeat: str


class OnTopic(msgspec.Struct):
    topic: str
    records: int


class ScheduledPage(msgspec.Struct):
    """Without a topic: those in which something waits."""

    topics: list[OnTopic]
    records: int
    held: int
    overdue: int
    first_due_ms: int
    last_due_ms: int
    histogram: list[Bin]
    rows: list[Waiting]
    after: str
    may_change: bool


@page("scheduled", "Scheduled")
async def scheduled(visit: Visit, query: ScheduledQuery) -> ScheduledPage:
    if not query.topic:
        return await _overview(visit)
    visit.check(Op.DESCRIBE, Resource.TOPIC, query.topic)
    delays = visit.broker.delayed
    stats = await delays.counts(query.topic)
    rows: list[Scheduled] = []
    after = None
    if visit.may(Op.READ, Resource.TOPIC, query.topic):
        rows, after = await delays.list(query.topic, limit=LISTED, after=query.after or None, charge=visit.pay_decoded)
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
        may_change=visit.may(Op.WRITE, Resource.TOPIC, query.topic),
    )


async def _overview(visit: Visit) -> ScheduledPage:
    topics = [each for each in await visit.broker.topics.list() if visit.may(Op.DESCRIBE, Resource.TOPIC, each.name)]
    found = [OnTopic(topic, records) for topic, records in await waiting(visit.broker, topics) if records]
    total = sum(each.records for each in found)
    return ScheduledPage(sorted(found, key=lambda each: -each.records), total, 0, 0, -1, -1, [], [], "", False)


def _shown(each: Scheduled) -> Waiting:
    key, value = (None if each is None else short(text(each)) for each in (each.key, each.value))
    if each.too_large:
        value = "(too large to decode)"
    return Waiting(str(each.id), each.deliver_at_ms, key, value, each.repeat or "")


class Cancel(msgspec.Struct):
    topic: str
    id: str


@act("scheduled/cancel", needs=(Op.WRITE, Resource.TOPIC, "topic"))
async def cancel(visit: Visit, form: Cancel) -> Done:
    [outcome] = await visit.broker.delayed.cancel(form.topic, [ScheduledId.parse(form.id)])
    if outcome is not None:
        raise outcome
    return Done(f"Cancelled {form.id}; it will not be delivered.", href("scheduled", topic=form.topic))


class Move(msgspec.Struct):
    """at: ISO 8601, UTC where it says nothing else."""

    topic: str
    id: str
    at: str


@act("scheduled/move", needs=(Op.WRITE, Resource.TOPIC, "topic"))
async def move(visit: Visit, form: Move) -> Done:
    when = moment(form.at)
    await visit.broker.delayed.reschedule(form.topic, ScheduledId.parse(form.id), deliver_at_ms=when)
    return Done(f"Moved {form.id} to {shown(when)}.", href("scheduled", topic=form.topic))
