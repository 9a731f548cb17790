"""/v1/topics/{topic}/cold and /v1/topics/{topic}/partitions/{partition}/cold: offloaded records.

A job requests a plan, writes the files and publishes them.  The payload is then deleted from Redis; offsets stay
readable.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from redis_ledger.app.http.authorization import CLUSTER_ACTION, DESCRIBE_TOPIC
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.routers.records import partition_number
from redis_ledger.app.http.schemas import examples_offload as examples
from redis_ledger.app.http.schemas import offload as bodies
from redis_ledger.errors import (
    ManifestChanged,
    OffloadDisabled,
    OffloadedUnavailable,
    SegmentMismatch,
    TopicBusy,
    UnknownPartition,
    UnknownPlan,
    UnknownTopic,
)
from redis_ledger.offload import manifest

routes = Routes("offload")
_ONE = "/v1/topics/{topic}/partitions/{partition}/cold"
_GONE = (UnknownTopic, UnknownPartition)


@routes.get("/v1/topics/{topic}/cold", requires=(DESCRIBE_TOPIC,), errors=(UnknownTopic,), examples=examples.OFFLOADED)
async def describe_offloaded(request: HttpRequest, topic: str, query: bodies.OffloadQuery) -> bodies.OffloadedTopic:
    """Show the offloaded segments of a topic, their files, and the current plans.

    If the response has `after`, send it to get the next page. The page continues the segments of the last partition, or
    starts with its first segment if the manifest has changed since.
    """
    page = await request.broker.offload.page(
        topic, limit=query.limit, after=None if query.after is UNSET else query.after
    )
    return bodies.OffloadedTopic(
        topic_id=page.topic_id,
        home=request.config.offload_home,
        partitions=[
            bodies.OffloadedPartition(
                partition=number, start_offset=each.start, stable_offset=each.stable,
                offloaded_offset=each.offloaded_offset, version=each.manifest.version, plan=_to_body(each.plan),
                segments=[bodies.Segment(**msgspec.structs.asdict(segment)) for segment in each.manifest.segments],
            )
            for number, each in enumerate(page.states, page.first)
        ],
        after=UNSET if page.after is None else page.after,
    )  # fmt: skip


@routes.post(
    _ONE + ":plan",
    requires=(CLUSTER_ACTION,),
    keyed=True,
    optional=True,
    errors=(*_GONE, OffloadDisabled, TopicBusy),
    examples=examples.PLAN,
)
async def plan_offload(request: HttpRequest, topic: str, partition: str, body: bodies.PlanOffload) -> bodies.Planned:
    """Plan which offset ranges of a partition are offloaded next.

    The plan is stored before it is returned. Further requests return the same plan until it is published or abandoned,
    or retention has trimmed its whole range. It ends at the end of the sealed ledgers, below the first open
    transaction.
    """
    found = await request.broker.offload.plan(
        topic, partition_number(partition), topic_id=body.topic_id, seal=body.seal, older_than_ms=body.older_than_ms
    )
    return bodies.Planned(plan=_to_body(found))


@routes.post(
    _ONE + ":publish",
    requires=(CLUSTER_ACTION,),
    keyed=True,
    errors=(*_GONE, OffloadDisabled, UnknownPlan, SegmentMismatch, OffloadedUnavailable),
    examples=examples.PUBLISH,
)
async def publish_segments(request: HttpRequest, topic: str, partition: str, body: bodies.Publish) -> bodies.Published:
    """Publish the files of a plan, then delete the payload of its range from Redis.

    The broker first checks that the segments are the ranges of the plan and that their files exist in the offload home.
    Publishing the same plan again is not an error.
    """
    published = await request.broker.offload.publish(
        topic, partition_number(partition), body.plan, _segments(body.segments)
    )
    return bodies.Published(
        offloaded_offset=published.offloaded_offset,
        ledgers_dropped=published.ledgers_dropped,
        bytes_dropped=published.bytes_dropped,
    )


@routes.post(
    _ONE + ":abandon", requires=(CLUSTER_ACTION,), keyed=True, errors=(*_GONE, UnknownPlan), examples=examples.ABANDON
)
async def abandon_plan(request: HttpRequest, topic: str, partition: str, body: bodies.Abandon) -> bodies.Files:
    """Abandon a plan and return its file names.

    No payload has been deleted from Redis for it. Delete the files that exist after their writers have stopped.
    """
    return bodies.Files(files=await request.broker.offload.abandon(topic, partition_number(partition), body.plan))


@routes.post(
    _ONE + ":swap",
    requires=(CLUSTER_ACTION,),
    keyed=True,
    errors=(*_GONE, OffloadDisabled, ManifestChanged, SegmentMismatch, OffloadedUnavailable),
    examples=examples.SWAP,
)
async def swap_segments(request: HttpRequest, topic: str, partition: str, body: bodies.Swap) -> bodies.Swapped:
    """Replace segments by others that cover the same range.

    Compaction uses this: its segments have fewer records at the same offsets. Delete the replaced files when no reader
    uses them any more. The request is rejected if the topic was deleted and created again, whatever its version.
    """
    swapped = await request.broker.offload.swap(
        topic, partition_number(partition), body.version, body.remove, _segments(body.add), topic_id=body.topic_id
    )
    return bodies.Swapped(**swapped._asdict())


@routes.post(
    _ONE + ":forget", requires=(CLUSTER_ACTION,), keyed=True, optional=True, errors=_GONE, examples=examples.FORGET
)
async def forget_segments(request: HttpRequest, topic: str, partition: str, body: bodies.Forget) -> bodies.Files:
    """Remove the segments that lie completely below the log start offset, and return their files.

    Retention also applies to offloaded records. Brokers remove expired segments automatically and delete their files if
    they have write access; the files in this response are left to the caller.
    """
    found = await request.broker.offload.forget(topic, partition_number(partition), topic_id=body.topic_id)
    return bodies.Files(files=found)


def _to_body(plan: manifest.Plan | None) -> bodies.Plan | None:
    if plan is None:
        return None
    return bodies.Plan(
        id=plan.id, stretches=[bodies.Stretch(first=s.first, end=s.end, file=s.file) for s in plan.stretches]
    )


def _segments(given: Sequence[bodies.Segment]) -> list[manifest.Segment]:
    return [manifest.Segment(**msgspec.structs.asdict(each)) for each in given]
