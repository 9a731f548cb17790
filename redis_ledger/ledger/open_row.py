"""Rows of `open`: the transaction that a producer has open in a partition.

    epoch coordinator serial first                                                     marker buffer
    epoch coordinator serial first s records bytes batches newest ledger:entries,...   sidecar buffer

first: offset of its first record; in the sidecar buffer, the end of the log when it began to write.
Twin of lua/include/sidecar.
"""

from __future__ import annotations

from typing import NamedTuple

from redis_ledger.errors import StoredDamaged
from redis_ledger.ids import TxnId


class Aside(NamedTuple):
    """What an open transaction has in the sidecar buffer.  entries: ledger → number of its entries there."""

    records: int
    size: int
    batches: int
    newest_ms: int
    entries: dict[int, int]


class OpenRow(NamedTuple):
    epoch: int
    txn: TxnId
    first_offset: int
    aside: Aside | None = None

    @property
    def text(self) -> str:
        """The row."""
        text = f"{self.epoch} {self.txn.coordinator} {self.txn.serial} {self.first_offset}"
        if self.aside is None:
            return text
        spread = ",".join(f"{ledger}:{count}" for ledger, count in self.aside.entries.items())
        return " ".join(map(str, (text, "s", *self.aside[:4], spread)))

    @property
    def score(self) -> int:
        """Of its producer in `firsts`."""
        return self.first_offset if self.aside is None else -2 - self.first_offset

    @property
    def holds_readers(self) -> bool:
        return self.aside is None


def parse_open(row: bytes) -> OpenRow:
    """Raises StoredDamaged."""
    try:
        return _parsed(row.split())
    except ValueError:
        raise StoredDamaged.of(f"The row {row[:100]!r} of an open transaction") from None


def _parsed(words: list[bytes]) -> OpenRow:
    epoch, coordinator, serial, first = map(int, words[:4])
    txn = TxnId(coordinator, serial)
    if len(words) == 4:
        return OpenRow(epoch, txn, first)
    if len(words) != 10 or words[4] != b"s":
        raise ValueError
    parts = (each.split(b":") for each in words[9].split(b","))
    records, size, batches, newest_ms = map(int, words[5:9])
    return OpenRow(epoch, txn, first, Aside(records, size, batches, newest_ms, {int(at): int(n) for at, n in parts}))
