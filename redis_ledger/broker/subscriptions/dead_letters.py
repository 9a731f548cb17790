"""Dead letters: moves messages that were delivered too often to another topic, and back on request.

The rules are in dead_letter_rules.py, the moves in dead_letter_moves.py.  Kafka consumer groups have no dead letters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from redis_ledger.broker.subscriptions.dead_letter_moves import DeadLetterMover, from_dead_letter
from redis_ledger.broker.subscriptions.dead_letter_rules import DELIVERIES_MAX, DeadLetterRule, DeadLetterRules
from redis_ledger.broker.subscriptions.service import Subscriptions
from redis_ledger.broker.types import always, never
from redis_ledger.decoding.budget import Charge
from redis_ledger.errors import InvalidRequest, WrongSubscriptionKind
from redis_ledger.ids import MessageId

PUTS_BACK = "put-back"  # the consumer that receives dead letters which are put back


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
        self, topic: str, name: str, max_deliveries: int, to: str, *, may_create: Callable[[], bool] = always
    ) -> None:
        """Creates `to` if it does not exist.  Raises UnknownTopic, UnknownSubscription, WrongSubscriptionKind,
        InvalidRequest; TopicForbidden without may_create."""
        if not 1 <= max_deliveries <= DELIVERIES_MAX:
            raise InvalidRequest(f"max_deliveries is 1 to {DELIVERIES_MAX}, not {max_deliveries}.")
        if to == topic:
            raise InvalidRequest("A topic cannot take its own dead letters: they would be delivered again.")
        stats = await self._subscriptions.stats(topic, name)
        if stats.kind == "kafka":
            raise WrongSubscriptionKind(f"{name!r} is a Kafka consumer group; only subscriptions have dead letters.")
        await self._ensure_topic(to, may_create)
        await self.rules.set(topic, name, DeadLetterRule(max_deliveries, to, stats.topic_id))

    async def put_back(
        self,
        topic: str,
        name: str,
        limit: int,
        *,
        may_write: Callable[[str], bool] = lambda topic: True,
        done: Counter[str] | None = None,
        charge: Charge | None = None,
    ) -> Counter[str]:
        """Moves up to `limit` dead letters back, and returns how many went to each topic.

        A dead letter stays if it has no source topic, if no rule of that topic names this one (the rule decides, not
        the header: every producer of dead letters can write the header), or if the caller may not write that topic.
        done: incremented as messages move, also if this raises.  charge: gets the bytes that are decoded.
        Raises as receive, such as ConsumerBusy.
        """
        await self.rules.refresh()
        done = Counter() if done is None else done
        seen, stay, last = 0, list[MessageId](), dict[int, MessageId]()
        sources = {source for (source, _), rule in self.rules.by_subscription.items() if rule.topic == topic}
        try:
            while seen < limit:
                messages = await self._subscriptions.receive(
                    topic, name, PUTS_BACK, max_records=limit - seen, after=list(last.values()), charge=charge
                )
                if not messages:
                    break
                seen += len(messages)
                last |= {each.id.partition: each.id for each in messages}
                stay += [each.id for each in messages]
                moves = [
                    move
                    for each in messages
                    if (move := from_dead_letter(each)) is not None and move.topic in sources and may_write(move.topic)
                ]
                gone = set(await self._mover.move(topic, name, PUTS_BACK, moves, never)) if moves else set()
                done.update(move.topic for move in moves if move.id in gone)
                stay = [id for id in stay if id not in gone]
        finally:
            if stay:
                await self._subscriptions.nack(topic, name, PUTS_BACK, stay, unseen=True)
        return done
