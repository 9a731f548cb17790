"""Metrics of transactions and of delayed delivery in Pulsar, PIP-160 and PIP-195, and their equivalents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

BUCKETS = "redis_ledger_delayed_message_index_bucket"
# Pulsar's name without `pulsar_` → what to ask Prometheus for; TOPIC stands for the labels.
DELAYED = {
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
COMMITTED, ABORTED = '{outcome="committed"}', '{outcome="aborted"}'
BATCHES = "redis_ledger_batched_log"
TRIGGERS = {"max_records": "records", "max_size": "bytes", "max_delay": "delay", "large_data": "large"}
LOGS = {"txn_tc": "transaction_log", "txn_pending_ack_store": "pending_acks"}
TRANSACTIONS = {
    "txn_active_count": "redis_ledger_transactions_live",
    "txn_created_total": "redis_ledger_transactions_begun_total",
    "txn_committed_total": f"redis_ledger_transactions_ended_total{COMMITTED}",
    "txn_aborted_total": f"redis_ledger_transactions_ended_total{ABORTED}",
    "txn_timeout_total": "redis_ledger_transactions_timed_out_total",
    "txn_append_log_total": "redis_ledger_coordinator_log_appends_total",
    "txn_execution_latency_le": "redis_ledger_transaction_seconds_bucket",
    "txn_tb_active_total": "redis_ledger_topic_transactions_live",
    "txn_tb_committed_total": f"redis_ledger_topic_transactions_ended_total{COMMITTED}",
    "txn_tb_aborted_total": f"redis_ledger_topic_transactions_ended_total{ABORTED}",
    "txn_tb_client_commit_failed_total": f"redis_ledger_transaction_partition_ends_failed_total{COMMITTED}",
    "txn_tb_client_abort_failed_total": f"redis_ledger_transaction_partition_ends_failed_total{ABORTED}",
    "txn_tb_client_commit_latency": f"redis_ledger_transaction_partition_end_seconds_bucket{COMMITTED}",
    "txn_tb_client_abort_latency": f"redis_ledger_transaction_partition_end_seconds_bucket{ABORTED}",
    "txn_tb_client_pending_requests": "redis_ledger_transaction_partition_ends_pending",
    'txn_tp_committed_count{status="success"}': f"redis_ledger_transaction_subscription_end_seconds_count{COMMITTED}",
    'txn_tp_committed_count{status="failed"}': f"redis_ledger_transaction_subscription_ends_failed_total{COMMITTED}",
    'txn_tp_aborted_count{status="success"}': f"redis_ledger_transaction_subscription_end_seconds_count{ABORTED}",
    'txn_tp_aborted_count{status="failed"}': f"redis_ledger_transaction_subscription_ends_failed_total{ABORTED}",
    "txn_tp_commit_latency": f"redis_ledger_transaction_subscription_end_seconds_bucket{COMMITTED}",
} | {
    f"{prefix}_bufferedwriter_{name}": f'{BATCHES}_{ours}{{log="{log}"}}'
    for prefix, log in LOGS.items()
    for name, ours in (
        ("batch_records", "records_bucket"),
        ("batch_size_bytes", "bytes_bucket"),
        ("batch_oldest_record_delay_seconds", "oldest_seconds_bucket"),
    )
} | {
    f"{prefix}_bufferedwriter_flush_trigger_{trigger}": f'{BATCHES}_flushes_total{{log="{log}",trigger="{ours}"}}'
    for prefix, log in LOGS.items()
    for trigger, ours in TRIGGERS.items()
}  # fmt: skip
ABOUT_TRANSACTIONS = (
    "## Pulsar's names: transactions\n\n"
    "The label `coordinator_id` is `coordinator` here, and latencies are in seconds. Ends on subscriptions are\n"
    "totals of a broker. A flush that no threshold has triggered has the trigger `idle`: what has arrived is written\n"
    "as soon as no call is under way.\n"
)
ABOUT_DELAYED = (
    "## Pulsar's names: delayed delivery\n\n"
    "The first eight are those of Pulsar's releases, the others those of PIP-195's first version. A partition has one\n"
    "index for all its readers, so they exist for a topic and not for a subscription;\n"
    "sum them up for a namespace. Gauges describe the whole topic and are the same on every broker: use one of them\n"
    "(`max by (topic)`). Counters and histograms describe one broker: add them up. The label `quantile` of the\n"
    "latency is `le` here, with the same bounds: 50, 100, 500, 1000, 5000, 30000 and 60000 ms, and `+Inf` for the\n"
    "overflow. All are read from Redis when the broker is scraped, at most once a second, and less often (30 s) if\n"
    "that takes long. If Redis does not answer, they keep their values for a minute;\n"
    "`redis_ledger_delayed_shown_timestamp_seconds` is the time at which they were read.\n"
)


def rows(names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, here in names.items():
        yield f"`pulsar_{name}`", f"`{here}`"
