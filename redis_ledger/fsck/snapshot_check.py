"""Compares the snapshot of a partition with the trace of its log up to the same position, and the aborted set with the
snapshot.  Pure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from redis_ledger.fsck.finding import Finding, edit, hget
from redis_ledger.fsck.producer_check import check_aborted
from redis_ledger.ledger.buffer_snapshot import ProducerWindow
from redis_ledger.ledger.buffer_snapshot_store import Snapshot
from redis_ledger.ledger.entries import Aborted, LogEntry
from redis_ledger.ledger.log_trace import LogTrace, Marker, TraceCounts, aborts_of
from redis_ledger.ledger.place import Place


def snapshot_finding(place: Place, head: bytes | None, why: str) -> Finding:
    """Its repair deletes the snapshot; the next one is computed from the whole log."""
    key = place.keys.snapshot
    repair = edit([hget(key, "head", head)], ("UNLINK", key))
    return Finding("snapshot", str(place), key.decode(), "", f"The snapshot of the transaction buffer: {why}.", repair)


def needs_whole_log(found: Iterable[Finding], counts: TraceCounts) -> bool:
    """Whether the log before the snapshot is needed to tell what is right."""
    return any(
        each.kind in ("log_gap", "log_order", "log_entry")
        or (each.kind == "partition_state" and each.repair is None)
        or (each.kind == "ledger_row" and counts.has_left_out_ledgers)
        or (each.kind == "producer_window" and counts.has_left_out)
        for each in found
    )


# -- snapshot and log --------------------------------------------------------------------------------------------------


class SnapshotComparison:
    """Compares a snapshot, if there is one, with the log while that is read from its start."""

    def __init__(self, snapshot: Snapshot | None) -> None:
        self._snapshot, self._aborts = snapshot, list[Aborted]()
        self._difference: str | None = None  # None: the position is not reached

    def add(self, trace: LogTrace, entries: Sequence[LogEntry]) -> list[Marker]:
        """Adds the entries to the trace; returns their markers."""
        if self._snapshot is None or self._difference is not None:
            return trace.add(entries)
        position = self._snapshot.index.position
        below = bisect_left(entries, position, key=lambda entry: entry.base_offset)
        markers = trace.add(entries[:below])
        self._aborts += aborts_of(markers)
        if below < len(entries) or trace.end >= position:
            end = trace.end if trace.end >= 0 else entries[0].base_offset  # the log may begin at the position
            self._difference = compare_trace(self._snapshot, trace, end)
        return markers + trace.add(entries[below:])

    def difference(self, start: int) -> str:
        """What differs; "" if nothing does.  start: of the log, now."""
        if self._snapshot is None or self._difference is None:
            return ""
        return self._difference or compare_aborts(self._snapshot.aborted, self._aborts, start)


def compare_trace(snapshot: Snapshot, trace: LogTrace, end: int) -> str:
    """What differs, but for aborts; "" if nothing does.  trace: of the log up to the position.  end: where the log has
    an entry's end, or its beginning, at the position or behind it."""
    held = snapshot.trace()
    if held.end != end:
        return f"it ends at offset {held.end}, where no entry of the log ends"
    if held.open != trace.open:
        return f"it has open transactions of {_shown(held.open)}, and the log of {_shown(trace.open)}"
    if held.committed < trace.committed or held.aborted < trace.aborted:
        counted = f"{trace.committed} and {trace.aborted}"
        return f"it has {held.committed} commits and {held.aborted} aborts, and the log {counted}"
    return _compare_windows(snapshot.windows, held, trace)


def _compare_windows(windows: Sequence[ProducerWindow], held: LogTrace, trace: LogTrace) -> str:
    """The log may have lost the first batches of a window.  Of an ended transaction the snapshot may lack the window,
    or have it as it was when an earlier snapshot was taken: its producer id is not used again."""
    for row in windows:
        right, mine = trace.windows.get(row.producer_id, []), [*row.batches]
        if not right:
            continue
        if row.is_transactional and row.producer_id not in trace.open:
            is_right = all(batch in right for batch in mine if batch.offset >= right[0].offset)
        else:
            is_short = len(mine) < len(right) and not (held.has_left_out or row.is_transactional)
            is_right = not is_short and mine[-len(right) :] == right[-len(mine) :]
        if not is_right:
            return f"the window of producer {row.producer_id} is {mine}; the log has {right}"
    missing = trace.windows.keys() - held.windows.keys() - trace.transactional
    if missing and not (held.has_left_out or trace.has_left_out):
        return f"it lacks the window of producer {min(missing)}"
    return ""


def compare_aborts(mine: Sequence[Aborted], log: Sequence[Aborted], start: int) -> str:
    """What differs; "" if nothing does.  Aborts whose marker is below `start` are not compared."""
    known = {row.last_offset: row for row in mine if row.last_offset >= start}
    for row in log:
        if row.last_offset >= start:
            held = known.pop(row.last_offset, None)
            if held is None or not _is_same(held, row):
                return f"the abort at offset {row.last_offset} is {held}; the log has {row}"
    return f"the log has no abort at offset {min(known)}" if known else ""


def _is_same(mine: Aborted, row: Aborted) -> bool:
    """first_offset: -1 if the log begins after it."""
    is_first_known = mine.first_offset >= 0 and row.first_offset >= 0
    return mine == row or (not is_first_known and mine._replace(first_offset=0) == row._replace(first_offset=0))


def _shown(open_: Mapping[int, object]) -> str:
    return ", ".join(map(str, sorted(open_)[:5])) or "none"


# -- aborted set and snapshot ------------------------------------------------------------------------------------------


def end_of_stretch(rows: Sequence[Aborted], low: int, position: int, size: int) -> int:
    """The last offset of the range that begins at `low`, with at most `size` aborts of the snapshot."""
    at = bisect_left(rows, low, key=lambda row: row.last_offset) + size
    return rows[at].last_offset - 1 if at < len(rows) else position - 1


def check_aborted_before(
    place: Place, rows: Sequence[Aborted], members: Sequence[Aborted], log_first: int
) -> list[Finding]:
    """rows: of the snapshot.  members: of the aborted set, for the same offsets."""
    markers = [
        Marker(row.last_offset, row.producer_id, 0, row.first_offset, row.stable_offset, is_commit=False)
        for row in rows
    ]  # fmt: skip
    return check_aborted(place, markers, members, log_first)
