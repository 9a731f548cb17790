"""What a person would say of the state of things: a few sentences, the worst first, each with where to look.

    facts ─▶ sentences        nothing to say: "All is well."

A sentence names what is wrong, since when and for whom, and its link leads to the page where something can be done.
Pure.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from app.console.pages import href
from app.console.rendering import duration, number

Level = Literal["bad", "look", "good"]
HELD_MS_LOOK, HELD_MS_BAD = 5_000, 30_000
LAG_LOOK = 1_000
OVERDUE_MS_LOOK = 5_000
MEMORY_LOOK, MEMORY_BAD = 0.8, 0.95
SENTENCES_MAX = 6


class Sentence(msgspec.Struct):
    level: Level
    text: str
    link: str = ""


class Held(msgspec.Struct):
    """A partition whose readers wait.  records: behind the stable position; since_ms: age of the transaction."""

    topic: str
    partition: int
    records: int
    transaction: str
    owner: str
    since_ms: int


class Behind(msgspec.Struct):
    """A subscription or group with records to get.  consumers: None where that is not known."""

    topic: str
    name: str
    kind: str
    lag: int
    consumers: int | None


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
    unread: int = 0  # topics that could not be looked at


def sentences(facts: Facts) -> list[Sentence]:
    """At most SENTENCES_MAX, the worst first."""
    found = [*_held(facts), *_behind(facts), *_rest(facts)]
    if not found:
        what = f"{number(facts.topics)} topic{'s' if facts.topics != 1 else ''}"
        who = "1 broker serves" if facts.brokers == 1 else f"{facts.brokers} brokers serve"
        if not facts.topics:
            return [Sentence("good", f"{who} an empty log: make a topic, or produce to one.", href("topics"))]
        return [Sentence("good", f"All is well: {who} {what}, nobody is held up and nothing is late.")]
    order = {"bad": 0, "look": 1, "good": 2}
    return sorted(found, key=lambda each: order[each.level])[:SENTENCES_MAX]


def _held(facts: Facts) -> list[Sentence]:
    """One sentence a transaction, whatever number of partitions it holds up."""
    by_transaction: dict[str, list[Held]] = {}
    for each in facts.held:
        if each.since_ms >= HELD_MS_LOOK:
            by_transaction.setdefault(each.transaction, []).append(each)
    found = []
    for transaction, held in by_transaction.items():
        first = held[0]
        records = sum(each.records for each in held)
        where = first.topic if len({each.topic for each in held}) == 1 else f"{first.topic} and other topics"
        who = f" of {first.owner}" if first.owner else ""
        found.append(
            Sentence(
                "bad" if first.since_ms >= HELD_MS_BAD else "look",
                f"Readers of {where} wait: transaction {transaction}{who} has been open for {duration(first.since_ms)} "
                f"and holds up {number(records)} record{'s' if records != 1 else ''}.",
                href("transaction", id=transaction),
            )
        )
    return found


def _behind(facts: Facts) -> list[Sentence]:
    found = []
    for each in sorted(facts.behind, key=lambda one: -one.lag):
        is_alone = each.consumers == 0 and each.lag > 0
        if each.lag < LAG_LOOK and not is_alone:
            continue
        what = "Group" if each.kind == "kafka" else "Subscription"
        nobody = ", and nobody consumes it" if is_alone else ""
        link = (
            href("group", name=each.name) if each.kind == "kafka"
            else href("subscription", topic=each.topic, name=each.name)
        )  # fmt: skip
        text = f"{what} {each.name} is {number(each.lag)} record{'s' if each.lag != 1 else ''} behind on {each.topic}"
        found.append(Sentence("look", f"{text}{nobody}.", link))
    return found


def _rest(facts: Facts) -> list[Sentence]:
    found = []
    if facts.overdue and facts.overdue_ms >= OVERDUE_MS_LOOK:
        what = "1 scheduled record is" if facts.overdue == 1 else f"{number(facts.overdue)} scheduled records are"
        text = f"{what} late, the latest by {duration(facts.overdue_ms)}."
        found.append(Sentence("bad", text, href("scheduled")))
    if facts.memory is not None and facts.memory >= MEMORY_LOOK:
        level: Level = "bad" if facts.memory >= MEMORY_BAD else "look"
        text = f"Redis uses {facts.memory:.0%} of the memory it may have; at 100 % it takes no more records."
        found.append(Sentence(level, text, href("brokers")))
    if facts.durability in ("lossy", "unknown"):
        word = "may lose what it has answered" if facts.durability == "lossy" else "does not tell whether it keeps data"
        found.append(Sentence("look", f"This Redis {word}: durability is {facts.durability}.", href("brokers")))
    if facts.unread:
        found.append(Sentence("look", f"{number(facts.unread)} topics could not be read just now.", href("topics")))
    if not facts.brokers:
        found.append(Sentence("bad", "No broker is heard of: their heartbeats do not arrive.", href("brokers")))
    return found
