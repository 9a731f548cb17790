"""Every metric, declared once: name, unit, labels, help.

A name is `redis_ledger_<noun>_<unit>`; counters end in `_total`.  A label never carries what a user chose (topic, key,
transaction id), so the number of series is bounded by the code.  `GET /metrics` shows them;
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
delayed_buckets = gauge(
    "redis_ledger_delayed_message_index_bucket_total", "Buckets of the delayed index, the open ones included.",
    labels=("topic",), unit="buckets",
)  # fmt: skip
delayed_loaded = gauge(
    "redis_ledger_delayed_message_index_loaded", "Index entries in sorted sets.", labels=("topic",), unit="entries"
)
delayed_snapshot_bytes = gauge(
    "redis_ledger_delayed_message_index_bucket_snapshot_size_bytes", "Size of the snapshots of sealed buckets.",
    labels=("topic",), unit="bytes",
)  # fmt: skip
delayed_index_bytes = gauge(
    "redis_ledger_delayed_message_index_size_bytes", "Size of the delayed index: snapshots, sorted sets, live bits.",
    labels=("topic",), unit="bytes",
)  # fmt: skip
delayed_records = gauge(
    "redis_ledger_delayed_records", "Scheduled records that are not due yet or about to fire.", labels=("topic",),
    unit="records",
)  # fmt: skip
delayed_fired = counter(
    "redis_ledger_delayed_fired", "Scheduled records this broker made visible.", labels=("topic",), unit="records"
)
delayed_lateness_ms = histogram(
    "redis_ledger_delayed_lateness_ms", "Mean lateness of the entries one call made visible.", labels=("topic",),
    unit="milliseconds", bounds=(1, 2, 5, 10, 20, 50, 100, 500, 1_000, 5_000, 60_000),
)  # fmt: skip
delayed_bucket_operations = counter(
    "redis_ledger_delayed_message_index_bucket_op_count",
    "Operations on buckets, by state (succeed, failed, all) and type (create, load, delete, merge).",
    labels=("topic", "state", "type"),
    unit="operations",
)
delayed_bucket_operation_ms = histogram(
    "redis_ledger_delayed_message_index_bucket_op_latency_ms", "How long operations on buckets take.",
    labels=("topic", "type"), unit="milliseconds", bounds=DELAYED_BOUNDS_MS,
)  # fmt: skip
