"""Requests that contradict the present state, or that the broker cannot carry out right now."""

from __future__ import annotations

from redis_ledger.errors.base import Conflict, LedgerError, Unavailable


class TopicExists(Conflict):
    """A topic with this name exists. Use it or choose another name."""

    code, kafka_code = "topic_exists", 36


class TopicBusy(Conflict):
    """The topic is being created or deleted. Try again in a moment."""

    code, kafka_code, retriable = "topic_busy", 5, True


class SubscriptionExists(Conflict):
    """The subscription exists with another kind. Use it or choose another name."""

    code = "subscription_exists"


class WrongSubscriptionKind(Conflict):
    """The subscription's kind does not allow this. Cumulative acknowledgements need `exclusive` or `failover`."""

    code, kafka_code = "wrong_subscription_kind", 23


class SnapshotMismatch(Conflict):
    """The snapshot is of another topic or another kind of subscription. Use one of this topic and kind."""

    code = "snapshot_mismatch"


class SnapshotTooLarge(Conflict):
    """The subscription has too many gaps between acknowledgements for a snapshot. Let its consumers fill them."""

    code = "snapshot_too_large"


class ConsumerBusy(Conflict):
    """Another consumer owns this exclusive subscription. Stop it, wait until its session ends, or use a shared one."""

    code, retriable = "consumer_busy", True


class NotYourMessage(Conflict):
    """The message is leased to another consumer. Drop it: the lease of this consumer has expired."""

    code = "not_your_message"


class NotDelivered(Conflict):
    """The message has not been delivered to this consumer. Acknowledge only messages that receive returned."""

    code = "not_delivered"


class RequestInProgress(Conflict):
    """A request with this Idempotency-Key is still running. Send it again in a moment to get its response."""

    code, retriable = "request_in_progress", True


class IdempotencyKeyReused(Conflict):
    """The Idempotency-Key was used for another request. Use a new key for every new request."""

    code, http_status = "idempotency_key_reused", 422


class StoreUnavailable(Unavailable):
    """Redis cannot be reached. Try again; the request was not executed."""

    code = "store_unavailable"


class RedisUnfit(StoreUnavailable):
    """Redis lost data, cannot save, or is less durable than required. The detail says what to do."""

    # KAFKA_STORAGE_ERROR: clients repeat the request, and do not take it for written.
    code, kafka_code = "redis_unfit", 56


class TooFewReplicas(StoreUnavailable):
    """Too few replicas of Redis are in sync. Try again; the request was not executed."""

    # NOT_ENOUGH_REPLICAS: the same condition, and clients repeat the request.
    code, kafka_code = "too_few_replicas", 19


class ClockSkewed(Unavailable):
    """The clocks of a broker and of Redis differ too much. Set both by NTP; the broker recovers by itself."""

    code = "clock_skewed"


class StoreTimeout(Unavailable):
    """Redis did not respond in time. Try again; repeating this request is safe."""

    code, http_status, kafka_code = "store_timeout", 504, 7


class StorageFull(Unavailable):
    """Redis has reached its maxmemory. Try again; if it persists, lower the retention or add memory."""

    code, http_status, kafka_code = "storage_full", 507, 56


class TooManyTransactions(Unavailable):
    """The coordinator has reached its maximum number of open transactions. Try again when some have ended."""

    code, http_status, kafka_code = "too_many_transactions", 429, 51


class Draining(Unavailable):
    """This broker is shutting down. Send the request to another broker, or try again in a moment."""

    code = "draining"


class ClientMemoryFull(Unavailable):
    """The memory for buffered requests and responses of clients is used up. Try again in a moment."""

    code = "client_memory_full"


class DecodingBusy(Unavailable):
    """The memory for decoding batches is used up. Try again in a moment."""

    code = "decoding_busy"


class OutcomeUnknown(Unavailable):
    """The response was lost, so the records may be written. Check before you repeat, or use an Idempotency-Key."""

    code, http_status, kafka_code, retriable = "outcome_unknown", 504, 7, False


class NotReplicated(OutcomeUnknown):
    """The write is stored, but too few replicas confirmed it in time. Check before you repeat it: it may be lost."""

    # NOT_ENOUGH_REPLICAS_AFTER_APPEND: clients repeat the batch; that of an idempotent producer is not stored twice.
    code, kafka_code = "not_replicated", 20


class UnreadableFormat(Conflict):
    """Another version of redis-ledger wrote the stored data. Run that version."""

    code = "unreadable_format"


class StoredDamaged(LedgerError):
    """A value that redis-ledger stored in Redis is damaged. Run `redis-ledger fsck`, which can repair most of them."""

    code = "stored_damaged"

    @classmethod
    def of(cls, what: str) -> StoredDamaged:
        return cls(f"{what} is damaged in Redis. Run `redis-ledger fsck`, and with --repair if it offers to.")
