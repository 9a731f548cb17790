"""Dead-letter rules: when a subscription's messages move, and to which topic; and its retry topic.

    max_deliveries   deliveries of one message     max_attempts   in the retry topic     expire_ms   age of a message

Source: Pulsar's DeadLetterPolicy.
"""

from __future__ import annotations

import msgspec

from redis_ledger.broker.subscriptions.subscription_rules import SubscriptionRules
from redis_ledger.store.store import Store

DELIVERIES_MAX = 1_000_000


class DeadLetterRule(msgspec.Struct, frozen=True):
    """After max_deliveries deliveries a message moves to `topic`.

    source_id     topic id of the source when the rule was made
    retry_topic   where messages wait that are reconsumed later; "" for none
    max_attempts  how often a message goes there before it moves to `topic`; 0: without a limit
    expire_ms     age at which a message is not delivered but moves to `topic`; 0: never
    """

    max_deliveries: int
    topic: str
    source_id: str = ""
    retry_topic: str = ""
    max_attempts: int = 0
    expire_ms: int = 0


class DeadLetterRules(SubscriptionRules[DeadLetterRule]):
    def __init__(self, store: Store) -> None:
        super().__init__(store, "deadletters", DeadLetterRule)
