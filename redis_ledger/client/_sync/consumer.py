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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from redis_ledger.client import arguments
from redis_ledger.client._sync.lease_keeper import LeaseKeeper
from redis_ledger.client._sync.leases import Leases
from redis_ledger.client._sync.prefetching import POLL_MS, Prefetching
from redis_ledger.client._sync.subscriptions import Subscriptions
from redis_ledger.client._sync.transaction import Transaction
from redis_ledger.client.concurrency import Mutex, Worker
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


class Consumer:
    """Receives and acknowledges messages of a subscription.  Created by `client.consumer`.

    with client.consumer("orders", "billing") as consumer:
        for message in consumer:
            print(message.json())
            consumer.ack(message)
    """

    def __init__(
        self,
        topic: str,
        subscription: str,
        subscriptions: Subscriptions,
        leases: Leases,
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
        self._prefetching = Prefetching(
            self._fetch,
            self._extend,
            self._return_unseen,
            is_ordered=self._is_ordered,
            most=prefetch,
            ack_timeout_ms=ack_timeout_ms,
        )
        self._keeper = LeaseKeeper(self._renew, ack_timeout_ms, lease_max_ms)
        self._mutex = Mutex()
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

    def __enter__(self) -> Consumer:
        self._create()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()  # raises nothing

    def __iter__(self) -> Iterator[Message]:
        """Yields messages one by one until the consumer is closed, by any thread, task or signal handler."""
        with self._mutex:
            self._loops += 1
        try:
            while not self.is_closed:
                messages = self._receive(1, LOOP_MS)
                if messages:
                    yield messages[0]
        finally:
            with self._mutex:
                self._loops -= 1
                is_last = self.is_closed and not self._loops
            if is_last:
                self._give_back()

    def receive(self, max_messages: int = 100, wait_ms: int = 1_000) -> list[Message]:
        """Returns as soon as at least one message is available; an empty list after `wait_ms`.

        Raises ClientClosed if the consumer is closed.

        messages = consumer.receive(max_messages=50, wait_ms=2_000)
        """
        arguments.check(max_messages=max_messages, wait_ms=wait_ms)
        messages = self._receive(max_messages, wait_ms)
        if messages is None:
            raise ClientClosed(CLOSED)
        return messages

    def _receive(self, max_messages: int, wait_ms: int) -> list[Message] | None:
        """Returns None if the consumer is closed."""
        if self.is_closed:
            return None
        self._create()
        if self._prefetch <= 0:
            return self._receive_directly(max_messages, wait_ms)
        messages = self._prefetching.receive(max_messages, wait_ms)
        self._keeper.keep(messages or ())
        return messages

    def _receive_directly(self, max_messages: int, wait_ms: int) -> list[Message] | None:
        handed_out = self._prefetching.handed_out
        messages = self._fetch(max_messages, wait_ms, handed_out)
        if not self.is_closed:
            for message in messages:
                handed_out.add(message)
            self._keeper.keep(messages)
            return messages
        with suppress(LedgerError):
            self._return_unseen([message.id for message in messages], CLOSE_MS)
        return None

    def extend(self, messages: Any = None) -> list[MessageId]:
        """Leases messages for another ack timeout from now; None: all that this consumer has.  Returns the ids of those
        that it has no longer: stop working on them.  The client does this by itself for `lease_max_ms`.

        lost = consumer.extend(message)
        """
        return self._extend(None if messages is None else ids_of(messages))

    def ack(self, messages: Any, txn: Transaction | None = None) -> None:
        """Acknowledges messages or message ids; with `txn`, when the transaction commits.

        consumer.ack(messages)
        """
        if txn is not None:
            txn.ack(self, messages)
        else:
            self._leases.ack(self.topic, self.subscription, self.name, ids_of(messages))

    def ack_cumulative(self, message: Any, txn: Transaction | None = None) -> None:
        """Acknowledges all messages of the partition up to this one.  Exclusive and failover subscriptions only.

        consumer.ack_cumulative(messages[-1])
        """
        if txn is not None:
            txn.ack_cumulative(self, message)
        else:
            self._leases.ack_cumulative(self.topic, self.subscription, self.name, id_of(message))

    def nack(self, messages: Any, delay_ms: int | None = None) -> None:
        """Returns messages for redelivery after the delay; by default as the subscription's redelivery rule says, and
        without a rule at once.

        consumer.nack(message, delay_ms=5_000)
        """
        self._leases.nack(self.topic, self.subscription, self.name, ids_of(messages), delay_ms)

    def reconsume_later(self, messages: Any, delay_ms: int, reason: str = "") -> Reconsumed:
        """Acknowledges messages and writes them to the subscription's retry topic, which delivers them after the delay;
        at most 1 000.  After max_attempts they become dead letters.  See set_dead_letters.

        consumer.reconsume_later(message, delay_ms=60_000, reason="the bank does not answer")
        """
        return self._leases.reconsume_later(
            self.topic, self.subscription, self.name, ids_of(messages), delay_ms, reason
        )

    def dead_letter(self, messages: Any, reason: str = "") -> Reconsumed:
        """Moves messages to the subscription's dead-letter topic now; at most 1 000.

        consumer.dead_letter(message, reason="not an order")
        """
        return self._leases.dead_letter(self.topic, self.subscription, self.name, ids_of(messages), reason)

    def redeliver_unacked(self) -> None:
        """Returns all unacknowledged messages of this consumer for redelivery, prefetched ones included.

        consumer.redeliver_unacked()
        """
        self._return_unseen(self._prefetching.forget())
        self._leases.nack(self.topic, self.subscription, self.name, None)
        self._prefetching.forget()  # what was fetched in between is returned as well, and delivered again

    def seek(
        self,
        to: Literal["earliest", "latest"] | None = None,
        *,
        offsets: Mapping[int, int] | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """Moves the position of the subscription, for all its consumers.  Takes exactly one of the three arguments.

        consumer.seek("earliest")
        """
        if self.is_closed:
            raise ClientClosed(CLOSED)
        self._create()
        self._prefetching.forget()
        self._subscriptions.seek(self.topic, self.subscription, to, offsets=offsets, timestamp_ms=timestamp_ms)
        self._keeper.forget_all()
        self._prefetching.forget()

    def close(self) -> None:
        """Stops the consumer, ends loops over it, and returns its unacknowledged messages for redelivery.

        May be called from any thread and from a signal handler.

        consumer.close()
        """
        if not self._prefetching.close():
            return
        # In a worker, with a time limit: a signal handler may have interrupted a request that holds a lock.
        Worker(self._stop, "redis-ledger consumer closing").join(CLOSE_S_MAX)

    def _stop(self) -> None:
        self._prefetching.join()
        with self._mutex:
            is_in_loop = self._loops > 0
        if is_in_loop:
            ahead, _ = self._prefetching.clear()
            with suppress(LedgerError):
                self._return_unseen(ahead, CLOSE_MS)
        else:
            self._give_back()

    def _return_unseen(self, ids: Sequence[MessageId], timeout_ms: int | None = None) -> None:
        """Returns messages that were not handed out."""
        if ids:
            self._leases.nack(self.topic, self.subscription, self.name, ids, timeout_ms=timeout_ms, is_delivered=False)

    def _give_back(self) -> None:
        """Returns all messages of this consumer, which is closed.  If that fails, their leases end by themselves."""
        if not self._is_created:
            return
        _, counted = self._prefetching.clear()
        with suppress(LedgerError):
            self._return_unseen(counted, CLOSE_MS)
            self._return_all()
        self._leases.end((self.topic, self.subscription, self.name), self._keeper)

    def _return_all(self) -> None:
        # Otherwise, another consumer would wait for the end of the session, or for that of its keys.
        if self._kind != "shared":
            self._leases.close_consumer(self.topic, self.subscription, self.name, timeout_ms=CLOSE_MS)
        else:
            self._leases.nack(self.topic, self.subscription, self.name, None, timeout_ms=CLOSE_MS)

    def _create(self) -> None:
        if not self._is_created:
            self._subscriptions.create(self.topic, self.subscription, self._kind, self._start)
            self._leases.keep_with((self.topic, self.subscription, self.name), self._keeper)
            self._is_created = True

    def _extend(self, ids: Sequence[MessageId] | None, timeout_ms: int | None = None) -> list[MessageId]:
        found = self._subscriptions.extend(
            self.topic,
            self.subscription,
            self.name,
            ids,
            ack_timeout_ms=self._ack_timeout_ms,
            timeout_ms=timeout_ms,
        )
        return [MessageId.parse(each) for each in found.lost]

    def _renew(self, ids: Sequence[MessageId]) -> list[MessageId]:
        return self._extend(ids, max(self._ack_timeout_ms // 3, RENEW_MS))

    def _fetch(self, max_messages: int, wait_ms: int, has: Progress, *, is_reserved: bool = False) -> list[Message]:
        after = has.last if self._is_ordered else ()
        messages = self._leases.receive(
            self.topic, self.subscription, self.name, max_messages, wait_ms, self._ack_timeout_ms, after,
            self._note_reason, is_reserved=is_reserved,
        )  # fmt: skip
        self._keeper.forget([message.id for message in messages])  # of an earlier delivery
        return messages

    def _note_reason(self, reason: str | None) -> None:
        self._reason = reason
