"""Copies records: each batch from the source is written in one transaction, with the mapping of its offsets.

    transaction   records of all partitions of the batch
                  to mirror.<name>.offsets: {topic, partition, stretches}
                  offsets of the group mirror.<name>: the next target offset, with the next source offset as metadata

A second mirror with the same name fences the first, because both use the same transactional id.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.errors import MessageSizeTooLargeError, OffsetOutOfRangeError, TopicAlreadyExistsError, for_code
from aiokafka.structs import ConsumerRecord, OffsetAndMetadata, TopicPartition

from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.tools.mirror.bounded import limit_unpacking
from redis_ledger.app.tools.mirror.endpoint import started
from redis_ledger.app.tools.mirror.offsets import OffsetTranslation, Stretch, stretches

RECORDS_AT_ONCE = 5_000
RECORD_BYTES_MAX = 8 << 20
WAIT_MS = 500
GATHER_S = 0.5  # between transactions near the end of the log: each transaction adds a range per partition
LOOK_EVERY_S = 10.0  # for new topics and partitions
INTERNAL = re.compile(r"__|mirror\.")
TRANSACTION_TIMEOUT_MS = 60_000


@dataclass(frozen=True)
class MirrorOptions:
    """source, target: connection arguments of aiokafka.  once: stop when the records that existed at the start are
    copied."""

    name: str
    source: Mapping[str, Any]
    target: Mapping[str, Any]
    topics: re.Pattern[str]
    once: bool = False

    @property
    def group(self) -> str:
        return f"mirror.{self.name}"

    @property
    def places_topic(self) -> str:
        return f"mirror.{self.name}.offsets"


class _Line(msgspec.Struct):
    topic: str
    partition: int
    stretches: list[tuple[int, int, int]]


@dataclass
class Progress:
    """places: offset translation by partition.  records: copied by this run.  missed: offsets that were trimmed on the
    source before they were copied."""

    places: dict[TopicPartition, OffsetTranslation] = field(default_factory=lambda: defaultdict(OffsetTranslation))
    position: dict[TopicPartition, int] = field(default_factory=dict)
    records: int = 0
    transactions: int = 0
    missed: int = 0


class Mirror:
    """Mirrors topics.  on_progress: called with the progress after each transaction."""

    def __init__(self, options: MirrorOptions, on_progress: Callable[[Progress], None] = lambda _: None) -> None:
        self.options, self._on_progress = options, on_progress
        self.progress = Progress()
        self._counts: dict[str, int] = {}  # number of partitions by topic
        self._decode = msgspec.json.Decoder(_Line).decode

    async def run(self, between: Callable[[Progress], Any] | None = None) -> Progress:
        """Runs until cancelled, or with `once` until it has caught up.  A later run continues where this one stopped.

        between: an async function that is called between transactions.  Raises aiokafka's KafkaError, and CommandError.
        """
        limit_unpacking()
        async with self._ends() as (consumer, producer):
            await self._check_ends()
            await self._topics(consumer, producer)
            await self._resume()
            await self._place(consumer)
            goal = await consumer.end_offsets(list(consumer.assignment())) if self.options.once else {}
            look = Pace(LOOK_EVERY_S)
            look.is_due()  # `_topics` has just run
            while True:
                if look.is_due() and await self._topics(consumer, producer):
                    await self._place(consumer)
                try:
                    got = await consumer.getmany(timeout_ms=WAIT_MS, max_records=RECORDS_AT_ONCE)
                except OffsetOutOfRangeError:
                    await self._place(consumer)
                    continue
                read = {partition: records for partition, records in got.items() if records}
                if read:
                    await self._carry(producer, consumer, read)
                if between is not None:
                    await between(self.progress)
                if self.options.once and not read and await _is_there(consumer, goal):
                    return self.progress
                if not self.options.once and await _behind(consumer, read) < RECORDS_AT_ONCE:
                    await asyncio.sleep(GATHER_S)

    async def _carry(
        self,
        producer: AIOKafkaProducer,
        consumer: AIOKafkaConsumer,
        read: Mapping[TopicPartition, list[ConsumerRecord]],
    ) -> None:
        went: dict[TopicPartition, list[Stretch]] = {}
        async with producer.transaction():
            sent = {}
            for partition, records in read.items():
                sent[partition] = [_looked_at(await _send(producer, partition, each)) for each in records]
            noted = {}
            for partition, futures in sent.items():
                targets = [each.offset for each in await asyncio.gather(*futures)]
                sources = [each.offset for each in read[partition]]
                went[partition] = stretches(zip(sources, targets, strict=True))
                noted[partition] = OffsetAndMetadata(targets[-1] + 1, str(await consumer.position(partition)))
                line = _Line(partition.topic, partition.partition, [tuple(each) for each in went[partition]])  # type: ignore[misc]
                await producer.send(self.options.places_topic, msgspec.json.encode(line), partition=0)
            await producer.send_offsets_to_transaction(noted, self.options.group)
        for partition, found in went.items():
            for stretch in found:
                self.progress.places[partition].add(stretch)
            self.progress.position[partition] = int(noted[partition].metadata)
        self.progress.records += sum(len(records) for records in read.values())
        self.progress.transactions += 1
        self._on_progress(self.progress)

    # -- beginning ---------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _ends(self) -> AsyncIterator[tuple[AIOKafkaConsumer, AIOKafkaProducer]]:
        async with contextlib.AsyncExitStack() as stack:
            consumer = AIOKafkaConsumer(
                **self.options.source, enable_auto_commit=False, isolation_level="read_committed",
                auto_offset_reset="none", max_partition_fetch_bytes=4 << 20,
            )  # fmt: skip
            await stack.enter_async_context(started(consumer, "--from"))
            producer = AIOKafkaProducer(
                **self.options.target, transactional_id=self.options.group, linger_ms=5, max_batch_size=1 << 20,
                max_request_size=RECORD_BYTES_MAX, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
            )  # fmt: skip
            await stack.enter_async_context(started(producer, "--to"))
            yield consumer, producer

    async def _check_ends(self) -> None:
        """Raises CommandError if source and target are the same cluster, since records would be copied in a loop."""
        async with admin(self.options.source) as away, admin(self.options.target) as there:
            names = [(await each.describe_cluster())["cluster_id"] for each in (away, there)]
        if names[0] is not None and names[0] == names[1]:
            raise CommandError("--from and --to are the same cluster: topics would be copied to themselves.")

    async def _topics(self, consumer: AIOKafkaConsumer, producer: AIOKafkaProducer) -> bool:
        """Creates missing topics and partitions on the target; returns whether the source's partitions have changed.

        Raises CommandError if there is no topic to mirror.
        """
        names = sorted(
            name for name in await consumer.topics() if self.options.topics.fullmatch(name) and not INTERNAL.match(name)
        )
        if not names:
            raise CommandError(f"The source has no topic that matches {self.options.topics.pattern!r}.")
        async with admin(self.options.source) as away:
            counts = {each["topic"]: len(each["partitions"]) for each in await away.describe_topics(names)}
        if counts == self._counts:
            return False
        async with admin(self.options.target) as there:
            made = [NewTopic(name, count, 1) for name, count in counts.items()]
            made.append(NewTopic(self.options.places_topic, 1, 1, topic_configs={"retention.ms": "-1"}))
            answer = await there.create_topics(made)
            for topic, code, *_ in answer.topic_errors:
                if code and for_code(code) is not TopicAlreadyExistsError:
                    raise for_code(code)(f"Topic {topic} cannot be created on the target.")
            found = {each["topic"]: len(each["partitions"]) for each in await there.describe_topics(names)}
            grown = {n: NewPartitions(count) for n, count in counts.items() if found.get(n, 0) < count}
            if grown:
                await there.create_partitions(grown)
        await producer.client.force_metadata_update()
        self._counts = counts
        return True

    async def _place(self, consumer: AIOKafkaConsumer) -> None:
        """Seeks the consumer to the position of each partition.  Raises CommandError if it ends before that."""
        partitions = [TopicPartition(name, number) for name, n in self._counts.items() for number in range(n)]
        consumer.assign(partitions)
        begins, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
        for partition in partitions:
            at = self.progress.position.setdefault(partition, begins[partition])
            if at > ends[partition]:
                raise CommandError(
                    f"{partition.topic}:{partition.partition} was copied up to offset {at} but ends at "
                    f"{ends[partition]} on the source: it was deleted and created again, or has lost records. To start "
                    f"over, mirror it with --topics under another --name."
                )
            if at < begins[partition]:
                self.progress.missed += begins[partition] - at
                self.progress.position[partition] = begins[partition]
            consumer.seek(partition, self.progress.position[partition])
            _ = self.progress.places[partition]  # now group offsets can be translated

    async def _resume(self) -> None:
        """Reads the position of an earlier run with this name from its last transaction."""
        self.progress.position.clear()
        async with admin(self.options.target) as there:
            kept = await there.list_consumer_group_offsets(self.options.group)
        for partition, at in kept.items():
            if at.offset >= 0 and at.metadata:
                self.progress.position[partition] = int(at.metadata)
        reader = AIOKafkaConsumer(
            **self.options.target, enable_auto_commit=False, isolation_level="read_committed",
            auto_offset_reset="earliest",
        )  # fmt: skip
        async with started(reader, "--to"):
            place = TopicPartition(self.options.places_topic, 0)
            reader.assign([place])
            goal = await reader.end_offsets([place])
            await reader.seek_to_beginning(place)
            while not await _is_there(reader, goal):
                for records in (await reader.getmany(timeout_ms=WAIT_MS)).values():
                    for each in records:
                        line = self._decode(each.value)
                        known = self.progress.places[TopicPartition(line.topic, line.partition)]
                        for stretch in line.stretches:
                            known.add(Stretch(*stretch))


def _looked_at(sent: asyncio.Future[Any]) -> asyncio.Future[Any]:
    """Retrieves the error of a record, which the transaction raises too, so that asyncio does not log it."""
    sent.add_done_callback(lambda done: done.cancelled() or done.exception())
    return sent


async def _send(producer: AIOKafkaProducer, at: TopicPartition, record: ConsumerRecord) -> asyncio.Future[Any]:
    key, value, timestamp, headers = record.key, record.value, record.timestamp, list(record.headers)
    if key is None and value is None:  # `send` rejects it otherwise
        batch = producer.create_batch()
        batch.append(timestamp=timestamp, key=None, value=None, headers=headers)
        sent: asyncio.Future[Any] = await producer.send_batch(batch, at.topic, partition=at.partition)
        return sent
    try:
        sent = await producer.send(at.topic, value, key, at.partition, timestamp_ms=timestamp, headers=headers)
    except MessageSizeTooLargeError:
        raise CommandError(
            f"The record at offset {record.offset} of {at.topic}:{at.partition} on the source has more than "
            f"{RECORD_BYTES_MAX} bytes. Leave this topic out with --topics."
        ) from None
    return sent


async def _behind(consumer: AIOKafkaConsumer, partitions: Iterable[TopicPartition]) -> int:
    """The lag behind the source, by the last responses."""
    return sum([max((consumer.highwater(each) or 0) - await consumer.position(each), 0) for each in partitions])


async def _is_there(consumer: AIOKafkaConsumer, goal: Mapping[TopicPartition, int]) -> bool:
    return all([await consumer.position(partition) >= end for partition, end in goal.items()])


@contextlib.asynccontextmanager
async def admin(connection: Mapping[str, Any]) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(**connection)
    await client.start()
    try:
        yield client
    finally:
        await client.close()


class Pace:
    """A timer for periodic work."""

    def __init__(self, every_s: float) -> None:
        self._every_s, self._next_s = every_s, 0.0

    def is_due(self) -> bool:
        now = time.monotonic()
        if now < self._next_s:
            return False
        self._next_s = now + self._every_s
        return True
