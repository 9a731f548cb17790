"""Groups and subscriptions: who reads what, how far behind, why it does not get on, and moving it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Literal

import msgspec

from redis_ledger.app.console.cluster_snapshot import lags, readers
from redis_ledger.app.console.health import Behind
from redis_ledger.app.console.pages import Done, Visit, act, href, page
from redis_ledger.app.console.paging import Paged, PageNumber, paged
from redis_ledger.app.console.stuck_consumers import Waits, why
from redis_ledger.app.console.time_inputs import moment, shown
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.groups.lag import Reader
from redis_ledger.broker.subscriptions.dead_letter_rules import Rule
from redis_ledger.broker.types import CursorStats, SubscriptionStats
from redis_ledger.errors import (
    GroupNotEmpty,
    GroupNotFound,
    NotCoordinator,
    UnknownSubscription,
    UnknownTopic,
)

OUT_SHOWN = 20
_ONE = ("topic", "name")
_READS = ((Op.READ, Resource.TOPIC, "topic"), (Op.READ, Resource.GROUP, "name"))


class Member(msgspec.Struct):
    name: str
    client: str
    host: str
    partitions: list[str]


class GroupLine(msgspec.Struct):
    name: str
    topics: list[str]
    lag: int


class GroupsQuery(msgspec.Struct):
    """find: text in a name, or in that of a topic."""

    find: str = ""
    page: PageNumber = 1
    groups_page: PageNumber = 1


class Groups(msgspec.Struct):
    groups: list[GroupLine]
    groups_shown: Paged
    subscriptions: list[Behind]
    shown: Paged


@page("groups", "Groups and subscriptions")
async def groups(visit: Visit, query: GroupsQuery) -> Groups:
    """By name; of those that are shown it is read how far behind they are."""
    topics = [each for each in await visit.broker.topics.list() if may_describe(visit, each.name)]
    subscriptions, read_by = [], dict[str, list[str]]()
    for _, reader in await readers(visit.broker, topics):
        topic, name, kind = reader
        if kind == "kafka":
            read_by.setdefault(name, []).append(topic)
        elif (query.find in name or query.find in topic) and visit.may(Op.DESCRIBE, Resource.GROUP, name):
            subscriptions.append(reader)
    names = [
        name for name in sorted({*await visit.broker.groups.names(), *read_by})
        if visit.may(Op.DESCRIBE, Resource.GROUP, name)
        and (query.find in name or any(query.find in topic for topic in read_by.get(name, ())))
    ]  # fmt: skip
    chosen, shown = paged(subscriptions, query.page)
    groups, groups_shown = paged(names, query.groups_page)
    asked = [Reader(topic, name, "kafka") for name in groups for topic in read_by.get(name, ())]
    lag: dict[str, int] = {}
    for each in await lags(visit.broker, asked):
        lag[each.name] = lag.get(each.name, 0) + each.lag
    lines = [GroupLine(name, read_by.get(name, []), lag.get(name, 0)) for name in groups]
    return Groups(lines, groups_shown, await lags(visit.broker, chosen), shown)


class GroupQuery(msgspec.Struct):
    name: str


class OnTopic(msgspec.Struct):
    topic: str
    cursors: list[CursorStats]
    lag: int
    waits: Waits
    may_seek: bool


class GroupPage(msgspec.Struct):
    """coordinator: where it can be asked for its members, if not here."""

    name: str
    state: str
    members: list[Member]
    coordinator: str
    topics: list[OnTopic]
    may_delete: bool


@page("group", "Group", nav="groups", needs=(Op.DESCRIBE, Resource.GROUP, "name"))
async def group(visit: Visit, query: GroupQuery) -> GroupPage:
    broker = visit.broker
    state, members, coordinator = await described(visit, query.name)
    topics = []
    for topic in sorted(await broker.offsets.topics_of(query.name)):
        if not may_describe(visit, topic):
            continue
        try:
            stats = await broker.subscriptions.stats(topic, query.name)
        except (UnknownTopic, UnknownSubscription):
            continue
        consumers = len(members) if not coordinator else None
        waits = await why(visit, stats, consumers)
        lag = sum(each.backlog for each in stats.cursors)
        topics.append(OnTopic(topic, stats.cursors, lag, waits, may_seek(visit, topic, query.name)))
    if not topics and state == "Dead":
        raise GroupNotFound(f"There is no group {query.name[:80]!r}.")
    may_delete = visit.may(Op.DELETE, Resource.GROUP, query.name)
    return GroupPage(query.name, state, members, coordinator, topics, may_delete)


def may_seek(visit: Visit, topic: str, name: str) -> bool:
    return visit.may(Op.READ, Resource.TOPIC, topic) and visit.may(Op.READ, Resource.GROUP, name)


def may_describe(visit: Visit, topic: str) -> bool:
    return visit.may(Op.DESCRIBE, Resource.TOPIC, topic)


async def described(visit: Visit, name: str) -> tuple[str, list[Member], str]:
    """State and members of a group, and the address of the broker that knows them if that is another one.  Of what
    members read, topics are told that the visitor may describe."""
    broker = visit.broker
    try:
        found = await broker.consumer_groups.describe(name)
        topics = [each for each in await broker.topics.list() if may_describe(visit, each.name)]
        names = {bytes.fromhex(each.id): each.name for each in topics}
        members = [Member(m.member_id, m.client_id, m.client_host, _parts(names, m.assigned)) for m in found.members]
        return found.state, members, ""
    except GroupNotFound:
        pass  # of the other kind, or of none
    except NotCoordinator:
        return "", [], await _coordinator(visit, name)
    try:
        classic = await broker.groups.describe(name)
    except GroupNotFound:
        return "Dead", [], ""
    except NotCoordinator:
        return "", [], await _coordinator(visit, name)
    return classic.state, [Member(m.member_id, m.client_id, m.client_host, []) for m in classic.members], ""


def _parts(names: Mapping[bytes, str], assigned: Iterable[tuple[bytes, int]]) -> list[str]:
    return [f"{names[topic_id]}:{number}" for topic_id, number in sorted(assigned) if topic_id in names]


async def _coordinator(visit: Visit, name: str) -> str:
    node = await visit.broker.live_brokers.coordinator(name)
    return node.http if node is not None else "another broker"


class SubscriptionQuery(msgspec.Struct):
    topic: str
    name: str


class Out(msgspec.Struct):
    """Messages first to last of a partition.  consumer: "" when they were given back and wait.  deliveries: before this
    time.  left_ms: until they may be delivered again, negative when that has passed."""

    partition: int
    first: int
    last: int
    consumer: str
    deliveries: int
    left_ms: int


class SubscriptionPage(msgspec.Struct):
    topic: str
    name: str
    kind: str
    cursors: list[CursorStats]
    lag: int
    waits: Waits
    out: list[Out]
    dead_letters: Rule | None
    may_put_back: bool
    may_seek: bool
    may_delete: bool


_NEEDS = ((Op.DESCRIBE, Resource.TOPIC, "topic"), (Op.DESCRIBE, Resource.GROUP, "name"))


@page("subscription", "Subscription", nav="groups", needs=_NEEDS)
async def subscription(visit: Visit, query: SubscriptionQuery) -> SubscriptionPage:
    stats = await visit.broker.subscriptions.stats(query.topic, query.name)
    lag = sum(each.backlog for each in stats.cursors)
    is_group = stats.kind == "kafka"
    leases = [] if is_group else await visit.broker.unacked.worst(query.topic, query.name)
    out = [Out(p, first, last, who, count, due - visit.now_ms) for p, first, last, who, count, due in leases]
    late = sum(each.last - each.first + 1 for each in out if each.consumer and each.left_ms <= 0)
    waits = await why(visit, stats, None, late)
    dead_letters, may_move = visit.broker.dead_letters, may_seek(visit, query.topic, query.name)
    takes_letters = (
        any(rule.topic == query.topic for rule in dead_letters.rules.by_subscription.values()) and not is_group
    )
    return SubscriptionPage(
        stats.topic, stats.name, stats.kind, stats.cursors, lag, waits, out[:OUT_SHOWN],
        dead_letters.rules.get(stats.topic, stats.topic_id, stats.name), takes_letters and may_move, may_move,
        visit.may(Op.DELETE, Resource.GROUP, query.name),
    )  # fmt: skip


class Seek(msgspec.Struct):
    """time: ISO 8601, UTC where it says nothing else, for to = "time"."""

    topic: str
    name: str
    to: Literal["earliest", "latest", "time"]
    time: str = ""


@act("subscription/seek", "subscription.seek", *_ONE, needs=_READS)
async def seek(visit: Visit, form: Seek) -> Done:
    stats = await visit.broker.subscriptions.stats(form.topic, form.name)
    if stats.kind == "kafka":
        await _seek_group(visit, form)
    elif form.to == "time":
        await visit.broker.subscriptions.seek(form.topic, form.name, timestamp_ms=moment(form.time))
    else:
        await visit.broker.subscriptions.seek(form.topic, form.name, to=form.to)
    where = shown(moment(form.time)) if form.to == "time" else form.to
    return Done(f"{form.name} goes on at {where} of {form.topic}.", _back(stats), facts={"to": where})


async def _seek_group(visit: Visit, form: Seek) -> None:
    """Only while it has no members: they would commit their own positions over it.  Raises GroupNotEmpty."""
    state, members, coordinator = await described(visit, form.name)
    if members or coordinator or state not in ("Empty", "Dead", "EMPTY", "DEAD"):
        raise GroupNotEmpty(f"Group {form.name!r} has members; stop them first, or they commit their own offsets.")
    _, states = await visit.broker.topics.describe(form.topic)
    offsets = {}
    for each in states:
        if form.to == "time":
            found = await visit.broker.partition_fetch.offset_at(form.topic, each.partition, moment(form.time))
            offsets[each.partition] = found[0]
        else:
            offsets[each.partition] = each.start_offset if form.to == "earliest" else each.end_offset
    await visit.broker.external_offsets.note(form.name, form.topic, offsets)


class DeadLetters(msgspec.Struct):
    """max_deliveries 0 removes the rule."""

    topic: str
    name: str
    max_deliveries: int = 0
    to: str = ""


@act("subscription/dead-letters", "subscription.deadLetters", *_ONE, needs=_READS)
async def set_dead_letters(visit: Visit, form: DeadLetters) -> Done:
    back = href("subscription", topic=form.topic, name=form.name)
    facts = {"max_deliveries": form.max_deliveries, "to": form.to if form.max_deliveries else ""}
    if form.max_deliveries == 0:
        await visit.broker.dead_letters.rules.remove(form.topic, form.name)
        return Done(f"{form.name} delivers what fails again and again, however often.", back, facts=facts)
    visit.check(Op.WRITE, Resource.TOPIC, form.to)
    await visit.broker.dead_letters.set(
        form.topic,
        form.name,
        form.max_deliveries,
        form.to,
        may_create=partial(visit.may_create, form.to),
    )
    after = "one delivery" if form.max_deliveries == 1 else f"{form.max_deliveries} deliveries"
    return Done(f"What {form.name} has not acknowledged after {after} goes to {form.to}.", back, facts=facts)


class PutBack(msgspec.Struct):
    topic: str
    name: str
    limit: int = 1_000


@act("subscription/put-back", "subscription.putBack", *_ONE, needs=_READS)
async def put_back(visit: Visit, form: PutBack) -> Done:
    limit = min(max(form.limit, 1), visit.broker.config.records_per_request_max)
    by_topic = await visit.broker.dead_letters.put_back(
        form.topic, form.name, limit, may_write=partial(visit.may, Op.WRITE, Resource.TOPIC)
    )
    done = by_topic.total()
    sentence = f"Put {done} message{'' if done == 1 else 's'} of {form.topic} back to where they came from."
    return Done(sentence, href("subscription", topic=form.topic, name=form.name), facts={"to": by_topic})


class Delete(msgspec.Struct):
    topic: str
    name: str


@act(
    "subscription/delete", "subscription.delete", *_ONE,
    needs=((Op.DELETE, Resource.GROUP, "name"), (Op.DESCRIBE, Resource.TOPIC, "topic")),
)  # fmt: skip
async def delete(visit: Visit, form: Delete) -> Done:
    await visit.broker.subscriptions.delete(form.topic, form.name)
    return Done(f"Deleted subscription {form.name} of {form.topic}.", href("topic", name=form.topic))


class DeleteGroup(msgspec.Struct):
    name: str


@act("group/delete", "group.delete", "name", needs=(Op.DELETE, Resource.GROUP, "name"))
async def delete_group(visit: Visit, form: DeleteGroup) -> Done:
    await visit.broker.groups.delete(form.name)
    return Done(f"Deleted group {form.name} with its offsets.", href("groups"))


def _back(stats: SubscriptionStats) -> str:
    if stats.kind == "kafka":
        return href("group", name=stats.name)
    return href("subscription", topic=stats.topic, name=stats.name)
