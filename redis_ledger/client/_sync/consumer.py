"""Consumer: messages of a subscription, fetched ahead and leased until they are acknowledged.

    broker ─ receive ─→ [ fetched ahead ] ─→ receive() or iteration ─→ your code ─→ ack / nack / txn.ack
                          lease runs …………………………………………………………………………………………… out: another consumer gets it

A message fetched ahead whose lease has run out is dropped, since by then the broker gives it to somebody else.  Closing
hands back at once what was not acknowledged.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterator, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from redis_ledger.client._sync.admin import Subscriptions
from redis_ledger.client._sync.leases import Leases
from redis_ledger.client.concurrency import Condition, Mutex, Worker
from redis_ledger.client.models import Kind, Message, ids_of
from redis_ledger.errors import LedgerError, Unavailable

if TYPE_CHECKING:
    from redis_ledger.client._sync.transaction import Transaction

POLL_MS = 500  # the longest wait of one request that fetches ahead, and so the longest that closing waits for it
CLOSE_MS = 2_000


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
        self._is_created = False
        self._is_closed = False
        self._error: Exception | None = None
        self._turn = 0  # rises when what is fetched ahead loses its meaning

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def __enter__(self) -> Consumer:
        self._create()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Message]:
        while not self._is_closed:
            messages = self.receive(max_messages=1)
            if messages:
                yield messages[0]

    def receive(self, max_messages: int = 100, wait_ms: int = 1_000) -> list[Message]:
        """At least one message as soon as there is one; none when the time is up.

        messages = consumer.receive(max_messages=50, wait_ms=2_000)
        """
        self._create()
        if self._prefetch <= 0:
            return self._fetch(max_messages, wait_ms)
        until_s = monotonic() + wait_ms / 1000
        with self._mutex:
            while True:
                if self._is_closed:
                    raise Unavailable("The consumer is closed; make a new one from an open client.")
                taken = self._take(max_messages)
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
            self._leases.ack_cumulative(self.topic, self.subscription, self.name, ids_of(message)[0])

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
        self._create()
        self._forget_ahead()
        self._subscriptions.seek(self.topic, self.subscription, to, offsets=offsets, timestamp_ms=timestamp_ms)
        self._forget_ahead()

    def close(self) -> None:
        """Stops, and hands back at once what was delivered to this consumer and not acknowledged.

        consumer.close()
        """
        with self._mutex:
            if self._is_closed:
                return
            self._is_closed = True
            self._ahead.clear()
            self._arrived.notify_all()
            self._room.notify_all()
        if self._worker is not None:
            self._worker.join()
        if self._is_created:
            try:
                self._leases.nack(self.topic, self.subscription, self.name, None, timeout_ms=CLOSE_MS)
            except LedgerError:
                # Nobody waits for this: the leases end by themselves when their time is up.
                return

    def _create(self) -> None:
        if not self._is_created:
            self._subscriptions.create(self.topic, self.subscription, self._kind, self._start)
            self._is_created = True

    def _take(self, max_messages: int) -> list[Message]:
        taken: list[Message] = []
        now_s = monotonic()
        while self._ahead and len(taken) < max_messages:
            message = self._ahead.popleft()
            if message.leased_until_s > now_s:
                taken.append(message)
        if len(self._ahead) <= self._prefetch // 2:
            self._room.notify()
        return taken

    def _forget_ahead(self) -> None:
        with self._mutex:
            self._ahead.clear()
            self._turn += 1
            self._room.notify()

    def _fetch(self, max_messages: int, wait_ms: int) -> list[Message]:
        return self._leases.receive(
            self.topic, self.subscription, self.name, max_messages, wait_ms, self._ack_timeout_ms
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
                messages = self._fetch(room, POLL_MS)
                with self._mutex:
                    is_meant = turn == self._turn and not self._is_closed
                    if is_meant:
                        self._ahead.extend(messages)
                        self._arrived.notify_all()
                if messages and not is_meant and not self._is_closed:
                    self.nack(messages)
        except (LedgerError, msgspec.MsgspecError) as error:
            # The next receive raises it, and the one after that tries again.
            self._error = error
        finally:
            with self._mutex:
                self._is_fetching = False
                self._arrived.notify_all()
