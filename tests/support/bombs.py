"""Record batches that are small to send and large to decode; of a size that the caller chooses.

    value_bomb(30_000_000)       one record of zeros: 3 kB with zstd
    header_bomb(16_700_000)      one record of so many empty headers, two bytes each: 3 kB

Headers are made by repeating their bytes: no object is made for any of them.
"""

from __future__ import annotations

from redis_ledger.records.compression import pack
from redis_ledger.records.layout import batch_of, varint

NOW_MS = 1_700_000_000_000
NO_HEADER = b"\x00\x01"  # an empty name, and null
CODECS = ("gzip", "snappy", "lz4", "zstd")
ZSTD = 4


def record(
    key: bytes | None, value: bytes | None, headers: bytes = b"", count: int = 0, offset_delta: int = 0
) -> bytes:
    """A record's bytes.  headers: laid out as they are, `count` is what is said of their number."""
    body = b"\x00" + varint(0) + varint(offset_delta)
    for field in (key, value):
        body += varint(-1) if field is None else varint(len(field)) + field
    body += varint(count) + headers
    return varint(len(body)) + body


def batch(*records: bytes, codec: int = ZSTD, count: int | None = None) -> bytes:
    """A batch of records laid out by `record`.  codec: 0 none, and from 1 on those of CODECS."""
    body, number = b"".join(records), len(records) if count is None else count
    return batch_of(
        pack(codec, body) if codec else body, attributes=codec, last_offset_delta=number - 1, base_ms=NOW_MS,
        newest_ms=NOW_MS, count=number,
    )  # fmt: skip


def header_bomb(headers: int = 16_700_000, codec: int = ZSTD) -> bytes:
    return batch(record(None, b"", NO_HEADER * headers, headers), codec=codec)


def value_bomb(value_bytes: int = 32 << 20, codec: int = ZSTD) -> bytes:
    return batch(record(None, bytes(value_bytes)), codec=codec)
