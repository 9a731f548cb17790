"""What a transaction raises when it cannot be committed, and notes when it cannot be aborted."""

from __future__ import annotations

from redis_ledger.errors import LedgerError, TransactionAbortOnly, TransactionError, TransactionsDisabled


def abort_only(txn: object, failure: LedgerError) -> TransactionError:
    """failure: the first error of its operations."""
    if isinstance(failure, TransactionsDisabled):  # as would any other transaction
        return TransactionsDisabled(failure.detail)
    return TransactionAbortOnly(
        f"Transaction {txn} cannot be committed: one of its operations failed. {failure.detail} "
        "Restart from the last committed state.",
        transaction=str(txn),
        cause=failure.code,
    )


def abort_failed(txn: object, error: LedgerError) -> str:
    return f"Transaction {txn} could not be aborted ({error.detail}); the broker aborts it at its deadline."
