"""Pulsar's names for settings of ours, those of its releases and those of PIP-195's first version, misspelt as there;
and names that were ours once.

delayedDeliveryTickTimeMillis=5        is delayed_delivery_tick_time_ms=5
enbaleShareDelayedMessageIndex=true    is how it always is: only that value is taken
delayedDeliveryFixedDelay...=100       is taken and does nothing: serve and doctor say so
kafka_sasl_enabled=true                is refused: who upgrades with it must not find the door open
"""

from __future__ import annotations

from typing import NamedTuple


class Alias(NamedTuple):
    """ours: the setting it stands for, "" for none.  only: the value it can have where there is no choice here; `note`
    then says why.  A note alone: it is without effect, and why."""

    name: str
    ours: str = ""
    only: str = ""
    note: str = ""


_STRICT = "nothing is ever delivered early"
_BUCKETS = "the index is kept in Redis in buckets; there is no tracker in memory"
_SHARED = "a partition has one index, whatever reads it"
_LOOKAHEAD = "there is no tracker in memory that would read ahead"
_SASL = "auth_required has taken its place and closes every door (docs/howto/secure.md)"

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
        Alias("kafka_sasl_enabled", only="false", note=_SASL),
    )
}


def alias_of(name: str) -> Alias | None:
    """In whatever case it is written."""
    return ALIASES.get(name.lower())
