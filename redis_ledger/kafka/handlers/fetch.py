"""Fetch 4-17: returns record batches of partitions, byte for byte, with a long poll.

4    isolation, last stable offset, aborted transactions     5    log start offset      7   fetch sessions (KIP-227)
9    the client's leader epoch is compared                   11   rack (there is nothing nearer)
12   the epoch of the last record: a diverging epoch is answered if the log ends before it   13   topics by id
15-17  fields of followers
The first 16 bytes of a batch are rewritten with its offset, the rest is sent from memory.  Markers are built when they
are read.  A read_committed consumer waits behind an open transaction until the stable offset moves.
"""

from __future__ import annotations

import struct
from itertools import starmap
from typing import NamedTuple

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker import record_traces
from redis_ledger.broker.fetch.many import PartitionRequest, Polled
from redis_ledger.decoding.budget import Pace
from redis_ledger.errors import LedgerError, OffsetOutOfRange, TopicForbidden, Unavailable, UnknownTopic
from redis_ledger.kafka.fetch_session import CaughtUp, FetchSession, Key, opened
from redis_ledger.kafka.partition_lookup import FEW, PartitionLookup
from redis_ledger.kafka.protocol.messages.fetch_request import FetchPartition, FetchRequest
from redis_ledger.kafka.protocol.messages.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from redis_ledger.kafka.protocol.primitives import Buffer
from redis_ledger.kafka.request_context import NONE, NOT_LEADER, UNKNOWN_TOPIC_ID, RequestContext, code_of, epoch_code
from redis_ledger.ledger import entries as logs
from redis_ledger.ledger.leader_epochs import UNDEFINED, end_of_epoch, epoch_at
from redis_ledger.ledger.partition_offsets import PartitionHead
from redis_ledger.ledger.read import Read
from redis_ledger.records.batch import empty
from redis_ledger.records.control import marker
from redis_ledger.telemetry import tracing

VERSIONS = (4, 17)
SESSIONS_FROM, IDS_FROM = 7, 13
READ_COMMITTED = 1
KAFKA_STORAGE_ERROR = 56
WAIT_MS_MAX = 60_000
IS_READ = True
PLACED_BYTES = 16  # base offset, length, leader epoch: the part of a batch that is rewritten

_place = struct.Struct(">q4si").pack


class _RequestedPartition(NamedTuple):
    key: Key
    partition: FetchPartition


async def handle(request: FetchRequest, call: RequestContext) -> FetchResponse:
    session: FetchSession | None = None
    if call.version >= SESSIONS_FROM:
        found = opened(request, call.peer.fetch_session)
        if isinstance(found, int):
            return FetchResponse(error_code=found)
        session = call.peer.fetch_session = found
    if session is None:
        # If a partition is named twice, the last entry counts, as in Kafka.
        named = {(t.topic, t.topic_id, p.partition): p for t in request.topics for p in t.partitions}
        requested = list(starmap(_RequestedPartition, named.items()))
    else:
        requested = [_RequestedPartition(key, known.parameters) for key, known in session.partitions.items()]
    quotas, principal = call.broker.quotas, call.peer.principal
    if quotas.is_on and quotas.wait_s(principal) > 0.0:
        return FetchResponse(session_id=0 if session is None else session.id, responses=[])
    fetch = _Fetch(request, call, session)
    incremental = request.session_epoch > 0
    if session is not None and incremental and len(changed := fetch.changed(requested)) < len(requested):
        answers, is_enough = await fetch.read(changed, wait_ms=0)
        if is_enough:
            return _response(session, incremental, changed, answers)
    answers, _ = await fetch.read(requested, wait_ms=min(request.max_wait_ms, WAIT_MS_MAX))
    return _response(session, incremental, requested, answers)


class _Fetch:
    def __init__(self, request: FetchRequest, call: RequestContext, session: FetchSession | None) -> None:
        self._request, self._call, self._session = request, call, session
        self._committed = request.isolation_level == READ_COMMITTED

    def changed(self, requested: list[_RequestedPartition]) -> list[_RequestedPartition]:
        """The partitions of a session that may have new records.

        The others have not changed since a response without records.  Returns all partitions if one of the others may
        no longer be read.
        """
        session, call = self._session, self._call
        assert session is not None
        head, opened_here = call.broker.waiters.head, call.broker.catalog.opened
        changed, unchanged = [], set()
        for one in requested:
            rest = session.partitions[one.key].caught_up
            if rest is not None:
                partition = rest.partition
                if (
                    head(partition.keys) == rest.head
                    and rest.committed == self._committed
                    and opened_here(partition.topic, partition.number) is partition
                ):
                    unchanged.add(partition.topic)
                    continue
            changed.append(one)
        may_all = all(call.allows(Op.READ, Resource.TOPIC, topic) for topic in unchanged)
        return changed if may_all and not call.broker.live_brokers.is_leaving else requested

    async def read(
        self, requested: list[_RequestedPartition], *, wait_ms: int
    ) -> tuple[dict[Key, PartitionData], bool]:
        """The responses, and whether they have min_bytes or an error."""
        request, call, committed = self._request, self._call, self._committed
        quotas, rules = call.broker.quotas, call.broker.security.rules
        answers, wanted = await _open(requested, call)
        room = max(min(request.max_bytes, call.broker.config.kafka_fetch_bytes_max), 1)  # of 0, nothing is read
        if quotas.is_on:
            room = quotas.bytes_out_max(call.peer.principal, room)
        polled = await call.broker.partition_fetch.poll(
            [each for _, each in wanted],
            committed=committed,
            bytes_min=request.min_bytes,
            bytes_max=room,
            wait_ms=0 if answers else wait_ms,
            room=call.peer.unread,
        )
        size = 0
        for (one, each), read in zip(wanted, polled, strict=True):
            self._note_caught_up(one, each, read)
            if rules is not call.broker.security.rules and not call.allows(
                Op.READ, Resource.TOPIC, each.partition.topic
            ):
                answers[one.key] = _failed(each.partition.number, TopicForbidden.kafka_code)  # revoked during the wait
                continue
            data = _partition_data(one, each, read, committed, room - size)
            size += sum(map(len, data.records)) if isinstance(data.records, list) else 0
            answers[one.key] = data
        failed = any(data.error_code for data in answers.values())
        return answers, failed or size >= max(request.min_bytes, 1)

    def _note_caught_up(self, one: _RequestedPartition, wanted: PartitionRequest, read: Polled) -> None:
        if self._session is not None:
            rest = None
            if isinstance(read, Read) and wanted.has_nothing(read.head, self._committed):
                rest = CaughtUp(wanted.partition, read.head, self._committed)
            self._session.partitions[one.key].caught_up = rest


async def _open(
    requested: list[_RequestedPartition], call: RequestContext
) -> tuple[dict[Key, PartitionData], list[tuple[_RequestedPartition, PartitionRequest]]]:
    """Responses for partitions that cannot be read, and the reads of the others."""
    answers: dict[Key, PartitionData] = {}
    wanted, pace, by_ids = [], Pace(), call.version >= IDS_FROM
    places = PartitionLookup(call.broker.catalog)
    if len(requested) > FEW:
        await places.expect(
            () if by_ids else (one.key[0] for one in requested), (one.key[1] for one in requested) if by_ids else ()
        )
    for one in requested:
        if pace.is_over:
            await pace.rest()
        name, topic_id, number = one.key
        if call.broker.live_brokers.is_leaving:
            answers[one.key] = _failed(number, NOT_LEADER)
            continue
        try:
            if by_ids:
                name = await places.name(topic_id)
            call.check_topic(Op.READ, name)  # on each fetch: a session ends when the ACL is removed
            partition = call.broker.catalog.opened(name, number) or await places.get(name, number)
        except LedgerError as error:
            is_unknown_id = by_ids and isinstance(error, UnknownTopic)
            answers[one.key] = _failed(number, UNKNOWN_TOPIC_ID if is_unknown_id else _code(error))
            continue
        how = one.partition
        bytes_max = max(how.partition_max_bytes, 1)
        wanted.append((one, PartitionRequest(partition, how.fetch_offset, bytes_max, how.current_leader_epoch)))
    return answers, wanted


def _code(error: BaseException, **where: object) -> int:
    """KAFKA_STORAGE_ERROR if the records cannot be read now, so that consumers retry.

    Java's poll() fails at codes that Kafka never returns from Fetch, such as BROKER_NOT_AVAILABLE.
    """
    return KAFKA_STORAGE_ERROR if isinstance(error, Unavailable) else code_of(error, **where)


def _failed(number: int, code: int) -> PartitionData:
    return PartitionData(number, code, -1, aborted_transactions=None, records=b"")


def _partition_data(
    one: _RequestedPartition, wanted: PartitionRequest, read: Polled, committed: bool, room: int
) -> PartitionData:
    number = one.partition.partition
    if not isinstance(read, Read):
        data = _failed(number, _code(read, topic=wanted.partition.topic, partition=number))
        if isinstance(read, OffsetOutOfRange):
            data.log_start_offset = read.facts.get("start_offset", -1)
            data.high_watermark = read.facts.get("end_offset", -1)
        return data
    head = read.head
    if refused := epoch_code(one.partition.current_leader_epoch, head.leader_epoch):
        return _failed(number, refused)
    if diverging := _diverging(one.partition, head):
        return PartitionData(
            number, NONE, head.end_offset, head.stable_offset, head.start_offset, diverging_epoch=diverging, records=b""
        )
    starts = head.epoch_starts
    chunks: list[Buffer] = []
    last, records, size = wanted.offset, 0, 0
    for entry, payload in zip(read.entries, read.payloads, strict=True):
        epoch = epoch_at(starts, entry.base_offset) if starts else head.leader_epoch
        if entry.is_marker:
            commit = bool(entry.flags & logs.COMMIT)
            at = (entry.base_offset, epoch, entry.producer_id, entry.epoch)
            chunks.append(marker(*at, commit, 0, entry.appended_ms))
        elif isinstance(entry, logs.ReclaimedEntry):
            stamp = (entry.records, entry.producer_id, entry.epoch, entry.sequence)
            chunks.append(empty(entry.base_offset, epoch, *stamp))
        elif room <= 0:
            break  # earlier partitions have filled the response
        else:
            body = memoryview(payload)
            chunks.append(_place(entry.base_offset, bytes(body[8:12]), epoch))
            chunks.append(body[PLACED_BYTES:])
            records += entry.records
            size += len(body)
        last = entry.last_offset
    if records and tracing.tracer is not None:
        record_traces.received(wanted.partition.topic, number, read.payloads)
    if records:
        wanted.partition.traffic.delivered(records, size, 0)
    aborted = None
    if committed:
        aborted = [AbortedTransaction(a.producer_id, a.first_offset) for a in read.aborted if a.first_offset <= last]
    return PartitionData(
        number,
        NONE,
        head.end_offset,
        head.stable_offset,
        head.start_offset,
        aborted_transactions=aborted,
        records=chunks,
    )


def _diverging(asked: FetchPartition, head: PartitionHead) -> EpochEndOffset | None:
    """The end of the epoch of the client's last record, if it is below the requested offset (KIP-595)."""
    if asked.last_fetched_epoch < 0:
        return None
    end = end_of_epoch(head.epoch_starts, asked.last_fetched_epoch, head.current)
    if end == UNDEFINED or (end.epoch == asked.last_fetched_epoch and end.end_offset >= asked.fetch_offset):
        return None
    return EpochEndOffset(end.epoch, end.end_offset)


def _response(
    session: FetchSession | None,
    incremental: bool,
    requested: list[_RequestedPartition],
    answers: dict[Key, PartitionData],
) -> FetchResponse:
    response = FetchResponse(session_id=0 if session is None else session.id, responses=[])
    by_topic: dict[tuple[str, bytes], FetchableTopicResponse] = {}
    served = []
    for one in requested:
        data = answers[one.key]
        if session is not None and not session.is_news(one.key, data) and incremental:
            continue
        if data.records:
            served.append(one.key)
        name, topic_id, _ = one.key
        topic = by_topic.get((name, topic_id))
        if topic is None:
            topic = by_topic[name, topic_id] = FetchableTopicResponse(name, topic_id, [])
            response.responses.append(topic)
        topic.partitions.append(data)
    if session is not None and served:
        session.rotate(served)
    return response
