"""The highest end offset of each partition that this broker has answered, with its leader epoch.

    append, read ──▶ learn(epoch, end)        compared with the stored state when Redis may have lost writes

Offsets below it were seen by clients and must not be assigned to other records (docs/decisions/0028). The memory
outlasts the partition objects of the catalog, which are dropped when a topic seems to be gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from redis_ledger.ledger.leader_epochs import GAP, EpochEnd


class AnsweredEnd:
    """The end of one partition. topic_id: of the incarnation of the topic."""

    __slots__ = ("end", "epoch", "number", "topic", "topic_id")

    def __init__(self, topic: str, number: int, topic_id: str) -> None:
        self.topic, self.number, self.topic_id = topic, number, topic_id
        self.epoch = self.end = 0

    def learn(self, epoch: int, end: int) -> None:
        """A lower epoch is that of a reply from before a takeover: it changes nothing."""
        if epoch == self.epoch:
            self.end = max(self.end, end)
        elif epoch > self.epoch:
            self.epoch, self.end = epoch, end

    def learn_end(self, end: int) -> None:
        """An end without its epoch. One that is a gap away may belong to another epoch."""
        if self.end < end < self.end + GAP:
            self.end = end

    def replace(self, stored: EpochEnd) -> None:
        self.epoch, self.end = stored

    @property
    def remembered(self) -> EpochEnd:
        return EpochEnd(self.epoch, self.end)


class PartitionName(NamedTuple):
    topic_id: str
    number: int


class AnsweredOffsets:
    """The ends of all partitions that this broker has used."""

    def __init__(self) -> None:
        self._ends: dict[PartitionName, AnsweredEnd] = {}

    def of(self, topic: str, number: int, topic_id: str) -> AnsweredEnd:
        name = PartitionName(topic_id, number)
        found = self._ends.get(name)
        if found is None:
            found = self._ends[name] = AnsweredEnd(topic, number, topic_id)
        return found

    def all(self) -> list[AnsweredEnd]:
        """Those of which records were answered."""
        return [each for each in self._ends.values() if each.end]

    def epoch(self, topic_id: str, number: int) -> int:
        """The leader epoch as far as this broker knows."""
        found = self._ends.get(PartitionName(topic_id, number))
        return 0 if found is None else found.epoch

    def forget(self, ends: Iterable[AnsweredEnd]) -> None:
        for each in ends:
            self._ends.pop(PartitionName(each.topic_id, each.number), None)

    def forget_topic(self, topic_id: str) -> None:
        self.forget([each for each in self._ends.values() if each.topic_id == topic_id])
