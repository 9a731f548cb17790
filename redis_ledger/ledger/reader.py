"""Reading a partition: from this broker's tail if that holds it, else from Redis.

Tail.  One small read of the state, which tells how far this reader may go.
Redis. One round trip for state, log range and aborted transactions, one for the payload, in runs of adjacent entries.
Ahead. Who has read on from where the last read ended will do so again: what comes next is read while the client works.

The stable offset is read first: all below it is decided and will not change.
Source: PIP-31 (transaction buffer, marker approach); docs/decisions/0002.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from redis_ledger.errors import LedgerError, OffsetOutOfRange, UnknownTopic
from redis_ledger.ids import TxnId
from redis_ledger.ledger import log as logs
from redis_ledger.ledger.tail import Tail
from redis_ledger.records.sift import Unpacked, sift, unpack
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store

STATE_FIELDS = ("topic_id", "epoch", "start", "stable", "next", "ledger", "bytes")
OFFSET_MAX = (1 << 63) - 1
AHEAD_BYTES_MAX, AHEAD_S_MAX = 2 << 20, 2.0  # a read ahead is never larger, and never older when it is used
ENTRIES_MAX = 1024  # log entries one read looks at
ABORTED_MAX = 256  # aborted transactions fetched with a read; more are fetched only when a range needs them


class PartitionHead(NamedTuple):
    """Where a partition stands, from one HMGET."""

    leader_epoch: int
    start_offset: int
    stable_offset: int
    end_offset: int
    active_ledger: int
    bytes: int


class Read(NamedTuple):
    """entries in offset order; payloads in the same order, empty for markers."""

    head: PartitionHead
    entries: list[logs.LogEntry]
    payloads: list[bytes | memoryview]
    aborted: list[logs.Aborted]


def _sifted(entries: Sequence[logs.LogEntry], found: dict[tuple[int, int], bytes]) -> list[bytes]:
    """Payloads with the records that each entry means; a block that several refer to is unpacked once."""
    unpacked: dict[tuple[int, int], Unpacked] = {}
    payloads = []
    for entry in entries:
        at = (entry.ledger, entry.entry)
        if isinstance(entry, logs.PartialEntry):
            if at not in unpacked:
                unpacked[at] = unpack(found[at])
            payloads.append(sift(unpacked[at], entry.kept))
        else:
            payloads.append(b"" if entry.is_marker else found[at])
    return payloads


class _Ahead(NamedTuple):
    """What is being read before it is asked for; it is good for AHEAD_S_MAX."""

    offset: int
    committed: bool
    bytes_max: int
    read: asyncio.Task[Read]


class PartitionReader:
    """What can be read of one partition of one incarnation of a topic (its topic id)."""

    def __init__(self, store: Store, topic: str, number: int, topic_id: str, tail: Tail) -> None:
        self.topic, self.number, self.topic_id, self.tail = topic, number, topic_id, tail
        self.keys = PartitionKeys(store.prefix, topic, number)
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._leader_epoch = 0
        self._following = -1  # where the last read from Redis ended
        self._ahead: _Ahead | None = None
        self._entry_bytes = 1024  # of the batches read last: how many log entries a read of so many bytes needs

    async def head(self) -> PartitionHead:
        reply = await self._store.command("HMGET", self.keys.state, *STATE_FIELDS, key=self.keys.state)
        return self._head(reply)

    def _head(self, reply: Sequence[Any]) -> PartitionHead:
        if reply[0] is None or reply[0].decode() != self.topic_id:
            raise UnknownTopic(f"Topic {self.topic!r} does not exist (any more).", topic=self.topic)
        head = PartitionHead._make(map(int, reply[1:]))
        if head.leader_epoch != self._leader_epoch:
            self._leader_epoch = head.leader_epoch
            self.tail.clear()
        return head

    async def read(self, offset: int, *, committed: bool, bytes_max: int) -> Read:
        """Batches from the one that holds `offset` on, up to the stable offset (committed) or the end, as many as fit.

        Aborted batches and markers are included: leaving them out is the caller's business (`aborted` tells which).
        Raises OffsetOutOfRange below the log start or above the end, UnknownTopic.  Cost: one round trip at the tail,
        else two.
        """
        tail = self.tail
        if offset == tail.end or tail.holds(offset):
            read = await self._read_tail(offset, committed, bytes_max)
            if read is not None:
                return read
        read = await self._read_ahead(offset, committed, bytes_max)
        if read is None:
            read = await self._read_redis(offset, committed, bytes_max)
        self._look_ahead(offset, committed, bytes_max, read)
        return read

    async def _read_ahead(self, offset: int, committed: bool, bytes_max: int) -> Read | None:
        ahead = self._ahead
        if ahead is None or (ahead.offset, ahead.committed, ahead.bytes_max) != (offset, committed, bytes_max):
            return None
        self._drop(ahead)
        try:
            read = await ahead.read
        except LedgerError:
            return None  # asked again, and told then
        return read if read.entries else None

    def _look_ahead(self, offset: int, committed: bool, bytes_max: int, read: Read) -> None:
        """Only behind a read that went on from the last one, and left something for lack of room."""
        is_following, following = offset == self._following, -1
        if read.entries:
            following = self._following = read.entries[-1].last_offset + 1
        end = read.head.stable_offset if committed else read.head.end_offset
        if not is_following or not 0 <= following < end or self._ahead is not None or bytes_max > AHEAD_BYTES_MAX:
            return
        if not self.tail.tails.lend(bytes_max):
            return
        task = self._loop.create_task(self._read_redis(following, committed, bytes_max))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._ahead = ahead = _Ahead(following, committed, bytes_max, task)
        self._loop.call_later(AHEAD_S_MAX, self._drop, ahead)

    def _drop(self, ahead: _Ahead) -> None:
        if self._ahead is ahead:
            self._ahead = None
            self.tail.tails.give_back(ahead.bytes_max)

    async def _read_tail(self, offset: int, committed: bool, bytes_max: int) -> Read | None:
        """None when there is something to read that the tail does not hold."""
        tail, k, command = self.tail, self.keys, self._store.command
        first = tail.first
        state = command("HMGET", k.state, *STATE_FIELDS, key=k.state)
        aborted: list[logs.Aborted] = []
        if tail.transactional:
            reply = command("ZRANGEBYSCORE", k.aborted, offset, "+inf", "WITHSCORES", key=k.state)
            head = self._head(await state)
            aborted = logs.parse_aborted(await reply)
        else:
            head = self._head(await state)
        self._check(head, offset)
        end = head.stable_offset if committed else head.end_offset
        if offset >= end:
            return Read(head, [], [], [])
        if tail.first != first or not tail.holds(offset):  # it moved on meanwhile, or never had it
            return None
        entries, payloads = tail.since(offset, end, bytes_max)
        if not entries or (entries[-1].last_offset + 1 == tail.end < end):
            return None  # somebody else has written behind it
        return Read(head, entries, payloads, aborted)

    async def _read_redis(self, offset: int, committed: bool, bytes_max: int) -> Read:
        k, command = self.keys, self._store.command
        state = command("HMGET", k.state, *STATE_FIELDS, key=k.state)
        count = max(8, min(ENTRIES_MAX, bytes_max // self._entry_bytes + 2))  # what will not fit is not worth parsing
        start = min(max(offset, 0), OFFSET_MAX)  # what can stand in a stream's id
        log = command("XRANGE", k.log, start, "+", "COUNT", count, key=k.state)
        aborted_reply = command(
            "ZRANGEBYSCORE", k.aborted, offset, "+inf", "WITHSCORES", "LIMIT", 0, ABORTED_MAX, key=k.state
        )
        answers = await asyncio.gather(state, log, aborted_reply)
        head = self._head(answers[0])
        self._check(head, offset)
        end = head.stable_offset if committed else head.end_offset
        entries = logs.that_fit(logs.parse_log(answers[1]), end, bytes_max)
        if entries:
            self._entry_bytes = max(1, sum(entry.size for entry in entries) // len(entries))
        aborted = logs.parse_aborted(answers[2])
        if entries and not logs.covers(aborted, entries[-1].last_offset + 1, ABORTED_MAX):
            rest = await command("ZRANGEBYSCORE", k.aborted, offset, "+inf", "WITHSCORES", key=k.state)
            aborted = logs.parse_aborted(rest)
        payloads = await self.payloads(entries) if entries else []
        self.tail.learn(entries, payloads, head.end_offset)
        return Read(head, entries, list(payloads), aborted)

    def _check(self, head: PartitionHead, offset: int) -> None:
        if not head.start_offset <= offset <= head.end_offset:
            raise OffsetOutOfRange(
                f"Offset {offset} is not in {self.topic}:{self.number}, "
                f"which holds {head.start_offset} to {head.end_offset}.",
                start_offset=head.start_offset,
                end_offset=head.end_offset,
            )

    async def payloads(self, entries: Sequence[logs.LogEntry]) -> list[bytes]:
        """The payload of each entry, as stored.  A missing one is out of range below the log start, else corruption."""
        is_partial = any(entry.flags & logs.PARTIAL for entry in entries)
        if is_partial:
            entries = await self._with_parts(entries)
        runs = logs.runs(entries)
        replies = await asyncio.gather(
            *(
                self._store.command("XRANGE", self.keys.data(ledger), f"0-{first}", f"0-{last}", key=self.keys.state)
                for ledger, first, last in runs
            )
        )
        found = {
            (ledger, int(item[0][2:])): item[1][1]
            for (ledger, _, _), reply in zip(runs, replies, strict=True)
            for item in reply
        }
        missing = [e for e in entries if not e.is_marker and (e.ledger, e.entry) not in found]
        if missing:
            head = await self.head()
            if missing[-1].last_offset < head.start_offset:
                raise OffsetOutOfRange(f"Offset {missing[0].base_offset} was trimmed meanwhile.")
            raise LedgerError(
                f"{self.topic}:{self.number}: the payload of offset {missing[-1].base_offset} is missing: damage."
            )
        if is_partial:
            return _sifted(entries, found)
        return [b"" if e.is_marker else found[e.ledger, e.entry] for e in entries]

    async def _with_parts(self, entries: Sequence[logs.LogEntry]) -> list[logs.LogEntry]:
        """What was told of an entry elsewhere does not say which of its records are meant: the log does."""
        whole = []
        for entry in entries:
            if entry.flags & logs.PARTIAL and not isinstance(entry, logs.PartialEntry):
                last = entry.last_offset
                reply = await self._store.command("XRANGE", self.keys.log, last, last, key=self.keys.state)
                whole += logs.parse_log(reply)
            else:
                whole.append(entry)
        return whole

    async def offset_at(self, timestamp_ms: int) -> int:
        """The first offset appended at or after the time, or the end.  Appends are nearly in time order, so this halves
        the log: O(log n) round trips."""
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
        epoch, coordinator, serial, _ = map(int, row.split())
        return TxnId(coordinator, serial), epoch

    async def entry_at(self, timestamp_ms: int) -> logs.LogEntry | None:
        """The first entry that can hold a record as late as the time, by the newest record timestamp up to it; None
        when no record is.  Cost: O(log n) round trips."""
        head = await self.head()
        low, high = head.start_offset, head.end_offset
        found = None
        while low < high:
            middle = (low + high) // 2
            reply = await self._store.command("XRANGE", self.keys.log, middle, "+", "COUNT", 1, key=self.keys.state)
            entries = logs.parse_log(reply)
            if not entries:  # trimmed meanwhile
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
