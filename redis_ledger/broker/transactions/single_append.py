"""A step that is one batch of one partition is appended without a transaction: a batch is atomic by itself.

    free producers of a partition    [(id 41, next sequence 7), (id 45, 2)]
    append ─▶ takes one, or a new id at sequence 0 ─▶ appends ─▶ accepted: gives it back with the next sequence

With a sequence, an append whose reply was lost is repeated and written once.  A producer has one append in flight, and
is not used again after one that failed.  Its id is one that no client can use.
Source: PIP-31 "future work"; requirement CL-17.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from redis_ledger.broker.produce.encode import PreparedRecords
from redis_ledger.broker.produce.service import Records
from redis_ledger.broker.types import Appended, ExecuteAcks, ProducerSequence
from redis_ledger.errors import SequenceGap, UnknownProducer
from redis_ledger.ids import kept_for
from redis_ledger.records.batch import SEQUENCES

KEPT_S = 600  # how long a partition keeps such a producer that is silent; appends are repeated for less
FREE_MAX = 1_000  # in all partitions; then that of the partition that was written to longest ago is forgotten


def is_single_append(acks: Sequence[ExecuteAcks], prepared: Sequence[PreparedRecords], nonce: str) -> bool:
    """Whether a step needs no transaction.

    One with a nonce does: a repetition finds the transaction of the first attempt.  A batch could not be found, because
    the topic may have another number of partitions by then, and its records would go elsewhere.
    """
    if acks or nonce:
        return False
    batches = [batch for each in prepared for batch in each.batches]
    return len(batches) == 1 and batches[0].dues is None


class SingleAppend:
    """allocate: a new producer id that no client can use."""

    def __init__(self, records: Records, allocate: Callable[[], Awaitable[int]]) -> None:
        self._records, self._allocate = records, allocate
        self._free: dict[tuple[str, int], list[tuple[int, int]]] = {}  # by topic id and partition, last used ones last
        self._free_count = 0

    async def append(self, prepared: PreparedRecords) -> list[Appended]:
        """Appends the only batch.  Raises what an append does."""
        (batch,) = prepared.batches
        at = (batch.partition.topic_id, batch.partition.number)
        if (free := self._take(at)) is not None:
            try:
                return await self._append_as(prepared, at, *free)
            except (UnknownProducer, SequenceGap):
                pass  # it was silent for long, or Redis has lost its newest batches: nothing was written
        return await self._append_as(prepared, at, await self._allocate(), 0)

    async def _append_as(
        self, prepared: PreparedRecords, at: tuple[str, int], producer_id: int, sequence: int
    ) -> list[Appended]:
        producer = ProducerSequence(producer_id, 0, sequence, kept_for(KEPT_S))
        appended = await self._records.append_prepared(prepared.numbered({}, sequence), None, producer)
        following = (sequence + len(prepared.batches[0].records)) % SEQUENCES
        free = self._free.pop(at, [])
        free.append((producer_id, following))
        self._free[at] = free
        self._free_count += 1
        if self._free_count > FREE_MAX:
            self._forget_oldest()
        return appended

    def _forget_oldest(self) -> None:
        at = next(iter(self._free))
        del self._free[at][0]
        if not self._free[at]:
            del self._free[at]
        self._free_count -= 1

    def _take(self, at: tuple[str, int]) -> tuple[int, int] | None:
        free = self._free.get(at)
        if free is None:
            return None
        self._free_count -= 1
        taken = free.pop()
        if not free:
            del self._free[at]
        return taken
