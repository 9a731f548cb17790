"""The states of a transaction, and the one table that says what each request means in each.

    OPEN ──commit──▶ COMMITTING ──done──▶ COMMITTED
      └──abort, timeout──▶ ABORTING ──done──▶ ABORTED

A pair that is absent is an error; a pair that maps to itself is a retry, answered as it was the first time.  COMMITTING
and ABORTING are the point of no return: from there the outcome is certain, whoever dies.  `lua/txn/apply.lua` acts by
this table; tests compare the two cell by cell.  Source: PIP-31 (TxnStatus, END_TXN), requirements TS-01 and TS-05.
"""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """The letter is what the coordinator's keys hold."""

    OPEN = "O"
    COMMITTING = "C"
    COMMITTED = "D"
    ABORTING = "A"
    TIMING_OUT = "T"  # aborting, because it ran past its timeout
    ABORTED = "B"

    @property
    def is_ending(self) -> bool:
        return self in (State.COMMITTING, State.ABORTING, State.TIMING_OUT)


class Request(Enum):
    COMMIT = "commit"
    ABORT = "abort"
    EXPIRE = "expire"
    ADD = "add"
    DONE = "done"


TRANSITIONS: dict[tuple[State, Request], State] = {
    (State.OPEN, Request.ADD): State.OPEN,
    (State.OPEN, Request.COMMIT): State.COMMITTING,
    (State.OPEN, Request.ABORT): State.ABORTING,
    (State.OPEN, Request.EXPIRE): State.TIMING_OUT,
    (State.COMMITTING, Request.COMMIT): State.COMMITTING,
    (State.COMMITTING, Request.EXPIRE): State.COMMITTING,
    (State.COMMITTING, Request.DONE): State.COMMITTED,
    (State.COMMITTED, Request.COMMIT): State.COMMITTED,
    (State.COMMITTED, Request.EXPIRE): State.COMMITTED,
    (State.COMMITTED, Request.DONE): State.COMMITTED,
    (State.ABORTING, Request.ABORT): State.ABORTING,
    (State.ABORTING, Request.EXPIRE): State.ABORTING,
    (State.ABORTING, Request.DONE): State.ABORTED,
    (State.TIMING_OUT, Request.ABORT): State.TIMING_OUT,
    (State.TIMING_OUT, Request.EXPIRE): State.TIMING_OUT,
    (State.TIMING_OUT, Request.DONE): State.ABORTED,
    (State.ABORTED, Request.ABORT): State.ABORTED,
    (State.ABORTED, Request.EXPIRE): State.ABORTED,
    (State.ABORTED, Request.DONE): State.ABORTED,
}


def follow(state: State, request: Request) -> State | None:
    """The state after the request, or None when the state does not allow it."""
    return TRANSITIONS.get((state, request))
