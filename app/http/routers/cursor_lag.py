"""/v1/topics/{topic}/lag/{name} and /v1/lags: how far subscriptions and Kafka groups are behind.

The name is last, since it may contain slashes and colons.
"""

from __future__ import annotations

from msgspec import UNSET

from redis_ledger.app.http.authorization import DESCRIBE_GROUP, DESCRIBE_TOPIC
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.routers.subscriptions import known
from redis_ledger.app.http.schemas import cursor_lag as bodies
from redis_ledger.app.http.schemas import examples_inspection as examples
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.groups.lag import Reader
from redis_ledger.broker.subscriptions.cursor_administration import CursorLag, PartitionLag, totals
from redis_ledger.errors import InvalidTopicName, UnknownSubscription, UnknownTopic

routes = Routes("subscriptions")


@routes.get(
    "/v1/topics/{topic}/lag/{name}",
    requires=(DESCRIBE_GROUP, DESCRIBE_TOPIC),
    errors=(UnknownTopic, UnknownSubscription),
    examples=examples.LAG,
)
async def get_lag(request: HttpRequest, topic: str, name: str, query: bodies.LagQuery) -> bodies.Lag:
    """Show how far a subscription or Kafka group is behind on each partition.

    Markers and aborted records are not counted where at most 500 log entries of a partition have to be read.
    """
    return to_body(await request.broker.cursors.lag(topic, known(name), from_partition=query.from_partition))


@routes.get("/v1/lags", requires=(), errors=(InvalidTopicName, UnknownTopic), examples=examples.LAGS)
async def list_lags(request: HttpRequest, query: bodies.LagPageQuery) -> bodies.LagPage:
    """List how far subscriptions and Kafka groups are behind, those that the caller may describe.

    Of a topic, of a name (such as a Kafka group on all its topics), or of all. Positions are read, and not the log, so
    a lag is often an upper bound.
    """

    def may_see(reader: Reader) -> bool:
        return request.allows(Op.DESCRIBE, Resource.TOPIC, reader.topic) and request.allows(
            Op.DESCRIBE, Resource.GROUP, reader.name
        )

    topic, name = (None if each is UNSET else each for each in (query.topic, query.name))
    if topic is not None and not request.allows(Op.DESCRIBE, Resource.TOPIC, topic):
        return bodies.LagPage(lags=[])
    page = await request.broker.cursors.lags(topic, name, limit=query.limit, after=query.after, may_see=may_see)
    found = [
        bodies.TotalLag(
            topic=each.reader.topic, name=each.reader.name, kind=each.reader.kind, lag=each.records,
            lag_is_exact=each.is_exact,
        )
        for each in page.lags
    ]  # fmt: skip
    return bodies.LagPage(lags=found, next=UNSET if page.following is None else page.following)


def to_body(found: CursorLag) -> bodies.Lag:
    records, is_exact = totals(found.partitions)
    oldest = [each.oldest_ms for each in found.partitions if each.oldest_ms is not None]
    return bodies.Lag(
        topic=found.reader.topic, name=found.reader.name, kind=found.reader.kind, lag=records, lag_is_exact=is_exact,
        bytes=sum(each.bytes for each in found.partitions), partitions=[_partition(each) for each in found.partitions],
        oldest_ms=min(oldest, default=UNSET),
        next_partition=UNSET if found.next_partition is None else found.next_partition,
    )  # fmt: skip


def _partition(found: PartitionLag) -> bodies.PartitionLag:
    return bodies.PartitionLag(
        partition=found.partition, position=found.position, stable_offset=found.stable_offset,
        end_offset=found.end_offset, lag=found.records, lag_is_exact=found.is_exact, leased=found.leased,
        pending=found.pending, undecided=found.undecided, redelivered=found.redelivered, bytes=found.bytes,
        oldest_ms=UNSET if found.oldest_ms is None else found.oldest_ms,
    )  # fmt: skip
