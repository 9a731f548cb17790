"""Moves messages that a consumer gives up for now to the retry topic, or for good to the dead letters.

    orders ─ receive ─▶ consumer ─ reconsume later, 60 s ─▶ orders-billing-RETRY ─ 60 s later ─▶ consumer ─▶ ...
                                   after max_attempts, or by dead_letter ─▶ orders.dead

The record is read from the log, not sent by the client.  It is acknowledged here and written there in one transaction,
with delayed delivery.  Headers (dead_letter_moves.RETRY_HEADERS) have the attempt and where the message was first.
Source: Pulsar's reconsumeLater and its RetryMessageUtil, but decided by the broker and atomic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from redis_ledger.broker.fetch.partition import PartitionFetch
from redis_ledger.broker.subscriptions.dead_letter_moves import (
    ATTEMPTS,
    ORIGIN_ID,
    REAL_TOPIC,
    RETRY_HEADERS,
    Move,
    Origin,
    to_dead_letter,
)
from redis_ledger.broker.subscriptions.dead_letter_rules import DeadLetterRule, DeadLetterRules
from redis_ledger.broker.subscriptions.inspection import SubscriptionInspection
from redis_ledger.broker.types import ExecuteAcks, Executed, ExecuteRecords, Message, NewRecord, never
from redis_ledger.clock import Clock
from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Budget
from redis_ledger.errors import InvalidPosition, InvalidRequest, NotDelivered
from redis_ledger.ids import MessageId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.records.large_messages import copied
from redis_ledger.records.read import within
from redis_ledger.telemetry import metrics

IDS_MAX = 1_000
AT_ONCE = 20  # records that are read concurrently
DETAIL_MAX = 1_000
Execution = Callable[[Sequence[ExecuteAcks], Sequence[ExecuteRecords], str, str], Awaitable[Executed]]


class Reconsumed(NamedTuple):
    """retried: in the retry topic.  dead: in the dead-letter topic."""

    retried: int
    dead: int


class Reconsume:
    """execute: acknowledges and appends in one transaction; gets the nonce of the step and the principal."""

    def __init__(
        self,
        rules: DeadLetterRules,
        catalog: Catalog,
        fetch: PartitionFetch,
        inspection: SubscriptionInspection,
        execute: Execution,
        clock: Clock,
    ) -> None:
        self._rules, self._catalog, self._fetch, self._inspection = rules, catalog, fetch, inspection
        self._execute, self._clock = execute, clock

    async def later(
        self,
        topic: str,
        name: str,
        consumer: str,
        ids: Sequence[MessageId],
        delay_ms: int,
        budget: Budget,
        *,
        reason: str = "",
        nonce: str = "",
        principal: str = "",
    ) -> Reconsumed:
        """Delivers messages again after delay_ms, by the retry topic; after max_attempts they become dead letters.

        nonce: a repeated step with the same one succeeds.  Raises InvalidRequest without a retry topic, NotYourMessage,
        NotDelivered, TransactionConflict if a message is acknowledged.
        """
        found = [await self._rule(topic, name, each) for each in await self._read(topic, name, ids, budget)]
        moves, dead = list[Move](), 0
        for message, origin, rule in found:
            if not rule.retry_topic:
                raise InvalidRequest(f"Subscription {name!r} has no retry topic; set one with its dead-letter rule.")
            attempts = _attempts(message)
            if rule.max_attempts and attempts >= rule.max_attempts:
                now_ms = self._clock.now_ms()
                moves.append(to_dead_letter(message, origin, name, rule, "max_attempts", now_ms, reason))
                dead += 1
            else:
                moves.append(_to_retry(message, origin, name, rule, attempts + 1, delay_ms, reason))
        await self._move(topic, name, consumer, moves, nonce, principal)
        metrics.topics.of(topic).dead += dead
        return Reconsumed(len(moves) - dead, dead)

    async def dead_letter(
        self,
        topic: str,
        name: str,
        consumer: str,
        ids: Sequence[MessageId],
        budget: Budget,
        *,
        reason: str = "",
        nonce: str = "",
        principal: str = "",
    ) -> Reconsumed:
        """Moves messages to the dead-letter topic now.  Raises as `later`."""
        moves = list[Move]()
        for each in await self._read(topic, name, ids, budget):
            message, origin, rule = await self._rule(topic, name, each)
            moves.append(to_dead_letter(message, origin, name, rule, "explicit", self._clock.now_ms(), reason))
        await self._move(topic, name, consumer, moves, nonce, principal)
        metrics.topics.of(topic).dead += len(moves)
        return Reconsumed(0, len(moves))

    async def _rule(self, topic: str, name: str, message: Message) -> tuple[Message, Origin, DeadLetterRule]:
        """The rule of the subscription; in a retry topic that of the topic where the message was first.  That rule has
        to name this retry topic, since every producer can write the headers."""
        found = await self._known_rule(topic, name, message)
        if found is None:  # it may have been set at another broker a moment ago
            await self._rules.refresh()
            found = await self._known_rule(topic, name, message)
        if found is None:
            raise InvalidRequest(f"Subscription {name!r} of topic {topic!r} has no dead-letter rule; set one first.")
        return message, *found

    async def _known_rule(self, topic: str, name: str, message: Message) -> tuple[Origin, DeadLetterRule] | None:
        headers = dict(message.headers)
        real = (headers.get(REAL_TOPIC) or b"").decode(errors="replace")
        if (real, name) in self._rules.by_subscription:
            rule = self._rules.get(real, (await self._catalog.get(real)).id, name)
            if rule is not None and rule.retry_topic == topic:
                try:
                    at = MessageId.parse((headers.get(ORIGIN_ID) or b"").decode(errors="replace"))
                except InvalidPosition:
                    at = message.id
                return Origin(real, at), rule
        rule = self._rules.get(topic, (await self._catalog.get(topic)).id, name)
        return None if rule is None else (Origin(topic, message.id), rule)

    async def _read(self, topic: str, name: str, ids: Sequence[MessageId], budget: Budget) -> list[Message]:
        if len(ids) > IDS_MAX:
            raise InvalidRequest(f"Give at most {IDS_MAX} ids, not {len(ids)}.")
        wanted, found = list(dict.fromkeys(ids)), list[Message]()
        for first in range(0, len(wanted), AT_ONCE):
            some = wanted[first : first + AT_ONCE]
            found += await asyncio.gather(*(self._message(topic, name, each, budget) for each in some))
        return found

    async def _message(self, topic: str, name: str, at: MessageId, budget: Budget) -> Message:
        state = await self._inspection.record(topic, name, at)
        if state.state.state in ("hidden", "invalid_position", "not_delivered"):
            raise NotDelivered(f"Message {at} was not delivered.", id=str(at))
        fetched = await self._fetch.fetch(
            topic, at.partition, at.offset, isolation="read_committed", max_bytes=1, wait_ms=0, records_max=1
        )
        records = await paced.decode(fetched.batches[0].data, budget) if fetched.batches else []
        for r in within(records, at.offset, at.offset):
            return Message(at, state.deliveries, r.timestamp_ms, r.key, r.value, r.headers)
        raise NotDelivered(f"Message {at} is no longer there.", id=str(at))

    async def _move(
        self, topic: str, name: str, consumer: str, moves: Sequence[Move], nonce: str, principal: str
    ) -> None:
        ids = [id for each in moves for id in each.ids]
        records = [
            ExecuteRecords(to, [each.record for each in moves if each.topic == to], never)
            for to in dict.fromkeys(each.topic for each in moves)
        ]
        await self._execute([ExecuteAcks(topic, name, consumer, ids)], records, nonce, principal)


def _attempts(message: Message) -> int:
    text = dict(message.headers).get(ATTEMPTS) or b""
    return int(text) if len(text) <= 9 and text.isdigit() else 0


def _to_retry(
    message: Message, origin: Origin, name: str, rule: DeadLetterRule, attempt: int, delay_ms: int, reason: str
) -> Move:
    at = origin.id
    values = (str(attempt), str(delay_ms), rule.retry_topic, origin.topic, name, str(at), reason)
    own = [header for header in message.headers if header[0] not in RETRY_HEADERS]
    headers = [
        *copied(own, origin.topic, at.partition, at.offset),
        *((header, text.encode()) for header, text in zip(RETRY_HEADERS, values, strict=True) if text),
    ]
    record = NewRecord(
        message.key, message.value, headers, timestamp_ms=message.timestamp_ms, deliver_after_ms=delay_ms or None
    )
    return Move(message.id, rule.retry_topic, record)
