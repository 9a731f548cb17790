"""How messages of a subscription come again: /v1/topics/{topic}/subscriptions/{name}:redelivery."""

from __future__ import annotations

from redis_ledger.app.http.authorization import READ_GROUP, READ_TOPIC
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.routers.subscriptions import known, to_body
from redis_ledger.app.http.schemas import examples
from redis_ledger.app.http.schemas import subscriptions as bodies
from redis_ledger.broker.subscriptions.redelivery_rules import DELAY_MS_MAX
from redis_ledger.errors import UnknownSubscription, UnknownTopic, WrongSubscriptionKind

routes = Routes("subscriptions")
_ONE = "/v1/topics/{topic}/subscriptions/{name}"
MAX_BY_MIN = 64


@routes.post(
    _ONE + ":redelivery",
    requires=(READ_GROUP, READ_TOPIC),
    act="subscription.redelivery",
    keyed=True,
    errors=(UnknownTopic, UnknownSubscription, WrongSubscriptionKind),
    examples=examples.SET_REDELIVERY,
)
async def set_redelivery(
    request: HttpRequest, topic: str, name: str, body: bodies.SetRedelivery
) -> bodies.Subscription:
    """Set how long a message waits that was nacked or not acknowledged in time, before it is delivered again.

    The wait grows with each delivery. Without a rule there is none; `min_ms` 0 removes the rule. A nack with a
    `delay_ms` of its own has that instead. Changes take effect on this broker immediately and on the others within
    two seconds. Kafka consumer groups have no redelivery.
    """
    max_ms = min(body.min_ms * MAX_BY_MIN, DELAY_MS_MAX) if body.max_ms is None else body.max_ms
    request.facts = {"min_ms": body.min_ms, "factor": body.factor, "max_ms": max_ms}
    await request.broker.redelivery.set(topic, known(name), body.min_ms, body.factor, max_ms)
    return await to_body(request, await request.broker.subscriptions.stats(topic, name))
