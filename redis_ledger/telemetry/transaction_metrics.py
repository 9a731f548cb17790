"""Declares the metrics of transactions: coordinators and their log, ends on partitions and on subscriptions.

    begin ─▶ add ─▶ end ─┬─▶ end on partition 0, with its subscriptions ─┬─▶ complete
                         └─▶ end on partition 1 ─────────────────────────┘
    operation_seconds     partition_end_seconds, subscription_end_seconds
    |──────────────────────── transaction_seconds ───────────────────────|

Redis counts transactions, whichever broker serves them, so these counters cost a transaction nothing.  Each broker
measures latencies, failures and batches itself: a bisection for each, in series that are resolved once.  Operations of
coordinators are measured once for each call, however many of them share it.
Source: Pulsar's transaction metrics; PIP-160; scripts/pulsar_metrics.py has their names.
"""

from __future__ import annotations

from redis_ledger.telemetry.exposition import counter, family, gauge, histogram_family
from redis_ledger.telemetry.metrics import SUBSCRIPTION, TOPIC

COORDINATOR, OUTCOME, LOG = ("coordinator",), ("outcome",), ("log", "trigger")

# -- state in Redis: all brokers report the same values ----------------------------------------------------------------

transactions_live = family(
    "redis_ledger_transactions_live",
    "Open transactions, and those that are decided and not completed. Coordinators from 64 on share "
    'coordinator="other", here and below.',
    labels=COORDINATOR, unit="transactions",
)  # fmt: skip
transaction_oldest = family(
    "redis_ledger_transaction_oldest_seconds", "Age of the oldest of them; 0: none.", labels=COORDINATOR, unit="seconds"
)
transactions_begun = family(
    "redis_ledger_transactions_begun_total", "Transactions that were begun, at any broker.", labels=COORDINATOR,
    unit="transactions", kind="counter",
)  # fmt: skip
transactions_ended = family(
    "redis_ledger_transactions_ended_total",
    "Transactions that were completed, by any broker, by outcome: committed, aborted (also after their timeout).",
    labels=("coordinator", "outcome"), unit="transactions", kind="counter",
)  # fmt: skip
transactions_timed_out = family(
    "redis_ledger_transactions_timed_out_total", "Transactions that were aborted because their timeout had passed.",
    labels=COORDINATOR, unit="transactions", kind="counter",
)  # fmt: skip
log_appends = family(
    "redis_ledger_coordinator_log_appends_total",
    "Entries that were written to the transaction log; one entry has the records of a whole call.",
    labels=COORDINATOR, unit="entries", kind="counter",
)  # fmt: skip
log_entries = family(
    "redis_ledger_coordinator_log_entries",
    "Entries in the transaction log: those with a record of a transaction that has not ended.",
    labels=COORDINATOR, unit="entries",
)  # fmt: skip
topic_live = family(
    "redis_ledger_topic_transactions_live",
    "Open transactions that have written to the topic, counted for each partition.",
    labels=TOPIC, unit="transactions",
)  # fmt: skip
topic_ended = family(
    "redis_ledger_topic_transactions_ended_total",
    "Transactions that have written to the topic and ended, counted for each partition, by outcome: committed, "
    "aborted.",
    labels=("topic", "outcome"), unit="transactions", kind="counter",
)  # fmt: skip
pending_acks = family(
    "redis_ledger_subscription_pending_ack_records",
    "Records that open transactions have acknowledged, summed over partitions.", labels=SUBSCRIPTION, unit="records",
)  # fmt: skip
IN_REDIS = (
    transactions_live, transaction_oldest, transactions_begun, transactions_ended, transactions_timed_out, log_appends,
    log_entries, topic_live, topic_ended, pending_acks,
)  # fmt: skip

# -- of this broker ----------------------------------------------------------------------------------------------------

transaction_seconds = histogram_family(
    "redis_ledger_transaction_seconds",
    "Time from the begin of a transaction to its end on all participants, of those that this broker ended, by "
    "outcome: committed, aborted.",
    label="outcome", bounds=(0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 15, 30, 60, 300, 1_500, 3_000),
)  # fmt: skip
operation_seconds = histogram_family(
    "redis_ledger_coordinator_operation_seconds",
    "Time from an operation of a coordinator to its reply, including the wait for the call before. operation: begin, "
    "add (registration of participants), end (the decision; on one Redis also the ends on partitions), complete or "
    "other. One operation of each kind is measured in each call, the oldest.",
    label="operation",
)  # fmt: skip
partition_end_seconds = histogram_family(
    "redis_ledger_transaction_partition_end_seconds",
    "Time from a decision to its end on a partition, for each partition, by outcome: committed, aborted.",
    label="outcome",
)  # fmt: skip
subscription_end_seconds = histogram_family(
    "redis_ledger_transaction_subscription_end_seconds",
    "The same for each subscription or group with pending acknowledgements or offsets of the transaction.",
    label="outcome",
)  # fmt: skip


class EndSeries:
    """Ends with one outcome.  pending: ends on partitions that are under way."""

    __slots__ = ("failed", "life", "partition", "pending", "subscription", "subscriptions_failed")

    def __init__(self, outcome: str) -> None:
        self.life = transaction_seconds.of(outcome)
        self.partition, self.subscription = partition_end_seconds.of(outcome), subscription_end_seconds.of(outcome)
        self.pending = self.failed = self.subscriptions_failed = 0

    def ended(self, seconds: float, partitions: int, subscriptions: int) -> None:
        self.partition.observe(seconds, partitions)
        if subscriptions:
            self.subscription.observe(seconds, subscriptions)

    def count_failure(self, subscriptions: int) -> None:
        self.failed += 1
        self.subscriptions_failed += subscriptions


ENDS = {outcome: EndSeries(outcome) for outcome in ("committed", "aborted")}
committed, aborted = ENDS["committed"], ENDS["aborted"]
family(
    "redis_ledger_transaction_partition_ends_pending",
    "Ends on partitions that this broker has begun and that have no reply yet. On one Redis, the call of the "
    "coordinator includes most ends, and redis_ledger_coordinator_waiting_operations counts them.",
    labels=OUTCOME, unit="ends", source=lambda: [((name,), each.pending) for name, each in ENDS.items()],
)  # fmt: skip
family(
    "redis_ledger_transaction_partition_ends_failed_total", "Ends on partitions that failed; each is tried again.",
    labels=OUTCOME, unit="ends", kind="counter", source=lambda: [((name,), each.failed) for name, each in ENDS.items()],
)  # fmt: skip
family(
    "redis_ledger_transaction_subscription_ends_failed_total", "The same for each of their subscriptions and groups.",
    labels=OUTCOME, unit="ends", kind="counter",
    source=lambda: [((name,), each.subscriptions_failed) for name, each in ENDS.items()],
)  # fmt: skip

coordinator_waiting = gauge(
    "redis_ledger_coordinator_waiting_operations",
    "Operations waiting for the next call of their transaction coordinator.", unit="operations",
)  # fmt: skip
batch_records = histogram_family(
    "redis_ledger_batched_log_records",
    "Records of a batch, by log: transaction_log (operations of a coordinator), pending_acks (acknowledgements "
    "within transactions).",
    label="log", unit="records", bounds=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000),
)  # fmt: skip
batch_bytes = histogram_family(
    "redis_ledger_batched_log_bytes", "Size of a batch: the arguments of its records.",
    label="log", unit="bytes", bounds=(128, 512, 1_024, 2_048, 4_096, 16_384, 102_400, 1_232_896),
)  # fmt: skip
batch_oldest = histogram_family(
    "redis_ledger_batched_log_oldest_seconds", "Age of the oldest record of a batch when it is sent.",
    label="log", bounds=(0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 1.0),
)  # fmt: skip


class LogSeries:
    """Batches of one log."""

    __slots__ = ("bytes", "flushes", "oldest", "records")

    def __init__(self, log: str) -> None:
        self.records, self.bytes, self.oldest = batch_records.of(log), batch_bytes.of(log), batch_oldest.of(log)
        self.flushes = dict.fromkeys(("records", "bytes", "delay", "large", "idle"), 0)

    def flushed(self, records: int, size: int, oldest_s: float, trigger: str) -> None:
        """trigger: one of `flushes`, or "alone" for a large record in a call of its own, which is no batch."""
        if trigger == "alone":
            return
        self.records.observe(records)
        self.bytes.observe(size)
        self.oldest.observe(oldest_s)
        self.flushes[trigger] += 1


LOGS = {log: LogSeries(log) for log in ("transaction_log", "pending_acks")}
family(
    "redis_ledger_batched_log_flushes_total",
    "Batches, by log and trigger: records (the batch is full), bytes (the next record does not fit), delay (records "
    "without a waiting caller), large (a record follows that is sent alone), idle (no call is under way).",
    labels=LOG, unit="batches", kind="counter",
    source=lambda: [((log, trigger), count) for log, each in LOGS.items() for trigger, count in each.flushes.items()],
)  # fmt: skip

transactions_forgotten = counter(
    "redis_ledger_transactions_forgotten",
    "Transactions that were open on a partition but unknown to their coordinator, ended on the partition, by outcome: "
    "commit, abort.",
    labels=OUTCOME, unit="transactions",
)  # fmt: skip
buffer_snapshots = counter(
    "redis_ledger_transaction_buffer_snapshots", "Snapshots of transaction buffers that this broker has stored.",
    unit="snapshots",
)  # fmt: skip
buffer_snapshot_entries = counter(
    "redis_ledger_transaction_buffer_snapshot_entries", "Log entries that were read for them.", unit="entries"
)
buffer_snapshot_bytes = counter(
    "redis_ledger_transaction_buffer_snapshot_bytes", "Bytes that were written for them.", unit="bytes"
)
