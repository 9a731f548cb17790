"""Splits a batch with delayed records by due time.

    a   b·14:00   c   d·15:00   e·14:00        one batch, as its producer sent it
    └───────┬─────┘
    now    [a c]                               its producer, transactional bit and codec; offsets as ever
    14:00  [b e]    15:00  [d]                 without a producer: they enter the log when they are due

The bytes of a record after its offset delta are copied: only its length, timestamp delta and offset delta are encoded
again, and the CRC.  A batch without delayed records costs a search for eight bytes.  A batch whose records share one
due time is not split.
Source: Kafka's protocol guide, "Record Batch"; Pulsar's deliverAt and deliverAfter (PIP-26).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias, cast

from crc32c import crc32c

from redis_ledger.errors import InvalidDelay
from redis_ledger.records.batch import (
    COMPRESSION_MASK,
    CRC_AT,
    CRC_FROM,
    HEADER,
    HEADER_BYTES,
    LENGTH_END,
    MAGIC,
    TRANSACTIONAL,
    BatchHeader,
    Buffer,
    claim,
)
from redis_ledger.records.budget import DEFAULT, Limits
from redis_ledger.records.compression import pack, unpack
from redis_ledger.records.delivery_headers import AFTER, AT, after_ms, at_ms
from redis_ledger.records.layout import HEAD, batch_of, varint
from redis_ledger.records.read import Unread

STEP = 500  # records between two pauses: a few milliseconds at most
PACKED_FROM_BYTES = 1_024  # a smaller batch is not worth compressing again
COMPARED_MS_MAX = (1 << 53) - 1

_NAMES = frozenset((AT, AFTER))
_TRACE = b"deliver-a"  # of both names
_AROUND_RECORDS = HEADER_BYTES - LENGTH_END
_NO_ATTRIBUTES_NO_DELTA = bytes(6)
_NO_PRODUCER_ONE_RECORD = struct.pack(">qhii", -1, -1, -1, 1)
_INT64_HALF = 1 << 63

# (the time to deliver at, the duration to deliver after), one of them None → when it is due, None: now
DueOf: TypeAlias = Callable[[int | None, int | None], int | None]


class Now(NamedTuple):
    """The records of a batch that are due now, as a batch."""

    payload: bytes | memoryview
    records: int
    newest_ms: int


class Later(NamedTuple):
    """A batch whose records are due together, without producer and transaction.  newest_ms: of their timestamps, or
    the nearest that Lua's numbers can compare.  dues: of a block, whose records are each due by themselves."""

    payload: bytes | memoryview
    records: int
    newest_ms: int
    due_ms: int
    dues: Sequence[int] = ()


_later = cast("Callable[[tuple[bytes, int, int, int, tuple[()]]], Later]", partial(tuple.__new__, Later))


class Split(NamedTuple):
    """A batch by when its records are due.  later: in the order in which the due times were met first."""

    now: Now | None
    later: Sequence[Later]


_Row: TypeAlias = tuple[int, bytes]  # timestamp_ms, the record's bytes behind its offset delta


def part(
    header: BatchHeader, data: Buffer, due_of: DueOf, limits: Limits = DEFAULT, *, plain: bytes = b""
) -> Generator[None, None, Split | None]:
    """The records due now and later; None if all are due now, and the batch is unchanged.

    header, data  a batch that `batch.check` let pass
    plain         as `unpacked` returns it, where the caller has it
    Pauses after every STEP records, so that an event loop can run other tasks.
    Raises InvalidDelay, CorruptBatch, TooLargeToDecode, and what due_of does.  Cost: 3 µs a record when every one has
    its own due time.
    """
    plain = plain or unpacked(header, data, limits)
    if plain.find(_TRACE, HEADER_BYTES) < 0:
        return None
    dues: list[int | None] = []
    times: list[int] = []
    last: tuple[str, bytes | None] | None = None
    last_due: int | None = None
    for records in Unread(plain, limits).slices():
        for _, timestamp_ms, _, _, headers in records:
            delivery = None
            for each in headers:
                if each[0] in _NAMES:
                    if delivery is not None and delivery[0] != each[0]:
                        raise InvalidDelay(f"A record has both {AT} and {AFTER}; one of them is enough.")
                    delivery = each  # the last header of a name counts, as in Kafka's clients
            if delivery is None:
                due = None
            elif delivery == last:  # neighbours are often due together
                due = last_due
            else:
                due = due_of(at_ms(delivery[1]), None) if delivery[0] == AT else due_of(None, after_ms(delivery[1]))
                last, last_due = delivery, due
            times.append(timestamp_ms)
            dues.append(due)
        yield
    first = dues[0]
    if dues.count(first) == len(dues):
        return None if first is None else _whole(header, data, max(times), first)
    groups = yield from _cut(plain, dues, times)
    return (yield from _built(header, groups))


def unpacked(header: BatchHeader, data: Buffer, limits: Limits) -> bytes:
    """The batch with its records unpacked; the CRC is not updated, and not checked again."""
    if not header.compression:
        return bytes(data)
    body = unpack(header.compression, memoryview(data)[HEADER_BYTES:], limits.decoded_bytes)
    attributes = header.attributes & ~COMPRESSION_MASK
    changed = header._replace(attributes=attributes, length=len(body) + _AROUND_RECORDS)
    return HEADER.pack(*changed) + body


def _whole(header: BatchHeader, data: Buffer, newest_ms: int, due_ms: int) -> Split:
    return Split(None, [Later(claim(data, -1, -1, -1, False), header.count, _comparable(newest_ms), due_ms)])


def _cut(
    plain: bytes, dues: Sequence[int | None], times: Sequence[int]
) -> Generator[None, None, dict[int | None, list[_Row]]]:
    """The records by due time.  plain: every record of it has been read before, so that its varints are whole."""
    groups: dict[int | None, list[_Row]] = {}
    at = HEADER_BYTES
    for count, (due, timestamp_ms) in enumerate(zip(dues, times, strict=True), 1):
        low = plain[at]
        high = plain[at + 1]
        if low < 0x80:
            field = at + 1
            end = field + (low >> 1)
        elif high < 0x80:
            field = at + 2
            end = field + ((high << 7 | low & 0x7F) >> 1)
        else:
            size, field = _varint_at(plain, at)
            end = field + size
        field += 1  # the attributes, of which there are none
        while plain[field] >= 0x80:  # the timestamp delta
            field += 1
        field += 1
        while plain[field] >= 0x80:  # the offset delta
            field += 1
        row = (timestamp_ms, plain[field + 1 : end])
        at = end
        group = groups.get(due)
        if group is None:
            groups[due] = [row]
        else:
            group.append(row)
        if not count % STEP:
            yield
    return groups


def _built(header: BatchHeader, groups: dict[int | None, list[_Row]]) -> Generator[None, None, Split]:
    now = None
    later: list[Later] = []
    codec = header.compression
    done = 0
    for due_ms, rows in groups.items():
        records = len(rows)
        newest_ms = rows[0][0] if records == 1 else max(row[0] for row in rows)
        if due_ms is None:
            producer = (header.producer_id, header.producer_epoch, header.base_sequence)
            payload = _batch(rows, newest_ms, codec, header.attributes & TRANSACTIONAL, producer)
            now = Now(payload, records, _comparable(newest_ms))
        elif records == 1 and (codec == 0 or len(rows[0][1]) < PACKED_FROM_BYTES):
            newest_ms = newest_ms if 0 <= newest_ms <= COMPARED_MS_MAX else _comparable(newest_ms)
            later.append(_later((_single(*rows[0]), 1, newest_ms, due_ms, ())))
        else:
            payload = _batch(rows, newest_ms, codec, 0, (-1, -1, -1))
            later.append(Later(payload, records, _comparable(newest_ms), due_ms))
        done += records
        if done >= STEP:
            done = 0
            yield
    return Split(now, later)


def _single(timestamp_ms: int, rest: bytes) -> bytes:
    """As `_batch` of this record alone, not packed, in a third of the time."""
    head, front = _around(len(rest))
    stamp = timestamp_ms.to_bytes(8, "big", signed=True)
    body = b"".join((_NO_ATTRIBUTES_NO_DELTA, stamp, stamp, front, rest))
    return b"".join((head, crc32c(body).to_bytes(4, "big"), body))


@lru_cache(8_192)
def _around(rest_bytes: int) -> tuple[bytes, bytes]:
    """What is the same in all batches of one record with as many bytes: what comes before the CRC, and what comes
    between the timestamps and the rest: no producer, one record, its length, no attributes, both deltas 0."""
    front = _NO_PRODUCER_ONE_RECORD + varint(rest_bytes + 3) + bytes(3)
    size = CRC_FROM + len(_NO_ATTRIBUTES_NO_DELTA) + 16 + len(front) + rest_bytes
    return HEAD.pack(0, size - LENGTH_END, 0, MAGIC, 0)[:CRC_AT], front


def _batch(rows: Sequence[_Row], newest_ms: int, codec: int, attributes: int, producer: tuple[int, int, int]) -> bytes:
    first_ms = rows[0][0]
    pieces: list[bytes] = []
    for offset_delta, (timestamp_ms, rest) in enumerate(rows):
        front = b"\x00" + varint(_wrapped(timestamp_ms - first_ms)) + varint(offset_delta)
        pieces += (varint(len(front) + len(rest)), front, rest)
    records = b"".join(pieces)
    if codec and len(records) >= PACKED_FROM_BYTES:
        packed = pack(codec, records)
        if len(packed) < len(records):
            records, attributes = packed, attributes | codec
    return batch_of(
        records, attributes=attributes, last_offset_delta=len(rows) - 1, base_ms=first_ms, newest_ms=newest_ms,
        count=len(rows), producer=producer,
    )  # fmt: skip


def _varint_at(data: bytes, at: int) -> tuple[int, int]:
    """A length, and where it ends."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number >> 1, at


def _comparable(timestamp_ms: int) -> int:
    return max(-1, min(timestamp_ms, COMPARED_MS_MAX))


def _wrapped(delta: int) -> int:
    """A difference of two timestamps as 64 bits, for readers add it to the first one in 64 bits."""
    return (delta + _INT64_HALF) % (2 * _INT64_HALF) - _INT64_HALF
