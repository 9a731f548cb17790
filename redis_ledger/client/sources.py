"""Where acknowledged messages came from: a consumer, or the names of a subscription."""

from __future__ import annotations

from typing import Protocol, TypeAlias, runtime_checkable

from redis_ledger.client import arguments
from redis_ledger.errors import InvalidRequest


@runtime_checkable
class SubscriptionConsumer(Protocol):
    """A consumer, as acknowledgements name it."""

    topic: str
    subscription: str
    name: str


Source: TypeAlias = "SubscriptionConsumer | tuple[str, str] | tuple[str, str, str]"


def ack_source(source: Source) -> tuple[str, str, str]:
    """As `where`; raises InvalidRequest if one of the names is none."""
    topic, subscription, consumer = where(source)
    arguments.check_kind("consumer", consumer, arguments.TEXT)
    return arguments.name(topic), arguments.name(subscription), consumer


def where(source: Source) -> tuple[str, str, str]:
    """Returns topic, subscription and consumer name."""
    if not isinstance(source, tuple) and isinstance(source, SubscriptionConsumer):
        return source.topic, source.subscription, source.name
    names = arguments.sequence("source", source)
    if not 2 <= len(names) <= 3:
        raise InvalidRequest(f"{source!r:.60} is neither a consumer nor (topic, subscription[, consumer name]).")
    topic, subscription, name = (*names, "default")[:3]
    return topic, subscription, name
