"""Dead-letter rules: after how many deliveries a subscription's messages move, and to which topic."""

from __future__ import annotations

import msgspec

from redis_ledger.broker.subscriptions.subscription_rules import SubscriptionRules
from redis_ledger.store.store import Store

DELIVERIES_MAX = 1_000_000


class DeadLetterRule(msgspec.Struct, frozen=True):
    """After max_deliveries deliveries a message moves to `topic`.

    source_id   topic id of the source when the rule was made; "" in rules that are older than this field
    """

    max_deliveries: int
    topic: str
    source_id: str = ""


class DeadLetterRules(SubscriptionRules[DeadLetterRule]):
    def __init__(self, store: Store) -> None:
        super().__init__(store, "deadletters", DeadLetterRule)
