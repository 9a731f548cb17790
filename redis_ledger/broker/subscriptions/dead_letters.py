"""Dead letters: moves messages that were delivered too often to another topic, and back on request.

The rules are in dead_letter_rules.py, the moves in dead_letter_moves.py.  Kafka consumer groups have no dead letters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from math import inf
from typing import NamedTuple

from redis_ledger.broker.subscriptions.dead_letter_moves import (
    REASON,
    TIME,
    TOPIC,
    DeadLetterMover,
    from_dead_letter,
)
from redis_ledger.broker.subscriptions.dead_letter_rules import DELIVERIES_MAX, DeadLetterRule, DeadLetterRules
from redis_ledger.broker.subscriptions.service import Subscriptions
from redis_ledger.broker.types import Message, always, never
from redis_ledger.decoding.budget import Charge
from redis_ledger.errors import InvalidRequest, WrongSubscriptionKind
from redis_ledger.ids import MessageId

LOOKED_AT_MAX = 10_000
PUTS_BACK = "put-back"  # the consumer that receives dead letters which are put back


class PutBackFilter(NamedTuple):
    """Which dead letters to put back; all of it must hold.  from_ms, until_ms: when they became dead letters."""

    reason: str | None = None
    topic: str | None = None
    from_ms: int | None = None
    until_ms: int | None = None

    def includes(self, message: Message) -> bool:
        headers = {header: (value or b"").decode(errors="replace") for header, value in message.headers}
        if self.reason is not None and headers.get(REASON) != self.reason:
            return False
        if self.topic is not None and headers.get(TOPIC) != self.topic:
            return False
        if self.from_ms is None and self.until_ms is None:
            return True
        at = headers.get(TIME, "")
        return at.isdecimal() and (self.from_ms or 0) <= int(at) < (inf if self.until_ms is None else self.until_ms)


EVERY = PutBackFilter()


class DeadLetters:
    """ensure_topic: creates a topic that does not exist, if its second argument returns True."""

    def __init__(
        self,
        rules: DeadLetterRules,
        mover: DeadLetterMover,
        subscriptions: Subscriptions,
        ensure_topic: Callable[[str, Callable[[], bool]], Awaitable[object]],
    ) -> None:
        self.rules, self._mover, self._subscriptions, self._ensure_topic = rules, mover, subscriptions, ensure_topic

    async def set(
        self,
        topic: str,
        name: str,
        max_deliveries: int,
        to: str,
        *,
        retry_topic: str = "",
        max_attempts: int = 0,
        expire_ms: int = 0,
        may_create: Callable[[], bool] = always,
        may_create_retry: Callable[[], bool] = always,
    ) -> None:
        """Creates `to` if it does not exist, and the retry topic with a subscription of this name.

        Raises UnknownTopic, UnknownSubscription, WrongSubscriptionKind, InvalidRequest; TopicForbidden without
        may_create or may_create_retry.
        """
        if not 1 <= max_deliveries <= DELIVERIES_MAX:
            raise InvalidRequest(f"max_deliveries is 1 to {DELIVERIES_MAX}, not {max_deliveries}.")
        if to == topic:
            raise InvalidRequest("A topic cannot take its own dead letters: they would be delivered again.")
        if retry_topic in (topic, to):
            raise InvalidRequest("A retry topic is neither the topic nor its dead-letter topic.")
        if not 0 <= max_attempts <= DELIVERIES_MAX or (max_attempts and not retry_topic):
            raise InvalidRequest(f"max_attempts is 0 to {DELIVERIES_MAX}, and needs a retry topic.")
        if expire_ms < 0:
            raise InvalidRequest(f"expire_ms is at least 0, not {expire_ms}.")
        stats = await self._subscriptions.stats(topic, name)
        if stats.kind == "kafka":
            raise WrongSubscriptionKind(f"{name!r} is a Kafka consumer group; only subscriptions have dead letters.")
        await self._ensure_topic(to, may_create)
        if retry_topic:
            await self._ensure_topic(retry_topic, may_create_retry)
            await self._subscriptions.create(retry_topic, name)
        rule = DeadLetterRule(max_deliveries, to, stats.topic_id, retry_topic, max_attempts, expire_ms)
        await self.rules.set(topic, name, rule)

    async def put_back(
        self,
        topic: str,
        name: str,
        limit: int,
        *,
        only: PutBackFilter = EVERY,
        may_write: Callable[[str], bool] = lambda topic: True,
        done: Counter[str] | None = None,
        charge: Charge | None = None,
    ) -> Counter[str]:
        """Moves up to `limit` dead letters back, and returns how many went to each topic.

        only: those to move; the next LOOKED_AT_MAX messages of the subscription are looked at then.
        A dead letter stays if it has no source topic, if no rule of that topic names this one (the rule decides, not
        the header: every producer of dead letters can write the header), or if the caller may not write that topic.
        done: incremented as messages move, also if this raises.  charge: gets the bytes that are decoded.
        Raises as receive, such as ConsumerBusy.
        """
        await self.rules.refresh()
        done = Counter() if done is None else done
        seen, stay, last = 0, list[MessageId](), dict[int, MessageId]()
        sources = {source for (source, _), rule in self.rules.by_subscription.items() if rule.topic == topic}
        looked_at_max = limit if only == EVERY else LOOKED_AT_MAX
        try:
            while seen < looked_at_max and done.total() < limit:
                most = min(limit - done.total(), looked_at_max - seen)
                messages = await self._subscriptions.receive(
                    topic, name, PUTS_BACK, max_records=most, after=list(last.values()), charge=charge
                )
                if not messages:
                    break
                seen += len(messages)
                last |= {each.id.partition: each.id for each in messages}
                stay += [each.id for each in messages]
                moves = [
                    move
                    for each in messages
                    if only.includes(each)
                    and (move := from_dead_letter(each)) is not None
                    and move.topic in sources
                    and may_write(move.topic)
                ]
                gone = set(await self._mover.move(topic, name, PUTS_BACK, moves, never)) if moves else set()
                done.update(move.topic for move in moves if move.id in gone)
                stay = [id for id in stay if id not in gone]
        finally:
            if stay:
                await self._subscriptions.nack(topic, name, PUTS_BACK, stay, unseen=True)
        return done
