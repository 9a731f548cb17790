"""Acknowledged offsets beyond the mark-delete position as lua/include/acks stores them: chunks of 8192 offsets.

    acks   "8e9m"  full: the chunks 8192 m to 8192 m + 8191 of which every offset is acknowledged, a list or a bitmap
           "9e9n"  chunk n as a list: lengths of stretches in turn, the first one not acknowledged
           "n"     chunk n as a bitmap, most significant bit first

A chunk is the union of all three.  Values in another form raise nothing, and what they say beyond a chunk is left out.
Source: docs/decisions/0048; WAH and Roaring bitmaps choose a form for each chunk as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from redis_ledger.cursor.ranges import Range

CHUNK = 8192
BYTES = CHUNK // 8
LIST_BYTES_MAX = 128  # a longer value in a field of both forms is a bitmap
RUNS_MAX = 32  # of a list
_NAME = re.compile(rb"(?:(?P<form>[89])e9)?(?P<number>0|[1-9]\d*)\Z")


def full_name(chunk: int) -> bytes:
    return b"8e9%d" % (chunk // CHUNK)


def list_name(chunk: int) -> bytes:
    return b"9e9%d" % chunk


def names(chunks: Iterable[int]) -> list[bytes]:
    """Returns the fields that the chunks may have."""
    found = dict[bytes, None]()
    for chunk in chunks:
        found |= dict.fromkeys((full_name(chunk), list_name(chunk), b"%d" % chunk))
    return list(found)


def bitmaps(chunks: Sequence[int], values: Sequence[bytes | None] | None) -> dict[int, bytes]:
    """Returns the bitmaps of chunks, without empty ones.  values: of the fields `names(chunks)`; None: of none."""
    fields = dict(zip(names(chunks), values, strict=True)) if values is not None else {}
    found = {chunk: bitmap(fields, chunk) for chunk in chunks}
    return {chunk: bits for chunk, bits in found.items() if any(bits)}


def bitmap(fields: Mapping[bytes, bytes | None], chunk: int) -> bytes:
    """Returns 1024 bytes."""
    full = _runs(fields.get(full_name(chunk)) or b"")
    if any(first <= chunk % CHUNK <= last for first, last in full):
        return b"\xff" * BYTES
    return _bitmap(_list(fields.get(list_name(chunk)) or b""), fields.get(b"%d" % chunk) or b"")


def ranges(fields: Mapping[bytes, bytes], first: int, end: int) -> list[Range]:
    """Returns the acknowledged offsets from first to end (exclusive), ascending and with gaps between them."""
    found: list[Range] = []
    for name, value in fields.items():
        if (known := _NAME.match(name)) is None:
            continue
        number, form = int(known["number"]), known["form"]
        base = number * CHUNK
        if form == b"8":
            runs = [Range((base + low) * CHUNK, (base + high + 1) * CHUNK - 1) for low, high in _runs(value)]
        else:
            runs = [Range(base + low, base + high) for low, high in (_bits if form is None else _list)(value)]
        found += [Range(max(low, first), min(high, end - 1)) for low, high in runs if high >= first and low < end]
    return _merged(found)


def count_runs(fields: Mapping[bytes, bytes]) -> int:
    """Returns the number of runs in all values, at least that of ranges.  Cost: a microsecond a field."""
    count = 0
    for name, value in fields.items():
        if len(value) > LIST_BYTES_MAX or not name.startswith((b"8e9", b"9e9")):
            bits = int.from_bytes(value, "big")
            count += (bits & ~(bits >> 1)).bit_count()
        else:
            count += len(value) // 2
    return count


def fields_of(ranges: Iterable[Range], fields_max: int) -> dict[bytes, bytes] | None:
    """Returns the fields to store for ranges, ascending and with gaps between them; None if there are more than
    fields_max."""
    chunks, groups = dict[int, list[Range]](), dict[int, list[Range]]()
    for first, last in ranges:
        while first <= last:
            number, behind = first // CHUNK, (last + 1) // CHUNK  # behind: the first chunk that is not covered whole
            if first % CHUNK == 0 and behind > number:
                into, number, stop = groups, number // CHUNK, min(behind * CHUNK, (number // CHUNK + 1) * CHUNK**2) - 1
                run = Range(first // CHUNK % CHUNK, stop // CHUNK % CHUNK)
            else:
                into, stop = chunks, min(last, number * CHUNK + CHUNK - 1)
                run = Range(first % CHUNK, stop % CHUNK)
            into.setdefault(number, []).append(run)
            if len(chunks) + len(groups) > fields_max:
                return None
            first = stop + 1
    fields = {full_name(group * CHUNK): _text(runs) for group, runs in groups.items()}
    for chunk, runs in chunks.items():
        fields[list_name(chunk) if len(runs) <= RUNS_MAX else b"%d" % chunk] = _text(runs)
    return fields


def without(fields: Mapping[bytes, bytes], chunk: int) -> bytes | None:
    """Returns the value of the chunk's group without the chunk, as a bitmap; None if it is not in it."""
    bits = int.from_bytes(_bitmap(_runs(fields.get(full_name(chunk), b""))), "big")
    mine = 1 << CHUNK - 1 - chunk % CHUNK
    return (bits ^ mine).to_bytes(BYTES, "big") if bits & mine else None


def beyond(fields: Iterable[bytes], end: int) -> list[bytes]:
    """Returns the fields of chunks and groups that begin at or beyond an offset, or contain it."""
    sizes = {b"8": CHUNK * CHUNK, b"9": CHUNK, None: CHUNK}
    known = [(name, found) for name in fields if (found := _NAME.match(name)) is not None]
    return [name for name, found in known if (int(found["number"]) + 1) * sizes[found["form"]] > end]


def _merged(found: list[Range]) -> list[Range]:
    merged: list[Range] = []
    for low, high in sorted(found):
        if merged and low <= merged[-1].last + 1:
            merged[-1] = Range(merged[-1].first, max(merged[-1].last, high))
        else:
            merged.append(Range(low, high))
    return merged


def _bitmap(runs: Iterable[Range], of: bytes = b"") -> bytes:
    bits = int.from_bytes(of[:BYTES].ljust(BYTES, b"\0"), "big")
    for first, last in runs:
        bits |= (1 << (last - first + 1)) - 1 << CHUNK - 1 - last
    return bits.to_bytes(BYTES, "big")


def _text(runs: Sequence[Range]) -> bytes:
    """A list, or a bitmap if that has too many runs."""
    if len(runs) > RUNS_MAX:
        return _bitmap(runs)
    text, at = bytearray(), 0
    for first, last in runs:
        for length in (first - at, last - first + 1):
            text += bytes((length,)) if length < 128 else bytes((length % 128 + 128, length // 128))
        at = last + 1
    return bytes(text)


def _runs(value: bytes) -> Iterator[Range]:
    return _list(value) if len(value) <= LIST_BYTES_MAX else _bits(value)


def _bits(value: bytes) -> Iterator[Range]:
    text = f"{int.from_bytes(value[:BYTES], 'big'):0{8 * len(value[:BYTES])}b}" if value else ""
    return (Range(run.start(), run.end() - 1) for run in re.finditer("1+", text))


def _list(value: bytes) -> Iterator[Range]:
    at = length = shift = 0
    is_run = False
    for byte in value[:LIST_BYTES_MAX]:
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            if is_run and length and at < CHUNK:
                yield Range(at, min(at + length, CHUNK) - 1)
            at, length, shift, is_run = at + length, 0, 0, not is_run
