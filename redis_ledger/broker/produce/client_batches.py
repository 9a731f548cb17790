"""Record batches that clients made: checked, and split by due time where the topic allows that.

    bytes ─▶ header, size, CRC ─▶ records with delivery headers? split by due time ─▶ AppendRequest

A large batch is split in steps with pauses, one batch at a time, and pays for its memory from the decoding budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator

from redis_ledger.broker.delayed.service import DelayedDelivery
from redis_ledger.broker.produce.split_by_due import check_due_times, in_blocks
from redis_ledger.config import Config
from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Budget, Decoding
from redis_ledger.decoding.paced import QUICK_BYTES
from redis_ledger.errors import DecodingBusy, InvalidTimestamp, RequestTooLarge
from redis_ledger.ledger.append_request import AppendRequest, append_request, split_request
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.settings import CREATE_TIME
from redis_ledger.records.batch import LOG_APPEND_TIME, BatchHeader, check, read_header
from redis_ledger.records.split_by_due import STEP, DueOf, Split, part


class ClientBatches:
    def __init__(self, delays: DelayedDelivery, decoding: Decoding, config: Config) -> None:
        self._delays, self._decoding, self._config = delays, decoding, config
        self._splitting = asyncio.Lock()  # a large batch needs much time and memory: one at a time

    def check(self, header: BatchHeader, data: memoryview | bytes, batch_bytes_max: int) -> None:
        """Raises CorruptBatch, BadChecksum, UnsupportedCompression, RequestTooLarge."""
        check(header, data, batch_bytes_max=batch_bytes_max)
        if header.count > self._config.batch_records_max:
            raise RequestTooLarge(
                f"A batch of {header.count} records was sent; at most {self._config.batch_records_max} are allowed."
            )

    async def request(
        self, partition: Partition, data: memoryview | bytes, owner: str, batch_bytes_max: int
    ) -> tuple[BatchHeader, AppendRequest]:
        """data: one whole batch.  Raises as `check` does, InvalidDelay, DelayTooLong, TooLargeToDecode and
        DecodingBusy."""
        header = read_header(data)
        self.check(header, data, batch_bytes_max)
        self._check_timestamps(header, partition.config)
        request = append_request(data, header, owner)
        if not partition.delays_by_headers:
            return header, request
        try:
            split = await self._split(partition, header, data)
        except DecodingBusy as error:
            raise partition.refused(request, error) from None
        if split is None:
            return header, request
        check_due_times(split.later)
        later = in_blocks(split.later, partition.config, self._delays.now_ms())
        return header, split_request(request, split._replace(later=later))

    def _check_timestamps(self, header: BatchHeader, config: Config) -> None:
        """By the first and the newest timestamp: the records are not decoded."""
        if config.message_timestamp_type != CREATE_TIME:
            return
        if header.attributes & LOG_APPEND_TIME:
            raise InvalidTimestamp("The batch has the timestamp type LogAppendTime, which only the broker sets.")
        now_ms, first, newest = self._delays.now_ms(), header.base_timestamp, header.max_timestamp
        if newest - now_ms > config.message_timestamp_after_ms_max:
            raise InvalidTimestamp(
                f"The timestamp {newest} is more than message.timestamp.after.max.ms "
                f"({config.message_timestamp_after_ms_max}) ahead of the broker's time, {now_ms}."
            )
        if first >= 0 and now_ms - first > config.message_timestamp_before_ms_max:
            raise InvalidTimestamp(
                f"The timestamp {first} is more than message.timestamp.before.max.ms "
                f"({config.message_timestamp_before_ms_max}) behind the broker's time, {now_ms}."
            )

    async def _split(self, partition: Partition, header: BatchHeader, data: memoryview | bytes) -> Split | None:
        """None if nothing is due later.  Durations count from now, once for the whole batch."""
        rule, limits = self._delays.rule(partition.config), self._decoding.limits
        if header.count <= STEP and len(data) <= QUICK_BYTES and not header.compression:
            return _Steps(part(header, data, rule, limits)).finish()
        with self._decoding.budget() as budget:
            return await self._split_large(header, data, rule, budget)

    async def _split_large(
        self, header: BatchHeader, data: memoryview | bytes, rule: DueOf, budget: Budget
    ) -> Split | None:
        plain, limits = b"", budget.limits
        if header.compression:
            plain = await paced.unpacked(header, data, budget)
            if header.count <= STEP and len(plain) <= QUICK_BYTES:
                return _Steps(part(header, data, rule, limits, plain=plain)).finish()
        async with self._splitting:
            steps = _Steps(part(header, data, rule, limits, plain=plain))
            for _ in steps:
                await asyncio.sleep(0)  # let other requests run between the steps
            return steps.split


class _Steps:
    """The pauses of `part`, and its result after the last one."""

    def __init__(self, steps: Generator[None, None, Split | None]) -> None:
        self._steps = steps
        self.split: Split | None = None

    def __iter__(self) -> Iterator[None]:
        self.split = yield from self._steps

    def finish(self) -> Split | None:
        for _ in self:
            pass
        return self.split
