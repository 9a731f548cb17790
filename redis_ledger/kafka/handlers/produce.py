"""Produce 3-13: appends record batches to partitions.  Batches stay memoryviews and are stored as they are.

3     record batches of version 2 only     5   log start offset: only with UNKNOWN_PRODUCER_ID, where the Java
client needs it; else -1     7   zstd     8   errors by record (never)
10    a new leader (never: any broker serves any partition)       12   a transactional batch adds its
partition to the transaction by itself (KIP-890)     13   topics by id
One batch per partition.  At durability `replicas` only acks -1 (all) waits for replicas; at others acks 1 is the same.
With acks 0 there is no response, and a rejected batch closes the connection, as in Kafka.  A broker that shuts down
answers NOT_LEADER_OR_FOLLOWER, so that clients refresh their metadata and reconnect in time.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker import record_traces
from redis_ledger.broker.produce.append import BatchSource
from redis_ledger.decoding.budget import Pace
from redis_ledger.errors import (
    InvalidRecord,
    InvalidRequest,
    InvalidTopicName,
    LedgerError,
    ProducerFenced,
    UnknownProducer,
    UnknownTopic,
)
from redis_ledger.kafka.partition_lookup import FEW, PartitionLookup
from redis_ledger.kafka.protocol.messages.produce_request import PartitionProduceData, ProduceRequest
from redis_ledger.kafka.protocol.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from redis_ledger.kafka.request_context import (
    CONCURRENT_TRANSACTIONS,
    INVALID_PRODUCER_EPOCH,
    NONE,
    NOT_LEADER,
    UNKNOWN_TOPIC_ID,
    RequestContext,
    code_of,
    is_away,
    message_of,
)
from redis_ledger.ledger.append_request import Accepted
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.topic_checks import OFFSETS_TOPIC
from redis_ledger.telemetry import tracing

VERSIONS = (3, 13)
ADDS_PARTITIONS_FROM, IDS_FROM = 12, 13
NOT_ENOUGH_REPLICAS, INVALID_REQUIRED_ACKS = 19, 21
ALL = -1  # acks


class PendingProduce:
    """A response that is complete when all its batches are appended or rejected."""

    __slots__ = ("_answer", "_catalog", "_left", "_silent", "future")

    def __init__(self, answer: ProduceResponse, silent: bool, catalog: Catalog) -> None:
        self._answer, self._silent, self._catalog, self._left = answer, silent, catalog, 1
        self.future: asyncio.Future[ProduceResponse | None] = asyncio.get_running_loop().create_future()

    def watch(self, topic: str, slot: PartitionProduceResponse, appended: asyncio.Future[Accepted]) -> None:
        self._left += 1
        appended.add_done_callback(partial(self._settle, topic, slot))

    def _settle(self, topic: str, slot: PartitionProduceResponse, done: asyncio.Future[Accepted]) -> None:
        error = done.exception()
        if error is None:
            slot.base_offset, slot.log_append_time_ms = done.result().base_offset, done.result().append_ms
        else:
            if isinstance(error, UnknownTopic):  # deleted, and perhaps created again: the client retries
                self._catalog.forget(topic)
            refuse(slot, error, topic)
        self.one_less()

    def one_less(self) -> None:
        self._left -= 1
        if self._left or self.future.done():
            return
        if not self._silent:
            self.future.set_result(self._answer)
        elif any(slot.error_code for topic in self._answer.responses for slot in topic.partition_responses):
            self.future.set_exception(InvalidRequest("A batch sent with acks 0 was rejected."))
        else:
            self.future.set_result(None)


async def submit(request: ProduceRequest, call: RequestContext) -> asyncio.Future[ProduceResponse | None]:
    answer = ProduceResponse(responses=[])
    pending = PendingProduce(answer, request.acks == 0, call.broker.catalog)
    owner = call.broker.security.owner(call.peer.principal)
    adds_partitions = call.version >= ADDS_PARTITIONS_FROM
    source = BatchSource(
        request.transactional_id, adds_partitions, owner, call.peer.principal, request.acks == ALL, call.peer.checks
    )
    leaves = call.broker.live_brokers.is_leaving and request.acks != 0
    refused = None
    if source.transactional_id is not None:
        refused = _refusal(call, Op.WRITE, Resource.TRANSACTIONAL_ID, source.transactional_id)
    places, by_ids, pace = PartitionLookup(call.broker.catalog), call.version >= IDS_FROM, Pace()
    if len(request.topic_data) > FEW:
        named = request.topic_data
        await places.expect(*((), (t.topic_id for t in named)) if by_ids else ((t.name for t in named),))
    for topic in request.topic_data:
        slots: list[PartitionProduceResponse] = []
        answer.responses.append(TopicProduceResponse(topic.name, topic.topic_id, slots))
        name, missing = topic.name, 0
        if by_ids:
            try:
                name = await places.name(topic.topic_id)
            except LedgerError as error:
                missing = UNKNOWN_TOPIC_ID if isinstance(error, UnknownTopic) else _code_of(error)
        forbidden = refused or (None if missing else _refusal(call, Op.WRITE, Resource.TOPIC, name))
        for data in topic.partition_data:
            if pace.is_over:
                await pace.rest()
            slot = PartitionProduceResponse(data.index, NONE, -1)
            slots.append(slot)
            if forbidden is not None:
                refuse(slot, forbidden)
                continue
            if missing or request.acks not in (-1, 0, 1):
                slot.error_code = missing or INVALID_REQUIRED_ACKS
                continue
            if leaves:
                slot.error_code = NOT_LEADER
                continue
            try:
                pending.watch(name, slot, await _append(name, data, source, places, call))
            except LedgerError as error:
                refuse(slot, error, name)
    pending.one_less()
    return pending.future


def _refusal(call: RequestContext, operation: Op, resource: Resource, name: str) -> LedgerError | None:
    try:
        call.check(operation, resource, name)
    except LedgerError as error:
        return error
    return None


async def handle(request: ProduceRequest, call: RequestContext) -> Any:
    return await (await submit(request, call))


async def _append(
    topic: str, data: PartitionProduceData, source: BatchSource, places: PartitionLookup, call: RequestContext
) -> asyncio.Future[Accepted]:
    catalog = call.broker.catalog
    if topic == OFFSETS_TOPIC:
        raise InvalidTopicName(f"{topic!r} is an internal topic; commit offsets with OffsetCommit.")
    if not data.records:
        raise InvalidRecord("A partition has no record batch.")
    partition: Partition | None = catalog.opened(topic, data.index)
    if partition is None:
        partition = await places.get(topic, data.index)
    records = data.records
    assert isinstance(records, memoryview)
    appended = await call.broker.appends.append_batch(partition, records, source, partition.config.batch_bytes_max)
    if tracing.tracer is not None:
        record_traces.produced(topic, data.index, records)
    return appended


def refuse(slot: PartitionProduceResponse, error: BaseException, topic: str = "") -> None:
    code = _code_of(error, topic=topic, partition=slot.index)
    slot.error_code, slot.error_message = code, message_of(error)
    slot.base_offset = -1
    if isinstance(error, UnknownProducer):
        slot.log_start_offset = error.facts["log_start_offset"]


def _code_of(error: BaseException, **where: object) -> int:
    """NOT_ENOUGH_REPLICAS for a batch that can be sent again.

    All clients retry it with the same sequence and without a metadata request; Kafka uses it the same way.  Some
    clients do not retry CONCURRENT_TRANSACTIONS, and after REQUEST_TIMED_OUT the batch may have been written.
    A fenced producer gets INVALID_PRODUCER_EPOCH, after which clients abort and go on; PRODUCER_FENCED closes them.
    """
    if isinstance(error, ProducerFenced):
        return INVALID_PRODUCER_EPOCH
    code = code_of(error, **where)
    return NOT_ENOUGH_REPLICAS if code == CONCURRENT_TRANSACTIONS or is_away(error) else code
