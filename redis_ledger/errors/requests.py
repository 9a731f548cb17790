"""Requests that cannot work as they stand, and names of what does not exist."""

from __future__ import annotations

from redis_ledger.errors.base import BadRequest, NotFound


class InvalidRequest(BadRequest):
    """The request is not in the expected format. The detail names the first invalid field."""

    code = "invalid_request"


class InvalidJson(BadRequest):
    """The body is not valid JSON. Send valid JSON, nested at most 100 levels deep."""

    code = "invalid_json"


class InvalidTopicName(BadRequest):
    """The topic name is invalid. Use 1 to 249 of the characters a-z A-Z 0-9 . _ - and not . or .. alone."""

    code, kafka_code = "invalid_topic_name", 17


class CorruptBatch(BadRequest):
    """The data is not a complete RecordBatch of version 2. Encode the batch again; nothing was written."""

    code, kafka_code = "corrupt_batch", 2


class BadChecksum(BadRequest):
    """The CRC-32C of the batch does not match its data. Send the batch again; nothing was written."""

    code, kafka_code = "bad_checksum", 2


class InvalidRecord(BadRequest):
    """The records are invalid. Correct them and send them again; nothing was written."""

    code, kafka_code = "invalid_record", 87


class InvalidTimestamp(BadRequest):
    """A timestamp of the batch is out of the topic's range. Correct the producer's clock; times are in ms."""

    code, kafka_code = "invalid_timestamp", 32


class UnsupportedCompression(BadRequest):
    """The compression type is not supported. Use none, gzip, snappy, lz4 or zstd."""

    code, kafka_code = "unsupported_compression", 76


class InvalidTimeout(BadRequest):
    """The transaction timeout is out of range. Choose one between 0 and the broker's maximum."""

    code, kafka_code = "invalid_timeout", 50


class InvalidPosition(BadRequest):
    """The message id does not name an existing record. Use ids exactly as receive returned them."""

    code = "invalid_position"


class UnsupportedTxnAction(BadRequest):
    """A transaction can only be committed or aborted. Use commit or abort."""

    code = "unsupported_txn_action"


class RequestTooLarge(BadRequest):
    """The request exceeds the broker's size limit. Split it; nothing was written."""

    code, http_status, kafka_code = "request_too_large", 413, 10


class TooLargeToDecode(BadRequest):
    """The batch exceeds the limit for decoded records. Send smaller batches or raise the setting in the detail."""

    code, http_status, kafka_code = "too_large_to_decode", 413, 10


class MethodNotAllowed(BadRequest):
    """This address does not support the HTTP method. Use a method from the Allow header; /docs lists all of them."""

    code, http_status = "method_not_allowed", 405


class InvalidGroup(BadRequest):
    """The group name is invalid. Use 1 to 32767 characters."""

    code, kafka_code = "invalid_group", 24


class InvalidRegex(BadRequest):
    """The regular expression is invalid. Use RE2 syntax, without look-around and back references."""

    code, kafka_code = "invalid_regex", 128


class InvalidSessionTimeout(BadRequest):
    """The session timeout is out of range. Choose one within the broker's limits."""

    code, kafka_code = "invalid_session_timeout", 26


class MetadataTooLarge(BadRequest):
    """The offset metadata is too long. Keep it below 4096 bytes."""

    code, kafka_code = "metadata_too_large", 12


class InvalidConfig(BadRequest):
    """A configuration does not exist or has an invalid value. The detail names it."""

    code, kafka_code = "invalid_config", 40


class InvalidPartitions(BadRequest):
    """The number of partitions is invalid. Partitions can only be added, up to the broker's maximum."""

    code, kafka_code = "invalid_partitions", 37


class InvalidReplicationFactor(BadRequest):
    """The replication factor is invalid. Use 1 or more, or -1: Redis makes the copies."""

    code, kafka_code = "invalid_replication_factor", 38


class InvalidReplicaAssignment(BadRequest):
    """The replica assignment is invalid. Number the partitions from 0 and assign a broker to each."""

    code, kafka_code = "invalid_replica_assignment", 39


class UnacceptableCredential(BadRequest):
    """The credential is invalid. Use a non-empty user name and 4096 to 16384 iterations."""

    code, kafka_code = "unacceptable_credential", 93


class AuthenticationFailed(BadRequest):
    """The user name or password is wrong. Correct it; `redis-ledger users list` lists the users."""

    code, http_status, kafka_code = "authentication_failed", 401, 58


class RouteNotFound(NotFound):
    """This address does not exist. /docs lists all addresses."""

    code = "route_not_found"


class UnknownTopic(NotFound):
    """The topic does not exist. Create it with POST /v1/topics, or check its name."""

    code, kafka_code = "unknown_topic", 3

    @classmethod
    def gone(cls, topic: str) -> UnknownTopic:
        """It is not there, or another one of its name is."""
        return cls(f"Topic {topic!r} does not exist (any more).", topic=topic)


class UnknownTopicId(UnknownTopic):
    """No topic has this id. Look the topic up by name; it may have been deleted and created again."""

    code, kafka_code, retriable = "unknown_topic_id", 100, True


class UnknownPartition(NotFound):
    """The topic has no such partition. Partitions are numbered from 0."""

    code, kafka_code = "unknown_partition", 3


class UnknownSubscription(NotFound):
    """The topic has no such subscription. Create it with POST /v1/topics/{topic}/subscriptions."""

    code, kafka_code = "unknown_subscription", 69


class CoordinatorNotFound(NotFound):
    """The transaction coordinator does not exist. Use the transaction id exactly as it was returned."""

    code, kafka_code = "coordinator_not_found", 15


class TransactionNotFound(NotFound):
    """The transaction is unknown, or ended too long ago. Begin a new one."""

    code, kafka_code = "transaction_not_found", 105


class OffsetOutOfRange(NotFound):
    """The offset is not in the log. Read from an offset between the log start and its end."""

    code, http_status, kafka_code = "offset_out_of_range", 416, 1


class GroupNotFound(NotFound):
    """The consumer group does not exist. Check its name."""

    code, kafka_code = "group_not_found", 69


class UnknownUser(NotFound):
    """The user or its credential does not exist. Check the name."""

    code, kafka_code = "unknown_user", 91


class UnknownToken(NotFound):
    """The API token does not exist. List the tokens to find its id."""

    code = "unknown_token"
