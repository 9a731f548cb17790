"""The calls a consumer makes: receive, ack, nack.  Each is safe to repeat.

A receive without an answer is sent again under the same name, with the number of the attempt, and gets what the earlier
attempts have leased.  On an exclusive subscription it also names the last message of each partition that the consumer
has, so nothing is left out and the order holds.  An acknowledgement that was carried out already is carried out again
as nothing.

A broker of a release without that leases other messages to a further attempt, and those of the lost answer come again
when their lease runs out.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from redis_ledger.client import skipping
from redis_ledger.client._async.lease_keeper import AsyncLeaseKeeper
from redis_ledger.client._async.transport import AsyncTransport, path
from redis_ledger.client._async.waiting_acks import AsyncAckSource, AsyncWaitingAcks
from redis_ledger.client.bodies import MessagesBody, message_of
from redis_ledger.client.models import Message
from redis_ledger.client.redelivery_models import Reconsumed
from redis_ledger.client.values import IDS_MAX
from redis_ledger.ids import MessageId, TxnId


class AsyncLeases:
    """waiting_acks: of transactions; those of a consumer are sent before it returns messages."""

    def __init__(self, transport: AsyncTransport, waiting_acks: AsyncWaitingAcks) -> None:
        self._transport = transport
        self._waiting_acks = waiting_acks
        self._keepers: dict[AsyncAckSource, AsyncLeaseKeeper] = {}

    def keep_with(self, source: AsyncAckSource, keeper: AsyncLeaseKeeper) -> None:
        """From now on, the keeper of this consumer forgets what the calls settle."""
        self._keepers[source] = keeper

    def end(self, source: AsyncAckSource, keeper: AsyncLeaseKeeper) -> None:
        """The consumer is closed.  Another one of its name keeps its own keeper."""
        keeper.close()
        if self._keepers.get(source) is keeper:
            del self._keepers[source]

    def settled(self, source: AsyncAckSource, ids: Sequence[MessageId] | None) -> None:
        """The consumer has acknowledged or returned them (None: all), or will in a transaction."""
        if keeper := self._keepers.get(source):
            keeper.forget_all() if ids is None else keeper.forget(ids)

    async def receive(
        self,
        topic: str,
        subscription: str,
        consumer: str,
        max_records: int,
        wait_ms: int,
        ack_timeout_ms: int,
        after: Sequence[MessageId] = (),
        on_reason: Callable[[str | None], None] = lambda _: None,
        *,
        is_reserved: bool = False,
    ) -> list[Message]:
        """after: on an exclusive or failover subscription, the last message of each partition that the consumer has.
        on_reason: called with the reason why there are no more messages, if the broker gives one.
        is_reserved: they count as delivered when they are extended or acknowledged, and not before."""
        body: dict[str, Any] = {
            "consumer": consumer,
            "max_records": min(max_records, IDS_MAX),
            "wait_ms": wait_ms,
            "ack_timeout_ms": ack_timeout_ms,
            "request_id": secrets.token_urlsafe(9),
        }
        if is_reserved:
            body["delivered"] = False
        if after:
            body["after"] = [str(id) for id in after]
        leased_until_s = 0.0

        def of_attempt(number: int) -> dict[str, Any]:
            nonlocal leased_until_s
            # The broker leases them after it got the request, so until then at least they are this consumer's.
            leased_until_s = monotonic() + ack_timeout_ms / 1000
            return {**body, "attempt": number} if number else body

        where = _path(topic, subscription, ":receive")
        found = await self._transport.call("POST", where, of_attempt, answer=MessagesBody, wait_ms=wait_ms)
        on_reason(found.reason)
        for each in found.skipped:
            skipping.warn(topic, each.partition, each.first_offset, each.last_offset, each.detail)
        return [message_of(message, topic, leased_until_s) for message in found.messages]

    async def ack(
        self, topic: str, subscription: str, consumer: str, ids: Sequence[MessageId], txn: TxnId | None = None
    ) -> None:
        """More ids than one request may carry go in several; outside of a transaction some may then count alone."""
        for at in range(0, len(ids), IDS_MAX):
            body = _body(consumer, txn, ids=[str(id) for id in ids[at : at + IDS_MAX]])
            await self._transport.call("POST", _path(topic, subscription, ":ack"), body, answer=dict)
            self.settled((topic, subscription, consumer), ids[at : at + IDS_MAX])

    async def ack_cumulative(
        self, topic: str, subscription: str, consumer: str, id: MessageId, txn: TxnId | None = None
    ) -> None:
        body = _body(consumer, txn, id=str(id))
        await self._transport.call("POST", _path(topic, subscription, ":ackCumulative"), body, answer=dict)
        if keeper := self._keepers.get((topic, subscription, consumer)):
            keeper.forget_upto(id)

    async def nack(
        self,
        topic: str,
        subscription: str,
        consumer: str,
        ids: Sequence[MessageId] | None,
        delay_ms: int | None = 0,
        timeout_ms: int | None = None,
        *,
        is_delivered: bool = True,
    ) -> None:
        """ids None: everything that is leased to this consumer.  delay_ms None: as the redelivery rule says.
        is_delivered: False: the application has not got them, so the delivery does not count."""
        if ids is None:
            await self._waiting_acks.send((topic, subscription, consumer))
        parts: list[dict[str, Any]] = [{"all": True}] if ids is None else [
            {"ids": [str(id) for id in ids[at : at + IDS_MAX]]} for at in range(0, len(ids), IDS_MAX)
        ]  # fmt: skip
        for part in parts:
            if delay_ms is not None:
                part["delay_ms"] = delay_ms
            if not is_delivered:
                part["delivered"] = False
            body = _body(consumer, None, **part)
            where = _path(topic, subscription, ":nack")
            await self._transport.call("POST", where, body, answer=dict, timeout_ms=timeout_ms)
        self.settled((topic, subscription, consumer), ids)

    async def close_consumer(self, topic: str, subscription: str, consumer: str, timeout_ms: int | None = None) -> None:
        """Returns everything that is leased to this consumer, and ends its session: another one takes over at once."""
        await self._waiting_acks.send((topic, subscription, consumer))
        where = _path(topic, subscription, ":closeConsumer")
        await self._transport.call("POST", where, {"consumer": consumer}, answer=dict, timeout_ms=timeout_ms)

    async def reconsume_later(
        self, topic: str, subscription: str, consumer: str, ids: Sequence[MessageId], delay_ms: int, reason: str
    ) -> Reconsumed:
        body = _body(consumer, None, ids=[str(id) for id in ids], delay_ms=delay_ms, reason=reason)
        where = _path(topic, subscription, ":reconsumeLater")
        moved = await self._transport.call("POST", where, body, answer=Reconsumed, idempotency_key=True)
        self.settled((topic, subscription, consumer), ids)
        return moved

    async def dead_letter(
        self, topic: str, subscription: str, consumer: str, ids: Sequence[MessageId], reason: str
    ) -> Reconsumed:
        body = _body(consumer, None, ids=[str(id) for id in ids], reason=reason)
        where = _path(topic, subscription, ":deadLetter")
        moved = await self._transport.call("POST", where, body, answer=Reconsumed, idempotency_key=True)
        self.settled((topic, subscription, consumer), ids)
        return moved


def _path(topic: str, subscription: str, call: str) -> str:
    return path("topics", topic, "subscriptions", subscription, call=call)


def _body(consumer: str, txn: TxnId | None, **members: Any) -> dict[str, Any]:
    body = {"consumer": consumer, **members}
    if txn is not None:
        body["transaction"] = str(txn)
    return body
