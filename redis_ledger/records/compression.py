"""The five ways a batch's records may be packed, and unpacking them without trusting the packer.

    0 none   1 gzip   2 snappy   3 lz4 (frame)   4 zstd

Snappy comes in two dresses: raw, as librdkafka may send it, and in xerial's frame, which Java writes:

    82 'SNAPPY' 00 | version int32 1 | compatible int32 1 | length int32, raw snappy block | length int32, ...

A few bytes can unpack into gigabytes.  Every path here unpacks into room that was measured out first: snappy says its
size, and gzip, lz4 and zstd fill a lazily backed map that costs only the pages they touch.
Source: KIP-57, KIP-110; snappy-java, SnappyOutputStream.
"""

from __future__ import annotations

import mmap
import struct
from typing import Final

import cramjam
from aiokafka.codec import gzip_encode, lz4_encode, snappy_encode, zstd_encode

from redis_ledger.errors import CorruptBatch, TooLargeToDecode
from redis_ledger.records.batch import COMPRESSIONS
from redis_ledger.records.budget import too_large

SNAPPY: Final = 2

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES = 16
# Writers use blocks of 32 KiB, and of 1 KiB at least.  Millions of blocks of a few bytes would take seconds.
BLOCK_BYTES_MIN, BLOCKS = 512, 1024
_BLOCK_LENGTH = struct.Struct(">i")
_UNPACK_INTO = {1: cramjam.gzip.decompress_into, 3: cramjam.lz4.decompress_into, 4: cramjam.zstd.decompress_into}
_PACK = {
    1: lambda records: gzip_encode(records, 6),
    SNAPPY: snappy_encode,
    3: lambda records: lz4_encode(records, 1),
    4: zstd_encode,
}
_NO_ROOM = "failed to write whole buffer"  # what cramjam says of a map that is full
_FAILURES = (cramjam.DecompressionError, OSError, ValueError, OverflowError)


def unpack(compression: int, packed: memoryview, decoded_bytes_max: int) -> bytes:
    """The records as they were before compression; `compression` is 1 to 4.  Raises CorruptBatch, TooLargeToDecode."""
    if compression == SNAPPY:
        try:
            return _unsnap(bytes(packed), decoded_bytes_max)
        except _FAILURES as error:
            raise _cannot(compression, decoded_bytes_max, error) from None
    with _unpacked(compression, packed, decoded_bytes_max, 0, 1) as room:  # a map is never empty
        return room[:-1]


def unpack_between(
    compression: int, packed: memoryview, decoded_bytes_max: int, before: int, after: int
) -> mmap.mmap | bytearray:
    """As `unpack`, with room for so many bytes before the records and after them.  What is large is not copied: that
    would hold up all threads."""
    if compression == SNAPPY:
        return bytearray(b"".join((bytes(before), unpack(compression, packed, decoded_bytes_max), bytes(after))))
    return _unpacked(compression, packed, decoded_bytes_max, before, after)


def _unpacked(compression: int, packed: memoryview, decoded_bytes_max: int, before: int, after: int) -> mmap.mmap:
    # Failing to get the room is our trouble, not the batch's, and is not caught here.
    room = mmap.mmap(-1, before + decoded_bytes_max + after)
    try:
        with memoryview(room) as whole, whole[before : before + decoded_bytes_max] as middle:
            size = _UNPACK_INTO[compression](packed, middle)
    except _FAILURES as error:
        raise _cannot(compression, decoded_bytes_max, error) from None
    room.resize(before + size + after)
    return room


def pack(compression: int, records: bytes) -> bytes:
    """compression is 1 to 4.  Java reads independent blocks of lz4 only."""
    return bytes(_PACK[compression](records))


def _cannot(compression: int, decoded_bytes_max: int, error: Exception) -> CorruptBatch | TooLargeToDecode:
    if _NO_ROOM in str(error):
        return too_large(
            "The batch's records unpack to more than {} bytes", "batch_decoded_bytes_max", decoded_bytes_max
        )
    return CorruptBatch(f"The batch's {COMPRESSIONS[compression]} records cannot be unpacked: {error}.")


def _unsnap(packed: bytes, decoded_bytes_max: int) -> bytes:
    if not packed.startswith(_XERIAL_MAGIC):
        return _unsnap_block(packed, decoded_bytes_max)
    blocks: list[bytes] = []
    blocks_max = BLOCKS + decoded_bytes_max // BLOCK_BYTES_MIN
    room = decoded_bytes_max
    at = _XERIAL_HEADER_BYTES
    while at < len(packed):
        if at + 4 > len(packed):
            raise ValueError("the last block's length is cut short")
        (length,) = _BLOCK_LENGTH.unpack_from(packed, at)
        at += 4
        if len(blocks) >= blocks_max:
            raise ValueError(f"more than {blocks_max} blocks")
        if not 0 < length <= len(packed) - at:
            raise ValueError(f"a block of {length} bytes, where {len(packed) - at} are left")
        block = _unsnap_block(packed[at : at + length], room)
        blocks.append(block)
        room -= len(block)
        at += length
    return b"".join(blocks)


def _unsnap_block(block: bytes, room: int) -> bytes:
    claimed = cramjam.snappy.decompress_raw_len(block)
    if claimed > room:
        raise ValueError(f"{_NO_ROOM}: a block says it unpacks to {claimed} bytes")
    return bytes(cramjam.snappy.decompress_raw(block))
