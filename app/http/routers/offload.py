"""/v1/topics/{topic}/cold and /v1/topics/{topic}/partitions/{partition}/cold: history in Parquet.

A job asks for a plan, writes its files, publishes them; the payload then leaves Redis, and the log stays.
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
    """Show which stretches of a topic lie in Parquet, in which files, and what is to be written next.

    `after` of an answer asks for the next page; without it there is none. It begins with more segments of the last
    partition, or with the first of them when that is of another version by now.
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
    """Plan which stretches of a partition are written next.

    The plan is stored before it is answered: whoever asks gets the same one until it is published or abandoned, or
    retention has taken all of it. It ends where sealed ledgers end, below the first open transaction.
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
    """Publish what was written by a plan; then the payload of what it covers leaves Redis.

    Everything is checked first: the segments are the plan's stretches, and their files are in the home. Publishing
    again what was published is no error.
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
    """Give up a plan, and learn which files it named.

    Nothing was taken from Redis for it. Delete those of the files that are there, once nobody writes them any more.
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
    """Put segments in the place of others that cover the same stretch.

    Compaction does this: what it wrote has fewer records, in the same offsets. The files of the others can be deleted
    when nobody reads them any more. A topic that was made again since is refused, whatever its version is.
    """
    swapped = await request.broker.offload.swap(
        topic, partition_number(partition), body.version, body.remove, _segments(body.add), topic_id=body.topic_id
    )
    return bodies.Swapped(**swapped._asdict())


@routes.post(
    _ONE + ":forget", requires=(CLUSTER_ACTION,), keyed=True, optional=True, errors=_GONE, examples=examples.FORGET
)
async def forget_segments(request: HttpRequest, topic: str, partition: str, body: bodies.Forget) -> bodies.Files:
    """Forget the segments that lie wholly below the log start, and learn their files.

    Retention moves the log start over what is in Parquet as over the rest. Brokers do this by themselves then, and
    delete the files where they can; those of this answer are left to the caller.
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
