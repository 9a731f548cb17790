"""Snapshots of subscriptions as documents, for REST and the console (docs/decisions/0047)."""

from __future__ import annotations

from redis_ledger.app.http.schemas import subscriptions
from redis_ledger.broker.subscriptions.cursor_snapshots import CursorSnapshot, PartitionSnapshot


def document(of: CursorSnapshot) -> subscriptions.SubscriptionSnapshot:
    assert of.kind != "kafka", "a Kafka group is refused"
    partitions = [subscriptions.PartitionSnapshot(**each._asdict()) for each in of.partitions]
    return subscriptions.SubscriptionSnapshot(
        version=1, topic=of.topic, topic_id=of.topic_id, subscription=of.subscription, kind=of.kind,
        taken_ms=of.taken_ms, partitions=partitions,
    )  # fmt: skip


def snapshot_of(given: subscriptions.SubscriptionSnapshot) -> CursorSnapshot:
    partitions = [PartitionSnapshot(each.partition, each.mark_delete, each.acknowledged) for each in given.partitions]
    return CursorSnapshot(given.topic, given.topic_id, given.subscription, given.kind, given.taken_ms, partitions)
