"""Regular expressions over topic names, in time linear in the name whatever the expression.

    (foo|bar)-\\d+   ──parse──▶  tree  ──compile──▶  states  ──step by character──▶  does the whole name match?

A client chooses the expression, so an engine that backtracks would let it stop the broker.  This one follows all states
at once, and remembers where each step led.  Source: K. Thompson, "Regular expression search algorithm" (1968); R. Cox,
"Regular Expression Matching Can Be Simple And Fast" (2007).
"""

from __future__ import annotations

from collections.abc import Iterable

from redis_ledger.errors import InvalidRegex
from redis_ledger.groups.syntax import BIT, WORD, Assert, Both, Chars, Either, Repeat, Tree, Where, parse

PATTERN_CHARS_MAX = 2_000
STATES_MAX = 2_000  # a match costs at most this many steps a character
STEPS_KEPT = 10_000  # steps remembered of one expression


class _State:
    """One place in the expression: a character of `mask` leads to `then`; without a mask, all of `then` at once, if
    `where` holds."""

    __slots__ = ("mask", "then", "where")

    def __init__(self, mask: int | None, where: Where | None, then: tuple[int, ...]) -> None:
        self.mask, self.where, self.then = mask, where, then


ACCEPT = 0


class Pattern:
    """An expression that is ready to match.  Raises InvalidRegex if it is none, or too large."""

    def __init__(self, text: str) -> None:
        if len(text) > PATTERN_CHARS_MAX:
            raise InvalidRegex(f"The expression has {len(text)} characters; at most {PATTERN_CHARS_MAX} are taken.")
        self.text = text
        self._states = [_State(0, None, ())]
        self._work = 0
        self._start = self._emit(parse(text), ACCEPT)
        self._steps: dict[tuple[frozenset[int], int, str], frozenset[int]] = {}

    def _add(self, mask: int | None, where: Where | None, *then: int) -> int:
        self._states.append(_State(mask, where, then))
        return len(self._states) - 1

    def _emit(self, tree: Tree, then: int) -> int:
        """The state where the tree begins, when `then` is what comes after it."""
        self._work += 1
        if self._work > STATES_MAX:
            raise InvalidRegex(f"The expression {self.text[:80]!r} is too large once its repetitions are written out.")
        match tree:
            case Chars(mask):
                return self._add(mask, None, then)
            case Assert(where):
                return self._add(None, where, then)
            case Both(parts):
                for part in reversed(parts):
                    then = self._emit(part, then)
                return then
            case Either(parts):
                return self._add(None, None, *(self._emit(part, then) for part in parts))
            case Repeat(part, least, most):
                entry = then
                if most is None:
                    entry = self._add(None, None)
                    self._states[entry].then = (self._emit(part, entry), then)
                else:
                    for _ in range(most - least):
                        entry = self._add(None, None, self._emit(part, entry), then)
                for _ in range(least):
                    entry = self._emit(part, entry)
                return entry

    def matches(self, name: str) -> bool:
        """Whether the whole name matches.  Cost: O(characters), times states where a step is taken the first time."""
        here = frozenset((self._start,))
        before = 0
        for place, char in enumerate(name):
            bit = BIT.get(char, 0)
            word = 1 if bit & WORD else 0
            where = (Where.BOUNDARY if word != before else Where.INSIDE) | (0 if place else Where.START)
            here = self._step(here, int(where), char)
            if not here:
                return False
            before = word
        where = Where.END | (Where.BOUNDARY if before else Where.INSIDE) | (0 if name else Where.START)
        return ACCEPT in self._closure(here, int(where))

    def _step(self, here: frozenset[int], where: int, char: str) -> frozenset[int]:
        key = (here, where, char)
        found = self._steps.get(key)
        if found is None:
            if len(self._steps) >= STEPS_KEPT:
                self._steps.clear()
            bit, states = BIT.get(char, 0), self._states
            reached = (states[state] for state in self._closure(here, where))
            found = frozenset(state.then[0] for state in reached if state.mask is not None and state.mask & bit)
            self._steps[key] = found
        return found

    def _closure(self, here: Iterable[int], where: int) -> set[int]:
        """All states that are reached without a character."""
        seen, todo = set(here), list(here)
        while todo:
            state = self._states[todo.pop()]
            if state.mask is None and (state.where is None or state.where & where):
                fresh = [one for one in state.then if one not in seen]
                seen.update(fresh)
                todo += fresh
        return seen


class Resolver:
    """The topics an expression matches; a name is tried once while it exists."""

    def __init__(self, pattern: Pattern) -> None:
        self._matches = pattern.matches
        self._tried: dict[str, bool] = {}

    def topics(self, names: Iterable[str]) -> frozenset[str]:
        tried, matches = self._tried, self._matches
        self._tried = {name: tried[name] if name in tried else matches(name) for name in names}
        return frozenset(name for name, is_match in self._tried.items() if is_match)
