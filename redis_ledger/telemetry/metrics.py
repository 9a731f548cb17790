"""Every metric, declared once: name, unit, labels, help.

A name is `redis_ledger_<noun>_<unit>`; counters end in `_total`.  A label never carries a key or an id; one that names
a topic, partition, group or subscription is bounded by a setting (`metrics_..._max`), so the number of series stays
small.  `GET /metrics` shows them; `docs/reference/metrics.md` is generated from what is declared here.
"""

from __future__ import annotations

from functools import partial

from redis_ledger.telemetry.exposition import counter, family, forget, gauge, histogram, histogram_family
from redis_ledger.telemetry.series import Family, RedisCalls, TopicSeries

http_requests = counter(
    "redis_ledger_http_requests",
    "HTTP requests answered, by operation and outcome; the operation is console for its pages, and unknown where none "
    "was found; the outcome is ok, replayed, gone (the client left) or the problem code.",
    labels=("operation", "outcome"),
    unit="requests",
)
http_request_seconds = histogram_family(
    "redis_ledger_http_request_seconds",
    "From the first byte handed over by the server to the answer being ready, long polls included.",
    label="operation",
)
http_refused = counter(
    "redis_ledger_http_refused",
    "HTTP connections closed by the broker: too many, no HTTP, a head that is too large, half a request that did not "
    "go on.",
    unit="connections",
)
throttled_requests = counter(
    "redis_ledger_throttled_requests",
    "Requests over a quota: refused (rest), answered and then not read from for a while (kafka), or refused because "
    "too many transactions are open (transactions).",
    labels=("door",),
    unit="requests",
)
throttled_seconds = counter(
    "redis_ledger_throttled_seconds",
    "How long they were told to wait.",
    labels=("door",),
    unit="seconds",
)
http_requests_running = gauge(
    "redis_ledger_http_requests_running", "HTTP requests being worked on, long polls included.", unit="requests"
)

kafka_outcomes: dict[str, dict[str, int]] = {}  # by API
family(
    "redis_ledger_kafka_requests_total",
    "Kafka requests answered, by API and outcome: ok, the first error in the answer by Kafka's name, or closed (the "
    "connection was closed instead).",
    labels=("api", "outcome"),
    unit="requests",
    kind="counter",
    source=lambda: [((api, name), count) for api, by in kafka_outcomes.items() for name, count in by.items()],
)
kafka_request_seconds = histogram_family(
    "redis_ledger_kafka_request_seconds",
    "From a Kafka request being taken up to its answer being handed over, long polls included.",
    label="api",
)
client_answers = gauge(
    "redis_ledger_client_answers", "Answers that clients have not read yet, by both ports.", unit="bytes"
)
client_requests = gauge(
    "redis_ledger_client_requests",
    "Requests that clients have half sent, by both ports, and bodies of HTTP requests being worked on.",
    unit="bytes",
)
client_waits = counter(
    "redis_ledger_client_waits",
    "Answers that waited because others, which clients do not read, take all of client_bytes_max.",
    unit="answers",
)
decoding_waits = counter(
    "redis_ledger_decoding_waits",
    "Batches that waited to be decoded because others take all of decoded_bytes_max.",
    unit="batches",
)
kafka_connections = gauge("redis_ledger_kafka_connections", "Open connections of Kafka clients.", unit="connections")
kafka_refused = counter(
    "redis_ledger_kafka_refused",
    "Kafka connections closed by the broker: too many, a damaged request, half a request that did not go on.",
    unit="connections",
)

# Scheduled records (PIP-195).  Those of topics beyond metrics_topics_max are counted under topic="other", and not read.
DELAYED_BOUNDS_MS = (50, 100, 500, 1_000, 5_000, 30_000, 60_000)
TOPIC = ("topic",)
BUCKET_OPERATIONS, BUCKET_STATES = ("create", "load", "delete", "merge"), ("succeed", "failed", "all")
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
delayed_first_due = gauge(
    "redis_ledger_delayed_first_due_timestamp_seconds",
    "The earliest time for which anything is scheduled that is not visible yet; 0: nothing is.",
    labels=TOPIC, unit="seconds since 1970",
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
SCHEDULED = (
    delayed_shown, delayed_buckets, delayed_loaded, delayed_mutable, delayed_snapshot_bytes, delayed_index_bytes,
    delayed_records, delayed_held, delayed_first_due, delayed_last_due, subscription_delayed, back_log_no_delayed,
)  # fmt: skip
delayed_fired = counter(
    "redis_ledger_delayed_fired", "Scheduled records this broker made visible.", labels=TOPIC, unit="records"
)
delayed_lateness = histogram_family(
    "redis_ledger_delayed_lateness_seconds",
    "How long after their due time scheduled records became visible; each counts with the mean of its call.",
    label="topic", bounds=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0, 60.0, 600.0),
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


def forget_scheduled(topic: str) -> None:
    """All series of a topic's scheduled records."""
    delayed_lateness.forget(topic)
    forget(topic=(topic,), type=BUCKET_OPERATIONS, state=BUCKET_STATES)


# What goes in and out, by topic; beyond metrics_topics_max topics the others share topic="other".
topics = TopicSeries()


def _traffic(name: str, help: str, unit: str, of: str) -> Family:
    return family(name, help, labels=TOPIC, unit=unit, kind="counter", source=partial(topics.rows, of))


_traffic(
    "redis_ledger_topic_in_records_total", "Records this broker took, scheduled ones included.", "records", "records_in"
)
_traffic("redis_ledger_topic_in_bytes_total", "Bytes of their batches, as stored.", "bytes", "bytes_in")
_traffic(
    "redis_ledger_topic_out_records_total", "Records this broker handed to readers, again with each of them.",
    "records", "records_out",
)  # fmt: skip
_traffic("redis_ledger_topic_out_bytes_total", "Bytes of their batches, as stored.", "bytes", "bytes_out")
_traffic(
    "redis_ledger_topic_redelivered_records_total",
    "Records this broker delivered to a subscription that had been delivered to it before.", "records", "redelivered",
)  # fmt: skip
_traffic(
    "redis_ledger_topic_often_redelivered_records_total",
    "Of these, those delivered 16 times or more before.",
    "records", "often",
)  # fmt: skip
_traffic(
    "redis_ledger_topic_unreadable_records_total",
    "Records passed over for a subscription, because their batch cannot be read.", "records", "unreadable",
)  # fmt: skip
_traffic(
    "redis_ledger_topic_dead_letter_records_total",
    "Records of the topic that this broker moved to a dead-letter topic.", "records", "dead",
)  # fmt: skip

# What is in Redis.  broker/metrics_collector.py reads it on request, at most once in a few seconds.  Every broker
# shows the same values: take one of them (`max by`), not their sum.
PARTITION, GROUP, SUBSCRIPTION, NODE = ("topic", "partition"), ("topic", "group"), ("topic", "subscription"), ("node",)
overview_shown = gauge(
    "redis_ledger_overview_timestamp_seconds",
    "When the metrics of what is in Redis were read; more than some seconds ago if Redis did not answer.",
    unit="seconds since 1970",
)
overview_seconds = gauge("redis_ledger_overview_seconds", "How long reading them took.", unit="seconds")
topics_there = family("redis_ledger_topics", "Topics there are.", unit="topics")
partitions_there = family("redis_ledger_partitions", "Partitions of all topics.", unit="partitions")
partitions_unshown = family(
    "redis_ledger_partitions_unshown",
    "Partitions without series of their own, beyond metrics_topics_max and metrics_partitions_max.", unit="partitions",
)  # fmt: skip
partition_end = family(
    "redis_ledger_partition_end_offset", "Where the next record goes.", labels=PARTITION, unit="offset"
)
partition_start = family(
    "redis_ledger_partition_start_offset", "The first offset that retention has left.", labels=PARTITION, unit="offset"
)
partition_stable = family(
    "redis_ledger_partition_stable_offset",
    "How far a reader of committed records may go (Kafka: last stable offset).", labels=PARTITION, unit="offset",
)  # fmt: skip
stable_lag_records = family(
    "redis_ledger_partition_stable_lag_records",
    "Offsets from there to the end: what an open transaction holds back from readers of committed records.",
    labels=PARTITION, unit="records",
)  # fmt: skip
stable_lag_seconds = family(
    "redis_ledger_partition_stable_lag_seconds",
    "Age of the first record that is held back; 0 when none is.", labels=PARTITION, unit="seconds",
)  # fmt: skip
group_lag = family(
    "redis_ledger_group_lag_records",
    "Offsets from what a Kafka group has committed to the end, summed over partitions it has committed in.",
    labels=GROUP, unit="records",
)  # fmt: skip
subscription_lag = family(
    "redis_ledger_subscription_lag_records",
    "Offsets a subscription has not acknowledged, up to the stable offset, summed over partitions; markers and aborted "
    "records are among those not delivered yet.",
    labels=SUBSCRIPTION, unit="records",
)  # fmt: skip
subscription_unacked = family(
    "redis_ledger_subscription_unacked_records",
    "Of these, records that are delivered: leased to a consumer, or acknowledged in an open transaction.",
    labels=SUBSCRIPTION, unit="records",
)  # fmt: skip
cursors_unshown = family(
    "redis_ledger_cursors_unshown",
    "Cursors (groups and subscriptions, by partitions) that no lag counts, beyond metrics_cursors_max.", unit="cursors",
)  # fmt: skip
transactions_live = family(
    "redis_ledger_transactions_live", "Transactions begun and not ended yet.", unit="transactions"
)
transaction_oldest = family(
    "redis_ledger_transaction_oldest_seconds", "Age of the oldest of them; 0 when there is none.", unit="seconds"
)
brokers_live = gauge("redis_ledger_brokers_live", "Brokers whose heartbeat is in time.", unit="brokers")
kafka_brokers_live = gauge(
    "redis_ledger_kafka_brokers_live", "Those of them with a Kafka listener: without one no partition has a leader.",
    unit="brokers",
)  # fmt: skip
brokers_open = gauge(
    "redis_ledger_brokers_open", "Live brokers that ask nobody who they are, as one with `auth_required` sees it.",
    unit="brokers",
)  # fmt: skip
redis_memory_used = family(
    "redis_ledger_redis_memory_used_bytes", "Memory a Redis primary uses.", labels=NODE, unit="bytes"
)
redis_memory_max = family(
    "redis_ledger_redis_memory_max_bytes", "What it may use at most; none where there is no limit.", labels=NODE,
    unit="bytes",
)  # fmt: skip
redis_fragmentation = family(
    "redis_ledger_redis_memory_fragmentation_ratio", "Memory the system gave it, by memory it uses.", labels=NODE,
    unit="ratio",
)  # fmt: skip
redis_append_only = family(
    "redis_ledger_redis_append_only", "1: it keeps an append-only file; 0: it does not; -1: it does not tell.",
    labels=NODE,
)  # fmt: skip

IN_REDIS = (
    topics_there, partitions_there, partitions_unshown, partition_end, partition_start, partition_stable,
    stable_lag_records, stable_lag_seconds, group_lag, subscription_lag, subscription_unacked, cursors_unshown,
    transactions_live, transaction_oldest, redis_memory_used, redis_memory_max, redis_fragmentation, redis_append_only,
)  # fmt: skip

# This process and its Redis.
transactions_ended = counter(
    "redis_ledger_transactions_ended", "Transactions whose end this broker carried, by outcome: committed, aborted.",
    labels=("outcome",), unit="transactions",
)  # fmt: skip
transactions_forgotten = counter(
    "redis_ledger_transactions_forgotten",
    "Transactions that a partition still held and their coordinator did not have, ended on the partition, by outcome: "
    "commit, abort.",
    labels=("outcome",), unit="transactions",
)  # fmt: skip
coordinator_waiting = gauge(
    "redis_ledger_coordinator_waiting_operations",
    "Operations that wait for the next call of their transaction coordinator.", unit="operations",
)  # fmt: skip
coordinator_batch = histogram(
    "redis_ledger_coordinator_batch_operations", "Operations that one call of a coordinator carries.",
    unit="operations", bounds=(1, 2, 4, 8, 16, 32, 64, 128, 256),
)  # fmt: skip
redis_calls = RedisCalls()
family(
    "redis_ledger_redis_calls_total", "Commands, scripts and MULTI units that Redis answered.", unit="calls",
    kind="counter", source=lambda: [((), redis_calls.answered)],
)  # fmt: skip
family(
    "redis_ledger_redis_round_trips_total", "Writes to Redis: all calls of one event-loop tick to one node are one.",
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
    "1: this broker refuses writes to the node because it is empty, foreign (another cluster), claimed (another broker "
    "knew another cluster), disk (it cannot save), replicas (too few are in sync) or weaker (than the promised "
    "durability).",
    labels=("node", "reason"),
)
redis_rolled_back = counter(
    "redis_ledger_redis_rolled_back",
    "Partitions whose end offset this broker found lower than before: Redis came back with older data.",
    unit="partitions",
)
redis_round_trip = histogram_family(
    "redis_ledger_redis_round_trip_seconds",
    "From such a write to the last answer to what it carried. One at a time is timed on each connection.",
    bounds=(0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0),
)
event_loop_lag = histogram(
    "redis_ledger_event_loop_lag_seconds", "How much later than planned a timer of the event loop fires.",
    bounds=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0),
)  # fmt: skip
