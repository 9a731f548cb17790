"""Limits for decoding one batch.

    a batch of 3 kB, zstd ──unpack──▶ 32 MiB: one record, 16.7 million headers ──decode──▶ 1.3 GB of objects
                             │                   │
                 batch_decoded_bytes_max   record_headers_max, headers_max: counted before objects are made

A batch over a bound is refused (TooLargeToDecode).
"""

from __future__ import annotations

from typing import NamedTuple

from redis_ledger.config import Config
from redis_ledger.errors import TooLargeToDecode


class Limits(NamedTuple):
    """Of one batch.  record_bytes: of one record; only readers that decode a batch in slices check it."""

    decoded_bytes: int
    record_headers: int
    headers: int
    record_bytes: int = 1 << 62

    @classmethod
    def of(cls, config: Config) -> Limits:
        return cls(config.batch_decoded_bytes_max, config.record_headers_max, config.headers_max)


DEFAULT = Limits.of(Config())


def too_large(what: str, setting: str, limit: int) -> TooLargeToDecode:
    """what: with {} for the limit."""
    return TooLargeToDecode(f"{what.format(limit)} (setting {setting}).", setting=setting, limit=limit)
