"""A partition's log written by hand: what lua/ledger/append and lua/txn/end leave behind, without payload or checks.

Lets tests of cursors put any history of batches, transactions, gaps and trims in front of a subscription.  `client`
is a synchronous redis-py client (single or cluster).
"""

from __future__ import annotations

from typing import Any

from redis_ledger.store.keys import PartitionKeys

TOPIC_ID = "t-1"
TRANSACTIONAL, ABORT_MARKER, COMMIT_MARKER, CHUNK, SIDECAR = 1, 3, 7, 17, 32


def keys_of_log(prefix: str) -> PartitionKeys:
    """The prefix is in the hash tag as well, so that on a cluster tests spread over the nodes."""
    return PartitionKeys(prefix, f"orders-{prefix}", 0)


class FakeLog:
    def __init__(self, client: Any, prefix: str, *, next_offset: int = 0) -> None:
        self.client = client
        self.keys = keys_of_log(prefix)
        self.next = self.start = next_offset
        self.firsts: dict[str, int] = {}  # open transactions: producer → first offset
        self.entries = 0
        keys = self.keys
        for key in (keys.subs, keys.watermarks):
            client.hset(key, "", "")
        for key in (keys.aborted, keys.ended):
            client.zadd(key, {"": -1})
        self._state(topic_id=TOPIC_ID, epoch=0, newest=-1)

    @property
    def stable(self) -> int:
        return min(self.firsts.values(), default=self.next)

    def append(self, records: int = 1, *, producer: str = "-1", in_txn: bool = False, size: int | None = None) -> int:
        """The base offset of a new batch."""
        base = self.next
        if in_txn:
            self.firsts.setdefault(producer, base)
        self._entry(records, 100 * records if size is None else size, producer, TRANSACTIONAL if in_txn else 0)
        return base

    def chunk(self, *, producer: str) -> int:
        """The offset of a chunk of a large message, in a transaction that is open."""
        self._entry(1, 100, producer, CHUNK)
        return self.next - 1

    def commit_sidecar(self, records: int, *, producer: str) -> int:
        """The base offset of the one entry of a transaction that the sidecar buffer had."""
        base = self.next
        self._entry(records, 100 * records, producer, SIDECAR)
        return base

    def end(self, producer: str, *, commit: bool) -> int:
        """The offset of the marker."""
        first = self.firsts.pop(producer)
        offset = self.next
        flags = COMMIT_MARKER if commit else ABORT_MARKER
        self._entry(1, 0, producer, flags, aborted_from=None if commit else first)
        return offset

    def gap(self, offsets: int) -> None:
        """Offsets that no entry will ever have."""
        self.next += offsets
        self._state()

    def trim(self, start: int) -> None:
        """Applies retention: the log now begins at `start`."""
        self.start = start
        self.client.xtrim(self.keys.log, minid=f"{start}-0", approximate=False)
        self._state()

    def _entry(self, records: int, size: int, producer: str, flags: int, *, aborted_from: int | None = None) -> None:
        base, self.next = self.next, self.next + records
        self.entries += 1
        data = flags in (0, TRANSACTIONAL, CHUNK, SIDECAR)
        fields = {
            "l": 1 if data else 0, "e": self.entries if data else 0, "b": base, "n": records, "s": size, "p": producer,
            "v": 0, "q": -1, "f": flags, "t": 1_000 + base, "m": 1_000 + base,
        }  # fmt: skip
        with self.client.pipeline(transaction=False) as together:
            together.xadd(self.keys.log, fields, id=f"{self.next - 1}-1")
            self._state(together)
            if aborted_from is not None:
                together.zadd(self.keys.aborted, {f"{producer} {aborted_from} {self.stable}": base})
            together.execute()

    def _state(self, client: Any = None, **more: Any) -> None:
        fields = {"next": self.next, "start": self.start, "stable": self.stable, "ledger": 1, **more}
        (self.client if client is None else client).hset(self.keys.state, mapping=fields)
