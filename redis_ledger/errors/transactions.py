"""What producers and transactions are refused for."""

from __future__ import annotations

from redis_ledger.errors.base import Conflict


class ProducerError(Conflict):
    """The producer's id, epoch or sequence was refused. See the detail."""

    code = "producer_error"


class SequenceGap(ProducerError):
    """The sequence number is not the next one. Send the missing batch first; nothing was written."""

    code, kafka_code = "sequence_gap", 45


class DuplicateSequence(ProducerError):
    """The batch was written before, too long ago to say where. Treat it as written."""

    code, kafka_code = "duplicate_sequence", 46


class StaleEpoch(ProducerError):
    """A newer producer took over this producer id. Close this one; repeating cannot help."""

    code, kafka_code = "stale_epoch", 47


class UnknownProducer(ProducerError):
    """The producer id is not known here and the sequence does not start at 0. Get a new producer id."""

    code, kafka_code = "unknown_producer", 59


class InvalidProducerId(ProducerError):
    """The producer id was not given to this caller. Get one with InitProducerId or POST /v1/producers."""

    code, kafka_code = "invalid_producer_id", 49


class ProducerFenced(ProducerError):
    """A newer producer took this transactional id. Close this one; repeating cannot help."""

    code, kafka_code = "producer_fenced", 90


class UnknownTransactionalId(ProducerError):
    """The transactional id has another producer id, or none. Get one with InitProducerId."""

    code, kafka_code = "unknown_transactional_id", 49


class TransactionError(Conflict):
    """The transaction does not allow this. See the detail."""

    code, kafka_code = "transaction_error", 48


class InvalidTxnStatus(TransactionError):
    """The transaction's status does not allow this. Look at it with GET /v1/transactions/{id}."""

    code, kafka_code = "invalid_txn_status", 48


class TransactionConflict(TransactionError):
    """A message is already acknowledged, or held by another transaction. Abort; the other one decides."""

    code = "transaction_conflict"


class TransactionEnded(TransactionError):
    """The transaction has ended; nothing can be added to it. Begin a new one."""

    code, kafka_code = "transaction_ended", 48


class TransactionAbortOnly(TransactionError):
    """An operation of this transaction failed, so it was aborted. Begin again from the last committed state."""

    code = "transaction_abort_only"


class AlreadyCommitted(TransactionError):
    """The transaction was committed. Nothing can be added to it and it cannot be aborted; begin a new one."""

    code = "already_committed"


class AlreadyAborted(TransactionError):
    """The transaction was aborted. Begin a new one and do its work again."""

    code = "already_aborted"


class TransactionTimedOut(TransactionError):
    """The transaction ran past its timeout and was aborted. Begin a new one, with more time if needed."""

    code = "transaction_timed_out"


class NotAllowed(TransactionError):
    """The transaction belongs to somebody else. Only its owner or an administrator may touch it."""

    code, http_status, kafka_code = "not_allowed", 403, 53
