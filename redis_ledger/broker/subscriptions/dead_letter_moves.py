"""Moves messages between a subscription's topic and its dead-letter topic.

    receive ─▶ lease ─▶ delivered max_deliveries times before? ─▶ acknowledge and append there, in one transaction

A dead letter keeps its key, value, headers and timestamp; additional headers (HEADERS) record where it came from.  A
message that cannot be moved stays leased and is tried again after its ack timeout.  On an exclusive subscription it is
delivered instead, because a cumulative acknowledgement would include it although it was never delivered.
Source: Pulsar's DeadLetterPolicy, but decided and executed by the broker.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Sequence
from typing import Literal, NamedTuple, get_args

from redis_ledger.broker.subscriptions.dead_letter_rules import DeadLetterRule
from redis_ledger.broker.types import (
    ExecuteAcks,
    ExecuteRecords,
    Message,
    NewRecord,
    Skipped,
    SubscriptionStats,
    always,
)
from redis_ledger.cursor.registration import ORDERED
from redis_ledger.errors import LedgerError
from redis_ledger.ids import MessageId
from redis_ledger.records.large_messages import copied
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import get

TOPIC, PARTITION, OFFSET, SUBSCRIPTION, DELIVERIES, REASON, TIME = HEADERS = (
    "dead-letter-topic", "dead-letter-partition", "dead-letter-offset", "dead-letter-subscription",
    "dead-letter-deliveries", "dead-letter-reason", "dead-letter-time-ms",
)  # fmt: skip
DETAIL = "dead-letter-detail"  # what the consumer gave as the reason
Reason = Literal["max_deliveries", "max_attempts", "expired", "explicit", "undecodable"]
REASONS = get_args(Reason)
# Of messages that wait in a retry topic, as Pulsar has them.
ATTEMPTS, DELAY, RETRY_TOPIC, REAL_TOPIC, REAL_SUBSCRIPTION, ORIGIN_ID, RETRY_REASON = RETRY_HEADERS = (
    "RECONSUMETIMES", "DELAY_TIME", "RETRY_TOPIC", "REAL_TOPIC", "REAL_SUBSCRIPTION", "ORIGIN_MESSAGE_ID",
    "RECONSUME_REASON",
)  # fmt: skip
LAST_OFFSET, ERROR = UNREAD = "dead-letter-last-offset", "dead-letter-error"  # of records that could not be decoded
Execution = Callable[[Sequence[ExecuteAcks], Sequence[ExecuteRecords]], Awaitable[object]]

_log = get()


class Move(NamedTuple):
    """A message and the record it becomes in `topic`.  last: the record stands for all offsets up to this one."""

    id: MessageId
    topic: str
    record: NewRecord
    last: int | None = None

    @property
    def ids(self) -> list[MessageId]:
        last = self.id.offset if self.last is None else self.last
        return [MessageId(self.id.partition, offset) for offset in range(self.id.offset, last + 1)]


class Origin(NamedTuple):
    """Where a message was first."""

    topic: str
    id: MessageId


def to_dead_letter(
    message: Message,
    origin: Origin,
    name: str,
    rule: DeadLetterRule,
    reason: Reason,
    now_ms: int,
    detail: str = "",
) -> Move:
    """The message of a subscription as a dead letter."""
    topic, at = origin
    values = (topic, str(at.partition), str(at.offset), name, str(message.deliveries), reason, str(now_ms))
    headers = [
        *copied(_own(message), topic, at.partition, at.offset),
        *((header, text.encode()) for header, text in zip(HEADERS, values, strict=True)),
        *([(DETAIL, detail.encode())] if detail else ()),
    ]
    record = NewRecord(message.key, message.value, headers, timestamp_ms=message.timestamp_ms)
    return Move(message.id, rule.topic, record)


def to_unread_dead_letter(
    unread: Skipped, topic: str, name: str, rule: DeadLetterRule, deliveries: int, now_ms: int
) -> Move:
    """One dead letter, without key and value, for records that could not be decoded; its headers locate them."""
    reason: Reason = "undecodable"
    where = (topic, str(unread.partition), str(unread.first_offset))
    values = (*where, name, str(deliveries), reason, str(now_ms))
    more = (str(unread.last_offset), unread.error.code)
    headers = [(h, text.encode()) for h, text in zip((*HEADERS, *UNREAD), (*values, *more), strict=True)]
    at = MessageId(unread.partition, unread.first_offset)
    return Move(at, rule.topic, NewRecord(None, None, headers), unread.last_offset)


def from_dead_letter(message: Message) -> Move | None:
    """The original record and its topic; None without a source topic, or for records that were never decoded."""
    headers = dict(message.headers)
    source = headers.get(TOPIC)
    if not source or ERROR in headers:
        return None
    own = [header for header in _own(message) if header[0] not in RETRY_HEADERS]  # it begins anew
    record = NewRecord(message.key, message.value, own, timestamp_ms=message.timestamp_ms)
    return Move(message.id, source.decode(errors="replace"), record)


def _own(message: Message) -> list[tuple[str, bytes | None]]:
    return [header for header in message.headers if header[0] not in HEADERS and header[0] != DETAIL]


class DeadLetterMover:
    """execute: acknowledges and appends in one transaction.  stats: of a subscription."""

    def __init__(self, execute: Execution, stats: Callable[[str, str], Awaitable[SubscriptionStats]]) -> None:
        self._execute, self._stats = execute, stats

    async def move_exhausted(
        self,
        rule: DeadLetterRule,
        topic: str,
        name: str,
        consumer: str,
        messages: Sequence[Message],
        expired: Container[MessageId],
        now_ms: int,
    ) -> list[Message]:
        """Moves the leased messages that reached the limit or have expired, and returns those to deliver."""
        dead = dict[MessageId, Move]()
        for each in messages:
            reason: Reason = "expired" if each.id in expired else "max_deliveries"
            if reason == "expired" or each.deliveries >= rule.max_deliveries:
                dead[each.id] = to_dead_letter(each, Origin(topic, each.id), name, rule, reason, now_ms)
        if not dead:
            return list(messages)
        moved = await self.move(topic, name, consumer, list(dead.values()), always)
        metrics.topics.of(topic).dead += len(moved)
        if len(moved) < len(dead) and (await self._stats(topic, name)).kind in ORDERED:
            dead = {id: dead[id] for id in moved}
        return [each for each in messages if each.id not in dead]

    async def move_undecodable(
        self, rule: DeadLetterRule, topic: str, name: str, consumer: str, unread: Skipped, deliveries: int,
        now_ms: int,
    ) -> bool:  # fmt: skip
        """Moves leased records that cannot be decoded; returns whether they were moved."""
        move = to_unread_dead_letter(unread, topic, name, rule, deliveries, now_ms)
        moved = await self.move(topic, name, consumer, [move], always)
        metrics.topics.of(topic).dead += len(move.ids) if moved else 0
        return bool(moved)

    async def move(
        self,
        topic: str,
        name: str,
        consumer: str,
        moves: Sequence[Move],
        may_create: Callable[[], bool],
    ) -> list[MessageId]:
        """Returns the ids of the moved messages.  One transaction for all; if it is refused, one for each message."""
        ids = [id for each in moves for id in each.ids]
        records = [
            ExecuteRecords(to, [each.record for each in moves if each.topic == to], may_create)
            for to in dict.fromkeys(each.topic for each in moves)
        ]
        try:
            await self._execute([ExecuteAcks(topic, name, consumer, ids)], records)
        except LedgerError as error:
            if len(moves) > 1 and not error.retriable:
                return [id for each in moves for id in await self.move(topic, name, consumer, [each], may_create)]
            _log.warning("a dead letter was not moved; it is tried again later", topic=topic, subscription=name,
                         first=str(ids[0]), messages=len(ids), reason=error.detail)  # fmt: skip
            return []
        return [each.id for each in moves]
