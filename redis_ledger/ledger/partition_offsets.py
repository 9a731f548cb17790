"""Offsets of a partition: its head, and the offset for a time.

    start ··· offloaded ··· stable ······ end        one HMGET

Below the offloaded offset the payload may be in Parquet only; the log still has an entry for every batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from redis_ledger.errors import UnknownTopic
from redis_ledger.ids import TxnId
from redis_ledger.ledger import entries as logs
from redis_ledger.ledger.answered_offsets import AnsweredEnd
from redis_ledger.ledger.leader_epochs import EpochEnd, EpochStart, parse_epochs
from redis_ledger.ledger.open_row import parse_open
from redis_ledger.ledger.tail_cache import Tail
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store

STATE_FIELDS = ("topic_id", "epoch", "start", "stable", "next", "ledger", "bytes", "cold", "epochs")


class PartitionHead(NamedTuple):
    """The offsets of a partition, from one HMGET."""

    leader_epoch: int
    start_offset: int
    stable_offset: int
    end_offset: int
    active_ledger: int
    bytes: int
    offloaded_offset: int  # below it payload may be in Parquet only; 0 where nothing is
    epochs: str = ""  # the history of leader epochs

    @property
    def epoch_starts(self) -> tuple[EpochStart, ...]:
        return parse_epochs(self.epochs)

    @property
    def current(self) -> EpochEnd:
        return EpochEnd(self.leader_epoch, self.end_offset)


class PartitionOffsets:
    """The offsets of one partition of one incarnation of a topic (its topic id)."""

    def __init__(
        self, store: Store, topic: str, number: int, topic_id: str, tail: Tail, answered: AnsweredEnd | None = None
    ) -> None:
        self.topic, self.number, self.topic_id, self.tail = topic, number, topic_id, tail
        self.keys = PartitionKeys(store.prefix, topic, number)
        self._store = store
        self._leader_epoch = self._start = self._stable = 0  # as last read
        self.answered = answered or AnsweredEnd(topic, number, topic_id)
        self.offloaded_end = 0  # where the part in Parquet ends, as last read

    @property
    def leader_epoch(self) -> int:
        """As this broker has read it last."""
        return self._leader_epoch

    async def head(self) -> PartitionHead:
        reply = await self._store.command("HMGET", self.keys.state, *STATE_FIELDS, key=self.keys.state)
        return self.parse_head(reply)

    def parse_head(self, reply: Sequence[Any]) -> PartitionHead:
        """reply: of HMGET STATE_FIELDS.  Raises UnknownTopic.  A new leader epoch clears the tail cache."""
        if reply[0] is None or reply[0].decode() != self.topic_id:
            raise UnknownTopic.gone(self.topic)
        epochs = reply[8].decode() if reply[8] else ""
        head = PartitionHead._make((*map(int, reply[1:7]), int(reply[7] or 0), epochs))
        self.offloaded_end = head.offloaded_offset
        self.answered.learn(head.leader_epoch, head.end_offset)
        if head.leader_epoch != self._leader_epoch:
            self._leader_epoch = head.leader_epoch
            self.tail.clear()
        self._start, self._stable = head.start_offset, head.stable_offset
        return head

    def trimmed(self, start: int) -> None:
        """This broker has moved the log start."""
        self._start = start

    def is_current(self, head: PartitionHead) -> bool:
        """Whether a reader may get this head: no offset in it is lower than this broker has answered before."""
        return (
            head.leader_epoch == self._leader_epoch
            and head.end_offset >= self.answered.end
            and head.stable_offset >= self._stable
            and head.start_offset >= self._start
        )

    async def offset_at(self, timestamp_ms: int) -> int:
        """The first offset appended at or after the time, or the end.

        Appends are nearly in time order, so this is a binary search of the log.  Cost: O(log n) round trips.
        """
        head = await self.head()
        low, high = head.start_offset, head.end_offset
        while low < high:
            middle = (low + high) // 2
            reply = await self._store.command("XRANGE", self.keys.log, middle, "+", "COUNT", 1, key=self.keys.state)
            entries = logs.parse_log(reply)
            if entries and entries[0].appended_ms < timestamp_ms:
                low = entries[0].last_offset + 1
            else:
                high = min(middle, entries[0].base_offset) if entries else middle
        return low

    async def open_transaction(self, producer_id: int) -> tuple[TxnId, int] | None:
        """The transaction that the producer has open here, and its epoch."""
        row = await self._store.command("HGET", self.keys.open, producer_id, key=self.keys.state)
        if not row:
            return None
        opened = parse_open(row)
        return opened.txn, opened.epoch

    async def entry_at(self, timestamp_ms: int) -> logs.LogEntry | None:
        """The first entry that can hold a record with this timestamp or a later one; None if there is none.

        A binary search by the newest record timestamp up to each entry.  Cost: O(log n) round trips.
        """
        head = await self.head()
        low, high = head.start_offset, head.end_offset
        found = None
        while low < high:
            middle = (low + high) // 2
            reply = await self._store.command("XRANGE", self.keys.log, middle, "+", "COUNT", 1, key=self.keys.state)
            entries = logs.parse_log(reply)
            if not entries:  # trimmed in the meantime
                high = middle
            elif entries[0].newest_ms < timestamp_ms:
                low = entries[0].last_offset + 1
            else:
                found, high = entries[0], min(middle, entries[0].base_offset)
        return found

    async def newest_entry(self) -> logs.LogEntry | None:
        """The last entry of the log."""
        reply = await self._store.command("XREVRANGE", self.keys.log, "+", "-", "COUNT", 1, key=self.keys.state)
        found = logs.parse_log(reply)
        return found[0] if found else None
