"""Compares log entries with the payload that they point to.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from redis_ledger.errors import LedgerError
from redis_ledger.fsck.finding import Finding
from redis_ledger.ledger.entries import LogEntry, PartialEntry
from redis_ledger.ledger.place import Place
from redis_ledger.records.batch import check, read_header

BATCH_BYTES_MAX = 1 << 31


class Damage(NamedTuple):
    """Adjacent entries whose payload cannot be read.  last: last offset."""

    first: int
    last: int
    ledger: int
    why: str


def check_payload(
    place: Place, entries: Sequence[LogEntry], payload: Mapping[tuple[int, int], bytes], kept_from: int
) -> list[Finding]:
    """payload: by ledger and entry.  kept_from: below it the payload may be in Parquet, or gone by retention."""
    damages: list[Damage] = []
    for entry in entries:
        if entry.is_marker or entry.last_offset < kept_from:
            continue
        why = why_unreadable(entry, payload.get((entry.ledger, entry.entry)))
        if why is None:
            continue
        before = damages[-1] if damages else None
        if before is not None and (before.last + 1, before.ledger, before.why) == (
            entry.base_offset,
            entry.ledger,
            why,
        ):
            damages[-1] = before._replace(last=entry.last_offset)
        else:
            damages.append(Damage(entry.base_offset, entry.last_offset, entry.ledger, why))
    return [_finding(place, damage) for damage in damages]


def why_unreadable(entry: LogEntry, payload: bytes | None) -> str | None:
    if payload is None:
        return "is missing"
    is_partial = isinstance(entry, PartialEntry)
    if not is_partial and len(payload) != entry.size:
        return "has another length than the log says"
    try:
        header = read_header(payload)
        check(header, payload, batch_bytes_max=BATCH_BYTES_MAX)
    except LedgerError:
        return "is damaged: its checksum or its header is wrong"
    if not is_partial and header.count != entry.records:
        return "has another number of records than the log says"
    return None


def check_delayed(payload: bytes) -> str:
    """What is wrong with the payload of a delayed entry; "" if nothing is."""
    try:
        check(read_header(payload), payload, batch_bytes_max=BATCH_BYTES_MAX)
    except LedgerError:
        return "is damaged: its checksum or its header is wrong"
    return ""


def _finding(place: Place, damage: Damage) -> Finding:
    key = place.keys.data(damage.ledger).decode()
    detail = f"The payload of offsets {damage.first} to {damage.last}, in ledger {damage.ledger}, {damage.why}."
    return Finding("payload", str(place), key, f"{damage.first}", detail)
