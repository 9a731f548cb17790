"""Whether an order of the operations explains every answer of a history: linearizability.

    time ──────────────────────────────────────────────────▶
    produce a      |──────────x──|                           an operation takes effect at one moment x between its
    delete t            |──x─────────────|                   request and its answer;
    produce b                 |─────────────── ? ─── gone    without one: until its broker is done with it, or never

A configuration is a state and the parts of pending operations that have taken effect in it.  When an operation returns,
each configuration is extended by pending parts, in each order, until that operation has taken effect with its answer.
If none is left, the answers contradict each other.  Parts that nothing has forced yet stay pending, so there are
few configurations.
Source: Wing and Gong, "Testing and verifying concurrent objects"; Lowe's just-in-time linearization.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from tests.model.answers import LOST, Answer, Arguments, Part
from tests.model.spec import PARTS, READS, step, touched
from tests.model.state import State, named

CONFIGURATIONS_MAX = 20_000


@dataclass(eq=False)
class Call:
    """One operation of a history.  arguments: as they were sent.  answer: empty if it was lost."""

    number: int
    operation: str
    arguments: Arguments
    broker: int
    answer: Answer = LOST

    def __str__(self) -> str:
        given = " ".join(f"{name}={value}" for name, value in self.arguments.items())
        return f"{self.number}: {self.operation} {given} at {self.broker} -> {self.answer.code or 'lost'}" + (
            f" {self.answer.value}" if self.answer.value is not None else ""
        )


class Event(NamedTuple):
    """invoke: it was sent; return: it was answered; gone: it was not, and its broker is done with it."""

    kind: Literal["invoke", "return", "gone"]
    call: Call
    at_ms: int


@dataclass(frozen=True)
class Failure:
    """An answer that no order explains.  states: the possible ones before it."""

    call: Call
    states: Sequence[State]
    reason: str = "no order of the operations explains this answer"

    @property
    def kind(self) -> str:
        """Failures of one kind count as the same one while a history is made small."""
        return f"{self.call.operation} {self.call.answer.code}"


class Pending(NamedTuple):
    call: Call
    part: Part
    number: int  # of the part


Done = frozenset[tuple[int, int]]  # call and part
Configuration = tuple[State, Done]


class TooManyConfigurations(Exception):
    """The history leaves too much open to be checked."""


def check(events: Sequence[Event]) -> Failure | None:
    configurations: list[Configuration] = [(State(), frozenset())]
    pending: dict[int, list[Pending]] = {}
    for event in events:
        call = event.call
        if event.kind == "invoke":
            parts = PARTS[call.operation](call.arguments) if call.operation in PARTS else [call.arguments]
            pending[call.number] = [Pending(call, part, number) for number, part in enumerate(parts)]
            continue
        if event.kind == "return":
            if call.answer.code == "internal_error":
                return Failure(call, [s for s, _ in configurations], "no request may end with internal_error")
            found = _extended(configurations, pending, call, event.at_ms)
            if not found:
                return Failure(call, [s for s, _ in configurations])
            configurations = found
        elif call.operation not in READS:  # it has taken effect by now, or never
            configurations = [*configurations, *_extended(configurations, pending, call, event.at_ms)]
        del pending[call.number]
        merged = {}
        for state, done in configurations:
            left = frozenset(each for each in done if each[0] != call.number)
            merged[state.fingerprint, left] = state, left
        configurations = list(merged.values())
    return None


def _extended(
    configurations: Sequence[Configuration], pending: dict[int, list[Pending]], call: Call, at_ms: int
) -> list[Configuration]:
    """All configurations in which the call has taken effect."""
    wanted = frozenset((call.number, each.number) for each in pending[call.number])
    open_parts, names = _related(configurations, pending, call)
    stack = [(replace(state, now_ms=at_ms), done) for state, done in configurations]
    seen: set[Any] = set()
    found = []
    while stack:
        state, done = stack.pop()
        known = state.fingerprint, done
        if known in seen:
            continue
        seen.add(known)
        if len(seen) > CONFIGURATIONS_MAX:
            raise TooManyConfigurations(str(call))
        if wanted <= done:
            found.append((state, done))
            continue
        for each in open_parts:
            key = each.call.number, each.number
            if key in done or not _may_begin(each, done):
                continue
            stack += [(s, done | {key}) for s in step(each.call.operation, state, each.part, each.call.answer)]
        stack += [(moved, done) for moved in state.moves(names)]
    # What happens by itself can happen later as well, so the state before it stands for the one after it.
    later = {(moved.fingerprint, done) for state, done in found for moved in state.moves(names)}
    return [each for each in found if (each[0].fingerprint, each[1]) not in later]


def _related(
    configurations: Sequence[Configuration], pending: dict[int, list[Pending]], call: Call
) -> tuple[list[Pending], set[str]]:
    """The pending parts that can change what this call finds, and the partitions and transactions that are touched: all
    others can wait for their own turn."""
    places = {
        (key, named(place)) for state, _ in configurations for key, txn in state.txns.items() for place in txn.places
    }
    names = set().union(*(touched(each.call.operation, each.part) for each in pending[call.number]))
    while True:
        near = [each for parts in pending.values() for each in parts if each.call is call or _has_turn(each)]
        parts = [each for each in near if each.call is call or names & touched(each.call.operation, each.part)]
        more = names.union(*(touched(each.call.operation, each.part) for each in parts))
        more |= {name for pair in places if more.intersection(pair) for name in pair}
        if more == names:
            return parts, names
        names = more


def _has_turn(each: Pending) -> bool:
    """Whether it matters if this part comes before another one.  A read whose answer was lost says nothing; and what is
    applied stays so, unless a late request of a Kafka producer begins the transaction."""
    if each.call.operation in READS:
        return bool(each.call.answer.code)
    return each.part.get("part") != "applied" or "#" in each.part.get("txn", "")


def _may_begin(each: Pending, done: Done) -> bool:
    """Parts with a name of their own that decide, or are the end, come after those before them."""
    if each.part.get("part") not in ("decided", "applied"):
        return True
    if each.call.answer.code != "ok" and each.part["part"] == "decided":
        return True
    return all((each.call.number, number) in done for number in range(each.number))
