"""Health findings of the overview page, the most severe first.

    facts ─▶ findings

A finding states the problem, its age and whom it affects, and links to the page where it can be resolved.
Pure.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from redis_ledger.app.console.pages import href
from redis_ledger.app.console.rendering import counted, duration, number

Level = Literal["bad", "look", "good"]
HELD_MS_LOOK, HELD_MS_BAD = 5_000, 30_000
LAG_LOOK = 1_000
OVERDUE_MS_LOOK = 5_000
MEMORY_LOOK, MEMORY_BAD = 0.8, 0.95
OF_A_KIND_MAX = 3
LOST_MS_SHOWN = 86_400_000


class Finding(msgspec.Struct):
    level: Level
    text: str
    link: str = ""


class BlockedPartition(msgspec.Struct):
    """A partition whose read_committed consumers wait for a transaction.

    records   records above the last stable offset
    since_ms  age of the transaction
    """

    topic: str
    partition: int
    records: int
    transaction: str
    owner: str
    since_ms: int
    status: str = "open"


class ConsumerLag(msgspec.Struct):
    """The lag of a subscription or consumer group on a topic."""

    topic: str
    name: str
    kind: str
    lag: int
    is_exact: bool = True  # False: an upper bound


class LostPartition(msgspec.Struct):
    """Offsets of a partition that Redis has lost, from first to last."""

    topic: str
    partition: int
    first: int
    last: int


class Facts(msgspec.Struct):
    """Input of `findings`.

    lost        offsets that Redis has lost, as this broker found
    lost_ms     since then; None if nothing was lost

    memory      used part of Redis's maxmemory; None without maxmemory
    overdue     number of overdue scheduled records
    overdue_ms  delay of the most overdue one
    """

    brokers: int
    topics: int
    held: list[BlockedPartition] = []
    behind: list[ConsumerLag] = []
    overdue: int = 0
    overdue_ms: int = 0
    memory: float | None = None
    durability: str = ""
    unfit: str = ""  # why writes to Redis are refused
    unread: int = 0  # topics that could not be read
    is_cut: bool = False  # the cluster is larger than the snapshot
    sees_all: bool = True  # the caller may describe the cluster
    open_brokers: int = 0  # brokers without authentication, beside brokers with it
    lost: list[LostPartition] = []
    lost_ms: int | None = None


def findings(facts: Facts) -> list[Finding]:
    """The most severe first; at most OF_A_KIND_MAX of each kind, and one for the rest of the kind."""
    found = [*_lost(facts), *_held(facts), *_consumer_lag(facts), *_rest(facts)]
    if not found:
        what = counted(facts.topics, "topic")
        who = "1 broker serves" if facts.brokers == 1 else f"{facts.brokers} brokers serve"
        if not facts.topics and not facts.sees_all:
            return [Finding("look", f"{who}. There are no topics that you may describe (DESCRIBE on the topic).")]
        if not facts.topics:
            return [Finding("good", f"{who} no topics yet. Create a topic, or produce to one.", href("topics"))]
        part = " among the topics read" if facts.is_cut else "" if facts.sees_all else " among your topics"
        return [Finding("good", f"No problems found{part}: {who} {what}.")]
    return _worst_first(found)


def _lost(facts: Facts) -> list[Finding]:
    """What Redis lost within LOST_MS_SHOWN."""
    if facts.lost_ms is None or facts.lost_ms > LOST_MS_SHOWN:
        return []
    text = f"Redis came back with older data {duration(facts.lost_ms)} ago."
    if not facts.lost:
        return [Finding("bad", f"{text} Acknowledgements, topics or transactions are lost.", href("brokers"))]
    some = ", ".join(
        f"{each.topic}:{each.partition} ({each.first} to {each.last})" for each in facts.lost[:OF_A_KIND_MAX]
    )
    rest = len(facts.lost) - OF_A_KIND_MAX
    more = f" and {counted(rest, 'more partition')}" if rest > 0 else ""
    records = counted(sum(each.last - each.first + 1 for each in facts.lost), "record")
    return [Finding("bad", f"{text} {records} lost, offsets of {some}{more}.", href("brokers"))]


def _worst_first(found: list[Finding]) -> list[Finding]:
    order = {"bad": 0, "look": 1, "good": 2}
    return sorted(found, key=lambda each: order[each.level])


def _held(facts: Facts) -> list[Finding]:
    """One finding for all transactions that block a topic, and for a transaction that blocks several topics."""
    by_transaction: dict[str, list[BlockedPartition]] = {}
    for each in facts.held:
        if each.since_ms >= HELD_MS_LOOK:
            by_transaction.setdefault(each.transaction, []).append(each)
    by_topic: dict[str, list[BlockedPartition]] = {}
    for held in by_transaction.values():
        by_topic.setdefault(held[0].topic, []).extend(held)
    told = sorted(by_topic.values(), key=lambda held: -max(each.since_ms for each in held))
    found = [_waits(held) for held in told]
    if len(found) <= OF_A_KIND_MAX:
        return found
    rest = counted(len(found) - OF_A_KIND_MAX, "more topic")
    level = found[OF_A_KIND_MAX].level
    return [
        *found[:OF_A_KIND_MAX],
        Finding(level, f"Open transactions block read_committed consumers of {rest}.", href("transactions")),
    ]


def _waits(held: list[BlockedPartition]) -> Finding:
    oldest = max(held, key=lambda each: each.since_ms)
    others = len({each.transaction for each in held}) - 1
    topics = {each.topic for each in held}
    where = held[0].topic if len(topics) == 1 else f"{held[0].topic} and other topics"
    who = f" of {oldest.owner}" if oldest.owner else ""
    since = duration(oldest.since_ms)
    stands = (
        f"has been open for {since}" if oldest.status == "open"
        else f"began {since} ago and is still {oldest.status}"
    )  # fmt: skip
    more = f" ({counted(others, 'newer transaction')} also open)" if others else ""
    records = counted(sum(each.records for each in held), "record")
    return Finding(
        "bad" if oldest.since_ms >= HELD_MS_BAD else "look",
        f"Consumers of {where} are blocked: transaction {oldest.transaction}{who} {stands}{more}; "
        f"{records} not readable.",
        href("transaction", id=oldest.transaction),
    )


def _consumer_lag(facts: Facts) -> list[Finding]:
    late = sorted((each for each in facts.behind if each.lag >= LAG_LOOK), key=lambda one: -one.lag)
    found = []
    for each in late[:OF_A_KIND_MAX]:
        what = "Group" if each.kind == "kafka" else "Subscription"
        link = (
            href("group", name=each.name) if each.kind == "kafka"
            else href("subscription", topic=each.topic, name=each.name)
        )  # fmt: skip
        text = f"{what} {each.name} lags by {counted(each.lag, 'record')} on {each.topic}."
        found.append(Finding("look", text, link))
    if rest := len(late) - len(found):
        text = f"{counted(rest, 'more subscription or group', 'more subscriptions and groups')} "
        lag = "lags" if rest == 1 else "lag"
        found.append(Finding("look", f"{text}{lag} by at least {number(LAG_LOOK)} records.", href("groups")))
    return found


def _rest(facts: Facts) -> list[Finding]:
    found = []
    if facts.unfit:
        found.append(Finding("bad", facts.unfit, href("brokers")))
    if facts.open_brokers:
        who = "1 broker does" if facts.open_brokers == 1 else f"{facts.open_brokers} brokers do"
        text = f"{who} not authenticate clients, so ACLs have no effect there: auth_required is off."
        found.append(Finding("bad", text, href("brokers")))
    if facts.overdue and facts.overdue_ms >= OVERDUE_MS_LOOK:
        are = "is" if facts.overdue == 1 else "are"
        what = counted(facts.overdue, "scheduled record")
        text = f"{what} {are} overdue, by up to {duration(facts.overdue_ms)}."
        found.append(Finding("bad", text, href("scheduled")))
    if facts.memory is not None and facts.memory >= MEMORY_LOOK:
        level: Level = "bad" if facts.memory >= MEMORY_BAD else "look"
        text = f"Redis uses {facts.memory:.0%} of maxmemory; at 100 % it rejects writes."
        found.append(Finding(level, text, href("brokers")))
    if facts.durability in ("lossy", "unknown"):
        word = "may lose acknowledged writes" if facts.durability == "lossy" else "does not report its durability"
        found.append(Finding("look", f"Redis {word} (durability: {facts.durability}).", href("brokers")))
    if facts.unread:
        text = f"{counted(facts.unread, 'topic')} could not be read."
        found.append(Finding("look", text, href("topics")))
    if not facts.brokers:
        found.append(Finding("bad", "No broker sends heartbeats.", href("brokers")))
    return found
