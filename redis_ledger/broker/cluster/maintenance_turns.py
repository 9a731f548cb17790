"""Decides when this broker maintains a partition.

    the partition's leader, as in Metadata      every own_s
    every other broker                          every others_s

So mostly one broker maintains a partition.  If it dies, another becomes leader after a few seconds and has its turn
once own_s have passed since its own last turn.  The others take rare turns because a live broker may fail to maintain.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import NamedTuple

SPREAD = 0.25  # of a period, so that the turns of partitions drift apart


class PartitionKey(NamedTuple):
    topic: str
    topic_id: str
    number: int


class MaintenanceTurns:
    """maintains: whether this broker maintains a topic's partition, as a rule."""

    def __init__(self, maintains: Callable[[str, int], bool], own_s: float, others_s: float) -> None:
        self._maintains, self._own_s, self._others_s = maintains, own_s, others_s
        self._turn_s: dict[PartitionKey, float] = {}

    def is_own(self, place: PartitionKey) -> bool:
        return self._maintains(place.topic, place.number)

    def is_due(self, place: PartitionKey, now_s: float) -> bool:
        is_own, turn_s = self.is_own(place), self._turn_s.get(place)
        if turn_s is not None:
            return now_s - turn_s >= (self._own_s if is_own else self._others_s)
        if not is_own:  # spreads the first turns of a broker that starts
            self._turn_s[place] = now_s - random.random() * self._others_s
        return is_own

    def took(self, place: PartitionKey, now_s: float) -> None:
        self._turn_s[place] = now_s - random.random() * SPREAD * self._own_s

    def forget_others(self, there: Iterable[PartitionKey]) -> None:
        """Forgets partitions that are not in `there`."""
        known = self._turn_s
        self._turn_s = {place: known[place] for place in there if place in known}
