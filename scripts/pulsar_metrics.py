"""Metrics of delayed delivery in Pulsar and in PIP-195's first version, and their equivalents."""

from __future__ import annotations

from collections.abc import Iterator

BUCKETS = "redis_ledger_delayed_message_index_bucket"
# Pulsar's name without `pulsar_` → what to ask Prometheus for; TOPIC stands for the labels.
NAMES = {
    "delayed_message_index_bucket_total": f"{BUCKETS}_total",
    "delayed_message_index_loaded": "redis_ledger_delayed_message_index_loaded",
    "delayed_message_index_bucket_snapshot_size_bytes": f"{BUCKETS}_snapshot_size_bytes",
    "delayed_message_index_bucket_op_count": f"{BUCKETS}_op_count_total",
    "delayed_message_index_bucket_op_latency_ms": f"{BUCKETS}_op_latency_ms_bucket",
    "delayed_message_index_size_bytes": "redis_ledger_delayed_message_index_size_bytes",
    "subscription_delayed": "redis_ledger_subscription_delayed",
    "subscription_back_log_no_delayed": "redis_ledger_subscription_back_log_no_delayed",
    "delayed_delivery_tracker_bucket_count": f"{BUCKETS}_total",
    "delayed_delivery_tracker_memory_usage": "redis_ledger_delayed_message_index_size_bytes",
    "subscription_delayed_in_memory": "redis_ledger_delayed_message_index_loaded",
    "subscription_delayed_in_last_mutable_queue": "redis_ledger_delayed_message_index_mutable",
    "delayed_delivery_tracker_bucket_merge_count": f'{BUCKETS}_op_count_total{{state="succeed",type="merge"}}',
    "delayed_delivery_tracker_bucket_delete_count": f'{BUCKETS}_op_count_total{{state="succeed",type="delete"}}',
}
ABOUT = (
    "## Pulsar's names\n\n"
    "The first eight are those of Pulsar's releases, the others those of PIP-195's first version. A partition has one\n"
    "index for all its readers, so they exist for a topic and not for a subscription;\n"
    "sum them up for a namespace. Gauges describe the whole topic and are the same on every broker: use one of them\n"
    "(`max by (topic)`). Counters and histograms describe one broker: add them up. The label `quantile` of the\n"
    "latency is `le` here, with the same bounds: 50, 100, 500, 1000, 5000, 30000 and 60000 ms, and `+Inf` for the\n"
    "overflow. All are read from Redis when the broker is scraped, at most once a second, and less often (30 s) if\n"
    "that takes long. If Redis does not answer, they keep their values for a minute;\n"
    "`redis_ledger_delayed_shown_timestamp_seconds` is the time at which they were read.\n"
)


def rows() -> Iterator[tuple[str, str]]:
    for name, here in NAMES.items():
        yield f"`pulsar_{name}`", f"`{here}`"
