"""Every way a call can fail, as one tree; each leaf knows how it is told to every kind of caller.

    LedgerError
    ├── BadRequest                  the request can never work as it stands
    │   ├── InvalidRequest  InvalidJson  InvalidTopicName  CorruptBatch  BadChecksum  RequestTooLarge
    │   ├── UnsupportedCompression  InvalidTimeout  InvalidPosition  UnsupportedTxnAction  MethodNotAllowed
    ├── NotFound
    │   ├── RouteNotFound  UnknownTopic  UnknownPartition  UnknownSubscription
    │   ├── CoordinatorNotFound  TransactionNotFound  OffsetOutOfRange
    ├── Conflict                    the request is well formed, but not as things stand
    │   ├── TopicExists  TopicBusy  SubscriptionExists  WrongSubscriptionKind  ConsumerBusy
    │   ├── NotYourMessage  NotDelivered  RequestInProgress  IdempotencyKeyReused
    │   ├── ProducerError
    │   │   └── SequenceGap  DuplicateSequence  StaleEpoch  UnknownProducer
    │   └── TransactionError
    │       ├── InvalidTxnStatus  TransactionConflict  TransactionEnded  TransactionAbortOnly  NotAllowed
    │       └── AlreadyCommitted  AlreadyAborted  TransactionTimedOut
    └── Unavailable                 the same request may work a moment later
        ├── StoreUnavailable  StoreTimeout  StorageFull  TooManyTransactions  Draining
        └── OutcomeUnknown          the reply was lost and the call was not safe to repeat

`code` is the stable name of a problem (RFC 9457 `type` and our `code`), `http_status` its HTTP status, `kafka_code` its
Kafka protocol error code, `retriable` whether the same request may succeed later.  The first sentence of a leaf's
docstring is its title; the second says what to do.  Client side errors (`redis_ledger.client`) are these very classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar


class LedgerError(Exception):
    """redis-ledger could not do what was asked. Read the detail."""

    code: ClassVar[str] = "internal_error"
    http_status: ClassVar[int] = 500
    kafka_code: ClassVar[int] = -1
    retriable: ClassVar[bool] = False

    def __init__(self, detail: str | None = None, **facts: Any) -> None:
        """detail: what happened and what to do, in one or two sentences.  facts: further members of the problem."""
        self.detail = detail or " ".join((type(self).__doc__ or "").split())
        self.facts = facts
        super().__init__(self.detail)

    @classmethod
    def title(cls) -> str:
        return " ".join((cls.__doc__ or cls.__name__).split()).split(". ")[0].rstrip(".")


class BadRequest(LedgerError):
    """The request is not valid. Change it before sending it again."""

    code, http_status, kafka_code = "bad_request", 400, 42


class InvalidRequest(BadRequest):
    """The request does not have the expected shape. The detail names the first member that is wrong."""

    code = "invalid_request"


class InvalidJson(BadRequest):
    """The body is not JSON that can be read. Send valid JSON, nested at most 100 deep where it is interpreted."""

    code = "invalid_json"


class InvalidTopicName(BadRequest):
    """The topic name is not legal. Use 1 to 249 of the characters a-z A-Z 0-9 . _ - and not . or .. alone."""

    code, kafka_code = "invalid_topic_name", 17


class CorruptBatch(BadRequest):
    """The bytes are not a whole RecordBatch of version 2. Encode the batch again; nothing was written."""

    code, kafka_code = "corrupt_batch", 2


class BadChecksum(BadRequest):
    """The batch's CRC-32C does not match its bytes. Send the batch again from its source; nothing was written."""

    code, kafka_code = "bad_checksum", 2


class UnsupportedCompression(BadRequest):
    """The batch uses a compression that is not known. Use none, gzip, snappy, lz4 or zstd."""

    code, kafka_code = "unsupported_compression", 76


class InvalidTimeout(BadRequest):
    """The transaction timeout is out of range. Choose one between 0 and the broker's maximum."""

    code, kafka_code = "invalid_timeout", 50


class InvalidPosition(BadRequest):
    """The message id does not name a record that exists. Use ids exactly as receive returned them."""

    code = "invalid_position"


class UnsupportedTxnAction(BadRequest):
    """A transaction can only be committed or aborted. Use commit or abort."""

    code = "unsupported_txn_action"


class RequestTooLarge(BadRequest):
    """The request is larger than this broker accepts. Split it; nothing was written."""

    code, http_status, kafka_code = "request_too_large", 413, 10


class MethodNotAllowed(BadRequest):
    """This address does not take that method. The Allow header and /docs tell which it takes."""

    code, http_status = "method_not_allowed", 405


class NotFound(LedgerError):
    """What the request names does not exist. Check the name."""

    code, http_status, kafka_code = "not_found", 404, 3


class RouteNotFound(NotFound):
    """There is nothing at this address. /docs lists the addresses there are."""

    code = "route_not_found"


class UnknownTopic(NotFound):
    """The topic does not exist. Create it with POST /v1/topics, or check its name."""

    code, kafka_code = "unknown_topic", 3


class UnknownPartition(NotFound):
    """The topic has no such partition. Partitions are numbered from 0."""

    code, kafka_code = "unknown_partition", 3


class UnknownSubscription(NotFound):
    """The topic has no such subscription. Create it with POST /v1/topics/{topic}/subscriptions."""

    code, kafka_code = "unknown_subscription", 69


class CoordinatorNotFound(NotFound):
    """No transaction coordinator has this number. Use the transaction id exactly as it was returned."""

    code, kafka_code = "coordinator_not_found", 15


class TransactionNotFound(NotFound):
    """The transaction is not known, or ended too long ago to be remembered. Begin a new one."""

    code, kafka_code = "transaction_not_found", 105


class OffsetOutOfRange(NotFound):
    """The offset is not in the log. Read from an offset between the log start and its end."""

    code, http_status, kafka_code = "offset_out_of_range", 416, 1


class Conflict(LedgerError):
    """The request contradicts the present state. Look at the state before trying again."""

    code, http_status, kafka_code = "conflict", 409, -1


class TopicExists(Conflict):
    """A topic of this name exists. Use it, or choose another name."""

    code, kafka_code = "topic_exists", 36


class TopicBusy(Conflict):
    """The topic is being created or deleted. Try again in a moment."""

    code, kafka_code, retriable = "topic_busy", 5, True


class SubscriptionExists(Conflict):
    """The subscription exists with another kind. Use it as it is, or choose another name."""

    code = "subscription_exists"


class WrongSubscriptionKind(Conflict):
    """The subscription's kind does not allow this. Cumulative acknowledgement needs an exclusive subscription."""

    code = "wrong_subscription_kind"


class ConsumerBusy(Conflict):
    """Another consumer holds this exclusive subscription. Stop it, wait for its session to end, or use a shared one."""

    code, retriable = "consumer_busy", True


class NotYourMessage(Conflict):
    """The message is leased to another consumer. Its lease here has run out; drop it, the other consumer handles it."""

    code = "not_your_message"


class NotDelivered(Conflict):
    """The message has not been delivered yet. Only what receive returned can be acknowledged."""

    code = "not_delivered"


class RequestInProgress(Conflict):
    """A request with this Idempotency-Key is still running. Send it again after a moment to get its answer."""

    code, retriable = "request_in_progress", True


class IdempotencyKeyReused(Conflict):
    """The Idempotency-Key was used for another request. Use a fresh key for every new request."""

    code, http_status = "idempotency_key_reused", 422


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


class Unavailable(LedgerError):
    """The broker cannot do this right now. Try again; the request was not carried out."""

    code, http_status, kafka_code, retriable = "unavailable", 503, 8, True


class StoreUnavailable(Unavailable):
    """Redis cannot be reached. Try again; the request was not carried out."""

    code = "store_unavailable"


class StoreTimeout(Unavailable):
    """Redis did not answer in time. Try again; repeating this request is safe."""

    code, http_status, kafka_code = "store_timeout", 504, 7


class StorageFull(Unavailable):
    """Redis has reached its maxmemory. Free or add memory; reads, acknowledgements and ends go on."""

    code, http_status, kafka_code = "storage_full", 507, 56


class TooManyTransactions(Unavailable):
    """The coordinator has as many open transactions as it may have. Try again when some have ended."""

    code, http_status = "too_many_transactions", 429


class Draining(Unavailable):
    """This broker is shutting down. Send the request to another broker, or again in a moment."""

    code = "draining"


class OutcomeUnknown(Unavailable):
    """The reply was lost; the records may or may not be written. Check before repeating, or use an Idempotency-Key."""

    code, http_status, kafka_code, retriable = "outcome_unknown", 504, 7, False


def leaves(root: type[LedgerError] = LedgerError) -> Iterator[type[LedgerError]]:
    """Every class of the tree, root first."""
    yield root
    for child in root.__subclasses__():
        yield from leaves(child)


def by_code() -> dict[str, type[LedgerError]]:
    """Stable code → class; what the SDK uses to turn a problem back into an exception.  A class without a code of
    its own never leaves the broker, and does not stand in for its parent here."""
    return {cls.code: cls for cls in leaves() if "code" in vars(cls)}
