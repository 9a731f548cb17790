"""Error codes of requests about group membership.

A coordinator that is temporarily unreachable is COORDINATOR_NOT_AVAILABLE: all clients then look it up again and retry.
At COORDINATOR_LOAD_IN_PROGRESS, which Kafka never returns there, some give up a heartbeat or SyncGroup.
"""

from __future__ import annotations

from redis_ledger.errors import LedgerError, Unavailable
from redis_ledger.kafka.request_context import COORDINATOR_NOT_AVAILABLE, code_of


def group_code(error: LedgerError) -> int:
    return COORDINATOR_NOT_AVAILABLE if isinstance(error, Unavailable) else code_of(error)
