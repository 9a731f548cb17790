"""The exceptions for operations that a coordinator refuses."""

from __future__ import annotations

from collections.abc import Sequence

from redis_ledger.errors import (
    AlreadyAborted,
    AlreadyCommitted,
    InvalidTxnStatus,
    LedgerError,
    TransactionNotFound,
    TransactionTimedOut,
)
from redis_ledger.ids import TxnId
from redis_ledger.store.script_status import Status


def refusal_error(txn: TxnId, status: int, fields: Sequence[str]) -> LedgerError:
    """The exception for an operation that the script refused."""
    facts = {"transaction": str(txn)}
    if status == Status.TXN_NOT_FOUND:
        return TransactionNotFound(f"Transaction {txn} is unknown, or ended too long ago.", **facts)
    assert status == Status.TXN_STATUS, (status, fields)
    match fields:
        case ["ended", "C"] | ["C"]:
            return AlreadyCommitted(f"Transaction {txn} was committed.", **facts)
        case ["ended", "T"] | ["T"]:
            return TransactionTimedOut(f"Transaction {txn} timed out and was aborted; begin a new one.", **facts)
        case ["ended", "A"] | ["A"]:
            return AlreadyAborted(f"Transaction {txn} was aborted; begin a new one.", **facts)
    return InvalidTxnStatus(f"Transaction {txn} is {' '.join(fields)}, which does not allow this.", **facts)
