"""Topics: all of them, one with its partitions and records, and what can be done to one."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from redis_ledger.app.console.cluster_snapshot import TopicTotals, totals
from redis_ledger.app.console.pages import Done, Visit, act, href, page
from redis_ledger.app.console.paging import Paged, PageNumber, paged
from redis_ledger.app.console.records import PARTITIONS_MAX, Looked, Peek, Row, peek
from redis_ledger.app.console.rendering import counted, number
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.types import Holding, NewRecord, PartitionState
from redis_ledger.errors import LedgerError, UnknownTopic
from redis_ledger.ledger.settings import shown

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
    settings: dict[str, int | bool | str]
    partitions: list[PartitionState]
    holding: list[Hold]  # the first of each partition whose readers wait
    subscriptions: list[tuple[str, str]]
    scheduled: int
    rows: list[Row]
    looked: list[Looked]
    go_on: int | None  # the offset behind the rows, if there is more
    may_read: bool
    may_write: bool
    may_delete: bool
    told: str  # what has to be said of the rows


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
    found_there = await records(visit, query, states) if may_read else Found()
    held = await broker.topics.holding(query.name)
    return TopicPage(
        name=found.name,
        id=found.id,
        created_ms=found.created_ms,
        settings=shown(found.settings),
        partitions=states,
        holding=_holding(states, held),
        subscriptions=[(name, kind) for name, kind in names if visit.may(Op.DESCRIBE, Resource.GROUP, name)],
        scheduled=await broker.delayed.pending(query.name),
        rows=found_there.rows,
        looked=found_there.looked,
        go_on=found_there.go_on,
        may_read=may_read,
        may_write=visit.may(Op.WRITE, Resource.TOPIC, query.name),
        may_delete=visit.may(Op.DELETE, Resource.TOPIC, query.name),
        told=found_there.told,
    )


def _holding(states: list[PartitionState], held: list[Holding]) -> list[Hold]:
    first: dict[int, Holding] = {}
    for each in held:
        first.setdefault(each.partition, each)
    waiting = (first.get(each.partition) for each in states if each.stable_offset < each.end_offset)
    return [Hold(each.partition, each.first_offset, str(each.transaction)) for each in waiting if each is not None]


class Found(msgspec.Struct):
    rows: list[Row] = []
    looked: list[Looked] = []
    go_on: int | None = None
    told: str = ""


async def records(visit: Visit, query: TopicQuery, states: list[PartitionState]) -> Found:
    """The newest records, or those from an offset on."""
    asked = Peek(query.name, query.find, is_committed=query.show == "committed", most=TAIL_RECORDS)
    chosen = [each for each in states if query.partition in ("", str(each.partition))]
    if not chosen:
        return Found(told=f"The topic has no partition {query.partition[:20]!r}.")
    offset = int(query.offset) if query.offset.isascii() and query.offset.isdigit() else None
    if query.offset and offset is None:
        return Found(told=f"{query.offset[:20]!r} is not an offset.")
    try:
        rows, looked = await peek(visit.broker, asked, chosen, offset, visit.pay_decoded)
    except UnknownTopic:
        raise
    except LedgerError as error:
        return Found(told=error.detail)
    go_on = None
    if offset is not None and len(looked) == 1:
        behind = rows[-1].offset + 1 if len(rows) == TAIL_RECORDS else looked[0].end
        go_on = behind if behind < looked[0].there_end else None
    return Found(rows, looked, go_on, _told(query, looked, len(chosen)))


def _told(query: TopicQuery, looked: list[Looked], partitions: int) -> str:
    """What was not looked at, where that may be missed."""
    said = []
    if partitions > PARTITIONS_MAX:
        said.append(f"Of the first {PARTITIONS_MAX} of {partitions} partitions; choose one to see the others.")
    read = sum(each.end - each.first for each in looked)
    there = sum(each.there_end - (each.first if query.offset else each.there_first) for each in looked)
    if query.find and read < there:
        which = "from there on" if query.offset else "the newest"
        say = f"Looked at {number(read)} of {counted(there, 'record')}, {which}."
        said.append(say if query.offset else f"{say} Name a partition and an offset to look further back.")
    return " ".join(said)


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
