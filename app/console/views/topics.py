"""Topics: all of them, one with its partitions and records, and what can be done to one."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from app.console.pages import Done, Visit, act, href, page
from app.console.paging import Paged, PageNumber, paged
from app.console.records import Peek, Row, peek
from app.console.survey import TopicTotals, totals
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.types import Holding, NewRecord, PartitionState
from redis_ledger.errors import LedgerError, UnknownTopic

Count = Annotated[int, Meta(ge=1)]
TAIL_RECORDS = 50


class TopicsQuery(msgspec.Struct):
    """find: text in the name."""

    find: str = ""
    page: PageNumber = 1


class Topics(msgspec.Struct):
    """may_create: at least some name."""

    topics: list[TopicTotals]
    shown: Paged
    may_create: bool


@page("topics", "Topics")
async def topics(visit: Visit, query: TopicsQuery) -> Topics:
    """By name; only those that are shown are looked at."""
    found = [
        each for each in await visit.broker.topics.list()
        if query.find in each.name and visit.may(Op.DESCRIBE, Resource.TOPIC, each.name)
    ]  # fmt: skip
    chosen, shown = paged(found, query.page)
    may_create = visit.may_some(Op.CREATE, Resource.TOPIC) or visit.may(Op.CREATE, Resource.CLUSTER)
    return Topics(await totals(visit.broker, chosen), shown, may_create)


class TopicQuery(msgspec.Struct):
    """partition "": the newest of all.  find: text in key or value.  show: also what is not committed."""

    name: str
    partition: str = ""
    offset: str = ""
    find: str = ""
    show: Literal["committed", "all"] = "committed"


class TopicPage(msgspec.Struct):
    name: str
    id: str
    created_ms: int
    settings: dict[str, int]
    partitions: list[PartitionState]
    holding: list[Hold]
    subscriptions: list[tuple[str, str]]
    scheduled: int
    rows: list[Row]
    may_read: bool
    may_write: bool
    may_delete: bool
    told: str  # why there are no rows, if that needs saying


class Hold(msgspec.Struct):
    partition: int
    first_offset: int
    transaction: str


@page("topic", "Topic", nav="topics", needs=(Op.DESCRIBE, Resource.TOPIC, "name"))
async def topic(visit: Visit, query: TopicQuery) -> TopicPage:
    broker = visit.broker
    found, states = await broker.topics.describe(query.name)
    names = await broker.subscriptions.list(query.name)
    may_read = visit.may(Op.READ, Resource.TOPIC, query.name)
    rows, told = await records(visit, query, states) if may_read else ([], "")
    held = await broker.topics.holding(query.name)
    return TopicPage(
        name=found.name,
        id=found.id,
        created_ms=found.created_ms,
        settings=found.settings,
        partitions=states,
        holding=[_hold(each) for each in held],
        subscriptions=[(name, kind) for name, kind in names if visit.may(Op.DESCRIBE, Resource.GROUP, name)],
        scheduled=await broker.delays.pending(query.name),
        rows=rows,
        may_read=may_read,
        may_write=visit.may(Op.WRITE, Resource.TOPIC, query.name),
        may_delete=visit.may(Op.DELETE, Resource.TOPIC, query.name),
        told=told,
    )


def _hold(each: Holding) -> Hold:
    return Hold(each.partition, each.first_offset, str(each.transaction))


async def records(visit: Visit, query: TopicQuery, states: list[PartitionState]) -> tuple[list[Row], str]:
    """The newest records, or those from an offset on, and a sentence if there is something to say."""
    asked = Peek(query.name, query.find, is_committed=query.show == "committed", most=TAIL_RECORDS)
    chosen = [each for each in states if query.partition in ("", str(each.partition))]
    if not chosen:
        return [], f"The topic has no partition {query.partition[:20]!r}."
    offset = int(query.offset) if query.offset.isascii() and query.offset.isdigit() else None
    if query.offset and offset is None:
        return [], f"{query.offset[:20]!r} is not an offset."
    try:
        return await peek(visit.broker, asked, chosen, offset), ""
    except UnknownTopic:
        raise
    except LedgerError as error:
        return [], error.detail


class NewTopic(msgspec.Struct):
    name: str
    partitions: Count = 1


@act("topics/create", "topic.create", "name")
async def create(visit: Visit, form: NewTopic) -> Done:
    if not visit.may_create(form.name):
        visit.check(Op.CREATE, Resource.TOPIC, form.name)
    made = await visit.broker.topics.create(form.name, form.partitions)
    facts = {"partitions": made.partitions}
    return Done(f"Made topic {made.name}.", href("topic", name=made.name), facts=facts)


class Produce(msgspec.Struct):
    topic: str
    value: str
    key: str = ""
    partition: str = ""


@act("topic/produce", needs=(Op.WRITE, Resource.TOPIC, "topic"))
async def produce(visit: Visit, form: Produce) -> Done:
    number = int(form.partition) if form.partition.isascii() and form.partition.isdigit() else None
    record = NewRecord(form.key.encode() or None, form.value.encode())
    may_create = partial(visit.may_create, form.topic)
    produce = visit.broker.records.produce
    placed = (await produce(form.topic, [record], partition=number, may_create=may_create))[0]
    where = f"partition {placed.partition}, offset {placed.base_offset}"
    return Done(f"Wrote a record to {where}.", href("topic", name=form.topic, partition=placed.partition))


class DeleteTopic(msgspec.Struct):
    name: str
    confirm: str


@act("topic/delete", "topic.delete", "name", needs=(Op.DELETE, Resource.TOPIC, "name"))
async def delete(visit: Visit, form: DeleteTopic) -> Done:
    if form.confirm != form.name:
        told = "Nothing was deleted: the name that was typed is another one."
        return Done(told, href("topic", name=form.name), facts=None)
    await visit.broker.topics.delete(form.name)
    return Done(f"Deleted topic {form.name} with its records and subscriptions.", href("topics"))
