"""/v1/topics/{topic}/subscriptions/{name}: the consumers of a subscription."""

from __future__ import annotations

from redis_ledger.app.http.authorization import READ_GROUP, READ_TOPIC
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.routers.subscriptions import known
from redis_ledger.app.http.schemas import consumers as bodies
from redis_ledger.app.http.schemas import examples_consumers as examples
from redis_ledger.app.http.schemas.subscriptions import Redelivering
from redis_ledger.errors import UnknownSubscription, UnknownTopic, WrongSubscriptionKind

routes = Routes("subscriptions")
_ONE = "/v1/topics/{topic}/subscriptions/{name}"


@routes.post(
    _ONE + ":closeConsumer",
    requires=(READ_GROUP, READ_TOPIC),
    keyed=True,
    errors=(UnknownTopic, UnknownSubscription, WrongSubscriptionKind),
    examples=examples.CLOSE_CONSUMER,
)
async def close_consumer(request: HttpRequest, topic: str, name: str, body: bodies.CloseConsumer) -> Redelivering:
    """Close a consumer: its unacknowledged messages are redelivered, and its session ends.

    If it was the active consumer of a `failover` subscription, the stand-by that joined first becomes active at once.
    An `exclusive` subscription is free for another consumer. A consumer that is closed may receive again.
    """
    returned = await request.broker.subscriptions.close_consumer(topic, known(name), body.consumer)
    return Redelivering(redelivering=returned)
