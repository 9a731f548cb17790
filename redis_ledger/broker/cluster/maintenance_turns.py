"""Whose turn it is to look after a partition.

    its keeper, as a rule the leader that Metadata names    every own_s
    every other broker                                      every others_s

So a partition is looked after by one broker.  When that dies, another is the leader after a few seconds, and has its
turn as soon as own_s have passed since it looked itself.  A broker may be alive and look after nothing, so the others
look as well, but rarely.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import NamedTuple

SPREAD = 0.25  # of a period: the turns of partitions that came together drift apart


class Place(NamedTuple):
    topic: str
    topic_id: str
    number: int


class MaintenanceTurns:
    """keeps: whether this broker is the keeper of a topic's partition."""

    def __init__(self, keeps: Callable[[str, int], bool], own_s: float, others_s: float) -> None:
        self._keeps, self._own_s, self._others_s = keeps, own_s, others_s
        self._looked_s: dict[Place, float] = {}

    def is_own(self, place: Place) -> bool:
        return self._keeps(place.topic, place.number)

    def is_due(self, place: Place, now_s: float) -> bool:
        is_own, looked_s = self.is_own(place), self._looked_s.get(place)
        if looked_s is not None:
            return now_s - looked_s >= (self._own_s if is_own else self._others_s)
        if not is_own:  # those of a broker that starts come one by one
            self._looked_s[place] = now_s - random.random() * self._others_s
        return is_own

    def took(self, place: Place, now_s: float) -> None:
        self._looked_s[place] = now_s - random.random() * SPREAD * self._own_s

    def forget_others(self, there: Iterable[Place]) -> None:
        """Partitions that are not among these are gone."""
        known = self._looked_s
        self._looked_s = {place: known[place] for place in there if place in known}
