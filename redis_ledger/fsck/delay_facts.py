"""Facts of the delayed records of one partition, collected from its indexes.

The bits of entries are kept as bitmaps, so a million entries take an eighth of a megabyte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from redis_ledger.delay.entry import Bucket, Indexed
from redis_ledger.delay.live_bitmap import CHUNK, LiveBitmap
from redis_ledger.fsck.partition_facts import LedgerRow

BYTES = CHUNK // 8
PENDING = frozenset(b"1bm")  # marks of records in a row of `parts` that are still to come


class Bits:
    """A set of entries."""

    def __init__(self) -> None:
        self._chunks: dict[int, bytearray] = {}

    def add(self, entry: int) -> bool:
        """Whether it is new."""
        bits = self._chunks.setdefault(entry // CHUNK, bytearray(BYTES))
        at, mask = entry % CHUNK >> 3, 1 << (entry & 7)
        is_new = not bits[at] & mask
        bits[at] |= mask
        return is_new

    def __contains__(self, entry: int) -> bool:
        bits = self._chunks.get(entry // CHUNK)
        return bits is not None and bool(bits[entry % CHUNK >> 3] >> (entry & 7) & 1)


class HeldTxn(NamedTuple):
    """What an open or just ended transaction has scheduled.  row: "O chunks left records"."""

    row: bytes | None
    chunks: dict[int, bytes]

    def entries(self) -> dict[int, set[int]]:
        """Ledger → entries of its batches that are left."""
        found: dict[int, set[int]] = {}
        for text in self.chunks.values():
            for one in text.split(b"|"):
                _, name, ledger, *_ = one.split(b" ")
                found.setdefault(int(ledger), set()).add(int(name.partition(b".")[0]))
        return found

    def records(self) -> int:
        count = 0
        for text in self.chunks.values():
            for one in text.split(b"|"):
                _, name, _, records, *_ = one.split(b" ")
                count += 1 if b"." in name else int(records)
        return count


class DelayFacts:
    """Filled by DelayReader: first the hashes, then the indexes."""

    def __init__(
        self,
        state: Mapping[bytes, bytes],
        ledgers: Mapping[bytes, bytes],
        live: Mapping[bytes, bytes],
        parts: Mapping[bytes, bytes],
        moved: Mapping[bytes, bytes],
        repeats: Mapping[bytes, bytes],
    ) -> None:
        self.state, self.parts, self.moved, self.repeats = state, parts, moved, repeats
        self.ledgers = {
            int(name): row
            for name, text in ledgers.items()
            if name.startswith(b"-") and (row := LedgerRow.parse(text)) is not None
        }
        self.live = LiveBitmap({int(n): bits.ljust(BYTES, b"\0") for n, bits in live.items() if n.isdigit()})
        self.indexed = Bits()
        self.ghosts: dict[int, Indexed] = {}  # entries of an index whose live bit is 0
        self.lost: list[int] = []  # those of them that have their payload, if bits are missing
        self.named: set[int] = set()  # ledgers of live entries in an index
        self.records = 0  # pending ones of indexed entries
        self.by_part: dict[int, dict[int, int]] = {}  # entry → index → due, of records that are indexed by themselves
        self.is_whole = Bits()  # entries that are indexed as a whole
        self.counts = {"open": 0, "closing": 0, "queue": 0}
        self.buckets: set[bytes] = set()  # names
        self.held = _held(state)
        self.aside: Mapping[int, int] = {}  # ledger → entries in the sidecar buffer that wait for their offset

    @property
    def is_used(self) -> bool:
        """Whether something was ever scheduled here."""
        return b"ledger" in self.state or bool(self.ledgers)

    def add(self, entries: Iterable[Indexed]) -> None:
        for each in entries:
            if each.index >= 0:
                self.by_part.setdefault(each.entry, {})[each.index] = each.due_ms
            else:
                self.is_whole.add(each.entry)
            if not self.live.holds(each.entry):
                self.ghosts[each.entry] = each
                continue
            self.named.add(each.ledger)
            if self.indexed.add(each.entry):
                parts = self.parts.get(str(each.entry).encode())
                self.records += each.records if parts is None else sum(mark in PENDING for mark in parts)

    def missing_bits(self) -> int:
        """How many pending entries the counter has more than the bits."""
        stored = self.state.get(b"entries", b"")
        return (int(stored) if stored.isdigit() else 0) - self.live.count(0, 1 << 48)

    def may_be_pending(self) -> dict[int, int]:
        """Entry → ledger of indexed entries that are not live and whose records may be pending."""
        found = {}
        for entry, each in self.ghosts.items():
            parts = self.parts.get(str(entry).encode())
            if parts is None or any(mark in PENDING for mark in parts):
                found[entry] = each.ledger
        return found

    @property
    def has_lost_bits(self) -> bool:
        return self.missing_bits() > 0 and bool(self.lost)

    def missing_ledgers(self) -> list[int]:
        """Delay ledgers that something names and that have no row."""
        named = self.named | self.aside.keys()
        text = self.state.get(b"ledger", b"")
        if text.startswith(b"-") and text[1:].isdigit():
            named.add(int(text))
        return sorted(named - self.ledgers.keys(), reverse=True)

    def range_of(self, ledger: int) -> tuple[int, int]:
        """First and last entry of a delay ledger: entry numbers continue from ledger to ledger."""
        row = self.ledgers[ledger]
        before = [other.issued for number, other in self.ledgers.items() if number > ledger]
        return max(before, default=0) + 1, row.issued

    def pending_in(self, ledger: int) -> int:
        """Entries that are live, held by a transaction, in the sidecar buffer, or to be scheduled again."""
        first, last = self.range_of(ledger)
        held = {entry for txn in self.held.values() for entry in txn.entries().get(ledger, ())}
        owed = [int(name[1:]) for name in self.repeats if name.startswith(b"!")]
        waiting = self.live.count(first, last) + len(held) + self.aside.get(ledger, 0)
        return waiting + sum(first <= entry <= last for entry in owed)


def _held(state: Mapping[bytes, bytes]) -> dict[str, HeldTxn]:
    """Transactions by "coordinator-serial"."""
    rows: dict[str, bytes] = {}
    chunks: dict[str, dict[int, bytes]] = {}
    for name, value in state.items():
        txn, slash, number = name.decode(errors="replace").partition("/")
        if "-" not in txn:
            continue
        if slash:
            chunks.setdefault(txn, {})[int(number)] = value
        else:
            rows[txn] = value
    return {txn: HeldTxn(rows.get(txn), chunks.get(txn, {})) for txn in rows.keys() | chunks.keys()}


class BucketFacts(NamedTuple):
    """damage: why its snapshot cannot be read, "" if it can.  next_due_ms, next_entry: of the first segment that is not
    loaded; -1 if all are."""

    bucket: Bucket
    damage: str = ""
    next_due_ms: int = -1
    next_entry: int = -1
