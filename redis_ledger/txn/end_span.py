"""The span of a transaction's end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from redis_ledger.ids import TxnId
from redis_ledger.telemetry import tracing

PARTICIPANTS_MAX = 16  # in its attributes


def end_span(
    txn: TxnId, *, is_commit: bool, participants: Sequence[str], producer_id: int, transactional_id: str = ""
) -> AbstractContextManager[Any]:
    """Covers what happens within it.  Requires a tracer.  participants: as text.  producer_id: of its records."""
    outcome = "commit" if is_commit else "abort"
    facts: dict[str, Any] = {
        "redis_ledger.txn": str(txn),
        "redis_ledger.outcome": outcome,
        "redis_ledger.participants": participants[:PARTICIPANTS_MAX],
    }
    if transactional_id:
        facts["redis_ledger.transactional_id"] = transactional_id
    return tracing.ending(f"{outcome} transaction", producer_id, facts)
