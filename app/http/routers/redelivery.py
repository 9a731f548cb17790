"""How messages of a subscription come again or leave it: back-off, retry topic, dead letters."""

from __future__ import annotations

from collections import Counter
from functools import partial

from redis_ledger.app.http.authorization import READ_GROUP, READ_TOPIC, create_check, transaction_principal
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.routers.subscriptions import known, limit, message_ids, to_body
from redis_ledger.app.http.schemas import examples
from redis_ledger.app.http.schemas import subscriptions as bodies
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.auth.requirement import each_name
from redis_ledger.broker.subscriptions.dead_letters import PutBackFilter
from redis_ledger.broker.subscriptions.leasing import DECODED_BYTES_MAX
from redis_ledger.broker.subscriptions.reconsume import Reconsumed
from redis_ledger.broker.subscriptions.redelivery_rules import DELAY_MS_MAX
from redis_ledger.errors import (
    ConsumerBusy,
    DecodingBusy,
    DelayTooLong,
    InvalidDelay,
    InvalidPosition,
    InvalidRequest,
    InvalidTopicName,
    NotDelivered,
    NotYourMessage,
    OffloadedDamaged,
    OffloadedUnavailable,
    TooManyTransactions,
    TransactionAbortOnly,
    TransactionConflict,
    TransactionsDisabled,
    TransactionTimedOut,
    UnknownPartition,
    UnknownSubscription,
    UnknownTopic,
    WrongSubscriptionKind,
)

routes = Routes("subscriptions")
_ONE = "/v1/topics/{topic}/subscriptions/{name}"
MAX_BY_MIN = 64
_MOVE_ERRORS = (
    UnknownTopic, UnknownSubscription, UnknownPartition, InvalidPosition, NotYourMessage, NotDelivered,
    WrongSubscriptionKind, TransactionConflict, TransactionAbortOnly, TransactionTimedOut, TooManyTransactions,
    TransactionsDisabled, DecodingBusy, OffloadedUnavailable, OffloadedDamaged,
)  # fmt: skip


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


@routes.post(
    _ONE + ":reconsumeLater",
    requires=(READ_GROUP, READ_TOPIC),
    keyed=True,
    errors=(*_MOVE_ERRORS, InvalidDelay, DelayTooLong),
    examples=examples.RECONSUME_LATER,
)
async def reconsume_later(
    request: HttpRequest, topic: str, name: str, body: bodies.ReconsumeLater
) -> bodies.Reconsumed:
    """Acknowledge messages and write them to the retry topic, which delivers them after `delay_ms`; all or nothing.

    The rule of the subscription names the retry topic, whose subscription of the same name delivers them. Messages that
    were there `max_attempts` times are moved to the dead-letter topic instead. Headers have the attempt
    (`RECONSUMETIMES`), the first topic (`REAL_TOPIC`) and position (`ORIGIN_MESSAGE_ID`), and the reason.
    """
    with request.budget(DECODED_BYTES_MAX) as budget:
        done = await request.broker.reconsume.later(
            topic, known(name), body.consumer, message_ids(request, body.ids), body.delay_ms, budget,
            reason=body.reason, nonce=_nonce(request), principal=transaction_principal(request),
        )  # fmt: skip
    return _moved(request, done)


@routes.post(
    _ONE + ":deadLetter",
    requires=(READ_GROUP, READ_TOPIC),
    keyed=True,
    errors=_MOVE_ERRORS,
    examples=examples.DEAD_LETTER,
)
async def dead_letter(request: HttpRequest, topic: str, name: str, body: bodies.DeadLetter) -> bodies.Reconsumed:
    """Move messages to the dead-letter topic of the subscription's rule now; all or nothing.

    Headers of a dead letter have its origin, the number of deliveries, `dead-letter-reason` (here `explicit`) and the
    given reason, as `dead-letter-detail`.
    """
    with request.budget(DECODED_BYTES_MAX) as budget:
        done = await request.broker.reconsume.dead_letter(
            topic, known(name), body.consumer, message_ids(request, body.ids), budget,
            reason=body.reason, nonce=_nonce(request), principal=transaction_principal(request),
        )  # fmt: skip
    return _moved(request, done)


@routes.post(
    _ONE + ":deadLetters",
    requires=(READ_GROUP, READ_TOPIC, each_name(Op.WRITE, Resource.TOPIC)),
    act="subscription.deadLetters",
    keyed=True,
    errors=(UnknownTopic, UnknownSubscription, InvalidTopicName, WrongSubscriptionKind),
    examples=examples.SET_DEAD_LETTERS,
)
async def set_dead_letters(
    request: HttpRequest, topic: str, name: str, body: bodies.SetDeadLetters
) -> bodies.Subscription:
    """Set the number of deliveries after which a message is moved to a dead-letter topic.

    The topic is created if it does not exist, and so is `retry_topic`, with a subscription of this name: messages wait
    there that are reconsumed later. `max_deliveries` 0 removes the rule. Changes take effect on this broker
    immediately and on the others within two seconds. Kafka consumer groups have no dead letters.
    """
    if (body.max_deliveries == 0) is not (body.topic is None):
        raise InvalidRequest("$: give max_deliveries and topic, or max_deliveries 0 alone.")
    request.facts = {"max_deliveries": body.max_deliveries, "to": body.topic or ""}
    dead_letters = request.broker.dead_letters
    if body.topic is None:
        await request.broker.subscriptions.stats(topic, known(name))
        await dead_letters.rules.remove(topic, name)
    else:
        request.check(Op.WRITE, Resource.TOPIC, body.topic)
        where = create_check(request, body.topic)
        if body.retry_topic is not None:
            request.check(Op.WRITE, Resource.TOPIC, body.retry_topic)
        await dead_letters.set(
            topic, known(name), body.max_deliveries, body.topic, retry_topic=body.retry_topic or "",
            max_attempts=body.max_attempts, expire_ms=body.expire_ms, may_create=where,
            may_create_retry=create_check(request, body.retry_topic or ""),
        )  # fmt: skip
    return await to_body(request, await request.broker.subscriptions.stats(topic, name))


@routes.post(
    _ONE + ":putBack",
    requires=(READ_GROUP, READ_TOPIC, each_name(Op.WRITE, Resource.TOPIC)),
    act="subscription.putBack",
    keyed=True,
    optional=True,
    errors=(
        UnknownTopic, UnknownSubscription, WrongSubscriptionKind, ConsumerBusy, OffloadedUnavailable, OffloadedDamaged,
    ),
    examples=examples.PUT_BACK,
)  # fmt: skip
async def put_back(request: HttpRequest, topic: str, name: str, body: bodies.PutBack) -> bodies.PutBackResult:
    """Return dead letters to their original topics, up to `limit` of the next messages of the subscription.

    Each message is produced unchanged and acknowledged here, in one transaction. With `reason`, `origin_topic`,
    `from_ms` or `until_ms`, the next 10 000 messages are looked at, and those that match are returned. A message stays
    if it has no original topic, or if that topic does not exist, has no dead-letter rule for this topic, or may not be
    written by the caller.
    """
    limit(request, body.limit, "$.limit")
    done = Counter[str]()
    request.facts = {"to": done}
    await request.broker.dead_letters.put_back(
        topic, known(name), body.limit,
        only=PutBackFilter(body.reason, body.origin_topic, body.from_ms, body.until_ms),
        may_write=partial(request.allows, Op.WRITE, Resource.TOPIC), done=done,
        charge=request.charge_decoded,
    )  # fmt: skip
    return bodies.PutBackResult(put_back=done.total())


def _nonce(request: HttpRequest) -> str:
    return "" if request.claim is None else request.claim.nonce


def _moved(request: HttpRequest, done: Reconsumed) -> bodies.Reconsumed:
    if request.claim is not None:
        request.claim.when_kept(partial(request.broker.execute.answered, request.claim.nonce))
    return bodies.Reconsumed(retried=done.retried, dead=done.dead)
