"""Consumer: messages of a subscription, fetched ahead and leased until they are acknowledged.

    broker ─ receive ─→ [ fetched ahead ] ─→ receive() or iteration ─→ your code ─→ ack / nack / txn.ack
                          lease runs …………………………………………………………………………………………… out: another consumer gets it

A message fetched ahead whose lease has run out is dropped, since by then the broker delivers it to another consumer.
On an exclusive subscription every request names the last message of each partition that this consumer has; what was
dropped, or lost with an answer, then comes again before anything that follows it.  Closing hands back at once what was
not acknowledged.  A message in the body of a running loop stays leased until the loop asks for the next one, so that
its acknowledgement still counts.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from redis_ledger.client import arguments
from redis_ledger.client._sync.admin import Subscriptions
from redis_ledger.client._sync.leases import Leases
from redis_ledger.client.concurrency import Condition, Mutex, Worker
from redis_ledger.client.models import Kind, Message
from redis_ledger.client.progress import Progress
from redis_ledger.client.values import id_of, ids_of
from redis_ledger.errors import ClientClosed, LedgerError
from redis_ledger.ids import MessageId

if TYPE_CHECKING:
    from redis_ledger.client._sync.transaction import Transaction

POLL_MS = 500  # the longest wait of one request that fetches ahead, and so the longest that closing waits for it
CLOSE_MS = 2_000
CLOSE_S_MAX = (POLL_MS + CLOSE_MS) / 1000 + 0.5
CLOSED = "The consumer is closed; make a new one from an open client."
LOOP_MS = 1_000  # the longest wait of a loop before it looks whether the consumer is closed


class Consumer:
    """Made by `client.consumer`.

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
        self._turn = 0  # rises when what is fetched ahead loses its meaning
        self._handed_out = Progress()

    @property
    def _is_exclusive(self) -> bool:
        return self._kind == "exclusive"

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def __enter__(self) -> Consumer:
        self._create()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()  # raises nothing

    def __iter__(self) -> Iterator[Message]:
        """Messages one by one, until the consumer is closed, by whichever thread, task or signal handler."""
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
        """At least one message as soon as there is one; none when the time is up.  Raises ClientClosed once the
        consumer is closed.

        messages = consumer.receive(max_messages=50, wait_ms=2_000)
        """
        arguments.check(max_messages=max_messages, wait_ms=wait_ms)
        messages = self._receive(max_messages, wait_ms)
        if messages is None:
            raise ClientClosed(CLOSED)
        return messages

    def _receive(self, max_messages: int, wait_ms: int) -> list[Message] | None:
        """None: the consumer is closed."""
        if self._is_closed:
            return None
        self._create()
        if self._prefetch <= 0:
            return self._receive_directly(max_messages, wait_ms)
        until_s = monotonic() + wait_ms / 1000
        with self._mutex:
            while True:
                taken = self._take(max_messages)
                # Looked at after taking: a signal handler may close the consumer at any point.
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
        """Acknowledges one message or several, or their ids; in a transaction, when that commits.

        consumer.ack(messages)
        """
        if txn is not None:
            txn.ack(self, messages)
        else:
            self._leases.ack(self.topic, self.subscription, self.name, ids_of(messages))

    def ack_cumulative(self, message: Any, txn: Transaction | None = None) -> None:
        """Acknowledges everything of the partition up to this message; exclusive subscriptions only.

        consumer.ack_cumulative(messages[-1])
        """
        if txn is not None:
            txn.ack_cumulative(self, message)
        else:
            self._leases.ack_cumulative(self.topic, self.subscription, self.name, id_of(message))

    def nack(self, messages: Any, delay_ms: int = 0) -> None:
        """Gives messages back, to be delivered again after the delay.

        consumer.nack(message, delay_ms=5_000)
        """
        self._leases.nack(self.topic, self.subscription, self.name, ids_of(messages), delay_ms)

    def redeliver_unacked(self) -> None:
        """Gives back all that this consumer holds, what it has fetched ahead included.

        consumer.redeliver_unacked()
        """
        self._forget_ahead()
        self._leases.nack(self.topic, self.subscription, self.name, None)

    def seek(
        self,
        to: Literal["earliest", "latest"] | None = None,
        *,
        offsets: Mapping[int, int] | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """Moves the whole subscription, for all its consumers; give one of the three.

        consumer.seek("earliest")
        """
        if self._is_closed:
            raise ClientClosed(CLOSED)
        self._create()
        self._forget_ahead()
        self._subscriptions.seek(self.topic, self.subscription, to, offsets=offsets, timestamp_ms=timestamp_ms)
        self._forget_ahead()

    def close(self) -> None:
        """Stops, ends loops over this consumer, and hands back at once what was delivered to it and not acknowledged.
        May be called by any thread, and by a signal handler, too.

        consumer.close()
        """
        with self._mutex:
            if self._is_closed:
                return
            self._is_closed = True
            self._arrived.notify_all()
            self._room.notify_all()
        # By a worker, and waited for with a limit: a signal handler may have interrupted a request that holds a lock.
        Worker(self._stop, "redis-ledger consumer closing").join(CLOSE_S_MAX)

    def _stop(self) -> None:
        if self._worker is not None:
            self._worker.join()
        with self._mutex:
            ahead = [message.id for message in self._ahead] if self._loops else None
        if ahead != []:
            self._give_back(ahead)

    def _give_back(self, ids: list[MessageId] | None = None) -> None:
        """ids None: everything that is leased to this consumer."""
        if self._is_created:
            # If it fails, the leases end by themselves when their time is up.
            with suppress(LedgerError):
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
            elif self._is_exclusive:
                dropped.add(message.partition)
                self._ahead = deque(each for each in self._ahead if each.partition not in dropped)
                self._turn += 1
        if len(self._ahead) <= self._prefetch // 2:
            self._room.notify()
        return taken

    def _forget_ahead(self) -> None:
        with self._mutex:
            self._ahead.clear()
            self._handed_out.clear()
            self._turn += 1
            self._room.notify()

    def _fetch(self, max_messages: int, wait_ms: int, has: Progress) -> list[Message]:
        after = has.last if self._is_exclusive else ()
        return self._leases.receive(
            self.topic, self.subscription, self.name, max_messages, wait_ms, self._ack_timeout_ms, after
        )

    def _fetch_ahead(self) -> None:
        try:
            while True:
                with self._mutex:
                    while len(self._ahead) > self._prefetch // 2 and not self._is_closed:
                        self._room.wait()
                    if self._is_closed:
                        return
                    turn, room = self._turn, self._prefetch - len(self._ahead)
                    has = self._handed_out.with_(self._ahead)
                messages = self._fetch(room, min(POLL_MS, self._ack_timeout_ms // 4), has)
                with self._mutex:
                    is_meant = turn == self._turn
                    if is_meant:
                        self._ahead.extend(messages)
                        self._arrived.notify_all()
                # An exclusive consumer gets them again, since its next request names an earlier message.
                if messages and not is_meant and not (self._is_exclusive and self._leases.brokers_know_after):
                    self.nack(messages)
        except LedgerError as error:
            # The next receive raises it, and the one after that tries again.
            self._error = error
        finally:
            with self._mutex:
                self._is_fetching = False
                self._arrived.notify_all()
