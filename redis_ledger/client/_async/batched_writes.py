"""Thresholds of the writes that several transactions share."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from redis_ledger.client._async.transport import AsyncTransport, path
from redis_ledger.client.models import BatchedWrite

BatchedWriteList: TypeAlias = list[BatchedWrite]
Log: TypeAlias = Literal["transaction_log", "pending_acks"]
Threshold: TypeAlias = int | msgspec.UnsetType | None
UNSET = msgspec.UNSET


class _BatchedWrites(msgspec.Struct):
    batched_writes: BatchedWriteList


class AsyncBatchedWrites:
    """await client.batched_writes.set("transaction_log", enabled=False)"""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self) -> BatchedWriteList:
        """The thresholds in force.

        [(each.log, each.batched) for each in await client.batched_writes.list()]
        """
        return (await self._transport.call("GET", path("batched-writes"), answer=_BatchedWrites)).batched_writes

    async def set(
        self,
        log: Log,
        *,
        enabled: bool | msgspec.UnsetType | None = UNSET,
        max_records: Threshold = UNSET,
        max_size: Threshold = UNSET,
        max_delay_ms: Threshold = UNSET,
    ) -> BatchedWrite:
        """Sets the thresholds that are given, on all brokers, and returns those in force.  For None the setting of the
        broker applies.

        await client.batched_writes.set("transaction_log", max_records=128, max_delay_ms=None)
        """
        given = {"enabled": enabled, "max_records": max_records, "max_size": max_size, "max_delay_ms": max_delay_ms}
        body = {name: value for name, value in given.items() if value is not UNSET}
        return await self._transport.call("PUT", path("batched-writes", log), body, answer=BatchedWrite)
