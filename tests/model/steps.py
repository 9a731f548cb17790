"""A program of steps: what a history runs.  It names what does not exist yet, so it can be replayed and shortened.

Step(3, "begin")                                    the transaction is t3 from now on
Step(5, "produce_in", txn="t3", values=("v5",))     left out if step 3 was left out
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.model.answers import TOPICS
from tests.model.held_store import When

Fate = Literal["answered", "abandoned", "crashed"]
Offsets = tuple[int, ...]


@dataclass(frozen=True)
class Hold:
    """The broker stands still at this call of the operation, from 1, until `steps` later steps were started."""

    call: int
    when: When
    steps: int


@dataclass(frozen=True)
class Step:
    """fate      abandoned: the client gives up while the broker is held; crashed: the broker dies there
    repeats   an earlier step, whose request is sent again
    """

    number: int
    row: str
    arguments: Mapping[str, Any]
    broker: int = 0
    hold: Hold | None = None
    fate: Fate = "answered"
    repeats: int | None = None

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        hold = ""
        if self.hold is not None:
            hold = f"  held {self.hold.when} call {self.hold.call} for {self.hold.steps} steps"
        fate = "" if self.fate == "answered" else f", {self.fate}"
        again = "" if self.repeats is None else f"  repeats {self.repeats}"
        return f"{self.number:3} broker {self.broker}  {self.row}({given}){hold}{fate}{again}"


@dataclass(eq=False)
class Story:
    """A step whose answer was lost.  left: "repeat", or rows that change its topic, in their order."""

    step: Step
    left: list[str]


@dataclass
class Known:
    """What the clients of a history know while its steps are drawn.

    topics     name → partitions, as last heard of
    open       transactions that were not ended
    ended      transactions that were ended, for late requests
    written    transactions → topics that they have written to
    owed       what is left to happen to clients whose answers were lost
    received   messages that a consumer has, by the step that received them
    groups     topics, partitions and groups of offsets that were sent
    kafka      transactional ids → number of the present transaction, and whether it has records
    busy       transactional ids whose producer waits for an answer
    """

    rng: random.Random
    topics: dict[str, int] = field(default_factory=dict)
    buffers: dict[str, str] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    written: dict[str, set[str]] = field(default_factory=dict)
    scheduled: list[tuple[str, str]] = field(default_factory=list)  # topic, value
    owed: list[Story] = field(default_factory=list)
    subscriptions: list[tuple[str, str]] = field(default_factory=list)
    received: dict[int, dict[str, Any]] = field(default_factory=dict)
    groups: set[tuple[str, int, str]] = field(default_factory=set)
    kafka: dict[str, tuple[int, bool]] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)

    def topic(self) -> str | None:
        """One of those that exist; now and then another."""
        if self.rng.random() < 0.03:
            return self.rng.choice(TOPICS)
        return self.rng.choice(list(self.topics)) if self.topics else None

    def partition(self, topic: str) -> int:
        return self.rng.randrange(self.topics.get(topic, 1) + (self.rng.random() < 0.02))

    def ending(self, txn: str, outcome: str) -> dict[str, Any]:
        return {"txn": txn, "outcome": outcome, "topics": tuple(sorted(self.written.get(txn, ())))}

    def pick(self, values: Sequence[Any]) -> Any:
        return self.rng.choice(list(values)) if values else None
