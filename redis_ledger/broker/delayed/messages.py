"""The delayed records of a partition: get, cancel, move, clear, and rebuild of their index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from redis_ledger.broker.delayed.index_reader import to_scheduled
from redis_ledger.broker.types import Scheduled
from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Charge, Decoding
from redis_ledger.delay.bucket_storage import is_scheduled, read_stored
from redis_ledger.delay.entry import Indexed
from redis_ledger.delay.index import DelayIndex
from redis_ledger.errors import AlreadyCancelled, AlreadyDelivered, LedgerError, UnknownScheduled
from redis_ledger.ids import ScheduledId
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import ReplyError


class _StoredEntry(NamedTuple):
    """dues: one, or one for each record of a block.  parts: "" if all records share one state."""

    indexed: Indexed
    dues: Sequence[int]
    payload: bytes
    is_live: bool
    parts: str

    def mark(self, index: int) -> str:
        """The record's mark in `parts`; "f" also for records of an open transaction."""
        mark = self.parts[index] if self.parts else "1"
        return mark if self.is_live or mark == "x" else "f"


class ScheduledMessages:
    """charge: gets the bytes that are decoded."""

    def __init__(
        self,
        partition: Partition,
        index: DelayIndex,
        now_ms: Callable[[], int],
        decoding: Decoding,
        charge: Charge | None = None,
    ) -> None:
        self.partition, self.index, self._now_ms = partition, index, now_ms
        self._decoding, self._charge, self._keys = decoding, charge, partition.keys

    # -- one record --------------------------------------------------------------------------------------------------

    async def get(self, id: ScheduledId) -> Scheduled:
        found = await self._find(id)
        mark = found.mark(id.index)
        if mark not in "1bm":
            raise await self._refusal(id, found)
        due = found.dues[id.index if mark == "b" else 0]
        repeat = await self.index.scripts.command("HGET", self._keys.delay.repeats, id.entry)
        if mark == "m":
            due = int(await self.index.scripts.command("HGET", self._keys.delay.moved, f"{id.entry}.{id.index}") or due)
        elif repeat is not None:
            due = int(repeat.split(b" ")[0])  # the due time stored with the payload is that of its first delivery
        with self._decoding.budget(self._decoding.limits.decoded_bytes, self._charge) as budget:
            records = await paced.decode(found.payload, budget)
        return to_scheduled(id, due, records[id.index], repeat)

    async def _find(self, id: ScheduledId) -> _StoredEntry:
        """Raises UnknownScheduled; AlreadyCancelled if the payload is deleted."""
        ledger = await self._ledger_of(id.entry)
        d, name = self._keys.delay, f"0-{id.entry}"
        rows = [] if ledger is None else await self.index.scripts.command("XRANGE", self._keys.data(ledger), name, name)
        if ledger is None:
            raise self._unknown(id)
        if not rows and id.entry < await self._first_of(ledger, id):
            raise self._unknown(id)
        if not rows:
            raise AlreadyCancelled(f"{id} was cancelled, or its transaction was aborted.")
        if not is_scheduled(rows[0][1]):
            raise self._unknown(id)  # a batch of a transaction in the sidecar buffer
        indexed, dues = read_stored(ledger, id.entry, rows[0][1])
        if id.index >= indexed.records:
            raise self._unknown(id)
        live = await self.index.storage.live([id.entry])
        parts = await self.index.scripts.command("HGET", d.parts, id.entry)
        return _StoredEntry(indexed, dues, rows[0][1][1], live.holds(id.entry), (parts or b"").decode())

    async def _refusal(self, id: ScheduledId, found: _StoredEntry) -> LedgerError:
        if found.mark(id.index) == "x":
            return AlreadyCancelled(f"{id} was cancelled.")
        if not found.is_live and await self._is_held(id.entry):
            return UnknownScheduled(f"{id} belongs to an open transaction; it is scheduled on commit.")
        if id.entry <= int(await self.index.scripts.command("HGET", self._keys.delay.state, "cleared") or 0):
            return UnknownScheduled(f"{id} was delivered, or cancelled when the topic's delayed records were cleared.")
        return AlreadyDelivered(f"{id} was delivered.")

    def _unknown(self, id: ScheduledId) -> UnknownScheduled:
        return UnknownScheduled(f"There is no scheduled record {id} in {self.partition.topic!r}.")

    async def _is_held(self, entry: int) -> bool:
        state = await self.index.scripts.state()
        if state is None or not state.held:
            return False
        rows = await self.index.scripts.command("HGETALL", self._keys.delay.state)
        words = b" %012d " % entry, b" %012d." % entry
        return any(
            b"/" in name and any(word in text for word in words)
            for name, text in zip(rows[::2], rows[1::2], strict=True)
        )

    async def _ledger_of(self, entry: int) -> int | None:
        """The delay ledger of an entry; None if that ledger is deleted or the entry never existed."""
        for ledger, last in await self._ledgers():
            if entry <= last:
                return ledger
        return None

    async def _first_of(self, ledger: int, id: ScheduledId) -> int:
        """The first entry that a delay ledger ever had; lower ones were in older ledgers.  Raises UnknownScheduled."""
        try:
            reply = await self.index.scripts.command("XINFO", "STREAM", self._keys.data(ledger))
        except ReplyError as error:
            if "no such key" in str(error):
                raise self._unknown(id) from error  # deleted since, with its topic or by retention
            raise
        info = dict(zip(reply[::2], reply[1::2], strict=True))
        return int(info[b"last-generated-id"].split(b"-")[1]) - int(info[b"entries-added"]) + 1

    async def _ledgers(self) -> list[tuple[int, int]]:
        """Delay ledgers and the last entry of each, oldest first."""
        rows = await self.index.scripts.command("HGETALL", self._keys.ledgers)
        found = [(int(n), int(row.split(b" ")[0])) for n, row in zip(rows[::2], rows[1::2], strict=True)]
        return sorted((pair for pair in found if pair[0] < 0), reverse=True)

    # -- changing ----------------------------------------------------------------------------------------------------

    async def cancel(self, ids: Sequence[ScheduledId]) -> dict[ScheduledId, LedgerError | None]:
        outcomes: dict[ScheduledId, LedgerError | None] = {}
        found: dict[ScheduledId, _StoredEntry] = {}
        for id in ids:
            try:
                found[id] = await self._find(id)
            except AlreadyCancelled:
                outcomes[id] = None
            except UnknownScheduled as error:
                outcomes[id] = error
        for ledger in {each.indexed.ledger for each in found.values()}:
            some = [id for id, each in found.items() if each.indexed.ledger == ledger]
            records = [(id.entry, id.index, found[id].indexed.records) for id in some]
            for id, answer in zip(some, await self.index.scripts.cancel(ledger, records), strict=True):
                outcomes[id] = None if answer else await self._why_not(id)
        return outcomes

    async def _why_not(self, id: ScheduledId) -> LedgerError | None:
        try:
            refusal = await self._refusal(id, await self._find(id))
        except AlreadyCancelled:
            return None
        except UnknownScheduled as error:
            return error
        return None if isinstance(refusal, AlreadyCancelled) else refusal

    async def move(self, id: ScheduledId, due_ms: int) -> None:
        """Raises as `get`."""
        found = await self._find(id)
        if not await self.index.scripts.move(found.indexed, id.index, due_ms):
            raise await self._refusal(id, await self._find(id))

    async def clear(self) -> int:
        while True:
            state = await self.index.scripts.state()
            if state is None:
                return 0
            count = await self.index.scripts.clear(state.ledger, self._now_ms())
            if count is not None:
                break
        await self.index.sweep(whenever=True)
        await self.partition.trim(retention_ms=-1, retention_bytes=-1)  # deletes ledgers without references
        return count

    async def rebuild(self) -> int:
        """Rebuilds the index from the delay ledgers: buckets from theirs, entries of no bucket into the queue."""
        state = await self.index.scripts.state()
        if state is None:
            return 0
        buckets = await self.index.storage.buckets()
        for bucket in buckets:
            await self.index.repairs.reindex(bucket)
        covered = {n for b in buckets for n in range(b.first_ledger, b.last_ledger - 1, -1)}
        for ledger, _ in await self._ledgers():
            if ledger not in covered:
                await self.index.repairs.restore(ledger)
        return state.entries
