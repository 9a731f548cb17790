"""Declares all metrics except those of transactions (transaction_metrics.py): name, unit, labels, help.

A name is `redis_ledger_<noun>_<unit>`; counters end in `_total`.  Labels never contain keys or ids.  The number of
topics, partitions, groups and subscriptions with their own series is limited by settings (`metrics_..._max`).
`docs/reference/metrics.md` is generated from both modules.
"""

from __future__ import annotations

from functools import partial

from redis_ledger.telemetry.exposition import counter, family, forget, gauge, histogram, histogram_family
from redis_ledger.telemetry.series import Family, RedisCalls, TopicSeries

http_requests = counter(
    "redis_ledger_http_requests",
    "HTTP requests by operation and outcome. operation: console for its pages, unknown without a route. outcome: ok, "
    "replayed, gone (the client disconnected) or the problem code.",
    labels=("operation", "outcome"),
    unit="requests",
)
http_request_seconds = histogram_family(
    "redis_ledger_http_request_seconds",
    "Time from receiving a request to its response, including long polls.",
    label="operation",
)
http_refused = counter(
    "redis_ledger_http_refused",
    "HTTP connections closed by the broker: too many, not HTTP, headers too large, an incomplete request that did not "
    "go on.",
    unit="connections",
)
throttled_requests = counter(
    "redis_ledger_throttled_requests",
    "Requests over a quota, by door: rejected (rest), throttled (kafka), or rejected because too many transactions are "
    "open (transactions).",
    labels=("door",),
    unit="requests",
)
receives_limited = counter(
    "redis_ledger_receives_limited",
    "Attempts to lease messages that a limit of unacknowledged messages has stopped, by limit.",
    labels=("limit",),
    unit="attempts",
)
throttled_seconds = counter(
    "redis_ledger_throttled_seconds",
    "Sum of the throttle times.",
    labels=("door",),
    unit="seconds",
)
http_requests_running = gauge(
    "redis_ledger_http_requests_running", "HTTP requests in progress, including long polls.", unit="requests"
)

kafka_outcomes: dict[str, dict[str, int]] = {}  # by API
family(
    "redis_ledger_kafka_requests_total",
    "Kafka requests by API and outcome: ok, the name of the first error in the response, or closed (the connection was "
    "closed instead).",
    labels=("api", "outcome"),
    unit="requests",
    kind="counter",
    source=lambda: [((api, name), count) for api, by in kafka_outcomes.items() for name, count in by.items()],
)
kafka_request_seconds = histogram_family(
    "redis_ledger_kafka_request_seconds",
    "Processing time of a Kafka request, including long polls.",
    label="api",
)
client_answers = gauge(
    "redis_ledger_client_answers", "Responses that clients have not read yet, over HTTP and Kafka.", unit="bytes"
)
client_requests = gauge(
    "redis_ledger_client_requests",
    "Incomplete requests, over HTTP and Kafka, and bodies of HTTP requests in progress.",
    unit="bytes",
)
client_waits = counter(
    "redis_ledger_client_waits",
    "Responses that waited because unread responses occupied all of client_bytes_max.",
    unit="answers",
)
decoding_waits = counter(
    "redis_ledger_decoding_waits",
    "Batches that waited for decoding because other batches occupied all of decoded_bytes_max.",
    unit="batches",
)
aborted_payload_reclaimed_bytes = counter(
    "redis_ledger_aborted_payload_reclaimed_bytes", "Payload of aborted transactions that this broker has deleted.",
    unit="bytes",
)  # fmt: skip
kafka_connections = gauge("redis_ledger_kafka_connections", "Open connections of Kafka clients.", unit="connections")
kafka_refused = counter(
    "redis_ledger_kafka_refused",
    "Kafka connections closed by the broker: too many, a malformed request, an incomplete request.",
    unit="connections",
)

# Scheduled records (PIP-195).  Topics beyond metrics_topics_max share topic="other" and have no gauges.
DELAYED_BOUNDS_MS = (50, 100, 500, 1_000, 5_000, 30_000, 60_000)
TOPIC = ("topic",)
BUCKET_OPERATIONS, BUCKET_STATES = ("create", "load", "delete", "merge"), ("succeed", "failed", "all")
delayed_shown = gauge(
    "redis_ledger_delayed_shown_timestamp_seconds",
    "Time at which the gauges of the topic's scheduled records were read; older than a second if Redis did not "
    "respond.",
    labels=TOPIC, unit="seconds since 1970",
)  # fmt: skip
delayed_buckets = gauge(
    "redis_ledger_delayed_message_index_bucket_total", "Buckets of the delayed index, including open ones.",
    labels=TOPIC, unit="buckets",
)  # fmt: skip
delayed_loaded = gauge(
    "redis_ledger_delayed_message_index_loaded", "Index entries in sorted sets; the others are in snapshots.",
    labels=TOPIC, unit="entries",
)  # fmt: skip
delayed_mutable = gauge(
    "redis_ledger_delayed_message_index_mutable", "Loaded index entries in open buckets.", labels=TOPIC,
    unit="entries",
)  # fmt: skip
delayed_snapshot_bytes = gauge(
    "redis_ledger_delayed_message_index_bucket_snapshot_size_bytes", "Size of the snapshots of sealed buckets.",
    labels=TOPIC, unit="bytes",
)  # fmt: skip
delayed_index_bytes = gauge(
    "redis_ledger_delayed_message_index_size_bytes",
    "Size of the delayed index in Redis without payload: sampled MEMORY USAGE of sorted sets, live bits, lists "
    "and snapshots.",
    labels=TOPIC, unit="bytes",
)  # fmt: skip
delayed_records = gauge(
    "redis_ledger_delayed_records", "Scheduled records that are not yet delivered.", labels=TOPIC,
    unit="records",
)  # fmt: skip
delayed_held = gauge(
    "redis_ledger_delayed_held_records", "Scheduled records of open transactions, which other metrics do not count.",
    labels=TOPIC, unit="records",
)  # fmt: skip
delayed_first_due = gauge(
    "redis_ledger_delayed_first_due_timestamp_seconds",
    "Due time of the first scheduled record; 0: none.",
    labels=TOPIC, unit="seconds since 1970",
)  # fmt: skip
delayed_last_due = gauge(
    "redis_ledger_delayed_last_due_timestamp_seconds",
    "Due time of the last scheduled record; 0: none.",
    labels=TOPIC, unit="seconds since 1970",
)  # fmt: skip
subscription_delayed = gauge(
    "redis_ledger_subscription_delayed",
    "Scheduled records that are not due, for all subscriptions of the topic. They are not part of any backlog.",
    labels=TOPIC, unit="records",
)  # fmt: skip
back_log_no_delayed = gauge(
    "redis_ledger_subscription_back_log_no_delayed",
    "Deliverable, unacknowledged records, summed over the topic's subscriptions. Beyond 100 log entries, offsets are "
    "counted. Absent for topics with more than 1000 cursors.",
    labels=TOPIC, unit="records",
)  # fmt: skip
SCHEDULED = (
    delayed_shown, delayed_buckets, delayed_loaded, delayed_mutable, delayed_snapshot_bytes, delayed_index_bytes,
    delayed_records, delayed_held, delayed_first_due, delayed_last_due, subscription_delayed, back_log_no_delayed,
)  # fmt: skip
delayed_fired = counter(
    "redis_ledger_delayed_fired", "Scheduled records that this broker delivered.", labels=TOPIC, unit="records"
)
delayed_lateness = histogram_family(
    "redis_ledger_delayed_lateness_seconds",
    "Delay between due time and delivery of scheduled records; each counts with the mean of its call.",
    label="topic", bounds=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0, 60.0, 600.0),
)  # fmt: skip
delayed_bucket_operations = counter(
    "redis_ledger_delayed_message_index_bucket_op_count",
    "Operations of this broker on buckets, by state (succeed, failed, all) and type (create, load, delete, merge).",
    labels=("topic", "state", "type"),
    unit="operations",
)
delayed_bucket_operation_ms = histogram(
    "redis_ledger_delayed_message_index_bucket_op_latency_ms", "Duration of operations on buckets.",
    labels=("topic", "type"), unit="milliseconds", bounds=DELAYED_BOUNDS_MS,
)  # fmt: skip


def forget_scheduled(topic: str) -> None:
    """Removes all series of a topic's scheduled records."""
    delayed_lateness.forget(topic)
    forget(topic=(topic,), type=BUCKET_OPERATIONS, state=BUCKET_STATES)


# Traffic by topic; topics beyond metrics_topics_max share topic="other".
topics = TopicSeries()


def _traffic(name: str, help: str, unit: str, of: str) -> Family:
    return family(name, help, labels=TOPIC, unit=unit, kind="counter", source=partial(topics.rows, of))


_traffic(
    "redis_ledger_topic_in_records_total",
    "Records received by this broker, including scheduled ones.",
    "records",
    "records_in",
)
_traffic("redis_ledger_topic_in_bytes_total", "Size of their batches, as stored.", "bytes", "bytes_in")
_traffic(
    "redis_ledger_topic_out_records_total", "Records sent to consumers by this broker, counted for each consumer.",
    "records", "records_out",
)  # fmt: skip
_traffic("redis_ledger_topic_out_bytes_total", "Size of their batches, as stored.", "bytes", "bytes_out")
_traffic(
    "redis_ledger_topic_redelivered_records_total",
    "Records that this broker redelivered to subscriptions.", "records", "redelivered",
)  # fmt: skip
_traffic(
    "redis_ledger_topic_often_redelivered_records_total",
    "Redelivered records that had been delivered 16 times or more.",
    "records", "often",
)  # fmt: skip
_traffic(
    "redis_ledger_topic_unreadable_records_total",
    "Records skipped for a subscription because their batch cannot be decoded.", "records", "unreadable",
)  # fmt: skip
_traffic(
    "redis_ledger_topic_dead_letter_records_total",
    "Records of the topic that this broker moved to a dead-letter topic.", "records", "dead",
)  # fmt: skip

# State in Redis, read on request by broker/metrics_collector.py, at most once every few seconds.  All brokers report
# the same values: use one of them (`max by`), not their sum.
PARTITION, GROUP, SUBSCRIPTION, NODE = ("topic", "partition"), ("topic", "group"), ("topic", "subscription"), ("node",)
overview_shown = gauge(
    "redis_ledger_overview_timestamp_seconds",
    "Time at which the metrics of the state in Redis were read; older than some seconds if Redis did not respond.",
    unit="seconds since 1970",
)
overview_seconds = gauge("redis_ledger_overview_seconds", "Duration of reading them.", unit="seconds")
topics_there = family("redis_ledger_topics", "Number of topics.", unit="topics")
partitions_there = family("redis_ledger_partitions", "Number of partitions of all topics.", unit="partitions")
partitions_unshown = family(
    "redis_ledger_partitions_unshown",
    "Partitions without their own series, because of metrics_topics_max and metrics_partitions_max.", unit="partitions",
)  # fmt: skip
partition_end = family(
    "redis_ledger_partition_end_offset",
    "Log end offset: the offset of the next record.",
    labels=PARTITION,
    unit="offset",
)
partition_start = family("redis_ledger_partition_start_offset", "Log start offset.", labels=PARTITION, unit="offset")
partition_stable = family(
    "redis_ledger_partition_stable_offset",
    "Last stable offset: the limit of read_committed consumers.", labels=PARTITION, unit="offset",
)  # fmt: skip
stable_lag_records = family(
    "redis_ledger_partition_stable_lag_records",
    "Offsets from the last stable offset to the end: records held back from read_committed consumers.",
    labels=PARTITION, unit="records",
)  # fmt: skip
stable_lag_seconds = family(
    "redis_ledger_partition_stable_lag_seconds",
    "Age of the first record that is held back; 0: none.", labels=PARTITION, unit="seconds",
)  # fmt: skip
group_lag = family(
    "redis_ledger_group_lag_records",
    "Consumer lag of a Kafka group: offsets from its committed offset to the end, summed over partitions.",
    labels=GROUP, unit="records",
)  # fmt: skip
subscription_lag = family(
    "redis_ledger_subscription_lag_records",
    "Unacknowledged offsets of a subscription up to the last stable offset, summed over partitions; undelivered ones "
    "include markers and aborted records.",
    labels=SUBSCRIPTION, unit="records",
)  # fmt: skip
subscription_unacked = family(
    "redis_ledger_subscription_unacked_records",
    "Delivered and unacknowledged records: leased to a consumer, or acknowledged in an open transaction.",
    labels=SUBSCRIPTION, unit="records",
)  # fmt: skip
cursors_unshown = family(
    "redis_ledger_cursors_unshown",
    "Cursors (groups and subscriptions per partition) without lag metrics, beyond metrics_cursors_max.", unit="cursors",
)  # fmt: skip
brokers_live = gauge("redis_ledger_brokers_live", "Live brokers.", unit="brokers")
kafka_brokers_live = gauge(
    "redis_ledger_kafka_brokers_live", "Live brokers with a Kafka listener; without any, partitions have no leader.",
    unit="brokers",
)  # fmt: skip
brokers_open = gauge(
    "redis_ledger_brokers_open", "Live brokers without authentication, as reported by brokers with `auth_required`.",
    unit="brokers",
)  # fmt: skip
clock_skew = gauge(
    "redis_ledger_clock_skew_seconds",
    "How far the clock of this machine is ahead of the clock of the Redis primary that differs most; negative: behind.",
    unit="seconds",
)  # fmt: skip
redis_memory_used = family(
    "redis_ledger_redis_memory_used_bytes", "Memory used by a Redis primary.", labels=NODE, unit="bytes"
)
redis_memory_max = family(
    "redis_ledger_redis_memory_max_bytes", "Memory limit of a Redis primary; absent if there is no limit.", labels=NODE,
    unit="bytes",
)  # fmt: skip
redis_fragmentation = family(
    "redis_ledger_redis_memory_fragmentation_ratio", "Resident memory divided by used memory.", labels=NODE,
    unit="ratio",
)  # fmt: skip
redis_append_only = family(
    "redis_ledger_redis_append_only", "1: the append-only file is on; 0: off; -1: unknown.",
    labels=NODE,
)  # fmt: skip

IN_REDIS = (
    topics_there, partitions_there, partitions_unshown, partition_end, partition_start, partition_stable,
    stable_lag_records, stable_lag_seconds, group_lag, subscription_lag, subscription_unacked, cursors_unshown,
    redis_memory_used, redis_memory_max, redis_fragmentation, redis_append_only,
)  # fmt: skip

# This process and its Redis.
redis_calls = RedisCalls()
family(
    "redis_ledger_redis_calls_total", "Commands, scripts and MULTI units completed by Redis.", unit="calls",
    kind="counter", source=lambda: [((), redis_calls.answered)],
)  # fmt: skip
family(
    "redis_ledger_redis_round_trips_total", "Socket writes to Redis; all calls of one event-loop tick share one.",
    unit="round trips", kind="counter", source=lambda: [((), redis_calls.writes)],
)  # fmt: skip
redis_replication_wait = histogram_family(
    "redis_ledger_redis_replication_wait_seconds",
    "Durability replicas: from the oldest reply of a round to its confirmation by enough replicas.",
    bounds=(0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0),
)
redis_unconfirmed = counter(
    "redis_ledger_redis_unconfirmed",
    "Durability replicas: replies that too few replicas confirmed within replicas_timeout_ms; the calls failed.",
    unit="calls",
)
redis_changed = counter(
    "redis_ledger_redis_changed",
    "Redis nodes that were restarted, replaced or new when this broker connected to them.",
    unit="nodes",
)  # fmt: skip
redis_unfit = family(
    "redis_ledger_redis_unfit",
    "1: this broker rejects writes to the node because it is empty, foreign (another cluster), claimed (another broker "
    "has seen another cluster), disk (it cannot save), replicas (too few are in sync) or weaker (than the configured "
    "durability).",
    labels=("node", "reason"),
)
redis_rolled_back = counter(
    "redis_ledger_redis_rolled_back",
    "Partitions whose end offset has moved back: Redis was restarted with older data.",
    unit="partitions",
)
redis_lost_records = counter(
    "redis_ledger_redis_lost_records",
    "Offsets that were answered and that Redis has lost, of the partitions that redis_ledger_redis_rolled_back counts.",
    unit="records",
)
redis_lost_writes = counter(
    "redis_ledger_redis_lost_writes",
    "Losses that this broker found when Redis came back with older data: partition, coordinator, catalog (topics), "
    "other (acknowledgements, group offsets or other changes).",
    labels=("kind",),
)
redis_round_trip = histogram_family(
    "redis_ledger_redis_round_trip_seconds",
    "Time from a socket write to the last reply to its calls. One write at a time is measured per connection.",
    bounds=(0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0),
)
event_loop_lag = histogram(
    "redis_ledger_event_loop_lag_seconds", "Delay of a timer of the event loop.",
    bounds=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0),
)  # fmt: skip
