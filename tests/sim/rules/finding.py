"""Finding: what a rule reports.  A rule has the name of its function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import NamedTuple

from tests.sim.history import History
from tests.sim.recorder import Event

EVENTS_MAX = 8


class Finding(NamedTuple):
    rule: str
    text: str
    events: Sequence[Event]


Rule = Callable[[History], Iterable[Finding]]


def rule(check: Callable[[History], Iterator[tuple[str, Sequence[Event]]]]) -> Rule:
    """Makes a rule of a function that yields sentences with their events."""

    @wraps(check)
    def run(history: History) -> Iterator[Finding]:
        for text, events in check(history):
            yield Finding(check.__name__, text, list(events)[:EVENTS_MAX])

    return run
