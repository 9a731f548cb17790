"""The Grafana dashboard of the chart, from a table of rows and panels: helm/redis-ledger/files/dashboard.json.

Values that all brokers report alike, because they are in Redis, are taken once with `max by`; others are summed.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

COLUMNS, WIDTH, HEIGHT = 24, 8, 7
TOPIC = 'topic=~"$topic"'


class Panel(NamedTuple):
    """targets: expression → legend.  unit: Grafana's name of the unit."""

    title: str
    unit: str
    targets: dict[str, str]
    description: str = ""
    kind: str = "timeseries"


def rate(name: str, by: str, where: str = "") -> str:
    return f"sum by ({by}) (rate(redis_ledger_{name}{{{where}}}[$__rate_interval]))"


def once(name: str, by: str = "", where: str = "") -> str:
    return f"max by ({by}) (redis_ledger_{name}{{{where}}})" if by else f"max(redis_ledger_{name})"


def counted_once(name: str, by: str, where: str = "") -> str:
    """The rate of a counter that is in Redis, by labels, one of which is `coordinator` or `topic`."""
    return f"max by ({by}) (rate(redis_ledger_{name}{{{where}}}[$__rate_interval]))"


def quantile(q: float, name: str, by: str = "", where: str = "") -> str:
    labels = f"le, {by}" if by else "le"
    bucket = f"redis_ledger_{name}_bucket{{{where}}}"
    return f"histogram_quantile({q}, sum by ({labels}) (rate({bucket}[$__rate_interval])))"


def each(name: str) -> str:
    return f"redis_ledger_{name}"


ROWS: dict[str, list[Panel]] = {
    "Overview": [
        Panel("Live brokers", "none", {once("brokers_live"): "brokers"}, kind="stat"),
        Panel("Topics", "none", {once("topics"): "topics"}, kind="stat"),
        Panel(
            "Open transactions", "none", {f"sum({once('transactions_live', 'coordinator')})": "open"},
            "Transactions that have not ended.", kind="stat",
        ),
        Panel(
            "Records in and out", "wps",
            {
                "sum(rate(redis_ledger_topic_in_records_total[$__rate_interval]))": "in",
                "sum(rate(redis_ledger_topic_out_records_total[$__rate_interval]))": "out",
            },
        ),
        Panel(
            "Requests", "reqps",
            {
                "sum(rate(redis_ledger_http_requests_total[$__rate_interval]))": "REST",
                "sum(rate(redis_ledger_kafka_requests_total[$__rate_interval]))": "Kafka",
            },
        ),
        Panel(
            "Failed requests", "reqps",
            {
                rate("http_requests_total", "outcome", 'outcome!~"ok|replayed|gone"'): "REST {{outcome}}",
                rate("kafka_requests_total", "outcome", 'outcome!="ok"'): "Kafka {{outcome}}",
            },
            "By problem code (REST) and by the first error in the response (Kafka).",
        ),
    ],
    "Topics": [
        Panel("Records in", "wps", {rate("topic_in_records_total", "topic", TOPIC): "{{topic}}"}),
        Panel("Records out", "rps", {rate("topic_out_records_total", "topic", TOPIC): "{{topic}}"}),
        Panel(
            "Bytes in and out", "Bps",
            {
                rate("topic_in_bytes_total", "topic", TOPIC): "{{topic}} in",
                rate("topic_out_bytes_total", "topic", TOPIC): "{{topic}} out",
            },
            "Size of batches, as stored.",
        ),
        Panel(
            "Stable lag", "short",
            {f"sum by (topic) ({once('partition_stable_lag_records', 'topic, partition', TOPIC)})": "{{topic}}"},
            "Offsets from the last stable offset to the end: records held back from read_committed consumers.",
        ),
        Panel(
            "Age of the first record after the last stable offset", "s",
            {once("partition_stable_lag_seconds", "topic", TOPIC): "{{topic}}"},
        ),
        Panel(
            "Records in the log", "short",
            {
                f"sum by (topic) ({once('partition_end_offset', 'topic, partition', TOPIC)}"
                f" - {once('partition_start_offset', 'topic, partition', TOPIC)})": "{{topic}}",
            },
            "Offsets from the log start to the end.",
        ),
    ],
    "Transactions": [
        Panel(
            "Open, by coordinator", "none", {once("transactions_live", "coordinator"): "{{coordinator}}"},
            "Open transactions, and those that are decided and not completed.",
        ),
        Panel(
            "Age of the oldest, by coordinator", "s",
            {once("transaction_oldest_seconds", "coordinator"): "{{coordinator}}"},
        ),
        Panel(
            "Begun and ended", "ops",
            {
                f"sum({counted_once('transactions_begun_total', 'coordinator')})": "begun",
                f"sum by (outcome) ({counted_once('transactions_ended_total', 'coordinator, outcome')})": "{{outcome}}",
                f"sum({counted_once('transactions_timed_out_total', 'coordinator')})": "timed out",
            },
            "By all brokers. Those that timed out are among the aborted.",
        ),
        Panel(
            "Refused operations", "ops",
            {
                rate("http_requests_total", "outcome",
                     'outcome=~"transaction_conflict|transaction_timed_out|invalid_txn_status|producer_fenced"'):
                "REST {{outcome}}",
                rate("kafka_requests_total", "outcome",
                     'outcome=~"producer_fenced|invalid_producer_epoch|invalid_txn_state|concurrent_transactions"'):
                "Kafka {{outcome}}",
            },
            "transaction_conflict: another transaction has acknowledged the record.",
        ),
        Panel(
            "From begin to end, 99th percentile", "s",
            {quantile(0.99, "transaction_seconds", "outcome"): "{{outcome}}"},
            "Of the transactions that brokers have ended on all participants.",
        ),
        Panel(
            "Operations of coordinators, 99th percentile", "s",
            {quantile(0.99, "coordinator_operation_seconds", "operation"): "{{operation}}"},
            "On one Redis, end includes the ends on partitions.",
        ),
        Panel(
            "Ends on partitions and subscriptions, 99th percentile", "s",
            {quantile(0.99, "transaction_partition_end_seconds", "outcome"): "partitions {{outcome}}",
             quantile(0.99, "transaction_subscription_end_seconds", "outcome"): "subscriptions {{outcome}}"},
        ),
        Panel(
            "Failed ends", "ops",
            {rate("transaction_partition_ends_failed_total", "outcome"): "partitions {{outcome}}",
             rate("transaction_subscription_ends_failed_total", "outcome"): "subscriptions {{outcome}}"},
            "Each is tried again.",
        ),
        Panel(
            "Pending ends", "none", {each("transaction_partition_ends_pending"): "{{instance}} {{outcome}}"},
        ),
        Panel(
            "Open, by topic", "none", {once("topic_transactions_live", "topic", TOPIC): "{{topic}}"},
            "Those that have written to the topic, counted for each partition.",
        ),
        Panel(
            "Ended, by topic", "ops",
            {counted_once("topic_transactions_ended_total", "topic, outcome", TOPIC): "{{topic}} {{outcome}}"},
        ),
        Panel(
            "Pending acknowledgements", "short",
            {once("subscription_pending_ack_records", "topic, subscription", TOPIC): "{{subscription}} {{topic}}"},
            "Records that open transactions have acknowledged.",
        ),
        Panel(
            "Commit and abort by REST, 99th percentile", "s",
            {quantile(0.99, "http_request_seconds", "operation", 'operation=~"commit|abort|execute"'): "{{operation}}"},
        ),
        Panel(
            "Records of a batch", "short",
            {quantile(0.5, "batched_log_records", "log"): "{{log}} median",
             quantile(0.99, "batched_log_records", "log"): "{{log}} 99th percentile"},
            "Group commit: batches grow with the load.",
        ),
        Panel(
            "Size of a batch, 99th percentile", "bytes",
            {quantile(0.99, "batched_log_bytes", "log"): "{{log}}"},
        ),
        Panel(
            "Age of the oldest record of a batch, 99th percentile", "s",
            {quantile(0.99, "batched_log_oldest_seconds", "log"): "{{log}}"}, "When the batch is sent.",
        ),
        Panel(
            "Batches by trigger", "ops", {rate("batched_log_flushes_total", "log, trigger"): "{{log}} {{trigger}}"},
            "idle: no call was under way; records and bytes: the batch was full.",
        ),
        Panel(
            "Writes of the transaction log", "ops",
            {f"sum({counted_once('coordinator_log_appends_total', 'coordinator')})": "entries"},
        ),
        Panel(
            "Entries in the transaction log", "short",
            {once("coordinator_log_entries", "coordinator"): "{{coordinator}}"},
        ),
        Panel(
            "Queued coordinator operations", "short",
            {each("coordinator_waiting_operations"): "{{instance}}"},
        ),
    ],
    "Groups and subscriptions": [
        Panel(
            "Consumer lag of Kafka groups", "short",
            {once("group_lag_records", "topic, group", TOPIC): "{{group}} {{topic}}"},
            "Offsets from the committed offset to the end.",
        ),
        Panel(
            "Lag of subscriptions", "short",
            {once("subscription_lag_records", "topic, subscription", TOPIC): "{{subscription}} {{topic}}"},
            "Unacknowledged offsets up to the last stable offset.",
        ),
        Panel(
            "Unacknowledged messages", "short",
            {once("subscription_unacked_records", "topic, subscription", TOPIC): "{{subscription}} {{topic}}"},
        ),
        Panel("Redelivered", "rps", {rate("topic_redelivered_records_total", "topic", TOPIC): "{{topic}}"}),
        Panel(
            "Dead letters", "rps",
            {
                rate("topic_dead_letter_records_total", "topic", TOPIC): "{{topic}} moved to a dead-letter topic",
                rate("topic_often_redelivered_records_total", "topic", TOPIC): "{{topic}} delivered 16 times or more",
                rate("topic_unreadable_records_total", "topic", TOPIC): "{{topic}} unreadable",
            },
            "Without a dead-letter rule failing records are redelivered repeatedly; unreadable ones are skipped.",
        ),
        Panel("Cursors without series", "none", {once("cursors_unshown"): "beyond metrics_cursors_max"}),
    ],
    "Scheduled": [
        Panel("Scheduled records", "short", {once("delayed_records", "topic", TOPIC): "{{topic}}"}),
        Panel("In open transactions", "short", {once("delayed_held_records", "topic", TOPIC): "{{topic}}"}),
        Panel("Delivered", "rps", {rate("delayed_fired_total", "topic", TOPIC): "{{topic}}"}),
        Panel(
            "Lateness, 99th percentile", "s",
            {quantile(0.99, "delayed_lateness_seconds", "topic", TOPIC): "{{topic}}"},
        ),
        Panel(
            "Index in Redis", "bytes",
            {once("delayed_message_index_size_bytes", "topic", TOPIC): "{{topic}}"},
        ),
        Panel(
            "Failed operations on buckets", "ops",
            {rate("delayed_message_index_bucket_op_count_total", "topic, type", f'{TOPIC}, state="failed"'):
             "{{topic}} {{type}}"},
        ),
    ],
    "Redis": [
        Panel(
            "Memory", "bytes",
            {once("redis_memory_used_bytes", "node"): "{{node}} used",
             once("redis_memory_max_bytes", "node"): "{{node}} limit"},
        ),
        Panel("Fragmentation", "none", {once("redis_memory_fragmentation_ratio", "node"): "{{node}}"}),
        Panel(
            "Append-only file", "none", {once("redis_append_only", "node"): "{{node}}"},
            "1: on; 0: off; -1: unknown.",
        ),
        Panel(
            "Round trip", "s",
            {quantile(0.5, "redis_round_trip_seconds"): "median",
             quantile(0.99, "redis_round_trip_seconds"): "99th percentile"},
            "From a socket write, with all calls of one event-loop tick, to the last reply.",
        ),
        Panel("Calls", "ops", {rate("redis_calls_total", "instance"): "{{instance}}"}),
        Panel(
            "Calls per round trip", "short",
            {f"{rate('redis_calls_total', 'instance')} / {rate('redis_round_trips_total', 'instance')}":
             "{{instance}}"},
        ),
    ],
    "Broker": [
        Panel(
            "REST, 99th percentile", "s",
            {quantile(0.99, "http_request_seconds", "operation"): "{{operation}}"}, "Includes long polls.",
        ),
        Panel(
            "Kafka, 99th percentile", "s",
            {quantile(0.99, "kafka_request_seconds", "api"): "{{api}}"}, "Includes long polls.",
        ),
        Panel(
            "Event loop lag", "s",
            {quantile(0.99, "event_loop_lag_seconds", "instance"): "{{instance}}"}, "99th percentile.",
        ),
        Panel(
            "Connections and running requests", "none",
            {each("kafka_connections"): "{{instance}} Kafka connections",
             each("http_requests_running"): "{{instance}} REST requests"},
        ),
        Panel(
            "Connections refused", "ops",
            {rate("kafka_refused_total", "instance"): "{{instance}} Kafka",
             rate("http_refused_total", "instance"): "{{instance}} REST"},
        ),
        Panel(
            "Reading these metrics", "s", {each("overview_seconds"): "{{instance}}"},
            "Duration of the last read of the cluster state.",
        ),
    ],
}  # fmt: skip


def text() -> str:
    panels: list[dict[str, Any]] = []
    for title, row in ROWS.items():
        y = (len(panels) + 1) * HEIGHT  # Grafana closes vertical gaps
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "collapsed": False, "panels": [],
                       "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1}})  # fmt: skip
        for at, panel in enumerate(row):
            place = {"x": at * WIDTH % COLUMNS, "y": y + 1 + at * WIDTH // COLUMNS * HEIGHT, "w": WIDTH, "h": HEIGHT}
            panels.append(_panel(panel, len(panels) + 1, place))
    board = {
        "title": "redis-ledger",
        "uid": "redis-ledger",
        "tags": ["redis-ledger"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_datasource(), _topics()]},
        "panels": panels,
    }
    return json.dumps(board, indent=1) + "\n"


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${datasource}"}
    targets = [
        {"refId": chr(ord("A") + at), "datasource": source, "expr": expression, "legendFormat": legend}
        for at, (expression, legend) in enumerate(panel.targets.items())
    ]
    return {
        "id": number, "type": panel.kind, "title": panel.title, "description": panel.description,
        "datasource": source, "gridPos": place, "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": targets,
    }  # fmt: skip


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _topics() -> dict[str, Any]:
    query = "label_values(redis_ledger_topic_in_records_total, topic)"
    return {
        "name": "topic", "label": "Topic", "type": "query", "query": query, "multi": True, "includeAll": True,
        "allValue": ".*", "refresh": 2, "sort": 1, "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "current": {"text": "All", "value": "$__all"},
    }  # fmt: skip
