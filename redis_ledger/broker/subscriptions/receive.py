"""Receive: returns messages of a subscription to a consumer, now or as soon as there are some.

    all partitions watched by long polls?  no ─▶ lease on every partition ─▶ messages
                                           yes ─▶ wait in the subscription's queue (long_polls.py) ─▶ messages

An exclusive or failover subscription redelivers messages that its consumer has not received, so it always leases.  A
stand-by of a failover subscription waits for its turn first.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence

from redis_ledger.broker.subscriptions.consumer_sessions import ConsumerSessions, ConsumerStandby
from redis_ledger.broker.subscriptions.cursors import Cursors
from redis_ledger.broker.subscriptions.leasing import DECODED_BYTES_MAX, Leasing, ReceiveCall
from redis_ledger.broker.subscriptions.long_polls import Leased, LongPolls
from redis_ledger.broker.subscriptions.redelivery_rules import RedeliveryRules
from redis_ledger.broker.types import Message, Skipped
from redis_ledger.config import Config
from redis_ledger.cursor.scripts import ReceiveRequest
from redis_ledger.decoding.budget import Budget, Charge, Decoding
from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import MessageId
from redis_ledger.ledger.partition import Partition

BYTES_MAX = 8 << 20  # soft bound on the payload of one receive
STAND_BY = "stand_by"  # why a consumer that is not the active one gets no messages
ASK_MS = 100  # the wake-up of another broker's append may take this long, so who waits less is not left to wake-ups


class Receiver:
    def __init__(
        self,
        cursors: Cursors,
        sessions: ConsumerSessions,
        leasing: Leasing,
        long_polls: LongPolls,
        redelivery: RedeliveryRules,
        decoding: Decoding,
        config: Config,
    ) -> None:
        self._cursors, self._sessions, self._leasing, self._long_polls = cursors, sessions, leasing, long_polls
        self._redelivery, self._decoding, self._config = redelivery, decoding, config
        self._turn = itertools.count()
        self._loop = asyncio.get_running_loop()

    async def receive(
        self,
        topic: str,
        name: str,
        consumer: str = "default",
        *,
        max_records: int = 100,
        wait_ms: int = 0,
        ack_timeout_ms: int | None = None,
        partitions: Sequence[int] | None = None,
        after: Sequence[MessageId] = (),
        request: str = "",
        attempt: int = 0,
        is_reserved: bool = False,
        skipped: list[Skipped] | None = None,
        reasons: set[str] | None = None,
        budget: Callable[[], Budget] | None = None,
        charge: Charge | None = None,
    ) -> list[Message]:
        """Leases up to max_records messages to the consumer for ack_timeout_ms; none if there are none after wait_ms.

        after      of an exclusive or failover subscription: the last message of each partition that the consumer has
                   received.  On a partition without one it gets all unacknowledged messages again.
        request    a name of this request.  attempt: how often it was sent before, without a response; the messages
                   that were leased for it are returned again, and earlier attempts that still run lease no more.
        is_reserved   they do not count as delivered until the consumer extends or acknowledges them
        skipped    gets leased records that are too large to decode: they stay leased until their ack timeout, and can
                   be acknowledged by id.

        reasons    gets why there are no more messages: "stand_by", or the name of a limit (Config) that is reached
        budget     creates the decoding budget of an attempt; the caller ends it after processing the messages
        charge     without a budget: gets the number of decoded bytes

        Raises ConsumerBusy on an exclusive subscription that another consumer owns.
        """
        if not 1 <= max_records <= self._config.records_per_request_max:
            raise InvalidRequest(f"max_records is 1 to {self._config.records_per_request_max}, not {max_records}.")
        timeout_ms = self._config.ack_timeout_ms if ack_timeout_ms is None else ack_timeout_ms
        wanted = ReceiveRequest(
            consumer,
            BYTES_MAX,
            timeout_ms,
            self._config.consumer_session_ms,
            name=request,
            attempt=attempt,
            takes_over=attempt > 0,
            is_reserved=is_reserved,
        )
        made = list[Budget]()

        def own() -> Budget:
            made.append(self._decoding.budget(DECODED_BYTES_MAX, charge))
            return made[-1]

        has = {each.partition: each.offset for each in after}
        skipped, reasons = [] if skipped is None else skipped, set() if reasons is None else reasons
        receive = ReceiveCall(name, wanted, has, max_records, skipped, budget or own, reasons)
        try:
            return await self._receive(receive, topic, partitions, wait_ms)
        finally:
            for each in made:
                each.end()

    async def _receive(
        self, receive: ReceiveCall, topic: str, partitions: Sequence[int] | None, wait_ms: int
    ) -> list[Message]:
        name = receive.name
        if partitions is None:
            chosen = await self._cursors.partitions(topic)
        else:
            chosen = await self._cursors.chosen(topic, partitions)
        if backoff := self._redelivery.backoff(topic, chosen[0].topic_id, name):
            receive = receive._replace(request=receive.request._replace(backoff=backoff))
        deadline = self._loop.time() + wait_ms / 1000
        while True:
            try:
                return await self._receive_active(receive, chosen, deadline)
            except ConsumerStandby:
                receive.reasons.clear()
                receive.reasons.add(STAND_BY)
                (first,) = await self._cursors.chosen(topic, (0,))
                if not await self._sessions.wait_turn(first, name, receive.request.consumer, deadline):
                    return []

    async def _receive_active(
        self, receive: ReceiveCall, chosen: Sequence[Partition], deadline: float
    ) -> list[Message]:
        """Raises ConsumerStandby if the consumer is not the active one, or not any more."""
        name, max_records = receive.name, receive.records_max
        wait_ms = (deadline - self._loop.time()) * 1000
        if receive.request.takes_over or wait_ms < ASK_MS or not self._is_left_to_wake_ups(name, chosen):
            turn = next(self._turn) % len(chosen)
            leased = await self._leasing.once(receive, [*chosen[turn:], *chosen[:turn]])
            if not leased.is_empty or wait_ms <= 0:
                return leased.messages
            receive = receive._replace(request=receive.request._replace(takes_over=False))
        seconds = max(deadline - self._loop.time(), 0)
        (first,) = await self._cursors.chosen(chosen[0].topic, (0,))
        waiting = _Waiting(self._leasing, receive, chosen)
        if self._sessions.is_key_shared(first.topic_id, name):
            return await self._wait_for_keys(receive, chosen, deadline, waiting)
        async with self._sessions.kept(first, name, receive.request.consumer):
            return await self._long_polls.wait(name, chosen, max_records, seconds, waiting)

    async def _wait_for_keys(
        self, receive: ReceiveCall, chosen: Sequence[Partition], deadline: float, waiting: _Waiting
    ) -> list[Message]:
        """Each consumer of a key_shared subscription waits for keys of its own, and leases at least every third of a
        session, which extends its session."""
        queue = f"{receive.name}\n{receive.request.consumer}"  # no name of a subscription has a line break
        while True:
            seconds = max(deadline - self._loop.time(), 0)
            turn_s = self._config.consumer_session_ms / 3000
            messages = await self._long_polls.wait(queue, chosen, receive.records_max, min(seconds, turn_s), waiting)
            if messages or seconds <= turn_s:
                return messages
            leased = await self._leasing.once(receive, chosen)
            if not leased.is_empty:
                return leased.messages

    def _is_left_to_wake_ups(self, name: str, partitions: Sequence[Partition]) -> bool:
        is_shared = self._sessions.is_shared(partitions[0].topic_id, name)
        return is_shared and self._long_polls.listens(name, partitions)


class _Waiting:
    """A receive that waits."""

    def __init__(self, leasing: Leasing, receive: ReceiveCall, partitions: Sequence[Partition]) -> None:
        self._leasing, self._receive, self._partitions = leasing, receive, partitions

    async def lease(self, partitions: Sequence[Partition]) -> Leased:
        return await self._leasing.lease(self._receive, partitions)

    async def release(self, messages: Sequence[Message]) -> None:
        await self._leasing.release(self._receive, self._partitions, messages)
