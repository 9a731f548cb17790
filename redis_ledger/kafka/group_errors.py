"""What the requests about membership have in common: how a coordinator that cannot be asked now is told.

As one that is not available: then every client looks for it and tries again.  Told that it is loading, some give up at
a heartbeat or a SyncGroup, which Kafka never answers so.
"""

from __future__ import annotations

from redis_ledger.errors import LedgerError, Unavailable
from redis_ledger.kafka.request_context import COORDINATOR_NOT_AVAILABLE, code_of


def group_code(error: LedgerError) -> int:
    return COORDINATOR_NOT_AVAILABLE if isinstance(error, Unavailable) else code_of(error)
