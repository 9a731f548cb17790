"""Parses replies of cursor scripts: returns the fields, or raises the error."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from redis_ledger.errors import (
    ConsumerBusy,
    LedgerError,
    NotDelivered,
    NotYourMessage,
    OffsetOutOfRange,
    TransactionConflict,
    TransactionEnded,
    UnknownSubscription,
    UnknownTopic,
    WrongSubscriptionKind,
)
from redis_ledger.store.keys import encode_name
from redis_ledger.store.script_status import Status


def checked(reply: list[Any], name: str) -> list[Any]:
    if reply[0] == Status.OK:
        return reply
    raise refusal(reply, name)


def refusal(reply: list[Any], name: str) -> LedgerError:
    """Returns the error for a refusal."""
    status = Status(reply[0])
    if status == Status.UNKNOWN_TOPIC:
        return UnknownTopic()
    if status == Status.UNKNOWN_SUB:
        return unknown(name)
    if status == Status.CONSUMER_BUSY:
        owner, left_ms = unquote(text(reply[1])), reply[2]
        return ConsumerBusy(
            f"Consumer {owner!r} holds the exclusive subscription {name!r} for at least {left_ms} ms more; stop it, "
            "wait, or use a shared subscription.",
            consumer=owner,
            retry_after_ms=left_ms,
        )
    if status == Status.TOO_MANY:
        return ConsumerBusy(f"Subscription {name!r} has as many consumers as it can have; close some of them.")
    if status == Status.NOT_LEASED:
        owner = unquote(text(reply[2]))
        return NotYourMessage(
            f"The message at offset {reply[1]} is leased to consumer {owner!r}, which will process it; discard it.",
            offset=reply[1],
            consumer=owner,
        )
    if status == Status.NOT_DELIVERED:
        return NotDelivered(
            f"Offset {reply[1]} has not been delivered to this consumer of {name!r}; acknowledge only messages "
            "that it received.",
            offset=reply[1],
        )
    if status == Status.TXN_CONFLICT:
        holder = text(reply[2])
        named = "another transaction" if holder == "?" else f"transaction {holder}"
        by = f"held by {named}" if holder else "acknowledged already"
        return TransactionConflict(
            f"The message at offset {reply[1]} is {by}; abort this transaction and receive again.",
            offset=reply[1],
            transaction=holder,
        )
    if status == Status.TXN_ENDED:
        return TransactionEnded()
    if status == Status.WRONG_KIND and reply[1] == b"kafka":
        return WrongSubscriptionKind(f"{name!r} is a Kafka consumer group; only its members take and commit messages.")
    if status == Status.WRONG_KIND:
        return WrongSubscriptionKind(
            f"Subscription {name!r} is {text(reply[1])}; cumulative acknowledgement needs an exclusive or failover one."
        )
    assert status == Status.BAD_OFFSET, f"a cursor script answered {reply!r}"
    start, end = int(reply[1]), int(reply[2])
    return OffsetOutOfRange(
        f"The log has offsets {start} to {end}; choose one of them.", start_offset=start, end_offset=end
    )


def unknown(name: str) -> UnknownSubscription:
    return UnknownSubscription(
        f"There is no subscription {name!r}; create it with POST /v1/topics/{{topic}}/subscriptions.", subscription=name
    )


def token(consumer: str) -> str:
    """Returns a consumer's name without spaces; it is not empty, since a lease of the empty name has no owner."""
    assert consumer, "a consumer has a name"
    return encode_name(consumer)


def text(value: bytes) -> str:
    return value.decode()
