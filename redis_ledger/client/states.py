"""Where a transaction stands as its client knows it: one table, nothing else decides.

    OPEN ── commit ──→ COMMITTING ── answered ──→ COMMITTED
     │                     │ failed (an operation of it was refused: the commit becomes an abort)
     │                     ↓
     ├──── abort ────→ ABORTING ──── answered ──→ ABORTED
     └──── expire ───→ TIMED_OUT                       COMMITTING, ABORTING ── refused ──→ ERROR

A pair that is absent is an error; a pair that maps to itself is a retry.  ERROR means that the broker does not know the
transaction or decided the other way.  Source: PIP-31 "client API"; requirement CL-10.
"""

from __future__ import annotations

from enum import Enum

from redis_ledger.errors import InvalidTxnStatus


class TxnState(Enum):
    OPEN = "open"
    COMMITTING = "committing"
    COMMITTED = "committed"
    ABORTING = "aborting"
    ABORTED = "aborted"
    TIMED_OUT = "timed_out"
    ERROR = "error"


class TxnEvent(Enum):
    OPERATE = "used"  # a send or an acknowledgement
    COMMIT = "committed"
    ABORT = "aborted"
    ANSWERED = "answered"
    FAILED = "failed"
    REFUSED = "refused"
    EXPIRE = "timed out"


S, E = TxnState, TxnEvent
TRANSITIONS: dict[tuple[TxnState, TxnEvent], TxnState] = {
    (S.OPEN, E.OPERATE): S.OPEN,
    (S.OPEN, E.COMMIT): S.COMMITTING,
    (S.OPEN, E.ABORT): S.ABORTING,
    (S.OPEN, E.EXPIRE): S.TIMED_OUT,
    (S.COMMITTING, E.COMMIT): S.COMMITTING,
    (S.COMMITTING, E.ANSWERED): S.COMMITTED,
    (S.COMMITTING, E.FAILED): S.ABORTING,
    (S.COMMITTING, E.REFUSED): S.ERROR,
    (S.ABORTING, E.ABORT): S.ABORTING,
    (S.ABORTING, E.ANSWERED): S.ABORTED,
    (S.ABORTING, E.REFUSED): S.ERROR,
}


def after(state: TxnState, event: TxnEvent, transaction: object) -> TxnState:
    """Where `event` leads.  Raises InvalidTxnStatus, naming the transaction, when it may not happen in `state`."""
    found = TRANSITIONS.get((state, event))
    if found is None:
        raise InvalidTxnStatus(
            f"Transaction {transaction} is {state.value.replace('_', ' ')} and cannot be {event.value}; use a new one.",
            transaction=str(transaction),
            status=state.value,
        )
    return found
