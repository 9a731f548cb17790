"""Facts of one partition, all of the moment in which its log was read to its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from redis_ledger.ledger.log_trace import LogTrace
from redis_ledger.ledger.place import Place


class StreamFacts(NamedTuple):
    """A ledger's stream."""

    length: int
    last_entry: int


class PartitionFacts(NamedTuple):
    """open, firsts: None if there are too many to read at once; they are then compared page by page.
    has_trimmed: the log start moved while the log was read.  has_buffered: the sidecar buffer is not empty."""

    place: Place
    state: Mapping[bytes, bytes]
    trace: LogTrace
    ledgers: Mapping[bytes, bytes]
    streams: Mapping[int, StreamFacts]
    open: Mapping[bytes, bytes] | None = None
    firsts: Mapping[bytes, int] | None = None
    has_trimmed: bool = False
    has_buffered: bool = False

    def number(self, name: str, default: int = 0) -> int:
        try:
            return int(self.state.get(name.encode(), b""))
        except ValueError:
            return default


class LedgerRow(NamedTuple):
    """A row of `ledgers`.  size: bytes of its payload."""

    issued: int
    deleted: int
    sealed: int
    max_offset: int
    unlogged: int
    size: int
    created_ms: int

    @property
    def text(self) -> str:
        return " ".join(map(str, self))

    @classmethod
    def parse(cls, row: bytes | None) -> LedgerRow | None:
        """None if the row is missing or has another form."""
        try:
            return cls(*map(int, (row or b"").split(b" ")))
        except (TypeError, ValueError):
            return None
