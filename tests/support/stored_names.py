"""A store of sorted sets whose members have the score 0, as a broker reads them by range, without a Redis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class SortedNames:
    """names: by key.  ranges: how many members each read has returned."""

    prefix = "p"

    def __init__(self, **names: Iterable[bytes]) -> None:
        self.names = {key: sorted(members) for key, members in names.items()}
        self.ranges: list[int] = []

    def of(self, key: bytes) -> list[bytes]:
        return self.names[key.decode().rpartition("|")[2].rpartition(":")[2]]

    async def command(self, name: str, at: bytes, *args: Any, **more: Any) -> Any:
        if name == "HGET":
            return None
        low, high, _, skipped, count = args
        if name == "ZREVRANGEBYLEX":
            low, high = high, low
        found = [member for member in self.of(at) if _is_above(member, low) and _is_below(member, high)]
        if name == "ZREVRANGEBYLEX":
            found.reverse()
        found = found[skipped : skipped + count]
        self.ranges.append(len(found))
        return found


def _is_above(member: bytes, bound: bytes) -> bool:
    return member > bound[1:] or (member == bound[1:] and bound[:1] == b"[")


def _is_below(member: bytes, bound: bytes) -> bool:
    return member < bound[1:] or (member == bound[1:] and bound[:1] == b"[")
