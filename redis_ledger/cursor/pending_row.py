"""What a transaction holds on a subscription, as its row in `pending` says (lua/include/pending_acks, group_offset).

    "I 0-4-1,9-9-2"            offsets 0 to 4 and 9, acknowledged one by one
    "I t1763720931000 0-4-1"   with the time of the first acknowledgement
    "C 120 - 0-119-1"          all up to 120, acknowledged cumulatively
    "I +a0,b3 0-4-1"           and further ranges in the fields "<transaction>/a0" and "<transaction>/b3"
    "7 1200 3 1763720931000 "  of a Kafka group: write, offset, leader epoch, time, metadata

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from redis_ledger.cursor.ranges import Range
from redis_ledger.errors import StoredDamaged

_FIRST_MS = re.compile(rb"^[IC][^@]*? t(\d+) ")
_RANGE = re.compile(rb"(\d+)-(\d+)-\d+")


class PendingRow(NamedTuple):
    """upto: of a cumulative acknowledgement.  regions: names of the fields with further ranges."""

    upto: int | None
    regions: list[str]
    ranges: list[Range]


def parse(row: bytes) -> PendingRow:
    """The row of a subscription that is not a Kafka group's."""
    head, _, body = row.rpartition(b" ")
    words = head.decode(errors="replace").split(" ")
    upto = int(words[1]) if words[0] == "C" and words[1:] and words[1].isdigit() else None
    regions = words[-1][1:].split(",") if words[-1].startswith("+") else []
    return PendingRow(upto, regions, ranges_of(body))


def ranges_of(field: bytes) -> list[Range]:
    """The ranges of a field, ascending."""
    body = field.rpartition(b" ")[2]
    return sorted(Range(int(first), int(last)) for first, last in _RANGE.findall(body))


def first_ms(row: bytes) -> int | None:
    """When the first acknowledgement was made, if that is stored."""
    found = _FIRST_MS.search(row)
    return int(found[1]) if found else None


def group_offset(row: bytes) -> int:
    """The offset that a Kafka group commits with the transaction.  Raises StoredDamaged."""
    return _number(row, 1)


def group_time_ms(row: bytes) -> int:
    """When a Kafka group sent this offset.  Raises StoredDamaged."""
    return _number(row, 3)


def _number(row: bytes, at: int) -> int:
    try:
        return int(row.split(b" ", at + 1)[at])
    except (ValueError, IndexError):
        raise StoredDamaged.of(f"The row {row[:100]!r} of a pending group offset") from None


def joined(ranges: Iterable[Range], from_offset: int = 0) -> list[Range]:
    """The fewest ranges with the same offsets from from_offset on.  They may be unordered, but do not overlap."""
    found: list[Range] = []
    for first, last in sorted(ranges):
        if last < from_offset:
            continue
        if found and found[-1].last + 1 == first:
            found[-1] = Range(found[-1].first, last)
        else:
            found.append(Range(max(first, from_offset), last))
    return found
