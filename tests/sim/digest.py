"""The digest of a log: two logs with the same records at the same offsets have the same one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from tests.sim.history import History


class Digest:
    def __init__(self, records: Iterable[tuple[int, str]] = ()) -> None:
        """records: offset and value, in the order of the log."""
        self._hash = hashlib.sha256()
        for offset, value in records:
            self.add(offset, value)

    def add(self, offset: int, value: str) -> None:
        self._hash.update(f"{offset} {value}\n".encode())

    @property
    def text(self) -> str:
        return self._hash.hexdigest()


def digests(history: History, topics: Iterable[str], partitions: int) -> dict[tuple[str, int], str]:
    """Of the final log for read_committed, by topic and partition."""
    return {
        (topic, partition): Digest((seen.offset, seen.value) for seen in history.final.get((topic, partition), ())).text
        for topic in topics
        for partition in range(partitions)
    }
