"""The bytes around records: a batch's header, and the numbers within a record.  For who lays records out by hand.

    base offset | length | leader epoch | magic | CRC ┃ attributes | last delta | times | producer | count | records
                                                      └───────────────── what the CRC covers ──────────────────────

Source: Kafka's protocol guide, "Record Batch" and "Record".
"""

from __future__ import annotations

import struct
from functools import lru_cache

from crc32c import crc32c

from redis_ledger.records.batch import HEADER_BYTES, LENGTH_END, MAGIC, Buffer

HEAD = struct.Struct(">qiibI")  # base offset .. CRC
_TAIL = struct.Struct(">hiqqqhii")  # attributes .. count


def batch_of(
    body: Buffer, *, attributes: int, last_offset_delta: int, base_ms: int, newest_ms: int, count: int,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:  # fmt: skip
    """The batch whose records these are, at rest: its own base offset is 0.  producer: id, epoch, sequence."""
    tail = _TAIL.pack(attributes, last_offset_delta, base_ms, newest_ms, *producer, count)
    crc = crc32c(body, crc32c(tail))
    head = HEAD.pack(0, HEADER_BYTES + len(body) - LENGTH_END, 0, MAGIC, crc)
    return b"".join((head, tail, body))


@lru_cache(65_536)
def varint(number: int) -> bytes:
    """Zigzag, as all numbers of a record are written."""
    left = number << 1 if number >= 0 else ~(number << 1)
    out = bytearray()
    while left >= 0x80:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)
