"""What a person would say of the state of things: a few sentences, the worst first, each with where to look.

    facts ─▶ sentences        nothing to say: "All is well."

A sentence names what is wrong, since when and for whom, and its link leads to the page where something can be done.
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


class Sentence(msgspec.Struct):
    level: Level
    text: str
    link: str = ""


class Held(msgspec.Struct):
    """A partition whose readers wait.  records: behind the stable position; status, since_ms: of the transaction, and
    its age."""

    topic: str
    partition: int
    records: int
    transaction: str
    owner: str
    since_ms: int
    status: str = "open"


class Behind(msgspec.Struct):
    """A subscription or group with records to get."""

    topic: str
    name: str
    kind: str
    lag: int
    is_exact: bool = True  # False: an upper bound


class Facts(msgspec.Struct):
    """memory: part of Redis's maxmemory in use, None without one.  overdue: scheduled records that are late, and by
    how much the latest."""

    brokers: int
    topics: int
    held: list[Held] = []
    behind: list[Behind] = []
    overdue: int = 0
    overdue_ms: int = 0
    memory: float | None = None
    durability: str = ""
    unfit: str = ""  # why writes to Redis are refused
    unread: int = 0  # topics that could not be looked at
    is_cut: bool = False  # there is more than was looked at
    sees_all: bool = True  # there may be more that the visitor may not see
    open_brokers: int = 0  # that let in everybody beside those that do not


def sentences(facts: Facts) -> list[Sentence]:
    """The worst first; of each kind OF_A_KIND_MAX, and one for all others of it."""
    found = [*_held(facts), *_behind(facts), *_rest(facts)]
    if not found:
        what = counted(facts.topics, "topic")
        who = "1 broker serves" if facts.brokers == 1 else f"{facts.brokers} brokers serve"
        if not facts.topics and not facts.sees_all:
            return [Sentence("look", f"{who}, and there is no topic that you may see (DESCRIBE on the topic).")]
        if not facts.topics:
            return [Sentence("good", f"{who} an empty log: make a topic, or produce to one.", href("topics"))]
        all_of_it = "What could be looked at" if facts.is_cut else "All" if facts.sees_all else "What you may see"
        return [Sentence("good", f"{all_of_it} is well: {who} {what}, nobody is held up and nothing is late.")]
    return _worst_first(found)


def _worst_first(found: list[Sentence]) -> list[Sentence]:
    order = {"bad": 0, "look": 1, "good": 2}
    return sorted(found, key=lambda each: order[each.level])


def _held(facts: Facts) -> list[Sentence]:
    """One sentence for the transactions that hold up a topic, and for a transaction that holds up several."""
    by_transaction: dict[str, list[Held]] = {}
    for each in facts.held:
        if each.since_ms >= HELD_MS_LOOK:
            by_transaction.setdefault(each.transaction, []).append(each)
    by_topic: dict[str, list[Held]] = {}
    for held in by_transaction.values():
        by_topic.setdefault(held[0].topic, []).extend(held)
    told = sorted(by_topic.values(), key=lambda held: -max(each.since_ms for each in held))
    found = [_waits(held) for held in told]
    if len(found) <= OF_A_KIND_MAX:
        return found
    rest = counted(len(found) - OF_A_KIND_MAX, "more topic")
    level = found[OF_A_KIND_MAX].level
    return [*found[:OF_A_KIND_MAX], Sentence(level, f"Readers of {rest} wait for transactions.", href("transactions"))]


def _waits(held: list[Held]) -> Sentence:
    oldest = max(held, key=lambda each: each.since_ms)
    others = len({each.transaction for each in held}) - 1
    topics = {each.topic for each in held}
    where = held[0].topic if len(topics) == 1 else f"{held[0].topic} and other topics"
    who = f" of {oldest.owner}" if oldest.owner else ""
    since = duration(oldest.since_ms)
    stands = (
        f"has been open for {since}" if oldest.status == "open"
        else f"was begun {since} ago, and is {oldest.status} still"
    )  # fmt: skip
    more = f", with {counted(others, 'younger one')}," if others else ""
    records = counted(sum(each.records for each in held), "record")
    return Sentence(
        "bad" if oldest.since_ms >= HELD_MS_BAD else "look",
        f"Readers of {where} wait: transaction {oldest.transaction}{who} {stands} and{more} holds up {records}.",
        href("transaction", id=oldest.transaction),
    )


def _behind(facts: Facts) -> list[Sentence]:
    late = sorted((each for each in facts.behind if each.lag >= LAG_LOOK), key=lambda one: -one.lag)
    found = []
    for each in late[:OF_A_KIND_MAX]:
        what = "Group" if each.kind == "kafka" else "Subscription"
        link = (
            href("group", name=each.name) if each.kind == "kafka"
            else href("subscription", topic=each.topic, name=each.name)
        )  # fmt: skip
        text = f"{what} {each.name} is {counted(each.lag, 'record')} behind on {each.topic}."
        found.append(Sentence("look", text, link))
    if rest := len(late) - len(found):
        text = f"{counted(rest, 'more subscription or group', 'more subscriptions and groups')} "
        are = "is" if rest == 1 else "are"
        found.append(Sentence("look", f"{text}{are} {number(LAG_LOOK)} records behind, or more.", href("groups")))
    return found


def _rest(facts: Facts) -> list[Sentence]:
    found = []
    if facts.unfit:
        found.append(Sentence("bad", facts.unfit, href("brokers")))
    if facts.open_brokers:
        who = "1 broker asks" if facts.open_brokers == 1 else f"{facts.open_brokers} brokers ask"
        text = f"{who} nobody who they are, so rules keep nobody out: an older release, or one without auth_required."
        found.append(Sentence("bad", text, href("brokers")))
    if facts.overdue and facts.overdue_ms >= OVERDUE_MS_LOOK:
        are = "is" if facts.overdue == 1 else "are"
        what = counted(facts.overdue, "scheduled record")
        text = f"{what} {are} late, the latest by {duration(facts.overdue_ms)}."
        found.append(Sentence("bad", text, href("scheduled")))
    if facts.memory is not None and facts.memory >= MEMORY_LOOK:
        level: Level = "bad" if facts.memory >= MEMORY_BAD else "look"
        text = f"Redis uses {facts.memory:.0%} of the memory it may have; at 100 % it takes no more records."
        found.append(Sentence(level, text, href("brokers")))
    if facts.durability in ("lossy", "unknown"):
        word = "may lose what it has answered" if facts.durability == "lossy" else "does not tell whether it keeps data"
        found.append(Sentence("look", f"This Redis {word}: durability is {facts.durability}.", href("brokers")))
    if facts.unread:
        text = f"{counted(facts.unread, 'topic')} could not be read just now."
        found.append(Sentence("look", text, href("topics")))
    if not facts.brokers:
        found.append(Sentence("bad", "No broker is heard of: their heartbeats do not arrive.", href("brokers")))
    return found
