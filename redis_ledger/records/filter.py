"""Some records of a batch as a batch of their own: what a log entry makes visible when the rest was cancelled, or is
due at another time."""

from __future__ import annotations

from collections.abc import Sequence

from redis_ledger.records.batch import Buffer, read_header
from redis_ledger.records.budget import Limits
from redis_ledger.records.build import encode
from redis_ledger.records.read import Record, decode

KEPT_FROM = 16  # fewer records are not worth packing again,
KEPT_BYTES = 1_024  # unless they are large: a block may hold a thousand times its own bytes
LIMITS = Limits(32 << 20, 1_000_000, 1_000_000)  # it was decoded when it was scheduled: whatever the settings were


def sift(data: Buffer, kept: Sequence[str]) -> list[bytes]:
    """A batch for each of `kept`: places in the batch, "0-3,5", ascending.  Producer fields go."""
    records, compression = decode(data, LIMITS), read_header(data).compression
    return [_batch(records, compression, each) for each in kept]


def _batch(records: Sequence[Record], compression: int, kept: str) -> bytes:
    rows: list[Record] = []
    for part in kept.split(","):
        first, _, last = part.partition("-")
        rows += records[int(first) : int(last or first) + 1]
    if len(rows) < KEPT_FROM and sum(len(row.value or b"") + len(row.key or b"") for row in rows) < KEPT_BYTES:
        compression = 0
    return encode([(r.key, r.value, r.headers, max(r.timestamp_ms, 0)) for r in rows], compression=compression)
