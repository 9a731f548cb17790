"""Markers: the control batches that tell a reader how a transaction ended.

    batch header   61 bytes, attributes: transactional and control, one record
    record         length 16 | 0 | 0 | 0 | key length 4 | key | value length 6 | value | 0 headers      17 bytes
      key          version int16 0 | type int16: 0 abort, 1 commit
      value        version int16 0 | coordinator epoch int32

All 78 bytes are of fixed size, so a marker is two packs and a checksum.
Source: KIP-98, "Control Messages"; Kafka's EndTransactionMarker.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from crc32c import crc32c

from redis_ledger.errors import CorruptBatch
from redis_ledger.records.batch import CONTROL, LENGTH_END, MAGIC, TRANSACTIONAL, Buffer, read_header
from redis_ledger.records.read import decode

_ABORT, _COMMIT = 0, 1
_HEAD = struct.Struct(">qiibI")  # base offset .. CRC
_TAIL = struct.Struct(">hiqqqhii bbbbb hh b hi b")  # attributes .. count, then the record, field by field
_KEY, _VALUE = struct.Struct(">hh"), struct.Struct(">hi")
MARKER_BYTES = _HEAD.size + _TAIL.size  # 78


class Marker(NamedTuple):
    offset: int
    leader_epoch: int
    producer_id: int
    epoch: int
    commit: bool
    coordinator_epoch: int
    timestamp_ms: int


def marker(
    base_offset: int,
    leader_epoch: int,
    producer_id: int,
    epoch: int,
    commit: bool,
    coordinator_epoch: int,
    timestamp_ms: int,
) -> bytes:
    """The batch that ends the producer's transaction; it takes one offset."""
    # fmt: off
    tail = _TAIL.pack(
        TRANSACTIONAL | CONTROL, 0, timestamp_ms, timestamp_ms, producer_id, epoch, -1, 1,
        16 << 1, 0, 0, 0, _KEY.size << 1,  # varints of small numbers: twice the number, in one byte
        0, _COMMIT if commit else _ABORT, _VALUE.size << 1, 0, coordinator_epoch, 0,
    )
    # fmt: on
    return _HEAD.pack(base_offset, MARKER_BYTES - LENGTH_END, leader_epoch, MAGIC, crc32c(tail)) + tail


def read_marker(data: Buffer) -> Marker:
    """Raises CorruptBatch if the batch is not a control batch, or not one that ends a transaction."""
    header = read_header(data)
    if not header.is_control:
        raise CorruptBatch(f"The batch at offset {header.base_offset} is not a control batch.")
    (record, *more) = decode(data)
    key, value = record.key or b"", record.value or b""
    # Later versions may append fields, so longer is fine.
    if more or len(key) < _KEY.size or len(value) < _VALUE.size:
        raise CorruptBatch(f"The control batch at offset {header.base_offset} does not have the shape of a marker.")
    _, kind = _KEY.unpack_from(key)
    _, coordinator_epoch = _VALUE.unpack_from(value)
    if kind not in (_ABORT, _COMMIT):
        raise CorruptBatch(f"The control batch at offset {header.base_offset} is of type {kind}; 0 aborts, 1 commits.")
    return Marker(
        header.base_offset,
        header.leader_epoch,
        header.producer_id,
        header.producer_epoch,
        kind == _COMMIT,
        coordinator_epoch,
        record.timestamp_ms,
    )
