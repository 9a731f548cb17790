"""Bodies of batched writes."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from redis_ledger.app.http.schemas.core import Reply, Request

Records = Annotated[int, Meta(ge=1, le=65_536, description="Maximum of one write; 1: batching is off.")]
Bytes = Annotated[int, Meta(ge=1, le=1 << 30, description="Maximum size of one write.")]
DelayMs = Annotated[int, Meta(ge=0, le=60_000, description="How long an operation without a waiting caller waits.")]


class SetBatchedWrite(Request):
    enabled: bool | UnsetType | None = UNSET
    max_records: Records | UnsetType | None = UNSET
    max_size: Bytes | UnsetType | None = UNSET
    max_delay_ms: DelayMs | UnsetType | None = UNSET


class BatchedWrite(Reply):
    """batched: whether operations share writes.  coordinators: the same for each coordinator of the transaction log, as
    this broker writes it."""

    log: str
    enabled: bool
    max_records: int
    max_size: int
    max_delay_ms: int
    batched: bool
    coordinators: dict[str, bool] | UnsetType = UNSET


class BatchedWrites(Reply):
    batched_writes: list[BatchedWrite]
