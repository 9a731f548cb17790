"""What producers and transactions are refused for."""

from __future__ import annotations

from redis_ledger.errors.base import Conflict


class ProducerError(Conflict):
    """The producer id, epoch or sequence was refused. The detail says why."""

    code = "producer_error"


class SequenceGap(ProducerError):
    """The sequence number is not the next one. Send the missing batch first; nothing was written."""

    code, kafka_code = "sequence_gap", 45


class DuplicateSequence(ProducerError):
    """The batch was already written, but its offset is no longer known. Treat it as written."""

    code, kafka_code = "duplicate_sequence", 46


class StaleEpoch(ProducerError):
    """A newer producer uses this producer id. Close this producer; retrying cannot succeed."""

    code, kafka_code = "stale_epoch", 47


class UnknownProducer(ProducerError):
    """The producer id is unknown and the sequence does not start at 0. Get a new producer id."""

    code, kafka_code = "unknown_producer", 59


class InvalidProducerId(ProducerError):
    """The producer id was not allocated to this caller. Get one with InitProducerId or POST /v1/producers."""

    code, kafka_code = "invalid_producer_id", 49


class ProducerFenced(ProducerError):
    """A newer producer uses this transactional id. Close this producer; retrying cannot succeed."""

    code, kafka_code = "producer_fenced", 90


class UnknownTransactionalId(ProducerError):
    """The transactional id does not have this producer id. Get its producer id with InitProducerId."""

    code, kafka_code = "unknown_transactional_id", 49


class TransactionError(Conflict):
    """The transaction does not allow this request. The detail says why."""

    code, kafka_code = "transaction_error", 48


class InvalidTxnStatus(TransactionError):
    """The transaction's status does not allow this request. Read it with GET /v1/transactions/{id}."""

    code, kafka_code = "invalid_txn_status", 48


class TransactionConflict(TransactionError):
    """The message is acknowledged or pending in another transaction. Abort this transaction."""

    code = "transaction_conflict"


class TransactionEnded(TransactionError):
    """The transaction has ended. Begin a new one."""

    code, kafka_code = "transaction_ended", 48


class TransactionAbortOnly(TransactionError):
    """An operation failed, so the transaction was aborted. Start again from the last committed state."""

    code = "transaction_abort_only"


class AlreadyCommitted(TransactionError):
    """The transaction is committed and cannot be changed. Begin a new one."""

    code = "already_committed"


class AlreadyAborted(TransactionError):
    """The transaction was aborted. Begin a new one and repeat its work."""

    code = "already_aborted"


class TransactionTimedOut(TransactionError):
    """The transaction timed out and was aborted. Begin a new one, with a longer timeout if needed."""

    code = "transaction_timed_out"


class TransactionsDisabled(TransactionError):
    """Transactions are disabled on this cluster. Set transactions_enabled to true on its brokers, or do without."""

    # CLUSTER_AUTHORIZATION_FAILED: the only code at which librdkafka gives up and shows the detail.  It sends a request
    # that fails with UNSUPPORTED_VERSION or INVALID_REQUEST again until init_transactions times out, without a reason.
    code, http_status, kafka_code = "transactions_disabled", 503, 31


class NotAllowed(TransactionError):
    """The transaction belongs to another principal. Use its owner's or an administrator's credentials."""

    code, http_status, kafka_code = "not_allowed", 403, 53
