"""Records that wait to be delivered: scheduling them one by one or again and again, looking, cancelling, moving."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, TypeAlias

import msgspec

from redis_ledger.client import answers, arguments
from redis_ledger.client._async.transport import AsyncTransport, path
from redis_ledger.client.bodies import ResultBody, ScheduledBody, body_of, scheduled_of
from redis_ledger.client.deliveries import Moment, Span, delivery_of, moment_ms
from redis_ledger.client.models import (
    Bin,
    CancelOutcome,
    Headers,
    PlacedRecord,
    Record,
    RecordPosition,
    ScheduledPosition,
    ScheduledRecord,
    ScheduledStats,
)
from redis_ledger.client.values import key_bytes
from redis_ledger.errors import InvalidDelay
from redis_ledger.ids import ScheduledId

PAGE_RECORDS = 500

# Methods named `list` would hide the type within their class.
Outcomes: TypeAlias = list[CancelOutcome]
Bins: TypeAlias = list[Bin]


class _Scheduled(msgspec.Struct):
    scheduled: list[PlacedRecord]
    delivered: list[ResultBody] = []


class _Page(msgspec.Struct):
    scheduled: list[ScheduledBody]
    after: str | None = None


class _Cancelled(msgspec.Struct):
    results: list[CancelOutcome]


class _Cleared(msgspec.Struct):
    cancelled: int


class _Histogram(msgspec.Struct):
    bins: list[Bin]


class _Rebuilt(msgspec.Struct):
    entries: int


class AsyncScheduled:
    """await client.scheduled.cancel("reminders", id)

    An id is that of `position.scheduled`, or its text such as "0:17.0".
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def schedule(
        self,
        topic: str,
        value: Any,
        *,
        key: str | bytes | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        deliver_at: Moment | None = None,
        deliver_after: Span | None = None,
        repeat: str | None = None,
        until: Moment | None = None,
        times: int | None = None,
        timezone: str | None = None,
    ) -> RecordPosition:
        """One record; for many `producer.send` is faster, and takes the same times.

        repeat    "PT1H", or a cron expression of five fields, read in `timezone` (UTC); begins at deliver_at, or at its
                  next time
        until     it ends then
        times     it ends after so many deliveries

        id = (await client.scheduled.schedule("reports", {"kind": "daily"}, repeat="0 7 * * *")).scheduled
        """
        body = body_of(Record(value, key, headers, partition, timestamp_ms, deliver_at, deliver_after))
        rest = {
            "repeat": repeat,
            "until": None if until is None else moment_ms(until),
            "times": times,
            "timezone": timezone,
        }
        body.update((name, given) for name, given in rest.items() if given is not None)
        answer = await self._transport.call(
            "POST", path("topics", topic, "scheduled"), body, answer=_Scheduled, idempotency_key=True
        )
        if answer.scheduled:
            return _position(answer.scheduled[0])
        if answer.delivered:
            return RecordPosition(answer.delivered[0].partition, answer.delivered[0].base_offset)
        return RecordPosition(-1, -1)  # an earlier attempt did it, too long ago to say where

    async def get(self, topic: str, id: ScheduledId | str) -> ScheduledRecord:
        """Raises UnknownScheduled, AlreadyDelivered, AlreadyCancelled.

        (await client.scheduled.get("reminders", "0:17.0")).deliver_at
        """
        found = await self._transport.call("GET", path("topics", topic, "scheduled", str(id)), answer=ScheduledBody)
        return scheduled_of(found, topic)

    async def list(
        self,
        topic: str,
        *,
        from_: Moment | None = None,
        to: Moment | None = None,
        key: str | bytes | None = None,
        partition: int | None = None,
        page_records: int = PAGE_RECORDS,
    ) -> AsyncIterator[ScheduledRecord]:
        """What waits, by the time it is due; asked for page by page.

        from_, to  only what is due from then on, and before then

        async for reminder in client.scheduled.list("reminders", key="alice"):
            print(reminder.id, reminder.deliver_at, reminder.json())
        """
        params: dict[str, str | int] = {"limit": page_records, **_range(from_, to)}
        if partition is not None:
            params["partition"] = partition
        if key is not None:
            params.update(_key(key))
        while True:
            page = await self._transport.call("GET", path("topics", topic, "scheduled"), answer=_Page, params=params)
            for found in page.scheduled:
                yield scheduled_of(found, topic)
            if page.after is None:
                return
            params["after"] = page.after

    async def cancel(self, topic: str, id: ScheduledId | str) -> None:
        """It will not be delivered, nor repeated; cancelling again is no error.  Raises AlreadyDelivered when it is in
        the log, UnknownScheduled.

        await client.scheduled.cancel("reminders", "0:17.0")
        """
        await self._transport.call("DELETE", path("topics", topic, "scheduled", str(id)), answer=type(None))

    async def cancel_many(self, topic: str, ids: Sequence[ScheduledId | str]) -> Outcomes:
        """What became of each, in their order: cancelled, already_delivered or unknown.

        {each.id: each.outcome for each in await client.scheduled.cancel_many("reminders", ids)}
        """
        body = {"ids": [str(id) for id in arguments.sequence("ids", ids)]}
        found = await self._transport.call(
            "POST", path("topics", topic, call="/scheduled:cancel"), body, answer=_Cancelled
        )
        return found.results

    async def reschedule(
        self,
        topic: str,
        id: ScheduledId | str,
        *,
        deliver_at: Moment | None = None,
        deliver_after: Span | None = None,
    ) -> ScheduledPosition:
        """Another time for the same record, under the same id.  Raises as `get` does.

        await client.scheduled.reschedule("reminders", "0:17.0", deliver_after=timedelta(hours=1))
        """
        delivery = delivery_of(deliver_at, deliver_after)
        if delivery is None:
            raise InvalidDelay("Say when; give deliver_at or deliver_after.")
        where = path("topics", topic, "scheduled", str(id))
        return _position(await self._transport.call("PATCH", where, delivery.members(), answer=PlacedRecord))

    async def clear(self, topic: str, partition: int | None = None) -> int:
        """Cancels all that waits in the topic, or in one partition; how many records that were.

        await client.scheduled.clear("reminders")
        """
        params: dict[str, str | int] = {} if partition is None else {"partition": partition}
        where = path("topics", topic, "scheduled")
        response = await self._transport.send("DELETE", where, params=params)
        if not response.content:
            return 0  # the answer was lost, and the topic is gone since
        return answers.decode("DELETE", where, response, _Cleared).cancelled

    async def stats(self, topic: str) -> ScheduledStats:
        """(await client.scheduled.stats("reminders")).total.records"""
        return await self._transport.call("GET", path("topics", topic, call="/scheduled:stats"), answer=ScheduledStats)

    async def histogram(
        self, topic: str, *, from_: Moment | None = None, to: Moment | None = None, bins: int = 24
    ) -> Bins:
        """How many records are due when, in parts of equal length between the first and the last due time, or within
        the range given.

        [(each.from_ms, each.records) for each in await client.scheduled.histogram("reminders", bins=7)]
        """
        params = {"bins": bins, **_range(from_, to)}
        found = await self._transport.call(
            "GET", path("topics", topic, call="/scheduled:histogram"), answer=_Histogram, params=params
        )
        return found.bins

    async def rebuild(self, topic: str, partition: int | None = None) -> int:
        """Makes the index again from the records that wait; how many entries it has.

        await client.scheduled.rebuild("reminders")
        """
        body = {} if partition is None else {"partition": partition}
        found = await self._transport.call(
            "POST", path("topics", topic, call="/scheduled:rebuild"), body, answer=_Rebuilt
        )
        return found.entries


def _position(found: PlacedRecord) -> ScheduledPosition:
    return ScheduledPosition(ScheduledId.parse(found.id), found.deliver_at_ms)


def _range(from_: Moment | None, to: Moment | None) -> dict[str, str | int]:
    given = {"from": from_, "to": to}
    return {name: moment_ms(moment) for name, moment in given.items() if moment is not None}


def _key(key: str | bytes) -> dict[str, str]:
    """A key that is not text goes as base64."""
    held = key_bytes(key)
    body = body_of(Record(None, held))
    return {name: body[name] for name in ("key", "key_base64") if name in body}
