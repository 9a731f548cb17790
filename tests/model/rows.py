"""The table of operations: through which door, with which arguments, and what they touch.

draw(known, number)      arguments, from what clients know; None: there is nothing to do it with
perform(session, given)  one request, or those of a client that belong together; the answer
touches(given)           topics and transactions: by these, pairs of operations are counted
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.model.answers import Answer
from tests.model.brokers import KAFKA_ERRORS, Door
from tests.model.steps import Known

Given = dict[str, Any]
DAY_MS = 86_400_000


@dataclass
class Producer:
    """A Kafka producer with a transactional id.  sequences: by topic and partition, the next one."""

    id: int
    epoch: int
    sequences: dict[tuple[str, int], int] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)  # value → sequence: a repetition has the same
    number: int = 1  # of the present transaction


@dataclass
class Session:
    """A client's request: its broker, its number, and what this run has learned.

    ids        names of a program → ids: transactions, scheduled records
    received   step → offsets that it received
    """

    door: Door
    operation: str
    gone: asyncio.Event
    ids: dict[str, str]
    received: dict[int, tuple[int, ...]]
    producers: dict[str, Producer]

    async def rest(
        self, method: str, where: str, body: Any = None, *, key: str = "", value: Callable[[Any], Any] = lambda b: None
    ) -> Answer:
        status, answer = await self.door.rest(self.operation, method, where, body, key=key, gone=self.gone)
        return Answer("ok", value(answer)) if status < 300 else Answer(answer["code"])

    async def kafka(self, message: Any, version: int) -> Any:
        return await self.door.kafka(self.operation, message, version, gone=self.gone)


@dataclass(frozen=True)
class Row:
    """operation: its name in spec.  door: REST or Kafka.  weight: how often it is drawn.  is_repeated: its client
    repeats it when the answer was lost.  uses: arguments that name what an earlier step has made."""

    name: str
    operation: str
    door: str
    weight: float
    draw: Callable[[Known, int], Given | None]
    perform: Callable[[Session, Given], Awaitable[Answer]]
    is_repeated: bool = False
    uses: tuple[str, ...] = ("txn",)

    def touches(self, given: Given) -> set[str]:
        found = {f"topic {given['topic']}"} if given.get("topic") else set()
        found |= {f"topic {topic}" for topic, *_ in given.get("writes", ())}
        found |= {f"topic {topic}" for topic in given.get("topics", ())}
        if given.get("txn") and "txn" in self.uses:
            name, is_kafka, _ = given["txn"].partition("#")
            found.add(f"producer {name}" if is_kafka else f"transaction {name}")
        return found


ROWS: dict[str, Row] = {}


def row(
    name: str, operation: str, door: str, weight: float, draw: Callable[[Known, int], Given | None],
    is_repeated: bool = False, uses: tuple[str, ...] = ("txn",),
) -> Callable[[Callable[[Session, Given], Awaitable[Answer]]], Any]:  # fmt: skip
    def note(perform: Callable[[Session, Given], Awaitable[Answer]]) -> Any:
        ROWS[name] = Row(name, operation, door, weight, draw, perform, is_repeated, uses)
        return perform

    return note


def kafka_answer(code: int, value: Any = None) -> Answer:
    name = KAFKA_ERRORS.get(code, f"kafka_{code}")
    return Answer("ok", value) if name == "ok" else Answer(name)


def a_topic(known: Known, number: int) -> Given | None:
    topic = known.topic()
    return {"topic": topic} if topic else None


def a_partition(known: Known, number: int) -> Given | None:
    topic = known.topic()
    return {"topic": topic, "partition": known.partition(topic)} if topic else None


def some_records(known: Known, number: int) -> Given | None:
    given = a_partition(known, number)
    if given is None:
        return None
    count = known.rng.choice((1, 1, 1, 2, 3))
    return {**given, "values": tuple(f"v{number}.{n}" for n in range(count))}


def base_offset(body: Any) -> int:
    return int(body["results"][0]["base_offset"])


def texts(values: Iterable[str]) -> list[dict[str, str]]:
    return [{"text": value} for value in values]
