"""Compresses columns of integers: planes of bytes, each with its own Huffman code.

    numbers       170   164   1_181          planes 0 and 1, kept; 2 to 7 are zero throughout and cost nothing
    plane 0        aa    a4      9d
    plane 1        00    00      04

Low planes are noise and do not shrink; high planes repeat and shrink to their entropy.  A column of close neighbours,
such as times in order of arrival, is stored as differences.  Per-number work runs in C loops.
The message is in proto/redis_ledger/v1/delay_bucket.proto.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from itertools import accumulate, islice, repeat
from operator import sub

from redis_ledger.proto.delay_bucket_pb2 import Column, Columns

_BYTES = 8
_SAMPLE = 64
_END_PLANE = zlib.Z_BLOCK  # starts a new Huffman code


def pack(columns: Iterable[Sequence[int]]) -> Columns:
    """The table of these columns: equally long, of at least one number, each from -2^63 to 2^63 - 1."""
    # Z_RLE searches only for runs: noise has no other matches, and searching for them would take most of the time.
    deflate = zlib.compressobj(1, zlib.DEFLATED, -15, 9, zlib.Z_RLE)
    encoded, length = [], 0
    packed: list[bytes] = []
    for numbers in columns:
        length = len(numbers)
        column, kept = _planes(numbers)
        encoded.append(column)
        for plane in kept:
            packed += deflate.compress(plane), deflate.flush(_END_PLANE)
    return Columns(length=length, columns=encoded, planes=b"".join(packed) + deflate.flush() if packed else b"")


def unpack(table: Columns) -> list[Iterable[int]]:
    """Decodes the columns as one-shot iterators.  Raises ValueError."""
    sizes = [column.kept.bit_count() * _written(column, table.length) for column in table.columns]
    planes = _inflate(table.planes, sum(sizes))
    columns, at = [], 0
    for column, size in zip(table.columns, sizes, strict=True):
        columns.append(_numbers(column, table.length, planes[at : at + size]))
        at += size
    return columns


def _inflate(packed: bytes, size: int) -> bytes:
    if not size:
        return b""
    inflate = zlib.decompressobj(-15)
    try:
        data = inflate.decompress(packed, size + 1)
    except zlib.error as error:
        raise ValueError(f"its planes cannot be inflated: {error}") from None
    if len(data) != size or not inflate.eof:
        raise ValueError(f"its planes have not {size} bytes")
    return data


def _planes(numbers: Sequence[int]) -> tuple[Column, list[bytes]]:
    """How a column is written, and those of its planes that are kept."""
    if _is_constant(numbers):
        return Column(least=numbers[0]), []
    start = None
    if _is_smooth(numbers):
        steps = _steps(numbers)
        if min(steps) >= -(1 << 63) and max(steps) < 1 << 63:
            start, numbers = numbers[0], steps
            if _is_constant(numbers):
                return Column(least=numbers[0], start=start), []
    least = min(numbers)
    if least < 0:
        numbers = list(map(sub, numbers, repeat(least)))
    raw = struct.pack(f"<{len(numbers)}Q", *numbers)
    planes = [raw[plane::_BYTES] for plane in range(_BYTES)]
    kept = [plane for plane, data in enumerate(planes) if not _is_constant(data)]
    column = Column(common=numbers[0], kept=sum(1 << plane for plane in kept), least=min(least, 0), start=start)
    return column, [planes[plane] for plane in kept]


def _is_constant(numbers: Sequence[int]) -> bool:
    return numbers[0] == numbers[-1] and numbers.count(numbers[0]) == len(numbers)


def _is_smooth(numbers: Sequence[int]) -> bool:
    """Whether neighbours are nearer to each other than to the rest, judged by samples."""
    far = numbers[:: len(numbers) // _SAMPLE + 1]
    steps = _steps(numbers[: _SAMPLE + 1])
    return max(steps) - min(steps) < max(far) - min(far)


def _steps(numbers: Sequence[int]) -> list[int]:
    return list(map(sub, islice(numbers, 1, None), numbers))


def _written(column: Column, length: int) -> int:
    return length - 1 if column.HasField("start") else length


def _numbers(column: Column, length: int, planes: bytes) -> Iterable[int]:
    written = _written(column, length)
    if not column.kept:
        found: Iterable[int] = repeat(column.common, written)
    else:
        raw = bytearray(struct.pack("<Q", column.common) * written)
        kept = [plane for plane in range(_BYTES) if column.kept >> plane & 1]
        for at, plane in enumerate(kept):
            raw[plane::_BYTES] = planes[at * written : (at + 1) * written]
        found = struct.unpack(f"<{written}Q", raw)
    if column.least:
        found = map(column.least.__add__, found)
    return accumulate(found, initial=column.start) if column.HasField("start") else found
