"""History in Parquet: what a job that writes it asks and tells the broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from redis_ledger.client._async.transport import AsyncTransport, path
from redis_ledger.client.models import OffloadedPartition, OffloadedTopic, OffloadPublished, OffloadSwapped
from redis_ledger.offload.manifest import SEGMENTS_MAX, Plan, Segment

FILES_MS = 60_000  # what the broker may take longer than for other calls: it opens every file

T = TypeVar("T")
Files: TypeAlias = list[str]


class _Page(msgspec.Struct):
    home: str
    partitions: list[OffloadedPartition]
    topic_id: str
    after: str | None = None


class _Planned(msgspec.Struct):
    plan: Plan | None


class _Files(msgspec.Struct):
    files: Files


class AsyncOffload:
    """plan = await client.offload.plan("orders", 0)"""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def describe(self, topic: str, *, page_segments: int = SEGMENTS_MAX) -> OffloadedTopic:
        """Which stretches lie in which files, and what is to be written, for every partition; asked for page by page.

        The segments of a partition are those of one version.  Raises UnknownTopic, also when another topic has got the
        name meanwhile.

        [p.offloaded_offset for p in (await client.offload.describe("orders")).partitions]
        """
        params: dict[str, str | int] = {} if page_segments == SEGMENTS_MAX else {"limit": page_segments}
        found: dict[int, OffloadedPartition] = {}
        while True:
            page = await self._transport.call("GET", path("topics", topic, "cold"), answer=_Page, params=params)
            for each in page.partitions:
                begun = found.get(each.partition)
                found[each.partition] = each if begun is None else begun.continued(each)
            if page.after is None:
                return OffloadedTopic(page.topic_id, page.home, list(found.values()))
            params["after"] = page.after

    async def plan(
        self, topic: str, partition: int, *, seal: bool = False, older_than_ms: int = 0, topic_id: str | None = None
    ) -> Plan | None:
        """What to write next; the plan that is there already, if there is one.  None: there is nothing to write.

        seal           up to the stable offset; the active ledger is sealed first
        older_than_ms  only what was appended so long ago
        topic_id       of the topic that is meant; UnknownTopic is raised for another one of its name
        Raises OffloadDisabled when the broker has no home for it.

        plan = await client.offload.plan("orders", 0, older_than_ms=3_600_000)
        """
        body = {"seal": seal, "older_than_ms": older_than_ms, **_meant(topic_id)}
        return (await self._call(topic, partition, "plan", body, _Planned)).plan

    async def publish(
        self, topic: str, partition: int, plan: Plan | str, segments: Sequence[Segment]
    ) -> OffloadPublished:
        """One segment for each stretch of the plan; their payload leaves Redis.  Publishing again is no error.

        Raises UnknownPlan, SegmentMismatch, OffloadedUnavailable; then nothing has changed.

        (await client.offload.publish("orders", 0, plan, segments)).offloaded_offset
        """
        body = {"plan": plan.id if isinstance(plan, Plan) else plan, "segments": segments}
        return await self._call(topic, partition, "publish", body, OffloadPublished, FILES_MS)

    async def abandon(self, topic: str, partition: int, plan: Plan | str) -> Files:
        """Gives a plan up; the files it named, of which some may be there.  Raises UnknownPlan.

        files = await client.offload.abandon("orders", 0, plan)
        """
        body = {"plan": plan.id if isinstance(plan, Plan) else plan}
        return (await self._call(topic, partition, "abandon", body, _Files)).files

    async def swap(
        self, topic: str, partition: int, version: int, remove: Sequence[int], add: Sequence[Segment], *, topic_id: str
    ) -> OffloadSwapped:
        """Puts segments in the place of those that begin at `remove`; both cover the same stretch, side by side.

        version   of the manifest this was decided by.  Raises ManifestChanged when it is another one by now,
                  SegmentMismatch; then nothing has changed
        topic_id  from `describe`.  Raises UnknownTopic when the topic was deleted, and made again or not

        await client.offload.swap("orders", 0, found.version, [segment.first], [smaller], topic_id=told.topic_id)
        """
        body = {"topic_id": topic_id, "version": version, "remove": remove, "add": add}
        return await self._call(topic, partition, "swap", body, OffloadSwapped, FILES_MS)

    async def forget(self, topic: str, partition: int, *, topic_id: str | None = None) -> Files:
        """Forgets the segments that lie wholly below the log start; their files, which nothing refers to any more.

        topic_id  of the topic that is meant; UnknownTopic is raised for another one of its name

        files = await client.offload.forget("orders", 0)
        """
        return (await self._call(topic, partition, "forget", _meant(topic_id), _Files)).files

    async def _call(
        self, topic: str, partition: int, what: str, body: Mapping[str, object], answer: type[T], wait_ms: int = 0
    ) -> T:
        where = path("topics", topic, "partitions", partition, call=f"/cold:{what}")
        return await self._transport.call("POST", where, body, answer=answer, idempotency_key=True, wait_ms=wait_ms)


def _meant(topic_id: str | None) -> dict[str, str]:
    return {} if topic_id is None else {"topic_id": topic_id}
