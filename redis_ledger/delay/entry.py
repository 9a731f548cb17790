"""Index entries of delayed records and rows of sealed buckets, and their text in Redis.

    sorted sets   score = due ms   "000000000017 -1 1 168 1763760000000"    entry ledger records bytes newest timestamp
                                   "000000000018.2 -1 5 803 1763760000000"  record 2 of entry 18, rescheduled by itself
    bucket row    "<snapshot> <segments> <loaded> <entries> <records> <next due> <last due> <bytes> <created>"

Members compare as text, so entries with the same due time fire in order of arrival.
"""

from __future__ import annotations

from typing import NamedTuple

WHOLE = -1  # in place of a record's index


class Indexed(NamedTuple):
    """An entry of an index.  index: one record of it, or WHOLE.  records, size, newest_ms are those of the entry."""

    due_ms: int
    entry: int
    index: int  # type: ignore[assignment]  # tuple.index is not used
    ledger: int
    records: int
    size: int
    newest_ms: int

    def member(self) -> bytes:
        one = "" if self.index < 0 else f".{self.index}"
        return f"{self.entry:012d}{one} {self.ledger} {self.records} {self.size} {self.newest_ms}".encode()

    @classmethod
    def read(cls, member: bytes, due_ms: int) -> Indexed:
        name, ledger, records, size, newest_ms = member.split(b" ")
        entry, _, index = name.partition(b".")
        return cls(due_ms, int(entry), int(index or WHOLE), int(ledger), int(records), int(size), int(newest_ms))


class Bucket(NamedTuple):
    """A sealed bucket: the entries of ledgers first to last (-1, -2, ...) in an immutable snapshot.

    loaded: how many of its segments are in the queue; next_due_ms: the first due time of the segment after those.
    size: bytes of the snapshot.
    """

    first_ledger: int
    last_ledger: int
    snapshot: str
    segments: int
    loaded: int
    entries: int
    records: int
    next_due_ms: int
    last_due_ms: int
    size: int
    created_ms: int

    @property
    def name(self) -> str:
        return f"{-self.first_ledger}-{-self.last_ledger}"

    @property
    def is_loaded(self) -> bool:
        return self.loaded >= self.segments

    def text(self) -> str:
        return " ".join(map(str, self[2:]))

    @classmethod
    def read(cls, name: bytes, text: bytes) -> Bucket:
        first, last = name.split(b"-")
        snapshot, *numbers = text.decode().split(" ")
        return cls(-int(first), -int(last), snapshot, *map(int, numbers))
