"""Pulsar's names of settings, including those of PIP-160 and misspelled ones of PIP-195, and former names.

delayedDeliveryTickTimeMillis=5        alias of delayed_delivery_tick_time_ms=5
enbaleShareDelayedMessageIndex=true    only this value is accepted
delayedDeliveryFixedDelay...=100       accepted without effect; serve and doctor warn
kafka_sasl_enabled=true                rejected, so that an upgrade does not disable authentication
"""

from __future__ import annotations

from typing import NamedTuple


class Alias(NamedTuple):
    """An alias.

    ours  our setting; empty if there is none
    only  the only accepted value
    note  the reason for `only`, or why the setting has no effect
    """

    name: str
    ours: str = ""
    only: str = ""
    note: str = ""


_STRICT = "nothing is ever delivered early"
_BUCKETS = "the index is kept in Redis in buckets; there is no tracker in memory"
_SHARED = "all subscriptions of a partition share one index"
_LOOKAHEAD = "there is no tracker in memory"
_ACKS = "a client waits for each acknowledgement, which is sent at once"
_SASL = "auth_required replaces it for all listeners (docs/howto/secure.md)"

ALIASES = {
    alias.name.lower(): alias
    for alias in (
        Alias("delayedDeliveryEnabled", "delayed_delivery_enabled"),
        Alias("delayedDeliveryTickTimeMillis", "delayed_delivery_tick_time_ms"),
        Alias("delayedDeliveryMaxDelayInMillis", "delayed_delivery_max_delay_ms"),
        Alias("delayedDeliveryMinIndexCountPerBucket", "delayed_delivery_min_index_count_per_bucket"),
        Alias("delayedDeliveryLedgerStepPerBucket", "delayed_delivery_ledger_step_per_bucket"),
        Alias(
            "delayedDeliveryMaxTimeStepPerBucketSnapshotSegmentSeconds", "delayed_delivery_max_time_step_per_segment_s"
        ),
        Alias("delayedDeliveryTimeStepPerBucketSnapshotSeconds", "delayed_delivery_max_time_step_per_segment_s"),
        Alias("delayedDeliveryMaxIndexesPerBucketSnapshotSegment", "delayed_delivery_max_indexes_per_segment"),
        Alias("delayedDeliveryMaxNumBuckets", "delayed_delivery_max_num_buckets"),
        Alias("isDelayedDeliveryDeliverAtTimeStrict", only="true", note=_STRICT),
        Alias(
            "delayedDeliveryTrackerFactoryClassName",
            only="org.apache.pulsar.broker.delayed.BucketDelayedDeliveryTrackerFactory",
            note=_BUCKETS,
        ),
        Alias("enbaleBucketDelayedDeliveryTracker", only="true", note=_BUCKETS),
        Alias("delayedDeliverySharedIndexEnabled", only="true", note=_SHARED),
        Alias("enbaleShareDelayedMessageIndex", only="true", note=_SHARED),
        Alias("delayedDeliveryFixedDelayDetectionLookahead", note=_LOOKAHEAD),
        Alias("maxUnackedMessagesPerConsumer", "max_unacked_per_consumer"),
        Alias("maxUnackedMessagesPerSubscription", "max_unacked_per_subscription"),
        Alias("transactionLogBatchedWriteEnabled", "transaction_log_batched_write_enabled"),
        Alias("transactionLogBatchedWriteMaxRecords", "transaction_log_batched_write_max_records"),
        Alias("transactionLogBatchedWriteMaxSize", "transaction_log_batched_write_max_size"),
        Alias("transactionLogBatchedWriteMaxDelayInMillis", "transaction_log_batched_write_max_delay_ms"),
        *(
            Alias(f"{prefix}BatchedWrite{name}", f"transaction_pending_ack_batched_write_{ours}")
            for prefix in ("transactionPendingAck", "pendingAck")  # of Pulsar, and of PIP-160
            for name, ours in (("Enabled", "enabled"), ("MaxRecords", "max_records"), ("MaxSize", "max_size"))
        ),
        Alias("transactionPendingAckBatchedWriteMaxDelayInMillis", note=_ACKS),
        Alias("pendingAckBatchedWriteMaxDelayInMillis", note=_ACKS),
        Alias("kafka_sasl_enabled", only="false", note=_SASL),
    )
}


def alias_of(name: str) -> Alias | None:
    """Case-insensitive."""
    return ALIASES.get(name.lower())
