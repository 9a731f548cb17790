"""Record batches at rest: Kafka's RecordBatch v2, byte for byte as the producer sent them.

    at   bytes  field               kind
     0     8    base offset         int64   ┐ written by the broker (`place`);
     8     4    length              int32   │ bytes after this field; size of the batch = length + 12
    12     4    leader epoch        int32   ┘ not covered by the CRC
    16     1    magic               int8    2
    17     4    CRC-32C             uint32  of everything that follows it
    21     2    attributes          int16   bits 0-2 compression, 3 timestamp type, 4 transactional, 5 control
    23     4    last offset delta   int32   count - 1, or more where offsets have gaps (offloaded records only)
    27     8    base timestamp      int64   milliseconds
    35     8    max timestamp       int64
    43     8    producer id         int64   -1: none                 ┐
    51     2    producer epoch      int16                            │ rewritten by `claim`, CRC remade
    53     4    base sequence       int32   of the first record      ┘
    57     4    count               int32   records in the batch
    61          records                     as `records/read.py` draws them, compressed as a whole

Storing a batch changes only the first 16 bytes, so the producer's CRC stays valid.  In a topic with LogAppendTime,
`stamp` changes the timestamp type and the max timestamp, which then is that of all records.
Source: Kafka's protocol guide, "Record Batch"; KIP-98.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, TypeAlias

from crc32c import crc32c

from redis_ledger.errors import BadChecksum, CorruptBatch, RequestTooLarge, UnsupportedCompression

Buffer: TypeAlias = bytes | bytearray | memoryview

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = HEADER.size  # 61
RECORD_BYTES_MIN = 7  # one byte for each field of a record without key, value and headers
LENGTH_END = 12  # the length field counts from here
CRC_AT, CRC_FROM = 17, 21  # the checksum, and the first byte that it covers
MAX_TIMESTAMP_AT = 35
MAGIC = 2
SEQUENCES = 1 << 31  # sequences wrap to 0 after 2^31 - 1 (KIP-98)

COMPRESSION_MASK, LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 0x07, 0x08, 0x10, 0x20
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")  # by their number in the attributes

_PLACE = struct.Struct(">qii")
_LENGTH = struct.Struct(">i")
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_TIME = struct.Struct(">q")
_PRODUCER = struct.Struct(">qhi")


class BatchHeader(NamedTuple):
    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which is not used

    @property
    def compression(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def size(self) -> int:
        """Bytes of the whole batch, this header included."""
        return self.length + LENGTH_END

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta


def read_header(buffer: Buffer, at: int = 0) -> BatchHeader:
    """The header at byte `at`, without checks of its values.  Raises CorruptBatch if 61 bytes are not there."""
    try:
        return BatchHeader._make(HEADER.unpack_from(buffer, at))
    except struct.error:
        raise CorruptBatch(
            f"A record batch has a header of {HEADER_BYTES} bytes; {max(0, len(buffer) - at)} are left at byte {at}."
        ) from None


def split(data: Buffer) -> list[tuple[BatchHeader, memoryview]]:
    """Divides concatenated batches without copying; b"" holds none.

    Raises CorruptBatch unless whole batches of version 2, each of one record at least, fill the data to its last byte.
    """
    view = memoryview(data)
    end = len(view)
    batches = []
    at = 0
    while at < end:
        # Messages of versions 0 and 1 are shorter than our header, so their magic is checked first.
        if at + CRC_AT <= end and view[at + 16] != MAGIC:
            raise CorruptBatch(
                f"The batch at byte {at} has magic {view[at + 16]}; only record batches of version {MAGIC} are taken."
            )
        header = read_header(view, at)
        size = header.size
        if size < HEADER_BYTES:
            raise CorruptBatch(
                f"The batch at byte {at} says its length is {header.length};"
                f" the header alone makes {HEADER_BYTES - LENGTH_END}."
            )
        if at + size > end:
            raise CorruptBatch(f"The batch at byte {at} is {size} bytes long, but only {end - at} are there.")
        if header.count < 1:
            raise CorruptBatch(f"The batch at byte {at} says it holds {header.count} records; it must hold at least 1.")
        batches.append((header, view[at : at + size]))
        at += size
    return batches


def check(header: BatchHeader, view: Buffer, *, batch_bytes_max: int) -> None:
    """Refuses what a client may not append; `header` is that of `view`, as `split` returned them.

    The records themselves are not decoded.  Cost: one CRC-32C of the batch.
    Raises RequestTooLarge, CorruptBatch, UnsupportedCompression or BadChecksum.
    """
    size = header.size
    if size > batch_bytes_max:
        raise RequestTooLarge(
            f"The batch is {size} bytes; this broker takes at most {batch_bytes_max}. Send smaller batches.",
            batch_bytes_max=batch_bytes_max,
        )
    if size != len(view):
        raise CorruptBatch(f"The batch says it is {size} bytes long, but {len(view)} were given.")
    check_shape(header)
    if header.count != header.last_offset_delta + 1:
        raise CorruptBatch(
            f"The batch says it holds {header.count} records, but its last offset delta is {header.last_offset_delta}."
        )
    if header.attributes & CONTROL:
        raise CorruptBatch("The batch is a control batch; only the broker writes those.")
    if not header.compression:
        check_count(header, size - HEADER_BYTES)
    found = crc32c(view[CRC_FROM:])
    if found != header.crc:
        raise BadChecksum(
            f"The batch's CRC-32C is {found:#010x}, but its header says {header.crc:#010x}."
            " It was damaged on the way; send it again from its source."
        )


def check_shape(header: BatchHeader) -> None:
    """Checks that apply to every batch before its records are read.  Raises CorruptBatch or UnsupportedCompression."""
    if header.magic != MAGIC:
        raise CorruptBatch(f"The batch has magic {header.magic}; only record batches of version {MAGIC} are taken.")
    if not 1 <= header.count <= header.last_offset_delta + 1:
        raise CorruptBatch(
            f"The batch says it holds {header.count} records, but its last offset delta is {header.last_offset_delta}."
        )
    if header.attributes & COMPRESSION_MASK >= len(COMPRESSIONS):
        raise UnsupportedCompression(
            f"The batch uses compression {header.compression}; known are "
            + ", ".join(f"{number} ({name})" for number, name in enumerate(COMPRESSIONS))
            + "."
        )


def check_count(header: BatchHeader, body_bytes: int) -> None:
    """Raises CorruptBatch if that many records cannot lie in a body of `body_bytes` uncompressed bytes."""
    if body_bytes < header.count * RECORD_BYTES_MIN:
        raise CorruptBatch(f"The batch says it holds {header.count} records; {body_bytes} bytes are too few for them.")


def place(data: Buffer, base_offset: int, leader_epoch: int) -> bytes:
    """The batch with its base offset and leader epoch; its CRC stays valid.  Cost: one copy."""
    view = memoryview(data)
    (length,) = _LENGTH.unpack_from(view, 8)
    return b"".join((_PLACE.pack(base_offset, length, leader_epoch), view[16:]))


def claim(data: Buffer, producer_id: int, epoch: int, sequence: int, transactional: bool) -> bytes:
    """The batch with the fields of another producer and the transactional bit; the CRC is computed again.

    sequence  of the first record; -1 where producer_id is not one of an idempotent producer
    """
    batch = bytearray(data)
    (attributes,) = _ATTRIBUTES.unpack_from(batch, 21)
    _ATTRIBUTES.pack_into(batch, 21, attributes | TRANSACTIONAL if transactional else attributes & ~TRANSACTIONAL)
    _PRODUCER.pack_into(batch, 43, producer_id, epoch, sequence)
    _CRC.pack_into(batch, CRC_AT, crc32c(memoryview(batch)[CRC_FROM:]))
    return bytes(batch)


def stamp(data: Buffer, append_ms: int) -> bytes:
    """The batch with the time at which it was received: all its records have this time.  Cost: a copy and a CRC."""
    batch = bytearray(data)
    (attributes,) = _ATTRIBUTES.unpack_from(batch, 21)
    _ATTRIBUTES.pack_into(batch, 21, attributes | LOG_APPEND_TIME)
    _TIME.pack_into(batch, MAX_TIMESTAMP_AT, append_ms)
    _CRC.pack_into(batch, CRC_AT, crc32c(memoryview(batch)[CRC_FROM:]))
    return bytes(batch)


def empty(base_offset: int, leader_epoch: int, records: int, producer_id: int, epoch: int, sequence: int) -> bytes:
    """A batch of a transaction whose records are gone: readers go on behind its last offset, as after compaction."""
    fields = (TRANSACTIONAL, records - 1, -1, -1, producer_id, epoch, sequence, 0)
    head = (base_offset, HEADER_BYTES - LENGTH_END, leader_epoch, MAGIC)
    tail = HEADER.pack(*head, 0, *fields)[CRC_FROM:]
    return HEADER.pack(*head, crc32c(tail), *fields)
