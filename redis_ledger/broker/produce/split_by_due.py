"""Records of one batch by when they are due: those of one due time become one entry, in the order they were given.

given    a·9:00  b  c·9:00  d·8:30         now    b
                                           later  entry e: a c at 9:00     entry e+1: d at 8:30
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from redis_ledger.broker.types import Appended, Placed
from redis_ledger.config import Config
from redis_ledger.errors import RequestTooLarge
from redis_ledger.ids import ScheduledId
from redis_ledger.ledger.partition import Accepted
from redis_ledger.records.batch import COMPRESSIONS
from redis_ledger.records.build import NewRecord, encode
from redis_ledger.records.read import decode
from redis_ledger.records.split_by_due import COMPARED_MS_MAX, Later, Now

BATCH_DUES_MAX = 1_000  # due times of a batch that cannot be cut, for it has a sequence: Redis takes 10 ms for them
BLOCK_RECORDS = 64  # a reader unpacks a whole block for one record of it
ZSTD = COMPRESSIONS.index("zstd")


def check_batch(later: Sequence[Later]) -> None:
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


def in_blocks(later: Sequence[Later], config: Config, now_ms: int) -> Sequence[Later]:
    """What is due late, as the topic's config says, as compressed blocks of up to BLOCK_RECORDS records, each with its
    own due time.

    Takes a third of the memory or less where records resemble each other; a reader unpacks a block for each record.
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


def placed(
    partition: int, here: Now | None, later: Sequence[Later], dues: Sequence[int | None], accepted: Accepted
) -> list[Appended]:
    """Where they are: what was due now, and what waits, in the order given.  dues: of each record.
    A duplicate of a batch of which a part was due now does not tell its entries."""
    found = []
    if here is not None:
        found.append(Appended(partition, accepted.base_offset, here.records, accepted.duplicate))
    places: dict[int, deque[ScheduledId]] = {}
    for entry, each in enumerate(later, accepted.first_entry):
        for index, due in enumerate(each.dues or [each.due_ms] * each.records):
            places.setdefault(due, deque()).append(ScheduledId(partition, entry, index))
    waiting = [Placed(places[due].popleft(), due) for due in dues if due is not None]
    told = waiting if accepted.first_entry >= 0 else ()
    found.append(Appended(partition, -1, len(waiting), accepted.duplicate, told))
    return found
