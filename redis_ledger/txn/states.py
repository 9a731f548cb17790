"""The states of a transaction, and the one table that says what each request means in each.

    OPEN ──commit──▶ COMMITTING ──done──▶ COMMITTED
      └──abort, timeout──▶ ABORTING ──done──▶ ABORTED

A pair that is absent is an error; a pair that maps to itself is a retry, answered as it was the first time.  COMMITTING
and ABORTING are the point of no return: from there the outcome is certain, whoever dies.  `lua/txn/apply.lua` acts by
this table; tests compare the two cell by cell.  Source: PIP-31 (TxnStatus, END_TXN), requirements TS-01 and TS-05.
"""

from __future__ import annotations

from enum import Enum


class TxnState(Enum):
    """The letter is what the coordinator's keys hold."""

    OPEN = "O"
    COMMITTING = "C"
    COMMITTED = "D"
    ABORTING = "A"
    TIMING_OUT = "T"  # aborting, because it ran past its timeout
    ABORTED = "B"

    @property
    def is_ending(self) -> bool:
        return self in (TxnState.COMMITTING, TxnState.ABORTING, TxnState.TIMING_OUT)


class TxnRequest(Enum):
    COMMIT = "commit"
    ABORT = "abort"
    EXPIRE = "expire"
    ADD = "add"
    DONE = "done"


TRANSITIONS: dict[tuple[TxnState, TxnRequest], TxnState] = {
    (TxnState.OPEN, TxnRequest.ADD): TxnState.OPEN,
    (TxnState.OPEN, TxnRequest.COMMIT): TxnState.COMMITTING,
    (TxnState.OPEN, TxnRequest.ABORT): TxnState.ABORTING,
    (TxnState.OPEN, TxnRequest.EXPIRE): TxnState.TIMING_OUT,
    (TxnState.COMMITTING, TxnRequest.COMMIT): TxnState.COMMITTING,
    (TxnState.COMMITTING, TxnRequest.EXPIRE): TxnState.COMMITTING,
    (TxnState.COMMITTING, TxnRequest.DONE): TxnState.COMMITTED,
    (TxnState.COMMITTED, TxnRequest.COMMIT): TxnState.COMMITTED,
    (TxnState.COMMITTED, TxnRequest.EXPIRE): TxnState.COMMITTED,
    (TxnState.COMMITTED, TxnRequest.DONE): TxnState.COMMITTED,
    (TxnState.ABORTING, TxnRequest.ABORT): TxnState.ABORTING,
    (TxnState.ABORTING, TxnRequest.EXPIRE): TxnState.ABORTING,
    (TxnState.ABORTING, TxnRequest.DONE): TxnState.ABORTED,
    (TxnState.TIMING_OUT, TxnRequest.ABORT): TxnState.TIMING_OUT,
    (TxnState.TIMING_OUT, TxnRequest.EXPIRE): TxnState.TIMING_OUT,
    (TxnState.TIMING_OUT, TxnRequest.DONE): TxnState.ABORTED,
    (TxnState.ABORTED, TxnRequest.ABORT): TxnState.ABORTED,
    (TxnState.ABORTED, TxnRequest.EXPIRE): TxnState.ABORTED,
    (TxnState.ABORTED, TxnRequest.DONE): TxnState.ABORTED,
}


def next_state(state: TxnState, request: TxnRequest) -> TxnState | None:
    """The state after the request, or None when the state does not allow it."""
    return TRANSITIONS.get((state, request))
