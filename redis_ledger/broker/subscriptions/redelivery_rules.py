"""Redelivery rules: how long a message waits that was nacked, or not acknowledged in time, before it comes again.

    attempt          1           2           3           4 ...
    delivered   ├────┤ 1 s  ├────┤  2 s ├────┤  4 s ├────┤        min 1 s, factor 2, max 60 s
                  nack        nack        nack

After an ack timeout the wait begins when the timeout has passed; until its end the consumer can still acknowledge.
Source: Pulsar's MultiplierRedeliveryBackoff, but decided by the broker, from the number of deliveries that it stores.
"""

from __future__ import annotations

import msgspec

from redis_ledger.broker.subscriptions.subscription_rules import SubscriptionRules
from redis_ledger.store.store import Store

DELAY_MS_MAX = 86_400_000
FACTOR_MAX = 100


class RedeliveryRule(msgspec.Struct, frozen=True):
    """The wait before delivery n + 1 is min_ms * factor ** (n - 1), at most max_ms.

    source_id   topic id of the topic when the rule was made
    """

    min_ms: int
    factor: float
    max_ms: int
    source_id: str = ""

    def to_script(self) -> str:
        """Its form in an argument of lua/cursor/receive and nack."""
        return f"{self.min_ms} {self.factor:g} {self.max_ms}"


class RedeliveryRules(SubscriptionRules[RedeliveryRule]):
    def __init__(self, store: Store) -> None:
        super().__init__(store, "redelivery", RedeliveryRule)

    def backoff(self, topic: str, topic_id: str, subscription: str) -> str:
        """As to_script; "" without a rule."""
        rule = self.get(topic, topic_id, subscription)
        return "" if rule is None else rule.to_script()
