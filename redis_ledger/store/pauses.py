"""Pauses of Redis: time without responses does not count against sessions and timeouts.

    look     answers  silent  silent  silent  answers
             ·········|began ················|ended        a pause of three looks

A node is silent while something was sent to it and nothing came back, and while it has no connection.  Pauses are known
to the brokers that had something to ask: a heartbeat each second at the node of the catalog, sweeps at the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from time import monotonic
from typing import NamedTuple

PAUSE_S_MIN = 1.0  # shorter ones are left to the timeouts, which are longer


class Pause(NamedTuple):
    """Seconds ago.  ended 0: it may last still."""

    began_s: float
    ended_s: float


class Pauses:
    """Of the nodes of one Redis.  The last pause of any node counts for all: after a failover another node answers."""

    def __init__(self, now_s: Callable[[], float] = monotonic) -> None:
        self._now_s = now_s
        self._answered: dict[Hashable, float] = {}  # node → the last look at which it was not silent
        self._silent: dict[Hashable, float] = {}  # node → since when it has been
        self._last: tuple[float, float] | None = None

    def look(self, node: Hashable, *, is_silent: bool) -> None:
        """Is called for each node, several times a second."""
        now = self._now_s()
        if is_silent:
            self._silent.setdefault(node, self._answered.get(node, now))
        else:
            self._end(node, now)
            self._answered[node] = now

    def forget(self, node: Hashable) -> None:
        """It is not a node of this Redis any more."""
        self._end(node, self._now_s())
        self._answered.pop(node, None)

    def last(self, node: Hashable) -> Pause | None:
        """The pause that this node is in, else the last of any node; None: there was none."""
        now = self._now_s()
        began = self._silent.get(node)
        if began is not None and now - began >= PAUSE_S_MIN:
            return Pause(now - began, 0.0)
        return None if self._last is None else Pause(now - self._last[0], now - self._last[1])

    def _end(self, node: Hashable, now: float) -> None:
        began = self._silent.pop(node, now)
        if now - began >= PAUSE_S_MIN:
            if self._last is not None and began <= self._last[1]:
                began = min(began, self._last[0])
            self._last = (began, now)
