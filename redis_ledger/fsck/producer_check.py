"""Compares producer windows, the aborted set and markers with the log of a partition.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from redis_ledger.fsck.finding import Edit, Finding, edit, hget
from redis_ledger.ids import TxnId, is_keyed
from redis_ledger.ledger.entries import Aborted
from redis_ledger.ledger.log_trace import Batch, LogTrace, Marker, Window, window_text
from redis_ledger.ledger.place import Place

SILENT_MS = 82_800_000  # rows are kept for a day after the last batch; an hour less is certain
KEYED_MS = 60_000  # rows of Idempotency-Keys are kept for at least a minute


def check_windows(
    place: Place, trace: LogTrace, rows: Mapping[bytes, bytes | None], start: int, now_ms: int
) -> Iterator[Finding]:
    """rows: of `producers`, read after the log; None for a producer of the log that has none."""
    key = place.keys.producers
    for pid, row in rows.items():
        if not pid.isdigit():
            continue
        batches = trace.windows.get(int(pid), [])
        detail = _window_detail(int(pid), batches, row, trace, start, now_ms)
        if detail is None:
            continue
        owner = (Window.parse(row) or Window(0, 0, "", ())).owner if row is not None else ""
        guards = [hget(key, pid, row)]
        repair = edit(guards, ("HSET", key, pid, window_text(batches, owner))) if batches else None
        if repair is None:
            repair = edit(guards, ("HDEL", key, pid))
        yield Finding("producer_window", str(place), key.decode(), pid.decode(), detail, repair)


def _window_detail(
    pid: int, batches: Sequence[Batch], row: bytes | None, trace: LogTrace, start: int, now_ms: int
) -> str | None:
    """What differs; None if nothing does."""
    newest = batches[-1] if batches else None
    if row is None:
        if newest is None or _may_be_forgotten(pid, newest, trace, now_ms):
            return None
        return f"Producer {pid} has no window; its last batch is at offset {newest.offset}."
    window = Window.parse(row)
    if window is None:
        return f"The window of producer {pid} is {row.decode(errors='replace')!r}, which has another form."
    offsets = {offset for _, _, offset in window.batches}
    if newest is not None:
        if max(offsets, default=-1) >= newest.offset or any(offset < 0 for offset in offsets):
            known = {batch.offset for batch in batches}
            stray = [o for o in offsets if batches[0].offset < o < trace.end and o not in known and len(batches) > 1]
            if not stray:
                return None
            return f"The window of producer {pid} names a batch at offset {stray[0]}; the log has none of its there."
        return (
            f"The window of producer {pid} ends before its last batch in the log, at offset {newest.offset}, epoch "
            f"{newest.epoch}."
        )
    stray = [offset for offset in offsets if max(start, trace.first) <= offset < trace.end]
    if stray and trace.end >= 0 and not trace.has_left_out:
        return f"The window of producer {pid} names a batch at offset {stray[0]}; the log has none of its there."
    return None


def _may_be_forgotten(pid: int, newest: Batch, trace: LogTrace, now_ms: int) -> bool:
    if pid in trace.transactional and pid not in trace.open:
        return True  # the end of a transaction of REST or the SDK removes the window
    kept_ms = KEYED_MS if is_keyed(pid) else SILENT_MS
    return newest.appended_ms < now_ms - kept_ms


# -- aborted transactions ------------------------------------------------------------------------------------------


def check_aborted(place: Place, markers: Sequence[Marker], members: Sequence[Aborted], log_first: int) -> list[Finding]:
    """Compares the markers of a page of the log with the aborted set of the same offsets.  log_first: the first offset
    in the log."""
    k, found = place.keys, list[Finding]()
    stored = {member.last_offset: member for member in members if member.producer_id >= 0}
    for marker in markers:
        member = stored.pop(marker.offset, None)
        if marker.is_commit:
            if member is not None:
                found.append(_extra(place, member, "the log has a commit marker there"))
            continue
        first = marker.first_offset if marker.first_offset >= 0 else log_first
        right = f"{marker.producer_id} {first} {marker.stable}"
        if member is None:
            detail = f"The abort at offset {marker.offset}, of producer {marker.producer_id}, is not in the set."
            repair = _add_aborted(place, marker.offset, right)
            found.append(Finding("aborted", str(place), k.aborted.decode(), f"{marker.offset}", detail, repair))
            continue
        is_cut = marker.first_offset < 0 or member.first_offset < log_first  # its first batches were trimmed
        has_first = is_cut or member.first_offset == marker.first_offset
        if member.producer_id != marker.producer_id or not has_first or member.stable_offset > marker.stable:
            stored_text = f"{member.producer_id} {member.first_offset} {member.stable_offset}"
            detail = f"The abort at offset {marker.offset} is in the set as {stored_text!r}; the log says {right!r}."
            repair = _add_aborted(place, marker.offset, right, stored_text)
            found.append(Finding("aborted", str(place), k.aborted.decode(), f"{marker.offset}", detail, repair))
    found += [_extra(place, member, "the log has no abort marker there") for member in stored.values()]
    return found


def _add_aborted(place: Place, offset: int, right: str, wrong: str = "") -> Edit:
    k = place.keys
    guards = [hget(k.state, "topic_id", place.topic_id)]
    if wrong:
        return edit(guards, ("ZREM", k.aborted, wrong), ("ZADD", k.aborted, offset, right))
    return edit(guards, ("ZADD", k.aborted, offset, right))


def _extra(place: Place, member: Aborted, why: str) -> Finding:
    k = place.keys
    text = f"{member.producer_id} {member.first_offset} {member.stable_offset}"
    detail = f"The set has an abort of producer {member.producer_id} at offset {member.last_offset}; {why}."
    repair = edit([hget(k.state, "topic_id", place.topic_id)], ("ZREM", k.aborted, text))
    return Finding("aborted", str(place), k.aborted.decode(), f"{member.last_offset}", detail, repair)


# -- markers and decisions -----------------------------------------------------------------------------------------


class Decided(NamedTuple):
    """What a coordinator holds of a transaction: state of its row or outcome, "" for neither."""

    txn: TxnId
    state: str


def check_markers(place: Place, markers: Sequence[Marker], decided: Mapping[int, Decided]) -> Iterator[Finding]:
    """decided: by producer id, read after the markers.  A marker of a Kafka client's transaction names none."""
    for marker in markers:
        known = decided.get(marker.producer_id)
        if known is None or not known.state:
            continue
        if (known.state == "C") != marker.is_commit or known.state == "O":
            states = {"O": "open", "C": "committed", "A": "aborted", "T": "timed out and aborted"}
            detail = (
                f"The marker at offset {marker.offset} {'commits' if marker.is_commit else 'aborts'} transaction "
                f"{known.txn}, which is {states.get(known.state, known.state)} at its coordinator."
            )
            key = place.keys.log.decode()
            yield Finding("marker", str(place), key, f"{marker.offset}", detail)
