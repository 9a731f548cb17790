"""Batched writes: operations of several transactions that share one write.

    transaction_log  operations at a coordinator; those of a call share one entry of its log (PIP-160)
    pending_acks     transactional acknowledgements on one subscription of a partition; those of a call share one write
                     of the cursor, which has no log of its own

    settings of the broker      enabled    64 records  4 MiB  1 ms
    changed at run time         disabled                             a row in Redis, for all brokers
    in force                    disabled   64 records  4 MiB  1 ms

Source: PIP-160; requirements BW-01, BW-11, BW-18.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

from redis_ledger.config import Config
from redis_ledger.store.group_commit import Thresholds

LogKind = Literal["transaction_log", "pending_acks"]
TRANSACTION_LOG: Final = "transaction_log"
PENDING_ACKS: Final = "pending_acks"
KINDS: tuple[LogKind, ...] = get_args(LogKind)


class BatchedWrite(msgspec.Struct, frozen=True):
    """max_records, max_size (bytes): of one write.  max_delay_ms: how long an operation without a waiting caller may
    wait for others; 0 for acknowledgements, which all have one."""

    enabled: bool
    max_records: int
    max_size: int
    max_delay_ms: int = 0

    @property
    def is_batched(self) -> bool:
        """Whether several operations may share a write: a batch of one record is none."""
        return self.enabled and self.max_records > 1

    def thresholds(self, bytes_max: int) -> Thresholds:
        """bytes_max: the limit of a call, whatever the setting."""
        records = self.max_records if self.is_batched else 1
        return Thresholds(records, min(self.max_size, bytes_max), self.max_delay_ms)


class BatchedWriteChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was changed at run time; None: the setting of the broker applies."""

    enabled: bool | None = None
    max_records: int | None = None
    max_size: int | None = None
    max_delay_ms: int | None = None

    def of(self, settings: BatchedWrite) -> BatchedWrite:
        """The thresholds in force."""
        changed = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        return msgspec.structs.replace(settings, **changed)


def settings_of(config: Config) -> dict[LogKind, BatchedWrite]:
    return {
        TRANSACTION_LOG: BatchedWrite(
            config.transaction_log_batched_write_enabled, config.transaction_log_batched_write_max_records,
            config.transaction_log_batched_write_max_size, config.transaction_log_batched_write_max_delay_ms,
        ),
        PENDING_ACKS: BatchedWrite(
            config.transaction_pending_ack_batched_write_enabled,
            config.transaction_pending_ack_batched_write_max_records,
            config.transaction_pending_ack_batched_write_max_size,
        ),
    }  # fmt: skip
