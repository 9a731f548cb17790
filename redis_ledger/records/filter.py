"""Some records of a batch as a batch of their own: what a log entry makes visible when the rest was cancelled, or is
due at another time."""

from __future__ import annotations

from typing import NamedTuple

from redis_ledger.records.batch import Buffer, read_header
from redis_ledger.records.budget import Limits
from redis_ledger.records.build import encode
from redis_ledger.records.read import Record, decode

KEPT_FROM = 16  # fewer records are not worth packing again
LIMITS = Limits(32 << 20, 1_000_000, 1_000_000)  # it was decoded when it was scheduled: whatever the settings were


class Unpacked(NamedTuple):
    records: list[Record]
    compression: int


def unpack(data: Buffer) -> Unpacked:
    return Unpacked(decode(data, LIMITS), read_header(data).compression)


def sift(batch: Unpacked, kept: str) -> bytes:
    """kept: places in the batch, "0-3,5", ascending.  Producer fields go; a few records are not packed again."""
    rows: list[Record] = []
    for part in kept.split(","):
        first, _, last = part.partition("-")
        rows += batch.records[int(first) : int(last or first) + 1]
    compression = batch.compression if len(rows) >= KEPT_FROM else 0
    return encode([(r.key, r.value, r.headers, max(r.timestamp_ms, 0)) for r in rows], compression=compression)
