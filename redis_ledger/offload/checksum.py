"""Checksum of rows that does not depend on their order: the sum of a 64-bit hash of each row, modulo 2**64.

    row     partition offset | key length, key | value length, value | headers: the same for each name and value
    hash    CRC-32C and CRC-32 of these bytes side by side, then mixed by multiplication

A length of -1 is null.  The checksum of a file is the sum of the checksums of its parts, however the rows are cut,
merged or sorted.  It detects damage and lost or duplicated rows; it does not resist deliberate forgery.
Cost: about half a microsecond a row, and 1 GB/s; Arrow lays the rows out, and two C functions hash them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc
from crc32c import crc32c

from redis_ledger.records.columns import headers_of, joined, length

MODULUS = 1 << 64
COLUMNS = ("partition", "offset", "key", "value", "headers")
_MIX_ONE, _MIX_TWO = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of splitmix64


def checksum(batch: Any) -> int:
    """Returns the checksum of a pyarrow RecordBatch that has at least COLUMNS, typed as in segment.SCHEMA."""
    if not batch.num_rows:
        return 0
    rows = _encode_rows(batch).to_pylist()
    high = pa.array(map(crc32c, rows), pa.uint64(), size=len(rows))
    low = pa.array(map(crc32, rows), pa.uint64(), size=len(rows))
    total = pc.sum(_mix(pc.bit_wise_or(pc.shift_left(high, _number(32)), low))).as_py()
    return int(total) % MODULUS


def combine(sums: Iterable[int]) -> int:
    """Returns the checksum of all rows from the checksums of parts."""
    return sum(sums) % MODULUS


def to_hex(total: int) -> str:
    """Returns 16 hexadecimal digits, as in a manifest entry."""
    return f"{total:016x}"


def _number(value: int) -> Any:
    return pa.scalar(value, pa.uint64())


def _mix(hashes: Any) -> Any:
    for shift, factor in ((30, _MIX_ONE), (27, _MIX_TWO)):
        hashes = pc.multiply(pc.bit_wise_xor(hashes, pc.shift_right(hashes, _number(shift))), _number(factor))
    return pc.bit_wise_xor(hashes, pc.shift_right(hashes, _number(31)))


def _encode_rows(batch: Any) -> Any:
    key, value, headers = (batch.column(name) for name in ("key", "value", "headers"))
    parts = [
        _four_bytes(batch.column("partition")),
        _fixed(batch.column("offset"), 8),
        _four_bytes(length(key)), key, _four_bytes(length(value)), value,
    ]  # fmt: skip
    if headers.null_count < len(headers):
        parts.append(headers_of(headers, _four_bytes))
    return joined(parts)


def _four_bytes(numbers: Any) -> Any:
    return _fixed(numbers, 4)


def _fixed(numbers: Any, width: int) -> Any:
    """Returns numbers without nulls as the bytes that they have in memory."""
    kind = pa.binary(width)
    return pa.FixedSizeBinaryArray.from_buffers(
        kind, len(numbers), [None, numbers.buffers()[1]], offset=numbers.offset
    ).cast(pa.binary())
