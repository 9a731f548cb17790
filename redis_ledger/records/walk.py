"""A walk over the bytes of a batch's records, from length to length, before any object is made of them.

    length│...record...│length│......record......│length│...          a step a record, 0.15 µs
    └──────── slice ──────────┘└─── a large one by itself: how many headers does it say that it has?

A record's number of headers stands behind its key and its value; two bytes are enough for a header.
Source: Kafka's protocol guide, "Record".
"""

from __future__ import annotations

from redis_ledger.errors import CorruptBatch
from redis_ledger.records.batch import Buffer
from redis_ledger.records.budget import Limits, too_large

SLICE_RECORDS = 500  # a quarter of a millisecond of reading
_SHIFT_MAX = 63


def slices(body: Buffer, count: int, limits: Limits, slice_bytes: int) -> list[int]:
    """How many records each slice has: as many as fit into slice_bytes, or a larger one.

    Raises CorruptBatch, and TooLargeToDecode where the headers of large records are too many.
    """
    found: list[int] = []
    at, begun, records, headers, large = 0, 0, 0, 0, slice_bytes << 1
    data = body if isinstance(body, bytes) else memoryview(body)  # indexing bytes is quicker
    try:
        for _ in range(count):
            size, field = data[at], at + 1
            if size >= 0x80:
                more = data[field]
                if more < 0x80:
                    size, field = size & 0x7F | more << 7, field + 1
                else:
                    size, field = _varint(data, at)
            end = field + (size >> 1)
            if size & 1:
                raise CorruptBatch("A record of the batch has a size below 0.")
            if size > large and end <= len(data):
                headers += _headers(data, field, end, limits)
                if headers > limits.headers:
                    raise too_large("The batch has more than {} headers", "headers_max", limits.headers)
            if records and (end - begun > slice_bytes or records == SLICE_RECORDS):
                found.append(records)
                begun, records = at, 0
            records += 1
            at = end
    except IndexError:
        at = -1
    if at != len(data):
        raise CorruptBatch("A record of the batch cannot be read: records end elsewhere than their batch.")
    found.append(records)
    return found


def _headers(data: Buffer, at: int, end: int, limits: Limits) -> int:
    """How many headers the record says that it has; what does not add up is left to the reader."""
    _, at = _varint(data, at + 1)  # behind the attributes: the timestamp delta
    _, at = _varint(data, at)
    for _ in range(2):  # key and value
        size, at = _varint(data, at)
        at += 0 if size & 1 else size >> 1
    said, at = _varint(data, at)
    count = min(said >> 1, max(end - at, 0) // 2)  # more do not fit
    if count > limits.record_headers:
        raise too_large("A record of the batch has more than {} headers", "record_headers_max", limits.record_headers)
    return count


def _varint(data: Buffer, at: int) -> tuple[int, int]:
    """As it is written, zigzag, and where it ends."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
        if shift > _SHIFT_MAX:
            raise CorruptBatch("A record of the batch cannot be read: a number does not end.")
