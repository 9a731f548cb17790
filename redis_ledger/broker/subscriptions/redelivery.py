"""Sets the redelivery rules of subscriptions.  Kafka consumer groups have none: Kafka has no redelivery."""

from __future__ import annotations

from redis_ledger.broker.subscriptions.redelivery_rules import DELAY_MS_MAX, FACTOR_MAX, RedeliveryRule, RedeliveryRules
from redis_ledger.broker.subscriptions.service import Subscriptions
from redis_ledger.errors import InvalidRequest, WrongSubscriptionKind


class Redelivery:
    def __init__(self, rules: RedeliveryRules, subscriptions: Subscriptions) -> None:
        self.rules, self._subscriptions = rules, subscriptions

    async def set(self, topic: str, name: str, min_ms: int, factor: float, max_ms: int) -> None:
        """min_ms 0 removes the rule.

        Raises UnknownTopic, UnknownSubscription, WrongSubscriptionKind, InvalidRequest.
        """
        stats = await self._subscriptions.stats(topic, name)
        if min_ms == 0:
            await self.rules.remove(topic, name)
            return
        if not 1 <= min_ms <= max_ms <= DELAY_MS_MAX:
            raise InvalidRequest(
                f"A back-off has 1 <= min_ms <= max_ms <= {DELAY_MS_MAX}, not min_ms {min_ms} and max_ms {max_ms}."
            )
        if not 1 <= factor <= FACTOR_MAX:
            raise InvalidRequest(f"The factor of a back-off is 1 to {FACTOR_MAX}, not {factor:g}.")
        if stats.kind == "kafka":
            raise WrongSubscriptionKind(f"{name!r} is a Kafka consumer group; only subscriptions redeliver messages.")
        await self.rules.set(topic, name, RedeliveryRule(min_ms, factor, max_ms, stats.topic_id))
