"""Consumer: messages of a subscription, fetched ahead and leased until they are acknowledged.

    broker ─ receive ─→ [ fetched ahead ] ─ extend ─→ receive() or iteration ─→ your code ─→ ack / nack / txn.ack
                          reserved                     delivered, and extended while your code works on it

A prefetched message whose lease has expired is dropped: the broker delivers it to another consumer, and it does not
count as delivered.  On an exclusive subscription every request names the last message of each partition that this
consumer received, so that dropped or lost messages are delivered again, in order.  `close` returns unacknowledged
messages at once.  A message in the body of a running loop stays leased until the next iteration, so that it can still
be acknowledged.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from redis_ledger.client import arguments
from redis_ledger.client._async.lease_keeper import AsyncLeaseKeeper
from redis_ledger.client._async.leases import AsyncLeases
from redis_ledger.client._async.prefetching import POLL_MS, AsyncPrefetching
from redis_ledger.client._async.subscriptions import AsyncSubscriptions
from redis_ledger.client._async.transaction import AsyncTransaction
from redis_ledger.client.concurrency import AsyncMutex, AsyncWorker
from redis_ledger.client.models import Kind, Message
from redis_ledger.client.progress import Progress
from redis_ledger.client.redelivery_models import Reconsumed
from redis_ledger.client.values import id_of, ids_of
from redis_ledger.errors import ClientClosed, LedgerError
from redis_ledger.ids import MessageId

CLOSE_MS = 2_000
RENEW_MS = 1_000  # shortest time that a request of the lease keeper may take
CLOSE_S_MAX = (POLL_MS + CLOSE_MS) / 1000 + 0.5
CLOSED = "The consumer is closed; make a new one from an open client."
LOOP_MS = 1_000  # interval at which a loop checks whether the consumer is closed


class AsyncConsumer:
    """Receives and acknowledges messages of a subscription.  Created by `client.consumer`.

    async with client.consumer("orders", "billing") as consumer:
        async for message in consumer:
            print(message.json())
            await consumer.ack(message)
    """

    def __init__(
        self,
        topic: str,
        subscription: str,
        subscriptions: AsyncSubscriptions,
        leases: AsyncLeases,
        *,
        name: str | None,
        kind: Kind,
        start: Literal["earliest", "latest"],
        prefetch: int,
        ack_timeout_ms: int,
        lease_max_ms: int,
    ) -> None:
        self.topic = topic
        self.subscription = subscription
        self.name = name or f"consumer-{secrets.token_hex(6)}"
        self._subscriptions = subscriptions
        self._leases = leases
        self._kind = kind
        self._start = start
        self._prefetch = prefetch
        self._ack_timeout_ms = ack_timeout_ms
        self._prefetching = AsyncPrefetching(
            self._fetch,
            self._extend,
            self._return_unseen,
            is_ordered=self._is_ordered,
            most=prefetch,
            ack_timeout_ms=ack_timeout_ms,
        )
        self._keeper = AsyncLeaseKeeper(self._renew, ack_timeout_ms, lease_max_ms)
        self._mutex = AsyncMutex()
        self._loops = 0
        self._is_created = False
        self._reason: str | None = None

    @property
    def reason(self) -> str | None:
        """Why the last request for messages got no more: "stand_by", since another consumer of the failover
        subscription is active; "max_unacked_per_consumer" or "max_unacked_per_subscription", since that limit of
        unacknowledged messages is reached; None: there were no more, or enough."""
        return self._reason

    @property
    def _is_ordered(self) -> bool:
        return self._kind in ("exclusive", "failover")

    @property
    def is_closed(self) -> bool:
        return self._prefetching.is_closed

    async def __aenter__(self) -> AsyncConsumer:
        await self._create()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()  # raises nothing

    async def __aiter__(self) -> AsyncIterator[Message]:
        """Yields messages one by one until the consumer is closed, by any thread, task or signal handler."""
        with self._mutex:
            self._loops += 1
        try:
            while not self.is_closed:
                messages = await self._receive(1, LOOP_MS)
                if messages:
                    yield messages[0]
        finally:
            with self._mutex:
                self._loops -= 1
                is_last = self.is_closed and not self._loops
            if is_last:
                await self._give_back()

    async def receive(self, max_messages: int = 100, wait_ms: int = 1_000) -> list[Message]:
        """Returns as soon as at least one message is available; an empty list after `wait_ms`.

        Raises ClientClosed if the consumer is closed.

        messages = await consumer.receive(max_messages=50, wait_ms=2_000)
        """
        arguments.check(max_messages=max_messages, wait_ms=wait_ms)
        messages = await self._receive(max_messages, wait_ms)
        if messages is None:
            raise ClientClosed(CLOSED)
        return messages

    async def _receive(self, max_messages: int, wait_ms: int) -> list[Message] | None:
        """Returns None if the consumer is closed."""
        if self.is_closed:
            return None
        await self._create()
        if self._prefetch <= 0:
            return await self._receive_directly(max_messages, wait_ms)
        messages = await self._prefetching.receive(max_messages, wait_ms)
        self._keeper.keep(messages or ())
        return messages

    async def _receive_directly(self, max_messages: int, wait_ms: int) -> list[Message] | None:
        handed_out = self._prefetching.handed_out
        messages = await self._fetch(max_messages, wait_ms, handed_out)
        if not self.is_closed:
            for message in messages:
                handed_out.add(message)
            self._keeper.keep(messages)
            return messages
        with suppress(LedgerError):
            await self._return_unseen([message.id for message in messages], CLOSE_MS)
        return None

    async def extend(self, messages: Any = None) -> list[MessageId]:
        """Leases messages for another ack timeout from now; None: all that this consumer has.  Returns the ids of those
        that it has no longer: stop working on them.  The client does this by itself for `lease_max_ms`.

        lost = await consumer.extend(message)
        """
        return await self._extend(None if messages is None else ids_of(messages))

    async def ack(self, messages: Any, txn: AsyncTransaction | None = None) -> None:
        """Acknowledges messages or message ids; with `txn`, when the transaction commits.

        await consumer.ack(messages)
        """
        if txn is not None:
            await txn.ack(self, messages)
        else:
            await self._leases.ack(self.topic, self.subscription, self.name, ids_of(messages))

    async def ack_cumulative(self, message: Any, txn: AsyncTransaction | None = None) -> None:
        """Acknowledges all messages of the partition up to this one.  Exclusive and failover subscriptions only.

        await consumer.ack_cumulative(messages[-1])
        """
        if txn is not None:
            await txn.ack_cumulative(self, message)
        else:
            await self._leases.ack_cumulative(self.topic, self.subscription, self.name, id_of(message))

    async def nack(self, messages: Any, delay_ms: int | None = None) -> None:
        """Returns messages for redelivery after the delay; by default as the subscription's redelivery rule says, and
        without a rule at once.

        await consumer.nack(message, delay_ms=5_000)
        """
        await self._leases.nack(self.topic, self.subscription, self.name, ids_of(messages), delay_ms)

    async def reconsume_later(self, messages: Any, delay_ms: int, reason: str = "") -> Reconsumed:
        """Acknowledges messages and writes them to the subscription's retry topic, which delivers them after the delay;
        at most 1 000.  After max_attempts they become dead letters.  See set_dead_letters.

        await consumer.reconsume_later(message, delay_ms=60_000, reason="the bank does not answer")
        """
        return await self._leases.reconsume_later(
            self.topic, self.subscription, self.name, ids_of(messages), delay_ms, reason
        )

    async def dead_letter(self, messages: Any, reason: str = "") -> Reconsumed:
        """Moves messages to the subscription's dead-letter topic now; at most 1 000.

        await consumer.dead_letter(message, reason="not an order")
        """
        return await self._leases.dead_letter(self.topic, self.subscription, self.name, ids_of(messages), reason)

    async def redeliver_unacked(self) -> None:
        """Returns all unacknowledged messages of this consumer for redelivery, prefetched ones included.

        await consumer.redeliver_unacked()
        """
        await self._return_unseen(self._prefetching.forget())
        await self._leases.nack(self.topic, self.subscription, self.name, None)
        self._prefetching.forget()  # what was fetched in between is returned as well, and delivered again

    async def seek(
        self,
        to: Literal["earliest", "latest"] | None = None,
        *,
        offsets: Mapping[int, int] | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """Moves the position of the subscription, for all its consumers.  Takes exactly one of the three arguments.

        await consumer.seek("earliest")
        """
        if self.is_closed:
            raise ClientClosed(CLOSED)
        await self._create()
        self._prefetching.forget()
        await self._subscriptions.seek(self.topic, self.subscription, to, offsets=offsets, timestamp_ms=timestamp_ms)
        self._keeper.forget_all()
        self._prefetching.forget()

    async def close(self) -> None:
        """Stops the consumer, ends loops over it, and returns its unacknowledged messages for redelivery.

        May be called from any thread and from a signal handler.

        await consumer.close()
        """
        if not self._prefetching.close():
            return
        # In a worker, with a time limit: a signal handler may have interrupted a request that holds a lock.
        await AsyncWorker(self._stop, "redis-ledger consumer closing").join(CLOSE_S_MAX)

    async def _stop(self) -> None:
        await self._prefetching.join()
        with self._mutex:
            is_in_loop = self._loops > 0
        if is_in_loop:
            ahead, _ = self._prefetching.clear()
            with suppress(LedgerError):
                await self._return_unseen(ahead, CLOSE_MS)
        else:
            await self._give_back()

    async def _return_unseen(self, ids: Sequence[MessageId], timeout_ms: int | None = None) -> None:
        """Returns messages that were not handed out."""
        if ids:
            await self._leases.nack(
                self.topic, self.subscription, self.name, ids, timeout_ms=timeout_ms, is_delivered=False
            )

    async def _give_back(self) -> None:
        """Returns all messages of this consumer, which is closed.  If that fails, their leases end by themselves."""
        if not self._is_created:
            return
        _, counted = self._prefetching.clear()
        with suppress(LedgerError):
            await self._return_unseen(counted, CLOSE_MS)
            await self._return_all()
        self._leases.end((self.topic, self.subscription, self.name), self._keeper)

    async def _return_all(self) -> None:
        # Otherwise, another consumer would wait for the end of the session, or for that of its keys.
        if self._kind != "shared":
            await self._leases.close_consumer(self.topic, self.subscription, self.name, timeout_ms=CLOSE_MS)
        else:
            await self._leases.nack(self.topic, self.subscription, self.name, None, timeout_ms=CLOSE_MS)

    async def _create(self) -> None:
        if not self._is_created:
            await self._subscriptions.create(self.topic, self.subscription, self._kind, self._start)
            self._leases.keep_with((self.topic, self.subscription, self.name), self._keeper)
            self._is_created = True

    async def _extend(self, ids: Sequence[MessageId] | None, timeout_ms: int | None = None) -> list[MessageId]:
        found = await self._subscriptions.extend(
            self.topic,
            self.subscription,
            self.name,
            ids,
            ack_timeout_ms=self._ack_timeout_ms,
            timeout_ms=timeout_ms,
        )
        return [MessageId.parse(each) for each in found.lost]

    async def _renew(self, ids: Sequence[MessageId]) -> list[MessageId]:
        return await self._extend(ids, max(self._ack_timeout_ms // 3, RENEW_MS))

    async def _fetch(
        self, max_messages: int, wait_ms: int, has: Progress, *, is_reserved: bool = False
    ) -> list[Message]:
        after = has.last if self._is_ordered else ()
        messages = await self._leases.receive(
            self.topic, self.subscription, self.name, max_messages, wait_ms, self._ack_timeout_ms, after,
            self._note_reason, is_reserved=is_reserved,
        )  # fmt: skip
        self._keeper.forget([message.id for message in messages])  # of an earlier delivery
        return messages

    def _note_reason(self, reason: str | None) -> None:
        self._reason = reason
