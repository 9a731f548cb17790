"""Calls the scripts of lua/delay/ on one partition.

Every call raises UnknownTopic if the partition is deleted or belongs to another incarnation of its topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from redis_ledger.delay.entry import Bucket, Indexed
from redis_ledger.errors import TopicBusy, TransactionEnded, UnknownTopic
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store

FIRE = Script.load("delay/fire")
SETTLE = Script.load("delay/settle")
ROTATE = Script.load("delay/rotate")
WRITE = Script.load("delay/write")
SEAL = Script.load("delay/seal")
LOAD = Script.load("delay/load")
REPLACE = Script.load("delay/replace")
DROP_SNAPSHOT = Script.load("delay/drop_snapshot")
CANCEL = Script.load("delay/cancel")
MOVE = Script.load("delay/move")
CLEAR = Script.load("delay/clear")
RESTORE = Script.load("delay/restore")
REARM = Script.load("delay/rearm")
SET_REPEAT = Script.load("delay/set_repeat")
CANCEL_COST_MAX = 300  # of one call; a record of an entry of its own costs 1


class Fired(NamedTuple):
    """taken: index entries; first_due_ms, horizon_ms: -1 none.  horizon: of `delay:next`, which bucket to load.
    decided: transactions whose batches are to be settled.  lateness_ms: summed over entries."""

    now_ms: int
    taken: int = 0
    records: int = 0
    first_due_ms: int = -1
    horizon_ms: int = -1
    horizon: str = ""
    decided: Sequence[str] = ()
    owed: int = 0
    open_entries: int = 0
    ledger: int = 0  # 0: no record was ever scheduled here
    closing: str = ""
    entries: int = 0
    lateness_ms: int = 0
    queued: int = 0
    buckets: int = 0


class IndexState(NamedTuple):
    """first, ledger: the first and last ledger of the open bucket.  held: records of open transactions."""

    ledger: int
    first: int
    open_entries: int
    records: int
    entries: int
    held: int
    closing: str
    fired: int
    cancelled: int


class DelayScripts:
    """now_ms arguments are for tests; brokers use the server's clock."""

    def __init__(self, store: Store, keys: PartitionKeys, topic: str, topic_id: str) -> None:
        self.store, self._topic, self._topic_id = store, topic, topic_id
        self.keys, self.delay = keys, keys.delay

    async def _call(self, script: Script, keys: Sequence[bytes], *args: Any) -> list[Any]:
        reply: list[Any] = await self.store.call(script, keys, (self._topic_id, *args))
        if reply[0] == Status.UNKNOWN_TOPIC:
            raise UnknownTopic.gone(self._topic)
        return reply

    async def command(self, *args: Any) -> Any:
        """A plain command on the partition's node."""
        return await self.store.command(*args, key=self.keys.state)

    async def state(self) -> IndexState | None:
        """None if no record was ever scheduled here."""
        names = ("ledger", "first", "open", "records", "entries", "held", "closing", "fired", "cancelled")
        row = await self.command("HMGET", self.delay.state, *names)
        if row[0] is None:
            return None
        ledger, first, opened, records, entries, held = map(int, row[:6])
        return IndexState(ledger, first, opened, records, entries, held, row[6].decode(), int(row[7]), int(row[8]))

    async def version(self) -> bytes | None:
        """Changes whenever buckets change, which may move entries."""
        found: bytes | None = await self.command("HGET", self.delay.state, "version")
        return found

    async def settle_all(self, txn: str) -> bool:
        """Indexes (committed) or deletes (aborted) the records of a decided transaction, batch by batch; returns
        whether there were any."""
        row = await self.command("HGET", self.delay.state, txn)
        if not row or row[:1] == b"O":
            return False
        has_done = False
        for number in range(1, int(row.split(b" ")[1]) + 1):
            text = await self.command("HGET", self.delay.state, f"{txn}/{number}")
            if text:
                ledger, has_done = int(text.split(b" ", 4)[2]), True
                while await self.settle(txn, number, ledger):
                    pass
        return has_done

    async def fire(self, most: int, now_ms: int | None = None) -> Fired:
        k, d = self.keys, self.delay
        keys = (
            k.state, k.ledgers, k.log, d.state, d.open, d.closing, d.queue, d.live, d.parts, d.moved, d.next,
            d.repeats,
        )  # fmt: skip
        reply = await self._call(FIRE, keys, most, "" if now_ms is None else now_ms, k.wake)
        if len(reply) == 2:
            return Fired(int(reply[1]))
        decided = tuple(reply[7].decode().split())
        n = [int(reply[i]) if i not in (6, 7, 11) else 0 for i in range(16)]
        return Fired(
            n[1], n[2], n[3], n[4], n[5], reply[6].decode(), decided, n[8], n[9], n[10], reply[11].decode(), n[12],
            n[13], n[14], n[15],
        )  # fmt: skip

    async def settle(self, txn: str, number: int, ledger: int) -> bool:
        """Settles a page of one batch of a decided transaction; returns whether more of it is left."""
        k, d = self.keys, self.delay
        keys = (k.state, k.ledgers, d.state, d.open, d.queue, d.live, d.parts, d.repeats, k.data(ledger))
        return len(await self._call(SETTLE, keys, txn, number)) > 2

    async def rotate(self, ledger: int, now_ms: int, close: bool) -> tuple[int, str]:
        """Returns the open delay ledger afterwards, and the bucket that is closing ("" if none)."""
        k, d = self.keys, self.delay
        keys = (k.state, k.ledgers, d.state, d.open, d.closing, k.data(ledger - 1))
        reply = await self._call(ROTATE, keys, ledger, now_ms, int(close))
        return int(reply[1]), reply[2].decode()

    async def write(self, snapshot: str, fields: Sequence[tuple[int, bytes]], now_ms: int | None = None) -> bool:
        """now_ms: begins the snapshot.  Returns False if it was swept."""
        pairs = [each for field in fields for each in field]
        keys = (self.keys.state, self.delay.snaps, self.delay.snapshot(snapshot))
        reply = await self._call(WRITE, keys, snapshot, "" if now_ms is None else now_ms, *pairs)
        return bool(reply[0] == Status.OK)

    async def list_sealed(self, name: str, bucket: Bucket | None, first_entry: int) -> bool:
        """bucket: None if no entry is pending.  Returns False if another broker has sealed it."""
        d = self.delay
        keys = (self.keys.state, d.state, d.closing, d.buckets, d.next, d.snaps, self.keys.none)
        reply = await self._call(SEAL, keys, name, *_listed(name, bucket, first_entry))
        return bool(reply[0] == Status.OK)

    async def put(
        self, bucket: Bucket, after: Bucket | str, member: str, member_after: str, entries: Sequence[Indexed]
    ) -> bool:
        """after: the new bucket row, "=" within a segment, "" after the last segment."""
        d = self.delay
        text, due = (after, "") if isinstance(after, str) else (after.text(), after.next_due_ms)
        pairs: list[bytes | int] = [each for entry in entries for each in (entry.due_ms, entry.member())]
        keys = (self.keys.state, d.queue, d.buckets, d.next, d.state)
        reply = await self._call(LOAD, keys, bucket.name, bucket.text(), text, member, member_after, due, *pairs)
        return bool(reply[0] == Status.OK)

    async def replace(
        self, sources: Sequence[tuple[Bucket, str]], name: str, bucket: Bucket | None, first_entry: int
    ) -> bool:
        """sources: buckets as they were read, with their members of `delay:next`."""
        d = self.delay
        listed = _listed(name, bucket, first_entry)
        rows = [each for source, member in sources for each in (source.name, source.text(), member)]
        keys = (self.keys.state, d.buckets, d.next, d.snaps, d.state)
        reply = await self._call(REPLACE, keys, name, *listed, len(sources), *rows)
        return bool(reply[0] == Status.OK)

    async def forget_missing(self, name: str, member: str) -> None:
        """Removes an unlisted bucket from `delay:next`."""
        d = self.delay
        keys = (self.keys.state, d.buckets, d.next, d.snaps, d.state)
        await self._call(REPLACE, keys, name, *_listed(name, None, 0), 1, name, "", member)

    async def drop_snapshot(self, snapshot: str, before_ms: int = 0) -> bool:
        d = self.delay
        keys = (self.keys.state, d.buckets, d.snaps, d.snapshot(snapshot))
        return bool((await self._call(DROP_SNAPSHOT, keys, snapshot, before_ms))[1])

    async def cancel(self, ledger: int, records: Sequence[tuple[int, int, int]]) -> list[int]:
        """records: entry, index, records of the entry.  Returns for each: 1 cancelled now, 2 before, 0 not pending."""
        k, d = self.keys, self.delay
        keys = (k.state, k.ledgers, d.state, d.live, d.parts, d.moved, d.repeats, k.data(ledger))
        answers: list[int] = []
        for page in _pages(records):
            reply = await self._call(CANCEL, keys, ledger, *(n for one in page for n in one))
            answers += [int(n) for n in reply[1:]]
        return answers

    async def move(self, entry: Indexed, index: int, due_ms: int) -> bool:
        """Returns False if it is not pending."""
        k, d = self.keys, self.delay
        rest = f"{entry.ledger} {entry.records} {entry.size} {entry.newest_ms}"
        keys = (k.state, d.state, d.open, d.queue, d.live, d.parts, d.moved)
        reply = await self._call(MOVE, keys, entry.entry, index, due_ms, entry.ledger, rest)
        return bool(reply[0] == Status.OK)

    async def clear(self, ledger: int, now_ms: int) -> int | None:
        """Returns the number of cancelled records; None if `ledger` is not the open one.  Raises TopicBusy."""
        k, d = self.keys, self.delay
        keys = (
            k.state, k.ledgers, k.data(ledger - 1), d.state, d.open, d.closing, d.queue, d.live, d.parts, d.moved,
            d.buckets, d.next, d.snaps, d.repeats, k.open, k.firsts, k.sidecar,
        )  # fmt: skip
        reply = await self._call(CLEAR, keys, ledger, now_ms)
        if reply[0] == Status.TOO_MANY:
            raise TopicBusy(
                f"Transactions hold {reply[1]} records or batches of {self._topic!r}, too many to clear the others "
                "beside them; end these transactions, then clear again."
            )
        return None if reply[0] == Status.LEDGER_MOVED else int(reply[1])

    async def put_back(self, entries: Sequence[Indexed]) -> None:
        """Puts entries into the queue."""
        pairs: list[bytes | int] = [each for entry in entries for each in (entry.due_ms, entry.member())]
        await self._call(RESTORE, (self.keys.state, self.delay.queue), *pairs)

    async def repeats(self) -> dict[bytes, bytes]:
        """Entry → how it repeats; "!<entry>" → its due time and member, while it waits to be scheduled again."""
        rows = await self.command("HGETALL", self.delay.repeats)
        return {name: row for name, row in zip(rows[::2], rows[1::2], strict=True) if name}

    async def set_repeat(self, txn: str, entry: int, text: str) -> None:
        """Of an entry that the transaction has scheduled.  Raises TransactionEnded."""
        keys = (self.keys.state, self.delay.state, self.delay.repeats)
        if (await self._call(SET_REPEAT, keys, txn, entry, text))[0] == Status.TXN_ENDED:
            raise TransactionEnded("The transaction that schedules the record ended before it could repeat; try again.")

    async def rearm(self, entry: int, owed: bytes, due_ms: int | None, repeat: str) -> bool:
        k, d = self.keys, self.delay
        keys = (k.state, k.ledgers, d.state, d.open, d.queue, d.live, d.parts, d.repeats)
        due = "" if due_ms is None else due_ms
        return bool((await self._call(REARM, keys, entry, owed, due, repeat))[1])


def _pages(records: Sequence[tuple[int, int, int]]) -> Iterator[Sequence[tuple[int, int, int]]]:
    """Pages for one call each.  The cost of a record grows with the records of its entry."""
    first, cost = 0, 0.0
    for at, (_, _, count) in enumerate(records):
        if cost >= CANCEL_COST_MAX:
            yield records[first:at]
            first, cost = at, 0.0
        cost += 1 + count / 500
    yield records[first:]


def next_member(first_entry: int, name: str) -> str:
    """A bucket's member of `delay:next`; its score is the due time of that entry."""
    return f"{first_entry:012d} {name}"


def _listed(name: str, bucket: Bucket | None, first_entry: int) -> tuple[str, str, str, int]:
    if bucket is None:
        return ("", "", "", 0)
    return (bucket.text(), bucket.snapshot, next_member(first_entry, name), bucket.next_due_ms)
