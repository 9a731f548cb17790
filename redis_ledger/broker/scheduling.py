"""Records of one batch by when they are due: those of one due time become one entry, in the order they were given.

given    a·9:00  b  c·9:00  d·8:30         now    b
                                           later  entry e: a c at 9:00     entry e+1: d at 8:30
"""

from __future__ import annotations

from collections.abc import Sequence

from redis_ledger.broker.types import Appended, Placed
from redis_ledger.ids import ScheduledId
from redis_ledger.ledger.partition import Accepted
from redis_ledger.records.build import NewRecord, encode
from redis_ledger.records.later import Later, Now


def split(
    rows: Sequence[NewRecord],
    dues: Sequence[int | None],
    producer_id: int,
    epoch: int,
    sequence: int,
    *,
    transactional: bool,
) -> tuple[Now | None, list[Later]]:
    """Only what is due now is the producer's: a scheduled entry is seen when its transaction has long been decided."""
    groups: dict[int | None, list[NewRecord]] = {}
    for row, due in zip(rows, dues, strict=True):
        groups.setdefault(due, []).append(row)
    here = groups.pop(None, None)
    later = [
        Later(encode(some), len(some), max(row[3] for row in some), due)
        for due, some in groups.items()
        if due is not None
    ]
    if here is None:
        return None, later
    payload = encode(here, producer_id=producer_id, epoch=epoch, sequence=sequence, transactional=transactional)
    return Now(payload, len(here), max(row[3] for row in here)), later


def placed(partition: int, dues: Sequence[int | None], accepted: Accepted) -> list[Appended]:
    """Where they are: what was due now, and what waits.  A duplicate of a mixed batch does not tell its entries."""
    found = []
    immediate = sum(due is None for due in dues)
    if immediate:
        found.append(Appended(partition, accepted.base_offset, immediate, accepted.duplicate))
    entries: dict[int, list[int]] = {}  # due → entry, records so far
    waiting: list[Placed] = []
    for due in dues:
        if due is None:
            continue
        place = entries.setdefault(due, [accepted.first_entry + len(entries), 0])
        waiting.append(Placed(ScheduledId(partition, place[0], place[1]), due))
        place[1] += 1
    if accepted.first_entry < 0:
        waiting.clear()
    found.append(Appended(partition, -1, len(dues) - immediate, accepted.duplicate, waiting))
    return found
