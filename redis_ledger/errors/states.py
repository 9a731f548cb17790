"""Requests that contradict the present state, or that the broker cannot carry out right now."""

from __future__ import annotations

from redis_ledger.errors.base import Conflict, Unavailable


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

    code, kafka_code = "wrong_subscription_kind", 23


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


class StoreUnavailable(Unavailable):
    """Redis cannot be reached. Try again; the request was not carried out."""

    code = "store_unavailable"


class RedisUnfit(StoreUnavailable):
    """This Redis lost its data, cannot save, or keeps less than was promised. The detail says what to do about it."""

    # KAFKA_STORAGE_ERROR: clients repeat the request, and do not take it for written.
    code, kafka_code = "redis_unfit", 56


class TooFewReplicas(StoreUnavailable):
    """Redis refuses writes while too few of its replicas are in sync. Try again; the request was not carried out."""

    # NOT_ENOUGH_REPLICAS: the same condition, and clients repeat the request.
    code, kafka_code = "too_few_replicas", 19


class StoreTimeout(Unavailable):
    """Redis did not answer in time. Try again; repeating this request is safe."""

    code, http_status, kafka_code = "store_timeout", 504, 7


class StorageFull(Unavailable):
    """Redis has reached its maxmemory. Send it again; lower the retention or add memory if that does not help."""

    code, http_status, kafka_code = "storage_full", 507, 56


class TooManyTransactions(Unavailable):
    """The coordinator has as many open transactions as it may have. Try again when some have ended."""

    code, http_status, kafka_code = "too_many_transactions", 429, 51


class Draining(Unavailable):
    """This broker is shutting down. Send the request to another broker, or again in a moment."""

    code = "draining"


class ClientMemoryFull(Unavailable):
    """What clients have half sent, or not read, takes all memory that is set aside for it. Try again in a moment."""

    code = "client_memory_full"


class DecodingBusy(Unavailable):
    """Batches of other requests take all memory that is set aside for decoding. Try again in a moment."""

    code = "decoding_busy"


class OutcomeUnknown(Unavailable):
    """The reply was lost; the records may or may not be written. Check before repeating, or use an Idempotency-Key."""

    code, http_status, kafka_code, retriable = "outcome_unknown", 504, 7, False


class UnreadableFormat(Conflict):
    """The stored data is of another version of redis-ledger. Run the release that wrote it."""

    code = "unreadable_format"
