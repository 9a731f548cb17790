"""Every metric, declared once: name, unit, labels, help.

A name is `redis_ledger_<noun>_<unit>`; counters end in `_total`.  A label never carries a key, a subscription or an id,
and a topic only where something of it is scheduled, so the number of series stays small.  `GET /metrics` shows them;
`docs/reference/metrics.md` is generated from `declared()`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

REGISTRY = CollectorRegistry(auto_describe=True)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Upper bounds in seconds: fine where a request to a near Redis ends, coarse where a long poll does.
LATENCY_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0, 60.0)


class Declared(NamedTuple):
    name: str
    kind: str
    unit: str
    labels: Sequence[str]
    help: str


_declared: list[Declared] = []


def counter(name: str, help: str, *, labels: Sequence[str] = (), unit: str = "") -> Counter:
    _declared.append(Declared(f"{name}_total", "counter", unit, tuple(labels), help))
    return Counter(name, help, tuple(labels), registry=REGISTRY)


def gauge(name: str, help: str, *, labels: Sequence[str] = (), unit: str = "") -> Gauge:
    _declared.append(Declared(name, "gauge", unit, tuple(labels), help))
    return Gauge(name, help, tuple(labels), registry=REGISTRY)


def histogram(
    name: str,
    help: str,
    *,
    labels: Sequence[str] = (),
    unit: str = "seconds",
    bounds: Sequence[float] = LATENCY_SECONDS,
) -> Histogram:
    _declared.append(Declared(name, "histogram", unit, tuple(labels), help))
    return Histogram(name, help, tuple(labels), registry=REGISTRY, buckets=tuple(bounds))


def declared() -> list[Declared]:
    return list(_declared)


def exposition() -> bytes:
    """All metrics in Prometheus text format."""
    return generate_latest(REGISTRY)


http_requests = counter(
    "redis_ledger_http_requests",
    "HTTP requests answered, by operation and outcome; the outcome is ok, replayed, gone (the client left) or the "
    "problem code.",
    labels=("operation", "outcome"),
    unit="requests",
)
http_request_seconds = histogram(
    "redis_ledger_http_request_seconds",
    "From the first byte handed over by the server to the answer being ready, long polls included.",
    labels=("operation",),
)
http_refused = counter(
    "redis_ledger_http_refused",
    "HTTP connections closed by the broker: too many, no HTTP, a head that is too large, half a request that did not "
    "go on.",
    unit="connections",
)
http_requests_running = gauge(
    "redis_ledger_http_requests_running", "HTTP requests being worked on, long polls included.", unit="requests"
)

kafka_request_seconds = histogram(
    "redis_ledger_kafka_request_seconds",
    "From a Kafka request being taken up to its answer being handed over, long polls included.",
    labels=("api",),
)
kafka_connections = gauge("redis_ledger_kafka_connections", "Open connections of Kafka clients.", unit="connections")
kafka_refused = counter(
    "redis_ledger_kafka_refused",
    "Kafka connections closed by the broker: too many, a damaged request, half a request that did not go on.",
    unit="connections",
)

# Scheduled records (PIP-195).  These carry the topic: there are as many series as topics that schedule.
DELAYED_BOUNDS_MS = (50, 100, 500, 1_000, 5_000, 30_000, 60_000)
TOPIC = ("topic",)
delayed_shown = gauge(
    "redis_ledger_delayed_shown_timestamp_seconds",
    "When the gauges of this topic's scheduled records were read; more than a second ago if Redis did not answer.",
    labels=TOPIC, unit="seconds since 1970",
)  # fmt: skip
delayed_buckets = gauge(
    "redis_ledger_delayed_message_index_bucket_total", "Buckets of the delayed index, the open ones included.",
    labels=TOPIC, unit="buckets",
)  # fmt: skip
delayed_loaded = gauge(
    "redis_ledger_delayed_message_index_loaded", "Index entries at hand, in sorted sets; the others are in snapshots.",
    labels=TOPIC, unit="entries",
)  # fmt: skip
delayed_mutable = gauge(
    "redis_ledger_delayed_message_index_mutable", "Those of them that are in the open buckets.", labels=TOPIC,
    unit="entries",
)  # fmt: skip
delayed_snapshot_bytes = gauge(
    "redis_ledger_delayed_message_index_bucket_snapshot_size_bytes", "Size of the snapshots of sealed buckets.",
    labels=TOPIC, unit="bytes",
)  # fmt: skip
delayed_index_bytes = gauge(
    "redis_ledger_delayed_message_index_size_bytes",
    "Size of the delayed index in Redis, without payload: MEMORY USAGE, by samples, of sorted sets, live bits, lists "
    "and snapshots.",
    labels=TOPIC, unit="bytes",
)  # fmt: skip
delayed_records = gauge(
    "redis_ledger_delayed_records", "Scheduled records that are not due yet or about to fire.", labels=TOPIC,
    unit="records",
)  # fmt: skip
delayed_held = gauge(
    "redis_ledger_delayed_held_records", "Scheduled records of open transactions; they are not among the others.",
    labels=TOPIC, unit="records",
)  # fmt: skip
delayed_last_due = gauge(
    "redis_ledger_delayed_last_due_timestamp_seconds",
    "The latest time for which anything is scheduled; 0: nothing is.",
    labels=TOPIC, unit="seconds since 1970",
)  # fmt: skip
subscription_delayed = gauge(
    "redis_ledger_subscription_delayed",
    "Records that every subscription of the topic is still to get, and that are not due. No backlog counts them.",
    labels=TOPIC, unit="records",
)  # fmt: skip
back_log_no_delayed = gauge(
    "redis_ledger_subscription_back_log_no_delayed",
    "Records that could be delivered and are not acknowledged, summed over the topic's subscriptions. Beyond 100 log "
    "entries it is counted by offsets; a topic with over 1000 cursors shows none.",
    labels=TOPIC, unit="records",
)  # fmt: skip
delayed_fired = counter(
    "redis_ledger_delayed_fired", "Scheduled records this broker made visible.", labels=TOPIC, unit="records"
)
delayed_lateness_ms = histogram(
    "redis_ledger_delayed_lateness_ms", "Mean lateness of the entries one call made visible.", labels=TOPIC,
    unit="milliseconds", bounds=(1, 2, 5, 10, 20, 50, 100, 500, 1_000, 5_000, 60_000),
)  # fmt: skip
delayed_bucket_operations = counter(
    "redis_ledger_delayed_message_index_bucket_op_count",
    "Operations of this broker on buckets, by state (succeed, failed, all) and type (create, load, delete, merge).",
    labels=("topic", "state", "type"),
    unit="operations",
)
delayed_bucket_operation_ms = histogram(
    "redis_ledger_delayed_message_index_bucket_op_latency_ms", "How long operations on buckets take.",
    labels=("topic", "type"), unit="milliseconds", bounds=DELAYED_BOUNDS_MS,
)  # fmt: skip
