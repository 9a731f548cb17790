"""Clients that use the SDK's consumers of subscriptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from redis_ledger import LedgerError, Message
from redis_ledger.client._async.consumer import AsyncConsumer
from redis_ledger.errors import ConsumerBusy
from tests.sim.clients.connection import connect
from tests.sim.clients.context import LATER, PLAIN, TXN, Context

ACK_TIMEOUT_MS = 4_000


async def shared(context: Context) -> None:
    """Acknowledges most messages, returns some, forgets some."""
    await _consume(context, context.topic(TXN), "shared", "shared", prefetch=0)


async def watch(context: Context) -> None:
    await _consume(context, context.topic(LATER), "watch", "shared", prefetch=0)


async def exclusive(context: Context) -> None:
    await _consume(context, context.topic(PLAIN), "exclusive", "exclusive", prefetch=context.chance.choice((0, 0, 50)))


async def _consume(
    context: Context, topic: str, subscription: str, sharing: Literal["shared", "exclusive"], prefetch: int
) -> None:
    async with connect(context) as client:
        consumer = client.consumer(
            topic, subscription, name=context.name, kind=sharing, prefetch=prefetch, ack_timeout_ms=ACK_TIMEOUT_MS
        )
        async for _ in context.rounds(0.05):
            messages = await receive(context, consumer, sharing, prefetch)
            if not messages:
                continue
            choice = context.chance.random()
            if choice < 0.05:
                continue  # the lease expires
            if choice < 0.1:
                await _nack(consumer, messages)
            elif sharing == "exclusive" and choice < 0.7:
                for last in {each.partition: each for each in messages}.values():
                    await _ack(context, consumer, _up_to(last, messages), is_cumulative=True)
            else:
                await _ack(context, consumer, messages)


async def receive(context: Context, consumer: AsyncConsumer, sharing: str, prefetch: int) -> list[Message]:
    call = {"topic": consumer.topic, "subscription": consumer.subscription, "consumer": consumer.name}
    op = context.recorder.invoke("receive", sharing=sharing, prefetched=prefetch > 0, **call)
    try:
        messages = await consumer.receive(context.chance.randint(1, 30), wait_ms=500)
    except ConsumerBusy:
        context.recorder.ok("receive", op, records=[])
        await context.pause(1.0)
        return []
    except LedgerError as error:
        context.recorder.info("receive", op, error)
        return []
    context.recorder.ok("receive", op, records=[[m.partition, m.offset, m.text()] for m in messages])
    return messages


def _up_to(last: Message, messages: Sequence[Message]) -> list[Message]:
    """What a cumulative acknowledgement of `last` covers.  A message that was returned may come after newer ones."""
    covered = [each for each in messages if each.partition == last.partition and each.offset <= last.offset]
    return sorted(covered, key=lambda each: each.offset)


async def _ack(
    context: Context, consumer: AsyncConsumer, messages: Sequence[Message], *, is_cumulative: bool = False
) -> None:
    ids = [[m.partition, m.offset] for m in messages]
    call = {"topic": consumer.topic, "subscription": consumer.subscription, "consumer": consumer.name, "ids": ids}
    op = context.recorder.invoke("ack", cumulative=is_cumulative, **call)
    try:
        await (consumer.ack_cumulative(messages[-1]) if is_cumulative else consumer.ack(messages))
    except LedgerError as error:
        context.recorder.info("ack", op, error)
    else:
        context.recorder.ok("ack", op)


async def _nack(consumer: AsyncConsumer, messages: Sequence[Message]) -> None:
    try:
        await consumer.nack(messages, delay_ms=200)
    except LedgerError:
        return  # the leases expire
