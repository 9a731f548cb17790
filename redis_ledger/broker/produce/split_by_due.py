"""Splits the records of one batch by due time: records with the same due time become one entry, in their order.

records   a·9:00  b  c·9:00  d·8:30         now    b
                                           later  entry e: a c at 9:00     entry e+1: d at 8:30
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from redis_ledger.broker.types import Appended, ScheduledRef
from redis_ledger.config import Config
from redis_ledger.errors import RequestTooLarge
from redis_ledger.ids import ScheduledId
from redis_ledger.ledger.append_request import Accepted
from redis_ledger.records.batch import COMPRESSIONS
from redis_ledger.records.build import NewRecord, encode
from redis_ledger.records.read import decode
from redis_ledger.records.split_by_due import COMPARED_MS_MAX, Later, Now

BATCH_DUES_MAX = 1_000  # due times of a batch with a sequence, which cannot be divided: they cost Redis 10 ms
BLOCK_RECORDS = 64  # a reader unpacks a whole block for one record of it
ZSTD = COMPRESSIONS.index("zstd")


def check_due_times(later: Sequence[Later]) -> None:
    """Raises RequestTooLarge."""
    count = sum(len(each.dues) or 1 for each in later)
    if count > BATCH_DUES_MAX:
        raise RequestTooLarge(
            f"A batch has records with {count} different times of delivery, and {BATCH_DUES_MAX} can be scheduled "
            "together; send smaller batches. Nothing was written."
        )


def split(
    rows: Sequence[NewRecord],
    dues: Sequence[int | None],
    producer_id: int,
    epoch: int,
    sequence: int,
    *,
    transactional: bool,
) -> tuple[Now | None, Sequence[Later]]:
    """The part that is due now, and the scheduled entries.

    Only the first carries the producer: a scheduled entry becomes visible long after its transaction was decided.
    """
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


def in_blocks(later: Sequence[Later], config: Config, now_ms: int) -> Sequence[Later]:
    """Packs records that are due far in the future (delayed_delivery_block_after_ms) into compressed blocks of up to
    BLOCK_RECORDS records, each with its own due time.

    A block takes a third of the memory or less if its records are similar; a reader unpacks it for each record.
    """
    if not config.delayed_delivery_block_after_ms:
        return later
    far_ms = now_ms + config.delayed_delivery_block_after_ms
    kept = [each for each in later if each.due_ms < far_ms or each.records >= BLOCK_RECORDS]
    far = [each for each in later if each.due_ms >= far_ms and each.records < BLOCK_RECORDS]
    rows = [(record, each.due_ms) for each in far for record in decode(each.payload)]
    for at in range(0, len(rows), BLOCK_RECORDS):
        some = rows[at : at + BLOCK_RECORDS]
        fields = [(r.key, r.value, r.headers, max(r.timestamp_ms, 0)) for r, _ in some]
        dues = [due for _, due in some]
        if len(some) == 1:
            kept.append(Later(encode(fields), 1, fields[0][3], dues[0]))
        else:
            newest_ms = min(max(field[3] for field in fields), COMPARED_MS_MAX)
            kept.append(Later(encode(fields, compression=ZSTD), len(some), newest_ms, min(dues), dues))
    return kept


def appended(
    partition: int, here: Now | None, later: Sequence[Later], dues: Sequence[int | None], accepted: Accepted
) -> list[Appended]:
    """The offsets of records that were due now, then the ids of scheduled records, in the order of the call.

    dues: of each record.  For a duplicate of a batch with a part that was due now, the ids are unknown.
    """
    results = []
    if here is not None:
        results.append(Appended(partition, accepted.base_offset, here.records, accepted.duplicate))
    ids: dict[int, deque[ScheduledId]] = {}
    for entry, each in enumerate(later, accepted.first_entry):
        for index, due in enumerate(each.dues or [each.due_ms] * each.records):
            ids.setdefault(due, deque()).append(ScheduledId(partition, entry, index))
    scheduled = [ScheduledRef(ids[due].popleft(), due) for due in dues if due is not None]
    known = scheduled if accepted.first_entry >= 0 else ()
    results.append(Appended(partition, -1, len(scheduled), accepted.duplicate, known))
    return results
