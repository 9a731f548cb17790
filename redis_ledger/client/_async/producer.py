"""Producer: chooses a partition for each record and passes it to the sender, which batches.

send(value, key) ─ murmur2(key), as Kafka's clients do ─→ batches of that partition ─→ sender
without a key: sticky partitioning, the next partition once a batch is full
"""

from __future__ import annotations

import random
from typing import Any

from redis_ledger.client import arguments
from redis_ledger.client._async.admin import AsyncTopics
from redis_ledger.client._async.closing import close_after
from redis_ledger.client._async.large import AsyncLargeMessages, AsyncUpload
from redis_ledger.client._async.sender import AsyncSender, AsyncSending
from redis_ledger.client._async.transaction import AsyncTransaction
from redis_ledger.client.batches import BatchingOptions, Entry
from redis_ledger.client.deliveries import Moment, Span, delivery_of
from redis_ledger.client.models import Headers, RecordPosition
from redis_ledger.client.values import header_pairs, key_bytes, value_bytes
from redis_ledger.errors import InvalidRequest
from redis_ledger.records.partitioner import partition_for


class AsyncProducer:
    """Sends records to a topic.  Created by `client.producer`.

    async with client.producer("orders") as producer:
        sending = await producer.send({"total": 12}, key="order-7")
        partition, offset = await sending.result()
    """

    def __init__(
        self,
        topic: str,
        topics: AsyncTopics,
        sender: AsyncSender,
        large: AsyncLargeMessages,
        batching: BatchingOptions,
    ) -> None:
        self.topic = topic
        self._large = large
        self._topics = topics
        self._sender = sender
        self._habits = batching
        # Sticky partition of records without a key, and the bytes sent to it so far.
        self._keyless_partition = random.getrandbits(16)
        self._keyless_bytes = 0

    async def __aenter__(self) -> AsyncProducer:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await close_after(error, self.close)

    async def send(
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
        txn: AsyncTransaction | None = None,
    ) -> AsyncSending:
        """Adds the record to a batch.  Waits while the buffer is full.

        The result is available once the broker has acknowledged the batch.

        value            bytes, str, None (a tombstone) or a value that can be encoded as JSON
        deliver_at       delivery time: a datetime with a time zone, or ms since 1970
        deliver_after    delay from the time the broker receives the record: a timedelta, or ms
        idempotency_key  identifies the record, such as the id of an outbox row.  A record that is sent again with the
                         same key, by any process, is written once; the result is the position of the first.  The broker
                         keeps keys for a day.  A different record with the same key raises IdempotencyKeyReused.  Each
                         record with a key is a request of its own

        sending = await producer.send(b"...", key="order-7", headers={"source": "web"}, txn=txn)
        """
        if txn is None:
            self._sender.check_open()
        else:
            txn.check_usable()
        arguments.check(partition=partition, timestamp_ms=timestamp_ms, idempotency_key=idempotency_key)
        if idempotency_key is not None and txn is not None:
            raise InvalidRequest("A record of a transaction cannot have an idempotency_key; pass it to client.execute.")
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
        if partition is None:
            count = await self._topics.partition_count(self.topic)
            partition = self._partition_of(entry, count, None if txn is None else txn.waiting_partition(self.topic))
        if txn is None:
            return await self._sender.put(self.topic, partition, None, entry, self._habits)
        return await txn.put(self.topic, partition, entry, self._habits)

    async def send_large(
        self,
        value: Any,
        *,
        size: int | None = None,
        key: str | bytes | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        txn: AsyncTransaction | None = None,
    ) -> RecordPosition:
        """Sends a large message and waits until it is stored.  It is visible as a whole, with `txn` when that commits.

        value  bytes, a binary file, or an iterator of bytes, which is sent while it is read
        size   bytes of the value; required for an iterator and for a file that cannot seek

        with open("film.mp4", "rb") as film:
            await producer.send_large(film, key="film-7")
        """
        if txn is None:
            self._sender.check_open()
        else:
            txn.check_usable()
        arguments.check(partition=partition, timestamp_ms=timestamp_ms, size=size)
        upload = AsyncUpload(value, size)
        about = (key_bytes(key), header_pairs(headers), partition, timestamp_ms)
        if txn is None:
            return await self._large.write(self.topic, upload, *about, None)
        async with txn.operation():
            return await self._large.write(self.topic, upload, *about, txn.id)

    def _partition_of(self, entry: Entry, partitions: int, waiting: int | None) -> int:
        """waiting: the partition of this topic whose records wait for the commit of the transaction."""
        if entry.key is not None:
            return partition_for(entry.key, partitions)
        self._keyless_bytes += entry.size
        if self._keyless_bytes > self._habits.batch_bytes // 4:
            self._keyless_partition, self._keyless_bytes = self._keyless_partition + 1, 0
        return self._keyless_partition % partitions if waiting is None else waiting

    async def flush(self) -> None:
        """Waits until all records sent outside of transactions are acknowledged.

        Raises the first error since the last flush, unless `result()` has raised it.  A commit flushes the records of
        its transaction.

        await producer.flush()
        """
        await self._sender.flush()

    async def close(self) -> None:
        """Flushes and closes the producer.  Raises as `flush` does.

        await producer.close()
        """
        await self._sender.close()
