"""Clients that use the SDK's consumers of subscriptions."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Sequence
from typing import Literal

from redis_ledger import AsyncClient, LedgerError, Message
from redis_ledger.client._async.consumer import AsyncConsumer
from redis_ledger.errors import ConsumerBusy
from tests.sim.clients.connection import connect
from tests.sim.clients.context import KEYS, LATER, PLAIN, TXN, Context
from tests.sim.clients.deferred import TXN_TIMEOUT_MS, end

ACK_TIMEOUT_MS = 4_000  # with lease_max_ms=0, since the rules compute when a lease ends
AHEAD = (0, 0, 50)  # messages that a consumer fetches before they are received


async def shared(context: Context) -> None:
    """Acknowledges most messages, returns some, forgets some."""
    await _consume(context, context.topic(TXN), "shared", "shared", prefetch=0)


async def watch(context: Context) -> None:
    await _consume(context, context.topic(LATER), "watch", "shared", prefetch=0)


async def exclusive(context: Context) -> None:
    await _consume(context, context.topic(PLAIN), "exclusive", "exclusive", prefetch=context.chance.choice(AHEAD))


async def _consume(
    context: Context, topic: str, subscription: str, sharing: Literal["shared", "exclusive"], prefetch: int
) -> None:
    async with connect(context) as client:
        consumer = client.consumer(
            topic,
            subscription,
            name=context.name,
            kind=sharing,
            prefetch=prefetch,
            ack_timeout_ms=ACK_TIMEOUT_MS,
            lease_max_ms=0,
        )
        async for _ in context.rounds(0.05):
            if messages := await receive(context, consumer, sharing, prefetch):
                await _act(context, consumer, messages, has_one_owner=sharing == "exclusive")


async def _act(
    context: Context, consumer: AsyncConsumer, messages: Sequence[Message], *, has_one_owner: bool
) -> None:  # fmt: skip
    choice = context.chance.random()
    if choice < 0.05:
        return  # the lease expires
    if choice < 0.1:
        await _nack(context, consumer, messages)
    elif has_one_owner and choice < 0.7:
        for last in {each.partition: each for each in messages}.values():
            await _ack(context, consumer, _up_to(last, messages), is_cumulative=True)
    else:
        await _ack(context, consumer, messages)


def place(consumer: AsyncConsumer) -> dict[str, str]:
    """The facts of an operation that name its consumer."""
    return {"topic": consumer.topic, "subscription": consumer.subscription, "consumer": consumer.name}


def ids(messages: Sequence[Message]) -> list[list[int]]:
    return [[m.partition, m.offset] for m in messages]


async def receive(context: Context, consumer: AsyncConsumer, sharing: str, prefetch: int) -> list[Message]:
    facts = {"sharing": sharing, "prefetched": prefetch > 0, "ack_timeout_ms": ACK_TIMEOUT_MS}
    op = context.recorder.invoke("receive", **facts, **place(consumer))
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
    op = context.recorder.invoke("ack", cumulative=is_cumulative, **place(consumer), ids=ids(messages))
    try:
        await (consumer.ack_cumulative(messages[-1]) if is_cumulative else consumer.ack(messages))
    except LedgerError as error:
        context.recorder.info("ack", op, error)
    else:
        context.recorder.ok("ack", op)


async def _nack(context: Context, consumer: AsyncConsumer, messages: Sequence[Message], delay_ms: int = 200) -> None:
    op = context.recorder.invoke("nack", delay_ms=delay_ms, **place(consumer), ids=ids(messages))
    try:
        await consumer.nack(messages, delay_ms=delay_ms)
    except LedgerError as error:
        context.recorder.info("nack", op, error)  # the leases expire
    else:
        context.recorder.ok("nack", op)


# -- consumers that leave ----------------------------------------------------------------------------------------------


async def failover(context: Context) -> None:
    """Is active or stands by."""
    await _in_lives(context, context.topic(TXN), "failover")


async def key_shared(context: Context) -> None:
    """Acknowledges in and out of order and in transactions, returns some, forgets some."""
    await _in_lives(context, context.topic(KEYS), "key_shared")


async def _in_lives(context: Context, topic: str, sharing: Literal["failover", "key_shared"]) -> None:
    """Consumers with names of their own, one after the other.  Each closes, or is killed and its session ends.

    Some of a failover subscription fetch messages ahead."""
    for life in itertools.count():
        client = connect(context)
        prefetch = context.chance.choice(AHEAD) if sharing == "failover" else 0
        consumer = client.consumer(
            topic, sharing, name=f"{context.name}.{life}", kind=sharing, prefetch=prefetch,
            ack_timeout_ms=ACK_TIMEOUT_MS, lease_max_ms=0,
        )  # fmt: skip
        last = context.chance.randint(5, 60)
        async for number in context.rounds(0.05):
            messages = await receive(context, consumer, sharing, prefetch)
            if messages and sharing == "failover":
                await _act(context, consumer, messages, has_one_owner=True)
            elif messages:
                await _act_by_key(context, client, consumer, messages)
            if number >= last:
                break
        if context.is_on and context.chance.random() < 0.5:
            await _kill(context, client, consumer, prefetch)
            await context.pause(context.chance.choice((0.5, 3.0, 6.0)))
        else:
            await _close(context, client, consumer)
            await context.pause(context.chance.choice((0.1, 2.0)))
        if not context.is_on:
            return


async def _act_by_key(
    context: Context, client: AsyncClient, consumer: AsyncConsumer, messages: Sequence[Message]
) -> None:  # fmt: skip
    choice, half = context.chance.random(), len(messages) // 2
    if choice < 0.05:
        return  # the lease expires
    if choice < 0.15:
        some = [each for each in messages if context.chance.random() < 0.3] or messages
        await _nack(context, consumer, some, context.chance.choice((0, 200)))
    elif choice < 0.25:
        await _ack_in_transaction(context, client, consumer, messages)
    elif choice < 0.4 and half:
        await _ack(context, consumer, messages[half:])
        if context.chance.random() < 0.7:
            await _ack(context, consumer, messages[:half])
    else:
        await _ack(context, consumer, messages)


async def _ack_in_transaction(
    context: Context, client: AsyncClient, consumer: AsyncConsumer, messages: Sequence[Message]
) -> None:  # fmt: skip
    name = f"{consumer.name}#{messages[0].id}x{context.chance.randrange(1 << 30)}"
    txn = client.transaction(timeout_ms=TXN_TIMEOUT_MS)
    op = context.recorder.invoke("ack", txn=name, **place(consumer), ids=ids(messages))
    try:
        await txn.begin()
        await txn.ack(consumer, messages)
    except LedgerError as error:
        context.recorder.info("ack", op, error)
        await end(context, txn, name, "abort")
        return
    context.recorder.ok("ack", op)
    await end(context, txn, name, context.chance.choices(("commit", "abort", "abandon"), (6, 2, 1))[0])


async def _kill(context: Context, client: AsyncClient, consumer: AsyncConsumer, prefetch: int) -> None:
    """In the middle of a receive: what it gets stays leased, and its connections break."""
    receiving = asyncio.create_task(receive(context, consumer, consumer.subscription, prefetch))
    await context.pause(0.3)
    receiving.cancel()
    workers = (consumer._prefetching._worker, consumer._keeper._worker)
    ahead = [worker._task for worker in workers if worker is not None]
    for task in ahead:
        task.cancel()
    await asyncio.gather(receiving, *ahead, return_exceptions=True)
    await client._transport.close()


async def _close(context: Context, client: AsyncClient, consumer: AsyncConsumer) -> None:
    """Closing raises nothing: it may have failed."""
    op = context.recorder.invoke("close", **place(consumer))
    with contextlib.suppress(LedgerError):
        await consumer.close()
        await client.close()
    context.recorder.info("close", op, "its result is not returned")
