"""Topics: the list, and a topic with its partitions, records and actions."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from redis_ledger.app.console.cluster_snapshot import TopicTotals, totals
from redis_ledger.app.console.pages import ActionResult, PageContext, action, href, page
from redis_ledger.app.console.paging import Paged, PageNumber, paged
from redis_ledger.app.console.records import PARTITIONS_MAX, OffsetRange, RecordQuery, Row, read_records
from redis_ledger.app.console.rendering import counted, number
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.auth.requirement import named
from redis_ledger.broker.types import NewRecord, OpenTransaction, PartitionState
from redis_ledger.errors import LedgerError, UnknownTopic
from redis_ledger.ledger import settings as topic_settings

Count = Annotated[int, Meta(ge=1)]
TAIL_RECORDS = 50


class TopicsQuery(msgspec.Struct):
    """find: text in the name."""

    find: str = ""
    page: PageNumber = 1


class Topics(msgspec.Struct):
    """may_create: the caller may create at least one topic name."""

    topics: list[TopicTotals]
    shown: Paged
    may_create: bool


@page("topics", "Topics")
async def topics(context: PageContext, query: TopicsQuery) -> Topics:
    """Sorted by name; totals are read for the rows of the page only."""
    found = [
        each for each in await context.broker.topics.list()
        if query.find in each.name and context.may(Op.DESCRIBE, Resource.TOPIC, each.name)
    ]  # fmt: skip
    chosen, shown = paged(found, query.page)
    may_create = context.may_some(Op.CREATE, Resource.TOPIC) or context.may(Op.CREATE, Resource.CLUSTER)
    return Topics(await totals(context.broker, chosen), shown, may_create)


class TopicQuery(msgspec.Struct):
    """partition: empty for all.  find: text in key or value.  show: committed records only, all, or all and the markers
    of transactions."""

    name: str
    partition: str = ""
    offset: str = ""
    find: str = ""
    show: Literal["committed", "all", "markers"] = "committed"


class TopicPage(msgspec.Struct):
    name: str
    id: str
    created_ms: int
    settings: dict[str, int | bool | str]
    partitions: list[PartitionState]
    holding: list[Hold]  # the first open transaction of each blocked partition
    subscriptions: list[tuple[str, str]]
    scheduled: int
    rows: list[Row]
    ranges: list[OffsetRange]
    next_offset: int | None  # where the next page begins
    may_read: bool
    may_write: bool
    may_delete: bool
    note: str  # which records were not read


class Hold(msgspec.Struct):
    partition: int
    first_offset: int
    transaction: str


@page("topic", "Topic", nav="topics", requires=named(Op.DESCRIBE, Resource.TOPIC, "name"))
async def topic(context: PageContext, query: TopicQuery) -> TopicPage:
    broker = context.broker
    found, states = await broker.topics.describe(query.name)
    names = await broker.subscriptions.list(query.name)
    may_read = context.may(Op.READ, Resource.TOPIC, query.name)
    found_there = await records(context, query, states) if may_read else Records()
    held = await broker.topics.open_transactions(query.name)
    return TopicPage(
        name=found.name,
        id=found.id,
        created_ms=found.created_ms,
        settings=topic_settings.to_body(found.settings),
        partitions=states,
        holding=_holding(states, held),
        subscriptions=[(name, kind) for name, kind in names if context.may(Op.DESCRIBE, Resource.GROUP, name)],
        scheduled=await broker.delayed.pending(query.name),
        rows=found_there.rows,
        ranges=found_there.ranges,
        next_offset=found_there.next_offset,
        may_read=may_read,
        may_write=context.may(Op.WRITE, Resource.TOPIC, query.name),
        may_delete=context.may(Op.DELETE, Resource.TOPIC, query.name),
        note=found_there.note,
    )


def _holding(states: list[PartitionState], held: list[OpenTransaction]) -> list[Hold]:
    first: dict[int, OpenTransaction] = {}
    for each in held:
        if each.holds_readers:
            first.setdefault(each.partition, each)
    blocking = (first.get(each.partition) for each in states if each.stable_offset < each.end_offset)
    return [Hold(each.partition, each.first_offset, str(each.transaction)) for each in blocking if each is not None]


class Records(msgspec.Struct):
    rows: list[Row] = []
    ranges: list[OffsetRange] = []
    next_offset: int | None = None
    note: str = ""


async def records(context: PageContext, query: TopicQuery, states: list[PartitionState]) -> Records:
    """The newest records, or those from an offset on."""
    selection = RecordQuery(
        query.name, query.find, is_committed=query.show == "committed", most=TAIL_RECORDS,
        has_markers=query.show == "markers",
    )  # fmt: skip
    chosen = [each for each in states if query.partition in ("", str(each.partition))]
    if not chosen:
        return Records(note=f"The topic has no partition {query.partition[:20]!r}.")
    offset = int(query.offset) if query.offset.isascii() and query.offset.isdigit() else None
    if query.offset and offset is None:
        return Records(note=f"{query.offset[:20]!r} is not an offset.")
    try:
        rows, ranges = await read_records(context.broker, selection, chosen, offset, context.charge_decoded)
    except UnknownTopic:
        raise
    except LedgerError as error:
        return Records(note=error.detail)
    next_offset = None
    if offset is not None and len(ranges) == 1:
        behind = rows[-1].offset + 1 if len(rows) == TAIL_RECORDS else ranges[0].end
        next_offset = behind if behind < ranges[0].there_end else None
    return Records(rows, ranges, next_offset, _note(query, ranges, len(chosen)))


def _note(query: TopicQuery, ranges: list[OffsetRange], partitions: int) -> str:
    """States which records were not searched."""
    notes = []
    if partitions > PARTITIONS_MAX:
        notes.append(f"First {PARTITIONS_MAX} of {partitions} partitions; select a partition to see the others.")
    read = sum(each.end - each.first for each in ranges)
    there = sum(each.there_end - (each.first if query.offset else each.there_first) for each in ranges)
    if query.find and read < there:
        which = "from the offset on" if query.offset else "the newest"
        say = f"Searched {number(read)} of {counted(there, 'record')}, {which}."
        notes.append(say if query.offset else f"{say} Select a partition and an offset to search older records.")
    return " ".join(notes)


class NewTopic(msgspec.Struct):
    name: str
    partitions: Count = 1


@action("topics/create", "topic.create", "name")
async def create(context: PageContext, form: NewTopic) -> ActionResult:
    if not context.may_create(form.name):
        context.check(Op.CREATE, Resource.TOPIC, form.name)
    made = await context.broker.topics.create(form.name, form.partitions)
    facts = {"partitions": made.partitions}
    return ActionResult(f"Created topic {made.name}.", href("topic", name=made.name), facts=facts)


class Produce(msgspec.Struct):
    topic: str
    value: str
    key: str = ""
    partition: str = ""


@action("topic/produce", requires=named(Op.WRITE, Resource.TOPIC, "topic"))
async def produce(context: PageContext, form: Produce) -> ActionResult:
    number = int(form.partition) if form.partition.isascii() and form.partition.isdigit() else None
    record = NewRecord(form.key.encode() or None, form.value.encode())
    may_create = partial(context.may_create, form.topic)
    produce = context.broker.records.produce
    placed = (await produce(form.topic, [record], partition=number, may_create=may_create))[0]
    where = f"partition {placed.partition}, offset {placed.base_offset}"
    return ActionResult(f"Produced a record to {where}.", href("topic", name=form.topic, partition=placed.partition))


class DeleteTopic(msgspec.Struct):
    name: str
    confirm: str


@action("topic/delete", "topic.delete", "name", requires=named(Op.DELETE, Resource.TOPIC, "name"))
async def delete(context: PageContext, form: DeleteTopic) -> ActionResult:
    if form.confirm != form.name:
        message = "The topic was not deleted: the confirmation does not match its name."
        return ActionResult(message, href("topic", name=form.name), facts=None)
    await context.broker.topics.delete(form.name)
    return ActionResult(f"Deleted topic {form.name}, its records and subscriptions.", href("topics"))
