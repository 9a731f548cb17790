"""/v1/topics/{topic}/records and /v1/topics/{topic}/partitions/{partition}/records: produce and fetch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from redis_ledger.app.http.authorization import (
    DESCRIBE_TOPIC,
    EACH_OWN,
    READ_TOPIC,
    WRITE_TOPIC,
    create_check,
    own_transaction,
)
from redis_ledger.app.http.json_counts import too_many_headers
from redis_ledger.app.http.json_stream import LARGE_BYTES, LargeRecord, large_record, record_bytes, stream_records
from redis_ledger.app.http.operations import TRANSACTION_ERRORS, Routes
from redis_ledger.app.http.request import BATCH, HttpRequest, HttpResponse, reply
from redis_ledger.app.http.schemas import core, examples
from redis_ledger.app.http.values import (
    ASIDE_BYTES,
    headers_to_body,
    is_large,
    key_to_body,
    parse_record,
    skipped_to_body,
    value_to_body,
)
from redis_ledger.broker import record_traces
from redis_ledger.broker.client_memory import DECODED_BYTES_MAX
from redis_ledger.broker.produce.encode import Agree
from redis_ledger.broker.types import Appended, Fetched, NewRecord, ProducerSequence, ScheduledRef, Skipped
from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Pace
from redis_ledger.errors import (
    BadChecksum,
    CorruptBatch,
    DecodingBusy,
    DelayTooLong,
    DuplicateSequence,
    InvalidDelay,
    InvalidProducerId,
    InvalidRequest,
    InvalidTopicName,
    OffloadedDamaged,
    OffloadedUnavailable,
    OffsetOutOfRange,
    OutcomeUnknown,
    RequestTooLarge,
    SequenceGap,
    StaleEpoch,
    TooLargeToDecode,
    UnknownPartition,
    UnknownProducer,
    UnknownTopic,
    UnsupportedCompression,
)
from redis_ledger.ids import kept_for
from redis_ledger.ledger.reader import ALL_RECORDS
from redis_ledger.ledger.record_slices import UNREADABLE
from redis_ledger.records.read import Record
from redis_ledger.telemetry import tracing

routes = Routes("records")


@routes.post(
    "/v1/topics/{topic}/records",
    requires=(WRITE_TOPIC, EACH_OWN),
    keyed=True,
    hot=True,
    raw=True,
    errors=(
        InvalidTopicName, UnknownTopic, UnknownPartition, CorruptBatch, BadChecksum, UnsupportedCompression,
        TooLargeToDecode, DecodingBusy, SequenceGap, DuplicateSequence, StaleEpoch, UnknownProducer, InvalidProducerId,
        OutcomeUnknown, InvalidDelay, DelayTooLong, *TRANSACTION_ERRORS,
    ),
    examples=examples.PRODUCE,
)  # fmt: skip
async def produce(
    request: HttpRequest, topic: str, body: core.Produce | bytes, query: core.ProduceQuery
) -> core.Produced:
    """Append records to a topic.

    Records with a key go to the partition of the key's hash (murmur2, as in Kafka); records without a key go to one
    partition. With `deliver_at` or `deliver_after` a record is scheduled: it gets its offset when it is due, and the
    response contains its id. With `transaction`, records become visible, or are scheduled, when the transaction
    commits. With `producer_id`, `epoch` and `sequence`, a repeated request returns the offsets of the first one. A body
    of type `application/vnd.redis-ledger.batch` contains one or more record batches (Kafka's format, version 2), which
    are stored unchanged; partition and transaction are then query parameters.
    """
    if isinstance(body, bytes):
        return await _produce_batches(request, topic, body, query)
    if query.partition is not UNSET or query.transaction is not UNSET:
        raise InvalidRequest("partition and transaction are members of a JSON body; leave them out of the query.")
    records = await parse_records(request, body.records, "$.records", body.partition)
    transaction = await own_transaction(request, body.transaction)
    if tracing.tracer is not None:
        record_traces.wrote(transaction)
    appended = await request.broker.records.produce(
        topic, records, partition=body.partition, transaction=transaction,
        producer=await _producer(request, body), agree=None if transaction is not None else agree(request),
        may_create=create_check(request, topic),
    )  # fmt: skip
    return core.Produced(results=results(appended))


async def _produce_batches(request: HttpRequest, topic: str, data: bytes, query: core.ProduceQuery) -> core.Produced:
    if request.content_type() != BATCH:
        raise InvalidRequest(
            f"The content type {request.content_type()[:100]!r} is not supported; send application/json or {BATCH}."
        )
    if query.partition is UNSET:
        raise InvalidRequest("Record batches go to one partition; name it in the query, as in ?partition=0.")
    transaction = await own_transaction(request, None if query.transaction is UNSET else query.transaction)
    if transaction is not None:
        _refuse_if_in_doubt(request)
    return core.Produced(
        results=results(
            await request.broker.records.produce_batches(
                topic,
                query.partition,
                data,
                transaction=transaction,
                owner=_owner(request),
                may_create=create_check(request, topic),
            )
        )
    )


async def _producer(request: HttpRequest, body: core.Produce) -> ProducerSequence | None:
    given = (body.producer_id, body.epoch, body.sequence)
    if given != (None, None, None):
        if body.producer_id is None or body.epoch is None or body.sequence is None:
            raise InvalidRequest("producer_id, epoch and sequence go together; give all three or none.")
        if body.partition is None:
            raise InvalidRequest("$.partition: sequences are counted per partition; name it beside producer_id.")
        await request.broker.producers.ids.check(body.producer_id)
        return ProducerSequence(body.producer_id, body.epoch, body.sequence, _owner(request))
    if request.claim is not None and body.transaction is not None:
        _refuse_if_in_doubt(request)
        return None
    return claimed(request)


def _owner(request: HttpRequest) -> str:
    return request.broker.security.owner(request.caller.principal)


def claimed(request: HttpRequest) -> ProducerSequence | None:
    """The producer id and epoch of the Idempotency-Key, by which a partition detects a repeated request."""
    if request.claim is None:
        return None
    assert request.claim.producer_id is not None, "the claim of an operation that writes records has a producer id"
    return ProducerSequence(request.claim.producer_id, 0, 0, kept_for(request.claim.kept_for_s))


def agree(request: HttpRequest) -> Agree | None:
    """The layout of the records, which every attempt with this Idempotency-Key uses."""
    return None if request.claim is None else request.claim.layout


def _refuse_if_in_doubt(request: HttpRequest) -> None:
    """Transactional records have the producer id of the transaction, so a partition cannot detect a repeated
    request."""
    if request.claim is not None and request.claim.resumed:
        raise OutcomeUnknown(
            "An earlier attempt with this Idempotency-Key may have written these records. Abort the transaction and "
            "begin again."
        )


def check_headers(request: HttpRequest, record: core.RecordIn) -> int:
    """Returns the number of headers.  Raises RequestTooLarge."""
    count = len(record.headers or ()) + len(record.headers_base64 or ())
    if count > request.config.record_headers_max:
        raise too_many_headers(request.config, of_record=True)
    return count


async def parse_records(
    request: HttpRequest, records: list[core.RecordIn], where: str, partition: int | None = None
) -> list[NewRecord]:
    """Raises RequestTooLarge, InvalidRequest, InvalidJson.  Other tasks run between the records."""
    limit = request.config.records_per_request_max
    if len(records) > limit:
        raise RequestTooLarge(
            f"{where} has {len(records)} records; at most {limit} are allowed. Split it; nothing was written.",
            records_per_request_max=limit,
        )
    made, pace, headers = list[NewRecord](), Pace(), 0
    may_be_large = request.body_bytes > ASIDE_BYTES
    for index, record in enumerate(records):
        if record.headers is not None or record.headers_base64 is not None:
            headers += check_headers(request, record)
            if headers > request.config.headers_max:
                raise too_many_headers(request.config, of_record=False)
        if may_be_large and is_large(record):
            made.append(await asyncio.to_thread(parse_record, record, where, index, partition))
        else:
            made.append(parse_record(record, where, index, partition))
        if not index & 63:
            await pace.rest()
    is_traced = tracing.tracer is not None and any(name == b"traceparent" for name, _ in request.scope["headers"])
    return record_traces.carrying(made) if is_traced else made


def results(appended: list[Appended]) -> list[core.Appended]:
    return [
        core.Appended(
            partition=a.partition, base_offset=a.base_offset, records=a.records, duplicate=a.duplicate,
            scheduled=scheduled_to_body(a.scheduled),
        )
        for a in appended
    ]  # fmt: skip


def scheduled_to_body(found: Sequence[ScheduledRef]) -> list[core.ScheduledRef] | UnsetType:
    return [core.ScheduledRef(id=str(p.id), deliver_at_ms=p.deliver_at_ms) for p in found] if found else UNSET


@routes.get(
    "/v1/topics/{topic}/partitions/{partition}/records",
    requires=(READ_TOPIC,),
    hot=True,
    answers={200: core.Fetched},
    errors=(UnknownTopic, UnknownPartition, OffsetOutOfRange, DecodingBusy, OffloadedUnavailable, OffloadedDamaged),
    examples=examples.FETCH,
)
async def fetch(request: HttpRequest, topic: str, partition: str, query: core.FetchQuery) -> HttpResponse:
    """Read records of a partition, starting at an offset.

    `read_committed` stops at the first open transaction and omits aborted records. Continue at `next_offset` while
    `more` is true.

    The log does not store whether a value was produced as `value`, `text` or `base64`. By default the content decides:
    the text `1.10` is returned as the number `"value": 1.10`. To get one form always, use `as=text` or `as=base64`.

    Batches that are damaged or too large to decode are omitted and listed in `skipped`.

    With `Accept: application/vnd.redis-ledger.batch` the response contains the stored record batches, and the offsets
    are in headers. Batches are complete: the first one may begin below `offset`.
    """
    number = partition_number(partition)
    wait_ms = min(query.wait_ms, request.config.wait_ms_max)
    work = request.broker.records.fetch(
        topic, number, query.offset, isolation=query.isolation, max_bytes=query.max_bytes, wait_ms=wait_ms,
        # A response with batches contains whole batches only, so max_records does not apply.
        records_max=ALL_RECORDS if request.accepts_batches() else query.max_records, room=request.read_lease(),
    )  # fmt: skip
    fetched = await (request.run_while_connected(work) if wait_ms else work)
    if request.accepts_batches():
        body, unpacked = None, 0
    else:
        body, unpacked = await _records(request, number, fetched, query)
    end = fetched.stable_offset if query.isolation == "read_committed" else fetched.end_offset
    is_whole = body is None or body.next_offset == fetched.next_offset
    if is_whole and fetched.next_offset < end and not fetched.leads_to_batch:
        fetched.next_offset = await request.broker.partition_fetch.next_readable(
            topic, number, fetched.next_offset, isolation=query.isolation
        )
        if body is not None:
            body.next_offset = fetched.next_offset
    if body is not None:
        body.more = body.next_offset < end
    _count(request, topic, number, fetched, None if body is None else len(body.records))
    if tracing.tracer is not None:
        record_traces.received(topic, number, [batch.data for batch in fetched.batches if not batch.is_control])
    if body is None:
        return _batches(fetched)
    return reply(body) if unpacked <= LARGE_BYTES else stream_records("records", body, unpacked)


def _count(request: HttpRequest, topic: str, number: int, fetched: Fetched, returned: int | None) -> None:
    """returned: the number of records in the response, None for all; bytes are counted in proportion."""
    batches = [batch for batch in fetched.batches if not batch.is_control]
    partition = request.broker.catalog.opened(topic, number)
    if batches and partition is not None:
        there, size = sum(b.last_offset - b.base_offset + 1 for b in batches), sum(len(b.data) for b in batches)
        records = there if returned is None else min(returned, there)
        partition.traffic.delivered(records, size * records // there, 0)


@routes.get(
    "/v1/topics/{topic}/partitions/{partition}/offsets",
    requires=(DESCRIBE_TOPIC,),
    errors=(UnknownTopic, UnknownPartition, DecodingBusy),
    examples=examples.FIND_OFFSET,
)
async def find_offset(request: HttpRequest, topic: str, partition: str, query: core.OffsetQuery) -> core.OffsetFound:
    """Find the offset for a time.

    Returns the offset of the first record whose timestamp is equal or later, or the end offset if there is none.
    """
    offset, timestamp_ms = await request.broker.partition_fetch.offset_at(
        topic, partition_number(partition), query.timestamp_ms, isolation=query.isolation, charge=request.charge_decoded
    )
    return core.OffsetFound(offset=offset, timestamp_ms=UNSET if timestamp_ms is None else timestamp_ms)


async def _records(
    request: HttpRequest, number: int, fetched: Fetched, query: core.FetchQuery
) -> tuple[core.Fetched, int]:
    """Returns the response and the number of decompressed bytes.  Large records are LargeRecord in the response's list.

    Continues after batches that cannot be decoded, so that readers make progress.
    """
    # The first batch may begin before the requested offset and before the log start.
    begin = max(query.offset if isinstance(query.offset, int) else 0, fetched.start_offset)
    bodies: list[Any] = []
    skipped: list[core.Skipped] = []
    decoded_lease = request.decoded_lease()
    next_offset, budget = fetched.next_offset, request.budget(DECODED_BYTES_MAX, decoded_lease.instead)
    for batch in fetched.batches:
        if batch.is_control:
            continue
        first, left = max(batch.base_offset, begin), query.max_records - len(bodies)
        if left <= 0 or budget.is_spent:
            next_offset = first
            break
        transaction: Any = UNSET if batch.transaction is None else str(batch.transaction)
        try:
            # The first record that does not fit determines next_offset.
            records = await paced.decode(batch.data, budget, first, first + left)
            if len(records) <= left and first + left < batch.last_offset:  # offloaded records have gaps
                records = await paced.decode(batch.data, budget, first, batch.last_offset)
        except DecodingBusy:
            if not budget.is_cut or not (bodies or skipped):
                raise
            next_offset = first
            break
        except UNREADABLE as error:
            skipped.append(skipped_to_body(Skipped(number, first, batch.last_offset, error.with_traceback(None))))
            continue
        for record in records[:left]:
            if record_bytes(record.key, record.value, record.headers) > LARGE_BYTES:
                bodies.append(await asyncio.to_thread(_large_to_body, record, transaction, query))
            else:
                bodies.append(_to_body(record, transaction, query))
            if budget.pace.is_over:
                await budget.pace.rest()
        if len(records) > left:
            next_offset = records[left].offset
            break
    if budget.spent_bytes > LARGE_BYTES:
        decoded_lease.hold(budget.spent_bytes)
    return core.Fetched(
        records=bodies, next_offset=next_offset, more=True, start_offset=fetched.start_offset,
        stable_offset=fetched.stable_offset, end_offset=fetched.end_offset, skipped=skipped or UNSET,
    ), budget.spent_bytes  # fmt: skip


def _large_to_body(record: Record, transaction: Any, query: core.FetchQuery) -> LargeRecord:
    small = core.RecordOut(offset=record.offset, timestamp_ms=record.timestamp_ms, transaction=transaction)
    return large_record(small, record.key, record.value, record.headers, query.as_)


def _to_body(record: Record, transaction: Any, query: core.FetchQuery) -> core.RecordOut:
    key, key_base64 = key_to_body(record.key)
    value, text, base64 = value_to_body(record.value, query.as_)
    headers, headers_base64 = headers_to_body(record.headers) if record.headers else (UNSET, UNSET)
    return core.RecordOut(
        offset=record.offset, timestamp_ms=record.timestamp_ms, key=key, key_base64=key_base64, value=value,
        text=text, base64=base64, headers=headers, headers_base64=headers_base64, transaction=transaction,
    )  # fmt: skip


def _batches(fetched: Fetched) -> HttpResponse:
    offsets = (
        (b"redis-ledger-next-offset", fetched.next_offset),
        (b"redis-ledger-start-offset", fetched.start_offset),
        (b"redis-ledger-stable-offset", fetched.stable_offset),
        (b"redis-ledger-end-offset", fetched.end_offset),
    )
    data = b"".join(batch.data for batch in fetched.batches if not batch.is_control)
    return HttpResponse(200, data, BATCH.encode(), [(name, b"%d" % offset) for name, offset in offsets])


def partition_number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise UnknownPartition(f"{text[:80]!r} is not a partition; partitions are numbered from 0.")
    return int(text)
