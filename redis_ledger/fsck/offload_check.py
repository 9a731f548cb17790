"""Checks the manifest of offloaded history.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import msgspec

from redis_ledger.fsck.finding import Finding, edit, hget
from redis_ledger.ledger.place import Place
from redis_ledger.offload.manifest import Plan, Segment, is_chain

_segment = msgspec.json.Decoder(Segment).decode
_plan = msgspec.json.Decoder(Plan).decode


def check_manifest(place: Place, rows: Mapping[bytes, bytes], state: Mapping[bytes, bytes]) -> Iterator[Finding]:
    """rows: of `cold`; state: of the partition; all of one moment."""
    k, segments = place.keys, list[Segment]()
    for name, text in rows.items():
        if not name.isdigit():
            continue
        try:
            segments.append(_segment(text))
        except (msgspec.DecodeError, UnicodeDecodeError):
            detail = f"The segment from offset {int(name)} cannot be read."
            yield Finding("offload_segment", str(place), k.offload.decode(), name.decode(), detail)
    segments.sort(key=lambda segment: segment.first)
    start, cold, stable = (_number(state.get(name)) for name in (b"start", b"cold", b"stable"))
    for before, after in pairwise(segments):
        if before.end != after.first and after.first > start:
            detail = f"Offsets {before.end} to {after.first - 1} are in no segment of the manifest."
            yield Finding("offload_segment", str(place), k.offload.decode(), f"{before.end}", detail)
    end = segments[-1].end if segments else cold
    if end > cold:
        detail = f"The manifest ends at offset {end}; the field 'cold' is {cold}."
        repair = edit([hget(k.state, "cold", state.get(b"cold"))], ("HSET", k.state, "cold", end))
        yield Finding("offload", str(place), k.state.decode(), "cold", detail, repair)
    lowest = max(start, end if segments else start)
    if cold > lowest:
        detail = f"Offsets {lowest} to {cold - 1} are offloaded, and in no segment of the manifest."
        yield Finding("offload_segment", str(place), k.offload.decode(), f"{lowest}", detail)
    version = rows.get(b"version")
    if segments and (version is None or not version.isdigit()):
        repair = edit([hget(k.offload, "version", version)], ("HSET", k.offload, "version", len(segments)))
        yield Finding("offload", str(place), k.offload.decode(), "version", f"The version is {version!r}.", repair)
    yield from _check_plan(place, rows.get(b"plan"), cold, stable)


def _check_plan(place: Place, text: bytes | None, cold: int, stable: int) -> Iterator[Finding]:
    if text is None:
        return
    k = place.keys
    try:
        stretches = _plan(text).stretches
        why = "" if stretches and is_chain(stretches, stretches[0].first) else "has gaps"
    except (msgspec.DecodeError, UnicodeDecodeError):
        stretches, why = [], "cannot be read"
    if stretches and not why:
        if stretches[0].first < cold:
            why = f"begins at {stretches[0].first}, below the offloaded history, which ends at {cold}"
        elif stretches[-1].end > stable:
            why = f"ends at {stretches[-1].end}, beyond the stable offset {stable}"
    if why:
        repair = edit([hget(k.offload, "plan", text)], ("HDEL", k.offload, "plan"))
        yield Finding("offload", str(place), k.offload.decode(), "plan", f"The plan {why}.", repair)


def _number(text: bytes | None) -> int:
    return int(text) if text and text.isdigit() else 0
