"""What a log says about the indexes beside it.

    offset   0   1    2     3    4    5          open      t2, since 3
    entry    a   b·t1 ✗t1   d·t2 e·p7 f·p7       aborted   t1 from 1 to 2, stable 3
                                                 windows   p7: its last batches, 4 and 5

The entries are given in order, page by page; the trace then holds what `open`, `aborted`, `producers`, `ledgers` and
`state` must hold at the end of the last page.  A trace goes on from the one of an earlier end, which a snapshot holds.
Pure; memory grows with the open transactions, and with producers up to a limit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from redis_ledger.errors import StoredDamaged
from redis_ledger.ids import TxnId
from redis_ledger.ledger import open_row
from redis_ledger.ledger.entries import COMMIT, SIDECAR, Aborted, LogEntry
from redis_ledger.ledger.open_row import OpenRow
from redis_ledger.ledger.sidecar import is_reference

PRODUCERS_MAX = 100_000  # windows that one look compares; those of the oldest producers are left out
WINDOW = 5  # batches
WRAP = 1 << 31


class OpenTransaction(NamedTuple):
    epoch: int
    first_offset: int


class Batch(NamedTuple):
    """A batch of an idempotent producer, as its window has it."""

    epoch: int
    first: int
    last: int
    offset: int
    appended_ms: int


class Marker(NamedTuple):
    """first_offset: of the transaction in this log; -1 if the log begins after it.  stable: the stable offset right
    after the marker."""

    offset: int
    producer_id: int
    epoch: int
    first_offset: int
    stable: int
    is_commit: bool


class LedgerTrace(NamedTuple):
    entries: int = 0
    bytes: int = 0
    last_offset: int = -1


class TraceCounts(NamedTuple):
    """Numbers of a trace.  first: base offset of the first entry; end: after the last one; -1 without entries.
    has_left_out, has_left_out_ledgers: whether old producers or ledgers are missing."""

    first: int = -1
    end: int = -1
    entries: int = 0
    bytes: int = 0
    committed: int = 0
    aborted: int = 0
    newest_ms: int = -1
    has_left_out: bool = False
    has_left_out_ledgers: bool = False


class Gap(NamedTuple):
    """Offsets without a log entry, from first to last."""

    first: int
    last: int


class LogTrace:
    """counts, open, ledgers: of the trace that this one continues."""

    def __init__(
        self,
        counts: TraceCounts | None = None,
        open_: Mapping[int, OpenTransaction] | None = None,
        ledgers: Mapping[int, LedgerTrace] | None = None,
    ) -> None:
        counts = counts or TraceCounts()
        self.first, self.end, self.entries, self.bytes = counts[:4]
        self.first_begins_epoch = False  # all records before it were lost
        self.committed, self.aborted, self.newest_ms = counts[4:7]
        self.has_left_out, self.has_left_out_ledgers = counts[7:]
        self.open = dict(open_ or {})  # by producer id, in the order of their first offsets
        self.windows: OrderedDict[int, list[Batch]] = OrderedDict()  # the producer of the last batch is last
        self.transactional: set[int] = set()  # producers of `windows` whose last batch was in a transaction
        self.ledgers = dict(ledgers or {})
        self.gaps: list[Gap] = []
        self.overlaps: list[int] = []  # base offsets that lie below the end of the entry before

    def add(self, entries: Iterable[LogEntry]) -> list[Marker]:
        """Takes the next entries; returns their markers."""
        markers = []
        for entry in entries:
            if self.end < 0:
                self.first, self.first_begins_epoch = entry.base_offset, entry.begins_epoch
            elif entry.base_offset > self.end and not entry.begins_epoch:
                self.gaps.append(Gap(self.end, entry.base_offset - 1))
            elif entry.base_offset < self.end:
                self.overlaps.append(entry.base_offset)
            self.end = entry.last_offset + 1
            self.entries, self.bytes = self.entries + 1, self.bytes + entry.size
            self.newest_ms = max(self.newest_ms, entry.newest_ms)
            if entry.begins_epoch:
                continue
            if entry.is_marker:
                markers.append(self._marker(entry))
                continue
            self.committed += bool(entry.flags & SIDECAR)
            if is_reference(entry):
                continue  # its ledgers are those of its batches: fsck/sidecar_reader
            count, size, _ = self.ledgers.get(entry.ledger, LedgerTrace())
            self.ledgers[entry.ledger] = LedgerTrace(count + 1, size + entry.size, entry.last_offset)
            if entry.is_transactional and entry.producer_id not in self.open:
                self.open[entry.producer_id] = OpenTransaction(entry.epoch, entry.base_offset)
            if entry.producer_id >= 0 and entry.sequence >= 0:
                self._batch(entry)
        return markers

    def _marker(self, entry: LogEntry) -> Marker:
        begun = self.open.pop(entry.producer_id, None)
        is_commit = bool(entry.flags & COMMIT)
        if is_commit:
            self.committed += 1
        else:
            self.aborted += 1
        return Marker(
            entry.base_offset, entry.producer_id, entry.epoch, -1 if begun is None else begun.first_offset,
            self.stable(), is_commit,
        )  # fmt: skip

    @property
    def counts(self) -> TraceCounts:
        return TraceCounts(
            self.first, self.end, self.entries, self.bytes, self.committed, self.aborted, self.newest_ms,
            self.has_left_out, self.has_left_out_ledgers,
        )  # fmt: skip

    def stable(self) -> int:
        """The first offset of the oldest open transaction, or the end."""
        oldest = next(iter(self.open.values()), None)
        return self.end if oldest is None else oldest.first_offset

    def _batch(self, entry: LogEntry) -> None:
        last = (entry.sequence + entry.records - 1) % WRAP
        window = self.windows.pop(entry.producer_id, [])
        if window and window[-1].epoch != entry.epoch:
            window = []
        window.append(Batch(entry.epoch, entry.sequence, last, entry.base_offset, entry.appended_ms))
        self.windows[entry.producer_id] = window[-WINDOW:]
        (self.transactional.add if entry.is_transactional else self.transactional.discard)(entry.producer_id)
        if len(self.windows) > PRODUCERS_MAX:
            oldest, _ = self.windows.popitem(last=False)
            self.transactional.discard(oldest)
            self.has_left_out = True


class Window(NamedTuple):
    """A row of `producers`.  owner: as it is written, "" for none.  batches: first and last sequence, offset."""

    epoch: int
    last_ms: int
    owner: str
    batches: tuple[tuple[int, int, int], ...]

    @classmethod
    def parse(cls, row: bytes) -> Window | None:
        """None if the row has another form."""
        try:
            epoch, last_ms, *rest = row.decode().split(" ")
            owner = rest.pop(0) if rest and rest[0].startswith("@") else ""
            batches = []
            for each in rest:
                first, last, offset = map(int, each.split(":"))
                batches.append((first, last, offset))
            return cls(int(epoch), int(last_ms), owner, tuple(batches))
        except ValueError:
            return None


def window_text(batches: Iterable[Batch], owner: str) -> str:
    """The row of `producers` for these batches of one epoch."""
    given = list(batches)
    words = [str(given[-1].epoch), str(given[-1].appended_ms), *([owner] if owner else [])]
    return " ".join([*words, *(f"{batch.first}:{batch.last}:{batch.offset}" for batch in given)])


def open_text(txn: OpenTransaction, coordinator: int, serial: int) -> str:
    return OpenRow(txn.epoch, TxnId(coordinator, serial), txn.first_offset).text


def read_open(row: bytes | None) -> OpenRow | None:
    """None if there is no row, or one of another form."""
    try:
        return open_row.parse_open(row) if row is not None else None
    except StoredDamaged:
        return None


def parse_numbers(row: Mapping[bytes, bytes], names: Iterable[str]) -> tuple[dict[str, int], list[str]]:
    """The fields as numbers, and the names of those that are missing or no number."""
    found, wrong = dict[str, int](), list[str]()
    for name in names:
        try:
            found[name] = int(row[name.encode()])
        except (KeyError, ValueError):
            wrong.append(name)
    return found, wrong


def aborts_of(markers: Iterable[Marker]) -> list[Aborted]:
    return [Aborted(m.producer_id, m.first_offset, m.offset, m.stable) for m in markers if not m.is_commit]
