"""Consumer: messages of a subscription, fetched ahead and leased until they are acknowledged.

    broker ─ receive ─→ [ fetched ahead ] ─→ receive() or iteration ─→ your code ─→ ack / nack / txn.ack
                          lease ……………………………………………………………………………………………………… expired: redelivered

A prefetched message whose lease has expired is dropped: the broker delivers it to another consumer.  On an exclusive
subscription every request names the last message of each partition that this consumer received, so that dropped or
lost messages are delivered again, in order.  `close` returns unacknowledged messages at once.  A message in the body of
a running loop stays leased until the next iteration, so that it can still be acknowledged.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, Literal

from redis_ledger.client import arguments
from redis_ledger.client._sync.leases import Leases
from redis_ledger.client._sync.subscriptions import Subscriptions
from redis_ledger.client._sync.transaction import Transaction
from redis_ledger.client.concurrency import Condition, Mutex, Worker
from redis_ledger.client.models import Kind, Message
from redis_ledger.client.progress import Progress
from redis_ledger.client.redelivery_models import Reconsumed
from redis_ledger.client.values import id_of, ids_of
from redis_ledger.errors import ClientClosed, LedgerError, RouteNotFound
from redis_ledger.ids import MessageId

POLL_MS = 500  # longest wait of a prefetch request, and so the longest time that `close` waits for one
CLOSE_MS = 2_000
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
        self._ahead: deque[Message] = deque()
        self._mutex = Mutex()
        self._arrived = Condition(self._mutex)
        self._room = Condition(self._mutex)
        self._worker: Worker | None = None
        self._is_fetching = False
        self._loops = 0
        self._is_created = False
        self._is_closed = False
        self._error: LedgerError | None = None
        self._generation = 0  # increases when prefetched messages become invalid
        self._handed_out = Progress()
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
        return self._is_closed

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
            while not self._is_closed:
                messages = self._receive(1, LOOP_MS)
                if messages:
                    yield messages[0]
        finally:
            with self._mutex:
                self._loops -= 1
                is_last = self._is_closed and not self._loops
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
        if self._is_closed:
            return None
        self._create()
        if self._prefetch <= 0:
            return self._receive_directly(max_messages, wait_ms)
        until_s = monotonic() + wait_ms / 1000
        with self._mutex:
            while True:
                taken = self._take(max_messages)
                # Check after taking: a signal handler may close the consumer at any point.
                if self._is_closed:
                    return None
                if taken:
                    return taken
                if self._error is not None:
                    error, self._error = self._error, None
                    raise error
                if not self._is_fetching:
                    self._is_fetching = True
                    self._worker = Worker(self._fetch_ahead, "redis-ledger consumer")
                left_s = until_s - monotonic()
                if left_s <= 0:
                    return []
                self._arrived.wait(left_s)

    def _receive_directly(self, max_messages: int, wait_ms: int) -> list[Message] | None:
        messages = self._fetch(max_messages, wait_ms, self._handed_out)
        if not self._is_closed:
            for message in messages:
                self._handed_out.add(message)
            return messages
        if messages:
            self._give_back([message.id for message in messages])
        return None

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
        self._forget_ahead()
        self._leases.nack(self.topic, self.subscription, self.name, None)
        self._forget_ahead()  # what was fetched in between is returned as well, and delivered again

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
        if self._is_closed:
            raise ClientClosed(CLOSED)
        self._create()
        self._forget_ahead()
        self._subscriptions.seek(self.topic, self.subscription, to, offsets=offsets, timestamp_ms=timestamp_ms)
        self._forget_ahead()

    def close(self) -> None:
        """Stops the consumer, ends loops over it, and returns its unacknowledged messages for redelivery.

        May be called from any thread and from a signal handler.

        consumer.close()
        """
        with self._mutex:
            if self._is_closed:
                return
            self._is_closed = True
            self._arrived.notify_all()
            self._room.notify_all()
        # In a worker, with a time limit: a signal handler may have interrupted a request that holds a lock.
        Worker(self._stop, "redis-ledger consumer closing").join(CLOSE_S_MAX)

    def _stop(self) -> None:
        if self._worker is not None:
            self._worker.join()
        with self._mutex:
            ahead = [message.id for message in self._ahead] if self._loops else None
        if ahead != []:
            self._give_back(ahead)

    def _give_back(self, ids: list[MessageId] | None = None) -> None:
        """ids None: all messages leased to this consumer, which is closed."""
        if not self._is_created:
            return
        # If it fails, the leases expire.
        with suppress(LedgerError):
            if ids is None and self._is_ordered:  # otherwise, another consumer would wait for the end of the session
                try:
                    self._leases.close_consumer(self.topic, self.subscription, self.name, timeout_ms=CLOSE_MS)
                    return
                except RouteNotFound:  # a broker of an earlier release
                    pass
            self._leases.nack(self.topic, self.subscription, self.name, ids, timeout_ms=CLOSE_MS)

    def _create(self) -> None:
        if not self._is_created:
            self._subscriptions.create(self.topic, self.subscription, self._kind, self._start)
            self._is_created = True

    def _take(self, max_messages: int) -> list[Message]:
        taken: list[Message] = []
        now_s = monotonic()
        dropped: set[int] = set()
        while self._ahead and len(taken) < max_messages:
            message = self._ahead.popleft()
            if message.leased_until_s > now_s:
                taken.append(message)
                self._handed_out.add(message)
            elif self._is_ordered:
                dropped.add(message.partition)
                self._ahead = deque(each for each in self._ahead if each.partition not in dropped)
                self._generation += 1
        if len(self._ahead) <= self._prefetch // 2:
            self._room.notify()
        return taken

    def _add_ahead(self, messages: list[Message]) -> None:
        """A message that is delivered again before it was handed out keeps its place, with its new lease."""
        again = {message.id: message for message in messages}
        self._ahead = deque(again.pop(each.id, each) for each in self._ahead)
        self._ahead.extend(again.values())

    def _forget_ahead(self) -> None:
        with self._mutex:
            self._ahead.clear()
            self._handed_out.clear()
            self._generation += 1
            self._room.notify()

    def _fetch(self, max_messages: int, wait_ms: int, has: Progress) -> list[Message]:
        after = has.last if self._is_ordered else ()
        return self._leases.receive(
            self.topic, self.subscription, self.name, max_messages, wait_ms, self._ack_timeout_ms, after,
            self._note_reason,
        )  # fmt: skip

    def _note_reason(self, reason: str | None) -> None:
        self._reason = reason

    def _fetch_ahead(self) -> None:
        try:
            while True:
                with self._mutex:
                    while len(self._ahead) > self._prefetch // 2 and not self._is_closed:
                        self._room.wait()
                    if self._is_closed:
                        return
                    generation, room = self._generation, self._prefetch - len(self._ahead)
                    has = self._handed_out.with_(self._ahead)
                messages = self._fetch(room, min(POLL_MS, self._ack_timeout_ms // 4), has)
                with self._mutex:
                    is_current = generation == self._generation
                    if is_current:
                        self._add_ahead(messages)
                        self._arrived.notify_all()
                # An exclusive consumer receives them again: its next request names an earlier message.
                if messages and not is_current and not (self._is_ordered and self._leases.brokers_know_after):
                    self.nack(messages, delay_ms=0)
        except LedgerError as error:
            # The next receive raises it, and the one after that tries again.
            self._error = error
        finally:
            with self._mutex:
                self._is_fetching = False
                self._arrived.notify_all()
