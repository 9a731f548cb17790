"""Producer: gives every record its partition and hands it to the sender, which batches.

send(value, key) ─ murmur2(key), as Kafka's clients do ─→ lane of that partition ─→ sender
without a key: one partition for as long as its batch fills, then the next
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from redis_ledger.client import arguments
from redis_ledger.client._sync.admin import Topics
from redis_ledger.client._sync.closing import close_after
from redis_ledger.client._sync.sender import Sender, Sending
from redis_ledger.client.batches import Entry, Habits
from redis_ledger.client.deliveries import Moment, Span, delivery_of
from redis_ledger.client.models import Headers
from redis_ledger.client.values import header_pairs, key_bytes, value_bytes
from redis_ledger.errors import InvalidRequest
from redis_ledger.records.partitioner import partition_for

if TYPE_CHECKING:
    from redis_ledger.client._sync.transaction import Transaction


class Producer:
    """Made by `client.producer`.

    with client.producer("orders") as producer:
        sending = producer.send({"total": 12}, key="order-7")
        partition, offset = sending.result()
    """

    def __init__(self, topic: str, topics: Topics, sender: Sender, txn_sender: Sender, habits: Habits) -> None:
        self.topic = topic
        self._topics = topics
        self._sender = sender
        self._txn_sender = txn_sender
        self._habits = habits
        # Keyless records: where they go now, and how many bytes until the next partition has its turn.
        self._keyless_partition = random.getrandbits(16)
        self._keyless_bytes = 0

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        close_after(error, self.close)

    def send(
        self,
        value: Any,
        *,
        key: str | bytes | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        deliver_at: Moment | None = None,
        deliver_after: Span | None = None,
        idempotency_key: str | None = None,
        txn: Transaction | None = None,
    ) -> Sending:
        """Takes the record into a batch; the result is there once the broker has answered.  Waits while the buffer is
        full.  value: bytes, str, None (a tombstone) or what has a JSON form.

        deliver_at       not to be seen before: a datetime with a zone, or ms since 1970
        deliver_after    the same as a timedelta or ms, from when the broker receives it
        idempotency_key  names this record, as the id of an outbox row does: sent again with the same key, by any
                         process, it is written once, and the result is the position it got the first time.  The broker
                         keeps keys for a day.  Another record under the key raises IdempotencyKeyReused.  Each such
                         record is a request of its own

        sending = producer.send(b"...", key="order-7", headers={"source": "web"}, txn=txn)
        """
        if txn is None:
            self._sender.check_open()
        else:
            txn.check_usable()
        arguments.check(partition=partition, timestamp_ms=timestamp_ms, idempotency_key=idempotency_key)
        if idempotency_key is not None and txn is not None:
            raise InvalidRequest("A record of a transaction has no idempotency_key; give it to client.execute.")
        entry = Entry(
            key_bytes(key),
            value_bytes(value),
            header_pairs(headers),
            -1 if timestamp_ms is None else timestamp_ms,
            idempotency_key=idempotency_key,
            partition=partition,
        )
        if deliver_at is not None or deliver_after is not None:
            entry = entry._replace(delivery=delivery_of(deliver_at, deliver_after))
        is_json = entry.delivery is not None or idempotency_key is not None
        if is_json and len(dict(entry.headers)) != len(entry.headers):
            raise InvalidRequest("A record with deliver_at, deliver_after or idempotency_key has each header once.")
        if partition is None:
            partition = self._partition_of(entry, self._topics.partition_count(self.topic))
        if txn is None:
            return self._sender.put(self.topic, partition, None, entry, self._habits)
        with txn.operation():
            return self._txn_sender.put(self.topic, partition, txn, entry, self._habits)

    def _partition_of(self, entry: Entry, partitions: int) -> int:
        if entry.key is not None:
            return partition_for(entry.key, partitions)
        self._keyless_bytes += entry.size
        if self._keyless_bytes > self._habits.batch_bytes // 4:
            self._keyless_partition, self._keyless_bytes = self._keyless_partition + 1, 0
        return self._keyless_partition % partitions

    def flush(self) -> None:
        """Returns when every record sent so far outside of transactions is answered.  Raises the first error since the
        last flush, unless `result()` has raised it already.  Records of a transaction are flushed by its commit.

        producer.flush()
        """
        self._sender.flush()

    def close(self) -> None:
        """Flushes and stops.  Raises as `flush` does.

        producer.close()
        """
        self._sender.close()
