"""The states of a transaction, and the table of its transitions.

    OPEN ──commit──▶ COMMITTING ──done──▶ COMMITTED
      └──abort, timeout──▶ ABORTING ──done──▶ ABORTED

A missing pair is an error; a pair that maps to itself is a retry and gets the first reply.  COMMITTING and ABORTING
are the point of no return: the outcome stands even if the broker dies.  `lua/txn/apply.lua` follows this table, and
tests compare the two cell by cell.  Source: PIP-31 (TxnStatus, END_TXN), requirements TS-01 and TS-05.
"""

from __future__ import annotations

from enum import Enum


class TxnState(Enum):
    """A state, with its letter in the coordinator's keys."""

    OPEN = "O"
    COMMITTING = "C"
    COMMITTED = "D"
    ABORTING = "A"
    TIMING_OUT = "T"  # aborting after its timeout
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
    """The state after the request, or None if the request is not allowed."""
    return TRANSITIONS.get((state, request))
