"""Groups and subscriptions: lag, diagnosis, reset of positions, dead letters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import msgspec

from redis_ledger.app.console.cluster_snapshot import lags, readers
from redis_ledger.app.console.health import ConsumerLag
from redis_ledger.app.console.pages import ActionResult, PageContext, action, href, page
from redis_ledger.app.console.paging import Paged, PageNumber, paged
from redis_ledger.app.console.rights import DESCRIBES, ONE, READS
from redis_ledger.app.console.stuck_consumers import Diagnosis, diagnose
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.auth.requirement import named
from redis_ledger.broker.groups.lag import Reader
from redis_ledger.broker.subscriptions.dead_letter_rules import DeadLetterRule
from redis_ledger.broker.subscriptions.dead_letters import PutBackFilter
from redis_ledger.broker.subscriptions.redelivery_rules import RedeliveryRule
from redis_ledger.broker.types import CursorStats, SubscriptionStats
from redis_ledger.errors import (
    GroupNotFound,
    NotCoordinator,
    UnknownSubscription,
    UnknownTopic,
)

UNACKED_SHOWN = 20


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
    """find: text in the name of the group, subscription or topic."""

    find: str = ""
    page: PageNumber = 1
    groups_page: PageNumber = 1


class Groups(msgspec.Struct):
    groups: list[GroupLine]
    groups_shown: Paged
    subscriptions: list[ConsumerLag]
    shown: Paged


@page("groups", "Groups and subscriptions")
async def groups(context: PageContext, query: GroupsQuery) -> Groups:
    """Sorted by name; the lag is read for the rows of the page only."""
    topics = [each for each in await context.broker.topics.list() if may_describe(context, each.name)]
    subscriptions, read_by = [], dict[str, list[str]]()
    for _, reader in await readers(context.broker, topics):
        topic, name, kind = reader
        if kind == "kafka":
            read_by.setdefault(name, []).append(topic)
        elif (query.find in name or query.find in topic) and context.may(Op.DESCRIBE, Resource.GROUP, name):
            subscriptions.append(reader)
    names = [
        name for name in sorted({*await context.broker.groups.names(), *read_by})
        if context.may(Op.DESCRIBE, Resource.GROUP, name)
        and (query.find in name or any(query.find in topic for topic in read_by.get(name, ())))
    ]  # fmt: skip
    chosen, shown = paged(subscriptions, query.page)
    groups, groups_shown = paged(names, query.groups_page)
    asked = [Reader(topic, name, "kafka") for name in groups for topic in read_by.get(name, ())]
    lag: dict[str, int] = {}
    for each in await lags(context.broker, asked):
        lag[each.name] = lag.get(each.name, 0) + each.lag
    lines = [GroupLine(name, read_by.get(name, []), lag.get(name, 0)) for name in groups]
    return Groups(lines, groups_shown, await lags(context.broker, chosen), shown)


class GroupQuery(msgspec.Struct):
    name: str


class OnTopic(msgspec.Struct):
    topic: str
    cursors: list[CursorStats]
    lag: int
    diagnosis: Diagnosis
    may_seek: bool


class GroupPage(msgspec.Struct):
    """coordinator: address of the group coordinator if it is another broker."""

    name: str
    state: str
    members: list[Member]
    coordinator: str
    topics: list[OnTopic]
    may_delete: bool


@page("group", "Group", nav="groups", requires=named(Op.DESCRIBE, Resource.GROUP, "name"))
async def group(context: PageContext, query: GroupQuery) -> GroupPage:
    broker = context.broker
    state, members, coordinator = await described(context, query.name)
    topics = []
    for topic in sorted(await broker.offsets.topics_of(query.name)):
        if not may_describe(context, topic):
            continue
        try:
            stats = await broker.subscriptions.stats(topic, query.name)
        except (UnknownTopic, UnknownSubscription):
            continue
        consumers = len(members) if not coordinator else None
        diagnosis = await diagnose(context, stats, consumers)
        lag = sum(each.backlog for each in stats.cursors)
        topics.append(OnTopic(topic, stats.cursors, lag, diagnosis, may_seek(context, topic, query.name)))
    if not topics and state == "Dead":
        raise GroupNotFound(f"There is no group {query.name[:80]!r}.")
    may_delete = context.may(Op.DELETE, Resource.GROUP, query.name)
    return GroupPage(query.name, state, members, coordinator, topics, may_delete)


def may_seek(context: PageContext, topic: str, name: str) -> bool:
    return context.may(Op.READ, Resource.TOPIC, topic) and context.may(Op.READ, Resource.GROUP, name)


def may_describe(context: PageContext, topic: str) -> bool:
    return context.may(Op.DESCRIBE, Resource.TOPIC, topic)


async def described(context: PageContext, name: str) -> tuple[str, list[Member], str]:
    """State, members, and the address of the group coordinator if it is another broker.

    Assignments contain only topics that the caller may describe.
    """
    broker = context.broker
    try:
        found = await broker.consumer_groups.describe(name)
        topics = [each for each in await broker.topics.list() if may_describe(context, each.name)]
        names = {bytes.fromhex(each.id): each.name for each in topics}
        members = [Member(m.member_id, m.client_id, m.client_host, _parts(names, m.assigned)) for m in found.members]
        return found.state, members, ""
    except GroupNotFound:
        pass  # a classic group, or none
    except NotCoordinator:
        return "", [], await _coordinator(context, name)
    try:
        classic = await broker.groups.describe(name)
    except GroupNotFound:
        return "Dead", [], ""
    except NotCoordinator:
        return "", [], await _coordinator(context, name)
    return classic.state, [Member(m.member_id, m.client_id, m.client_host, []) for m in classic.members], ""


def _parts(names: Mapping[bytes, str], assigned: Iterable[tuple[bytes, int]]) -> list[str]:
    return [f"{names[topic_id]}:{number}" for topic_id, number in sorted(assigned) if topic_id in names]


async def _coordinator(context: PageContext, name: str) -> str:
    node = await context.broker.live_brokers.coordinator(name)
    return node.http if node is not None else "another broker"


class SubscriptionQuery(msgspec.Struct):
    topic: str
    name: str


class UnackedRange(msgspec.Struct):
    """Consecutive unacknowledged messages.

    consumer    empty if they were nacked
    deliveries  deliveries before the current one
    left_ms     time until redelivery; negative if it has passed
    """

    partition: int
    first: int
    last: int
    consumer: str
    deliveries: int
    left_ms: int


class ConsumerLine(msgspec.Struct):
    """What a consumer of a key_shared subscription has.

    slots      hash slots of keys, on all partitions together
    waiting    records of its slots that no consumer has; `returned` of them were delivered before
    left_ms    time until its session ends; negative if it has ended; None if it was closed
    """

    consumer: str
    slots: int
    unacknowledged: int
    waiting: int
    returned: int
    left_ms: int | None


class SubscriptionPage(msgspec.Struct):
    topic: str
    name: str
    kind: str
    cursors: list[CursorStats]
    lag: int
    diagnosis: Diagnosis
    consumers: list[ConsumerLine]
    unacked: list[UnackedRange]
    dead_letters: DeadLetterRule | None
    redelivery: RedeliveryRule | None
    may_put_back: bool
    may_seek: bool
    may_delete: bool


@page("subscription", "Subscription", nav="groups", requires=DESCRIBES)
async def subscription(context: PageContext, query: SubscriptionQuery) -> SubscriptionPage:
    stats = await context.broker.subscriptions.stats(query.topic, query.name)
    lag = sum(each.backlog for each in stats.cursors)
    is_group = stats.kind == "kafka"
    leases = [] if is_group else await context.broker.unacked.worst(query.topic, query.name)
    unacked = [
        UnackedRange(p, first, last, who, count, due - context.now_ms) for p, first, last, who, count, due in leases
    ]
    late = sum(each.last - each.first + 1 for each in unacked if each.consumer and each.left_ms <= 0)
    diagnosis = await diagnose(context, stats, None, late)
    dead_letters, may_move = context.broker.dead_letters, may_seek(context, query.topic, query.name)
    takes_letters = (
        any(rule.topic == query.topic for rule in dead_letters.rules.by_subscription.values()) and not is_group
    )
    return SubscriptionPage(
        stats.topic, stats.name, stats.kind, stats.cursors, lag, diagnosis, await _consumers(context, stats),
        unacked[:UNACKED_SHOWN],
        dead_letters.rules.get(stats.topic, stats.topic_id, stats.name),
        context.broker.redelivery.rules.get(stats.topic, stats.topic_id, stats.name),
        takes_letters and may_move, may_move,
        context.may(Op.DELETE, Resource.GROUP, query.name),
    )  # fmt: skip


async def _consumers(context: PageContext, stats: SubscriptionStats) -> list[ConsumerLine]:
    if stats.kind != "key_shared":
        return []
    shares = await context.broker.subscriptions.key_shares(stats.topic, stats.name)
    return [
        ConsumerLine(
            each.consumer, each.slots, each.unacknowledged, each.waiting, each.returned,
            each.session_ends_ms - context.now_ms if each.session_ends_ms else None,
        )
        for each in shares
    ]  # fmt: skip


class DeadLetters(msgspec.Struct):
    """max_deliveries 0 removes the rule."""

    topic: str
    name: str
    max_deliveries: int = 0
    to: str = ""
    retry_topic: str = ""
    max_attempts: int = 0
    expire_ms: int = 0


@action("subscription/dead-letters", "subscription.deadLetters", *ONE, requires=READS)
async def set_dead_letters(context: PageContext, form: DeadLetters) -> ActionResult:
    back = href("subscription", topic=form.topic, name=form.name)
    facts = {"max_deliveries": form.max_deliveries, "to": form.to if form.max_deliveries else ""}
    if form.max_deliveries == 0:
        await context.broker.dead_letters.rules.remove(form.topic, form.name)
        return ActionResult(f"Removed the dead-letter policy of {form.name}.", back, facts=facts)
    context.check(Op.WRITE, Resource.TOPIC, form.to)
    if form.retry_topic:
        context.check(Op.WRITE, Resource.TOPIC, form.retry_topic)
    await context.broker.dead_letters.set(
        form.topic,
        form.name,
        form.max_deliveries,
        form.to,
        retry_topic=form.retry_topic,
        max_attempts=form.max_attempts if form.retry_topic else 0,
        expire_ms=form.expire_ms,
        may_create=partial(context.may_create, form.to),
        may_create_retry=partial(context.may_create, form.retry_topic),
    )
    after = "one delivery" if form.max_deliveries == 1 else f"{form.max_deliveries} deliveries"
    return ActionResult(
        f"{form.name} sends a message to {form.to} after {after} without acknowledgement.", back, facts=facts
    )


class PutBack(msgspec.Struct):
    topic: str
    name: str
    limit: int = 1_000
    reason: str = ""


@action("subscription/put-back", "subscription.putBack", *ONE, requires=READS)
async def put_back(context: PageContext, form: PutBack) -> ActionResult:
    limit = min(max(form.limit, 1), context.broker.config.records_per_request_max)
    by_topic = await context.broker.dead_letters.put_back(
        form.topic, form.name, limit,
        only=PutBackFilter(reason=form.reason or None), may_write=partial(context.may, Op.WRITE, Resource.TOPIC),
    )  # fmt: skip
    done = by_topic.total()
    sentence = f"Put {done} dead letter{'' if done == 1 else 's'} of {form.topic} back to the original topics."
    return ActionResult(sentence, href("subscription", topic=form.topic, name=form.name), facts={"to": by_topic})


class Delete(msgspec.Struct):
    topic: str
    name: str


@action(
    "subscription/delete", "subscription.delete", *ONE,
    requires=(named(Op.DELETE, Resource.GROUP, "name"), named(Op.DESCRIBE, Resource.TOPIC, "topic")),
)  # fmt: skip
async def delete(context: PageContext, form: Delete) -> ActionResult:
    await context.broker.cursors.delete(form.topic, form.name)
    return ActionResult(f"Deleted subscription {form.name} of {form.topic}.", href("topic", name=form.topic))


class DeleteGroup(msgspec.Struct):
    name: str


@action("group/delete", "group.delete", "name", requires=named(Op.DELETE, Resource.GROUP, "name"))
async def delete_group(context: PageContext, form: DeleteGroup) -> ActionResult:
    await context.broker.groups.delete(form.name)
    return ActionResult(f"Deleted group {form.name} and its offsets.", href("groups"))
