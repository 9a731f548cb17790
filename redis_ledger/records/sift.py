"""Some records of a batch as a batch of their own: what a log entry makes visible when the rest was cancelled, or is
due at another time."""

from __future__ import annotations

from redis_ledger.records.batch import Buffer, read_header
from redis_ledger.records.build import encode
from redis_ledger.records.read import decode


def sift(data: Buffer, kept: str) -> bytes:
    """kept: their places in the batch, "0-3,5", ascending.  Compression stays; producer fields go."""
    records = decode(data)
    base, compression = read_header(data).base_offset, read_header(data).compression
    wanted: list[int] = []
    for part in kept.split(","):
        first, _, last = part.partition("-")
        wanted += range(int(first), int(last or first) + 1)
    rows = [records[place] for place in wanted]
    assert all(row.offset == base + place for row, place in zip(rows, wanted, strict=True))
    return encode([(r.key, r.value, r.headers, max(r.timestamp_ms, 0)) for r in rows], compression=compression)
