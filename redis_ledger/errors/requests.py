"""Requests that cannot work as they stand, and names of what does not exist."""

from __future__ import annotations

from redis_ledger.errors.base import BadRequest, NotFound


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


class InvalidRecord(BadRequest):
    """The records cannot be written as they were sent. Encode them again; nothing was written."""

    code, kafka_code = "invalid_record", 87


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


class TooLargeToDecode(BadRequest):
    """The records of a batch are more than this broker decodes. Send smaller batches, or raise the setting it names."""

    code, http_status, kafka_code = "too_large_to_decode", 413, 10


class MethodNotAllowed(BadRequest):
    """This address does not take that method. The Allow header and /docs tell which it takes."""

    code, http_status = "method_not_allowed", 405


class InvalidGroup(BadRequest):
    """The group's name is not legal. Use 1 to 200 printable characters."""

    code, kafka_code = "invalid_group", 24


class InvalidRegex(BadRequest):
    """The regular expression cannot be used. Write it in RE2's syntax, without look-around and back references."""

    code, kafka_code = "invalid_regex", 128


class InvalidSessionTimeout(BadRequest):
    """The session timeout is out of range. Choose one between the broker's least and most."""

    code, kafka_code = "invalid_session_timeout", 26


class MetadataTooLarge(BadRequest):
    """The metadata of an offset is too long. Keep it below 4096 bytes."""

    code, kafka_code = "metadata_too_large", 12


class InvalidConfig(BadRequest):
    """A setting has a value it cannot have, or does not exist. The detail names it."""

    code, kafka_code = "invalid_config", 40


class InvalidPartitions(BadRequest):
    """A topic cannot have this number of partitions. They can only become more, up to the broker's maximum."""

    code, kafka_code = "invalid_partitions", 37


class InvalidReplicationFactor(BadRequest):
    """A topic cannot have this many replicas. Ask for 1 or more, or for -1: copies are made by Redis."""

    code, kafka_code = "invalid_replication_factor", 38


class InvalidReplicaAssignment(BadRequest):
    """The replicas were not assigned to partitions as they must be. Number them from 0, each with a broker."""

    code, kafka_code = "invalid_replica_assignment", 39


class UnacceptableCredential(BadRequest):
    """The credential cannot be taken. Use a user name that is not empty, and 4096 to 16384 iterations."""

    code, kafka_code = "unacceptable_credential", 93


class AuthenticationFailed(BadRequest):
    """The user name or the password is wrong. Correct them; `redis-ledger users list` tells which users there are."""

    code, http_status, kafka_code = "authentication_failed", 401, 58


class RouteNotFound(NotFound):
    """There is nothing at this address. /docs lists the addresses there are."""

    code = "route_not_found"


class UnknownTopic(NotFound):
    """The topic does not exist. Create it with POST /v1/topics, or check its name."""

    code, kafka_code = "unknown_topic", 3

    @classmethod
    def gone(cls, topic: str) -> UnknownTopic:
        """It is not there, or another one of its name is."""
        return cls(f"Topic {topic!r} does not exist (any more).", topic=topic)


class UnknownTopicId(UnknownTopic):
    """No topic has this id. Ask for the topic by its name; it may have been deleted and made again."""

    code, kafka_code, retriable = "unknown_topic_id", 100, True


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


class GroupNotFound(NotFound):
    """There is no such consumer group. Check its name."""

    code, kafka_code = "group_not_found", 69


class UnknownUser(NotFound):
    """There is no such user, or no such credential of it. Check the name."""

    code, kafka_code = "unknown_user", 91


class UnknownToken(NotFound):
    """There is no such API token. List the tokens to see which there are."""

    code = "unknown_token"
