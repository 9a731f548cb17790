"""The trackers of all partitions with delayed records, and what brokers tell each other about due times.

Every broker has a tracker for every such partition, and any of them may fire: the script decides what is due and gives
each entry to one caller.  The partition's leader wakes at the due time, the others a little later, to find it done.
A broker that schedules something earlier than its tracker expected publishes that to the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from redis_ledger.broker.cluster.live_brokers import LiveBrokers
from redis_ledger.broker.delayed.server_clock import ServerClock
from redis_ledger.broker.delayed.tracker import DelayedDeliveryTracker
from redis_ledger.clock import Clock
from redis_ledger.ledger.append_request import Scheduling
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store


class Trackers:
    """by_partition: (topic, number) → tracker."""

    def __init__(self, store: Store, live_brokers: LiveBrokers, server_clock: ServerClock, clock: Clock) -> None:
        self._store, self._live_brokers, self._server_clock, self._clock = store, live_brokers, server_clock, clock
        self.channel = CatalogKeys(store.prefix).due
        self.brokers: frozenset[str] = frozenset()
        self.by_partition: dict[tuple[str, int], DelayedDeliveryTracker] = {}

    def get(self, partition: Partition) -> DelayedDeliveryTracker:
        at = (partition.topic, partition.number)
        found = self.by_partition.get(at)
        if found is None or found.partition.topic_id != partition.topic_id:
            if found is not None:
                found.is_closed = True
            found = self.by_partition[at] = DelayedDeliveryTracker(
                self._store, partition, self._server_clock, self._clock,
                leads=self._leads, announce=self._announce, remove=self.remove,
            )  # fmt: skip
        found.partition = partition  # the catalog updates the settings of the partitions that it has open
        return found

    def all(self) -> Sequence[DelayedDeliveryTracker]:
        return tuple(self.by_partition.values())

    def remove(self, tracker: DelayedDeliveryTracker) -> None:
        """After its topic was deleted."""
        at = (tracker.partition.topic, tracker.partition.number)
        tracker.is_closed = True
        if self.by_partition.get(at) is tracker:
            del self.by_partition[at]

    def scheduled(self, partition: Partition, scheduling: Scheduling) -> None:
        """Called when this broker has stored delayed records."""
        self.get(partition).scheduled(scheduling)

    def rescheduled(self, partition: Partition, due_ms: int) -> None:
        """Called when this broker has changed the due time of a record."""
        self.get(partition).wake_at(due_ms)
        self._announce(partition, due_ms)

    def announced(self, message: bytes) -> bool:
        """Handles the announcement of another broker; returns whether this broker has a tracker for the partition."""
        topic, number, due_ms = message.decode().split()
        tracker = self.by_partition.get((topic, int(number)))
        if tracker is None:
            return False
        tracker.wake_at(int(due_ms))
        return True

    def update_brokers(self, names: Iterable[str]) -> bool:
        """Sets the live brokers; returns whether one of the previous has gone."""
        previous, self.brokers = self.brokers, frozenset(names)
        return bool(previous - self.brokers)

    def _leads(self, partition: Partition) -> bool:
        leader = self._live_brokers.leader(partition.topic, partition.number)
        return leader in (-1, self._live_brokers.node_id)

    def _announce(self, partition: Partition, due_ms: int) -> None:
        if len(self.brokers) > 1:
            message = f"{partition.topic} {partition.number} {due_ms}"
            sent = self._store.command("SPUBLISH", self.channel, message, key=self.channel)
            sent.add_done_callback(lambda done: done.cancelled() or done.exception())
