"""Unpacking what a writer may have made on purpose."""

from __future__ import annotations

import gzip
import struct

import cramjam
import pytest

from redis_ledger.errors import CorruptBatch
from redis_ledger.records.compression import BLOCK_BYTES_MIN, BLOCKS, SNAPPY, pack, unpack

ROOM = 1 << 16
FRAME = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


def block(text: bytes) -> bytes:
    packed = bytes(cramjam.snappy.compress_raw(text))
    return struct.pack(">i", len(packed)) + packed


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_nothing_is_unpacked_as_nothing(codec):
    assert unpack(codec, memoryview(pack(codec, b"")), ROOM) == b""
    assert unpack(codec, memoryview(pack(codec, b"abc")), ROOM) == b"abc"


def test_several_members_of_nothing_are_nothing():
    assert unpack(1, memoryview(gzip.compress(b"") * 3), ROOM) == b""


def test_blocks_of_snappy_are_limited_in_number():
    most = BLOCKS + ROOM // BLOCK_BYTES_MIN
    assert unpack(SNAPPY, memoryview(FRAME + block(b"a") * most), ROOM) == b"a" * most
    with pytest.raises(CorruptBatch, match=f"more than {most} blocks"):
        unpack(SNAPPY, memoryview(FRAME + block(b"a") * (most + 1)), ROOM)
