"""/v1/topics/{topic}/scheduled: scheduled records: create, list, cancel, reschedule.

An id such as 0:17.2 consists of partition, entry, and index in the entry; rescheduling does not change it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TypeVar

from msgspec import UNSET, UnsetType

from redis_ledger.app.http.authorization import ALTER_TOPIC, DESCRIBE_TOPIC, READ_TOPIC, WRITE_TOPIC, create_check
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.routers.records import agree, check_headers, claimed, parse_records, results
from redis_ledger.app.http.schemas import examples_scheduled as examples
from redis_ledger.app.http.schemas import scheduled as bodies
from redis_ledger.app.http.schemas.core import ScheduledRef
from redis_ledger.app.http.schemas.scheduled import CancelResult
from redis_ledger.app.http.times import delivery, moment_ms
from redis_ledger.app.http.values import headers_to_body, json_path, key_to_body, parse_record, value_to_body
from redis_ledger.broker import types
from redis_ledger.delay.recurrence import Recurrence
from redis_ledger.errors import (
    AlreadyCancelled,
    AlreadyDelivered,
    DecodingBusy,
    DelayTooLong,
    InvalidDelay,
    InvalidRepeat,
    InvalidRequest,
    LedgerError,
    OutcomeUnknown,
    RequestTooLarge,
    UnknownPartition,
    UnknownScheduled,
    UnknownTopic,
)
from redis_ledger.ids import ScheduledId

T = TypeVar("T")
routes = Routes("scheduled")
_ALL = "/v1/topics/{topic}/scheduled"
_ONE = _ALL + "/{scheduled}"
_ONE_ERRORS = (UnknownTopic, UnknownPartition, UnknownScheduled, AlreadyDelivered, AlreadyCancelled)
# Members of a single record, which cannot be combined with `records`.
_OWN = ("key", "key_base64", "value", "text", "base64", "headers", "headers_base64", "timestamp_ms")


@routes.post(
    _ALL,
    requires=(WRITE_TOPIC,),
    status=201,
    keyed=True,
    errors=(UnknownTopic, UnknownPartition, InvalidDelay, DelayTooLong, InvalidRepeat, OutcomeUnknown),
    examples=examples.SCHEDULE,
)
async def schedule(request: HttpRequest, topic: str, body: bodies.Schedule) -> bodies.ScheduledRecords:
    """Schedule records for delivery at a time or after a delay.

    A scheduled record gets its offset, and becomes visible to consumers, when it is due. Records that are already due
    are delivered immediately. `POST /v1/topics/{topic}/records` also supports `deliver_at` and `deliver_after`,
    including in transactions.
    """
    if body.repeat is not None:
        return bodies.ScheduledRecords(
            scheduled=[_scheduled_to_body(await _repeated(request, topic, body, body.repeat))]
        )
    for name in ("until", "times", "timezone"):
        if getattr(body, name) is not None:
            raise InvalidRepeat(f"$.{name} requires repeat; give both or neither.")
    given = await _given(request, body)
    appended = await request.broker.records.produce(
        topic, given, partition=body.partition, producer=claimed(request), agree=agree(request),
        may_create=create_check(request, topic),
    )  # fmt: skip
    delivered = [a for a in appended if a.base_offset >= 0]
    return bodies.ScheduledRecords(
        scheduled=[_scheduled_to_body(each) for a in appended for each in a.scheduled],
        delivered=results(delivered) if delivered else UNSET,
        duplicate=True if any(a.duplicate for a in appended) else UNSET,
    )


async def _given(request: HttpRequest, body: bodies.Schedule) -> list[types.NewRecord]:
    if body.records is None:
        check_headers(request, body)
        found = [parse_record(body, "$", -1)]
    else:
        for name in _OWN:
            if getattr(body, name) not in (None, UNSET):
                raise InvalidRequest(
                    f"$.{name} belongs to a single record; put it into the elements of $.records, or omit $.records."
                )
        found = await parse_records(request, body.records, "$.records", body.partition)
        at_ms, after_ms = delivery(body.deliver_at, body.deliver_after, "$")
        found = [r if _is_timed(r) else r._replace(deliver_at_ms=at_ms, deliver_after_ms=after_ms) for r in found]
    for index, record in enumerate(found):
        if not _is_timed(record):
            where = json_path("$.records", index) if body.records is not None else "$"
            raise InvalidDelay(f"{where} has no delivery time; give deliver_at or deliver_after.")
    return found


def _is_timed(record: types.NewRecord) -> bool:
    return record.deliver_at_ms is not None or record.deliver_after_ms is not None


async def _repeated(request: HttpRequest, topic: str, body: bodies.Schedule, repeat: str) -> types.ScheduledRef:
    if body.records is not None:
        raise InvalidRepeat("$.repeat applies to a single record; give that record directly and omit $.records.")
    if request.claim is not None and request.claim.resumed:
        raise OutcomeUnknown(
            "An earlier attempt with this Idempotency-Key may have scheduled the record. Look for it by its key, and "
            "schedule it under another Idempotency-Key if it is not there."
        )
    until_ms = None if body.until is None else moment_ms(body.until, "$.until", InvalidRepeat)
    rule = Recurrence.parse(repeat, until_ms=until_ms, times=body.times, timezone=body.timezone or "UTC")
    check_headers(request, body)
    return await request.broker.recurring.schedule(topic, parse_record(body, "$", -1), rule)


@routes.get(
    _ALL,
    requires=(READ_TOPIC,),
    errors=(UnknownTopic, UnknownPartition, InvalidDelay, DecodingBusy),
    examples=examples.LIST_SCHEDULED,
)
async def list_scheduled(request: HttpRequest, topic: str, query: bodies.ScheduledQuery) -> bodies.ScheduledPage:
    """List scheduled records by due time.

    If the response has `after`, send it to get the next page.
    """
    key = _set(query.key_base64)
    if query.key is not UNSET:
        if key is not None:
            raise InvalidRequest("The query has both key and key_base64; give one of them.")
        key = query.key.encode()
    found, after = await request.broker.delayed.list(
        topic, partition=_set(query.partition), from_ms=_time(query.from_, "from") or 0, to_ms=_time(query.to, "to"),
        key=key, limit=query.limit, after=_set(query.after), charge=request.charge_decoded,
    )  # fmt: skip
    return bodies.ScheduledPage(
        scheduled=[_to_body(each, query.as_) for each in found], after=UNSET if after is None else after
    )


@routes.get(_ONE, requires=(READ_TOPIC,), errors=(*_ONE_ERRORS, DecodingBusy), examples=examples.GET_SCHEDULED)
async def get_scheduled(
    request: HttpRequest, topic: str, scheduled: str, query: bodies.OneScheduledQuery
) -> bodies.ScheduledRecord:
    """Show a scheduled record."""
    return _to_body(
        await request.broker.delayed.get(topic, ScheduledId.parse(scheduled), charge=request.charge_decoded), query.as_
    )


@routes.delete(
    _ONE,
    requires=(WRITE_TOPIC,),
    status=204,
    errors=(UnknownTopic, UnknownPartition, UnknownScheduled, AlreadyDelivered),
)
async def cancel_scheduled(request: HttpRequest, topic: str, scheduled: str) -> None:
    """Cancel a scheduled record and its repetitions; idempotent.

    A record is either cancelled or delivered. `already_delivered`: it is in the log.
    """
    for error in await request.broker.delayed.cancel(topic, [ScheduledId.parse(scheduled)]):
        if error is not None:
            raise error


@routes.post(
    _ALL + ":cancel", requires=(WRITE_TOPIC,), keyed=True, errors=(UnknownTopic,), examples=examples.CANCEL_SCHEDULED
)
async def cancel_many(request: HttpRequest, topic: str, body: bodies.CancelScheduled) -> bodies.Cancelled:
    """Cancel scheduled records; returns for each whether it was cancelled or already delivered."""
    limit = request.config.records_per_request_max
    if len(body.ids) > limit:
        raise RequestTooLarge(
            f"$.ids has {len(body.ids)} ids; a request may have at most {limit}.", records_per_request_max=limit
        )
    by_partition: dict[int, dict[str, ScheduledId]] = {}  # 0:1.0 and 0:01.0 are the same id
    for text in body.ids:
        with contextlib.suppress(UnknownScheduled):
            id = ScheduledId.parse(text)
            by_partition.setdefault(id.partition, {})[text] = id
    outcomes: dict[str, CancelResult] = {}
    for ids in by_partition.values():
        with contextlib.suppress(UnknownPartition):
            errors = await request.broker.delayed.cancel(topic, list(ids.values()))
            outcomes.update((text, _outcome(error)) for text, error in zip(ids, errors, strict=True))
    results = [bodies.CancelOutcome(id=text, outcome=outcomes.get(text, "unknown")) for text in body.ids]
    return bodies.Cancelled(results=results)


def _outcome(error: LedgerError | None) -> CancelResult:
    if error is None:
        return "cancelled"
    if isinstance(error, AlreadyDelivered):
        return "already_delivered"
    if isinstance(error, UnknownScheduled):
        return "unknown"
    raise error


@routes.patch(
    _ONE, requires=(WRITE_TOPIC,), errors=(*_ONE_ERRORS, InvalidDelay, DelayTooLong), examples=examples.RESCHEDULE
)
async def reschedule(request: HttpRequest, topic: str, scheduled: str, body: bodies.Reschedule) -> ScheduledRef:
    """Change the delivery time of a scheduled record; its id stays."""
    at_ms, after_ms = delivery(body.deliver_at, body.deliver_after, "$")
    if at_ms is None and after_ms is None:
        raise InvalidDelay("$ has no delivery time; give deliver_at or deliver_after.")
    moved = await request.broker.delayed.reschedule(
        topic, ScheduledId.parse(scheduled), deliver_at_ms=at_ms, deliver_after_ms=after_ms
    )
    return _scheduled_to_body(moved)


@routes.delete(
    _ALL,
    requires=(WRITE_TOPIC,),
    act="scheduled.clear",
    errors=(UnknownTopic, UnknownPartition),
    examples=examples.CLEAR_SCHEDULED,
)
async def clear_scheduled(request: HttpRequest, topic: str, query: bodies.PartitionQuery) -> bodies.Cleared:
    """Cancel all scheduled records of a topic or of one partition."""
    cancelled = await request.broker.delayed.clear(topic, _set(query.partition))
    request.facts = {"cancelled": cancelled}
    return bodies.Cleared(cancelled=cancelled)


@routes.get(_ALL + ":stats", requires=(DESCRIBE_TOPIC,), errors=(UnknownTopic,), examples=examples.DELAY_STATS)
async def delay_stats(request: HttpRequest, topic: str) -> bodies.DelayStats:
    """Count scheduled records, by partition and in total."""
    counts = await request.broker.delayed.counts(topic)
    partitions = [bodies.PartitionDelays(**each._asdict()) for each in counts]
    return bodies.DelayStats(partitions=partitions, total=_total(partitions))


def _total(partitions: Sequence[bodies.PartitionDelays]) -> bodies.Delays:
    """Sums the counts; the due times are the first and the last of all partitions."""
    total = {name: sum(getattr(each, name) for each in partitions) for name in bodies.Delays.__struct_fields__}
    total["first_due_ms"] = min((p.first_due_ms for p in partitions if p.first_due_ms >= 0), default=-1)
    total["last_due_ms"] = max((p.last_due_ms for p in partitions), default=-1)
    return bodies.Delays(**total)


@routes.get(_ALL + ":histogram", requires=(DESCRIBE_TOPIC,), errors=(UnknownTopic,), examples=examples.DELAY_HISTOGRAM)
async def delay_histogram(request: HttpRequest, topic: str, query: bodies.HistogramQuery) -> bodies.Histogram:
    """Count scheduled records by due time, in bins of equal length."""
    begin, end = _time(query.from_, "from"), _time(query.to, "to")
    if begin is not None and end is not None and end <= begin:
        raise InvalidRequest(f"to ({end}) is not after from ({begin}); give a later time as to.")
    bins = await request.broker.delayed.histogram(topic, from_ms=begin, to_ms=end, bins=query.bins)
    return bodies.Histogram(bins=[bodies.Bin(from_ms=first, to_ms=last, records=count) for first, last, count in bins])


@routes.post(
    _ALL + ":rebuild",
    requires=(ALTER_TOPIC,),
    keyed=True,
    optional=True,
    errors=(UnknownTopic, UnknownPartition),
    examples=examples.REBUILD,
)
async def rebuild_scheduled(request: HttpRequest, topic: str, body: bodies.Rebuild) -> bodies.Rebuilt:
    """Rebuild the index of scheduled records from the records; no record is lost or delivered early."""
    return bodies.Rebuilt(entries=await request.broker.delayed.rebuild(topic, body.partition))


def _time(given: str | UnsetType, name: str) -> int | None:
    return None if given is UNSET else moment_ms(given, name, InvalidRequest)


def _set(given: T | UnsetType) -> T | None:
    """A query parameter; None if it is not set."""
    return None if given is UNSET else given


def _scheduled_to_body(found: types.ScheduledRef) -> ScheduledRef:
    return ScheduledRef(id=str(found.id), deliver_at_ms=found.deliver_at_ms)


def _to_body(found: types.Scheduled, form: str) -> bodies.ScheduledRecord:
    key, key_base64 = key_to_body(found.key)
    value, text, base64 = value_to_body(found.value, form)
    headers, headers_base64 = headers_to_body(found.headers)
    return bodies.ScheduledRecord(
        id=str(found.id), deliver_at_ms=found.deliver_at_ms, timestamp_ms=found.timestamp_ms, key=key,
        key_base64=key_base64, value=value, text=text, base64=base64, headers=headers, headers_base64=headers_base64,
        repeat=UNSET if found.repeat is None else found.repeat,
        until_ms=UNSET if found.until_ms is None else found.until_ms,
        times_left=UNSET if found.times_left is None else found.times_left, too_large=found.too_large,
    )  # fmt: skip
