"""Pauses of Redis: time without responses does not count against sessions and timeouts.

    look     replies  silent  silent  silent  replies
             ·········|began ················|ended        a pause of three looks

A node is silent while a call waits for its reply, and while it has no connection.  Only brokers with calls notice a
pause: a heartbeat each second at the node of the catalog, sweeps at the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from time import monotonic
from typing import NamedTuple

PAUSE_S_MIN = 1.0  # shorter pauses are covered by the timeouts, which are longer


class Pause(NamedTuple):
    """Seconds ago.  ended 0: it may continue."""

    began_s: float
    ended_s: float


class Pauses:
    """The pauses of one Redis.  The last pause of any node counts for all: after a failover another node replies."""

    def __init__(self, now_s: Callable[[], float] = monotonic) -> None:
        self._now_s = now_s
        self._answered: dict[Hashable, float] = {}  # node → last look at which it was not silent
        self._silent: dict[Hashable, float] = {}  # node → begin of its silence
        self._last: tuple[float, float] | None = None

    def look(self, node: Hashable, *, is_silent: bool) -> None:
        """Call it for each node several times a second."""
        now = self._now_s()
        if is_silent:
            self._silent.setdefault(node, self._answered.get(node, now))
        else:
            self._end(node, now)
            self._answered[node] = now

    def forget(self, node: Hashable) -> None:
        """Removes a node that has left this Redis."""
        self._end(node, self._now_s())
        self._answered.pop(node, None)

    def last(self, node: Hashable) -> Pause | None:
        """Returns the current pause of this node, else the last of any node; None: there was none."""
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
