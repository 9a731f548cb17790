"""Clients that use the SDK: producers, transactions, scheduled records, and two pipelines."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

from redis_ledger import AsyncClient, LedgerError, Message, Record
from redis_ledger.client._async.consumer import AsyncConsumer
from redis_ledger.client._async.producer import AsyncProducer
from redis_ledger.client._async.transaction import AsyncTransaction
from redis_ledger.client.models import Executed
from redis_ledger.errors import AlreadyDelivered
from tests.sim.clients import deferred
from tests.sim.clients.connection import connect
from tests.sim.clients.context import DENSE, INPUT, KEYS, LATER, NAMES, PIPELINES, PLAIN, TXN, Context, Values
from tests.sim.clients.deferred import TXN_TIMEOUT_MS
from tests.sim.clients.subscriptions import ACK_TIMEOUT_MS, ids, place, receive

LANES = 6  # transactions that one dense client has under way


async def produce(context: Context) -> None:
    values = Values(context.name, context.chance)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connect(context))
        producer = client.producer(context.topic(PLAIN), linger_ms=2)
        stack.push_async_callback(_close, producer)
        async for _ in context.rounds():
            await _produce(context, producer, values.some(8), values.writer)


async def keys(context: Context) -> None:
    """Produces records with few keys and some without, every third time in a transaction."""
    values = Values(context.name, context.chance)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connect(context))
        producer = client.producer(context.topic(KEYS), linger_ms=2)
        stack.push_async_callback(_close, producer)
        async for number in context.rounds():
            some = values.some(8)
            topic, names = context.topic(KEYS), [context.chance.choice(NAMES) for _ in some]
            if number % 3 == 2:
                name = f"{context.name}#{number}"
                txn = client.transaction(timeout_ms=TXN_TIMEOUT_MS)
                is_sent = await _send(context, txn, name, topic, some, keys=names)
                await deferred.end(
                    context, txn, name, context.chance.choice(("commit", "abort")) if is_sent else "abort"
                )
                continue
            await _produce(context, producer, some, values.writer, keys=names)


async def _produce(
    context: Context, producer: AsyncProducer, some: list[Any], writer: str, **facts: Any
) -> None:  # fmt: skip
    """facts: `keys`, or nothing."""
    call = {"topic": producer.topic, "records": some, "writer": writer, "mode": "idempotent", **facts}
    op = context.recorder.invoke("send", **call)
    keys = facts.get("keys") or [None] * len(some)
    try:
        sent = [await producer.send(value, key=key, partition=p) for (p, value), key in zip(some, keys, strict=True)]
        positions = [await each.result() for each in sent]
    except LedgerError as error:
        context.recorder.info("send", op, error)
    else:
        context.recorder.ok("send", op, positions=_positions(positions, some))


async def transact(context: Context) -> None:
    """Commits, aborts, and abandons transactions of one to three sends; every third waits for its commit."""
    values = Values(context.name, context.chance)
    async with connect(context) as client:
        async for number in context.rounds():
            name = f"{context.name}#{number}"
            if number % 3 == 2:
                await deferred.transact(context, client, name, context.topic(TXN), values.some(4))
                continue
            txn = client.transaction(timeout_ms=TXN_TIMEOUT_MS)
            verdict = context.chance.choices(("commit", "abort", "abandon"), (8, 2, 1))[0]
            all_sent = True
            for _ in range(context.chance.randint(1, 3)):
                all_sent = all_sent and await _send(context, txn, name, context.topic(TXN), values.some(4))
            await deferred.end(context, txn, name, verdict if all_sent or verdict == "abandon" else "abort")


async def schedule(context: Context) -> None:
    """Schedules records by themselves and in transactions, and cancels some."""
    values = Values(context.name, context.chance)
    async with connect(context) as client:
        async for number in context.rounds(0.3):
            due_ms = round(time.time() * 1000) + context.chance.choice((200, 1_000, 3_000, 6_000))
            one = values.one(context.chance.randrange(3))
            if number % 5 == 4:
                name = f"{context.name}#{number}"
                txn = client.transaction(timeout_ms=TXN_TIMEOUT_MS)
                is_sent = await _send(context, txn, name, context.topic(LATER), [one], due_ms=due_ms)
                await deferred.end(context, txn, name, "commit" if is_sent else "abort")
                continue
            call = {
                "topic": context.topic(LATER),
                "records": [one],
                "writer": values.writer,
                "mode": "idempotent",
                "due_ms": due_ms,
            }
            op = context.recorder.invoke("send", **call)
            try:
                placed = await client.scheduled.schedule(
                    context.topic(LATER), one[1], partition=int(one[0]), deliver_at=due_ms
                )
            except LedgerError as error:
                context.recorder.info("send", op, error)
                continue
            context.recorder.ok("send", op)
            if placed.scheduled is not None and context.chance.random() < 0.3:
                await context.pause(context.chance.choice((0.1, 1.0, 3.0)))
                await _cancel(context, client, str(placed.scheduled), str(one[1]))


async def _cancel(context: Context, client: AsyncClient, id: str, value: str) -> None:
    op = context.recorder.invoke("cancel", topic=context.topic(LATER), value=value, scheduled=id)
    try:
        await client.scheduled.cancel(context.topic(LATER), id)
    except AlreadyDelivered:
        context.recorder.ok("cancel", op, outcome="already_delivered")
    except LedgerError as error:
        context.recorder.info("cancel", op, error)
    else:
        context.recorder.ok("cancel", op, outcome="cancelled")


# -- pipelines ---------------------------------------------------------------------------------------------------------


async def execute(context: Context) -> None:
    """Consumes, transforms and produces in one request."""
    await _pipeline(context, "execute")


async def step(context: Context) -> None:
    """Consumes, transforms and produces in a transaction, of which some are aborted or abandoned."""
    await _pipeline(context, "step")


async def _pipeline(context: Context, pipeline: str) -> None:
    values = Values(context.name, context.chance)
    async with connect(context) as client:
        consumer = client.consumer(
            context.topic(INPUT), pipeline, name=context.name, prefetch=0, ack_timeout_ms=ACK_TIMEOUT_MS, lease_max_ms=0
        )
        async for number in context.rounds(0.05):
            messages = await receive(context, consumer, "shared", 0)
            if not messages:
                continue
            name = f"{context.name}#{number}"
            outputs = [[m.partition, values.of(m.text())] for m in messages]
            sources = [m.text() for m in messages]
            if pipeline == "execute":
                is_done = await _execute(context, client, consumer, name, messages, outputs, sources)
            else:
                is_done = await _step(context, client, consumer, name, messages, outputs, sources)
            if not is_done:
                await _redeliver(consumer)


async def _execute(
    context: Context, client: AsyncClient, consumer: AsyncConsumer, name: str, messages: list[Message],
    outputs: list[Any], sources: list[str],
) -> bool:  # fmt: skip
    ack, send, end = _record_step(context, consumer, name, messages, outputs, sources, "commit")
    records = {
        context.topic(PIPELINES["execute"]): [Record(value, partition=partition) for partition, value in outputs]
    }
    try:
        done = await client.execute(acks=[(consumer, messages)], records=records, timeout_ms=TXN_TIMEOUT_MS)
    except LedgerError as error:
        for op, id in (("send", send), ("ack", ack), ("end", end)):
            context.recorder.info(op, id, error)
        return False
    context.recorder.ok("send", send, positions=_placed(done, outputs))
    context.recorder.ok("ack", ack)
    context.recorder.ok("end", end, outcome="committed")
    return True


def _record_step(
    context: Context, consumer: AsyncConsumer, name: str, messages: list[Message], outputs: list[Any],
    sources: list[str], verdict: str = "",
) -> tuple[int, int, int]:  # fmt: skip
    """Returns the ids of ack, send, and of the end if there is a verdict."""
    pipeline = consumer.subscription
    ack = context.recorder.invoke("ack", **place(consumer), ids=ids(messages), txn=name)
    facts = {
        "topic": context.topic(PIPELINES[pipeline]),
        "writer": context.name,
        "mode": "idempotent",
        "pipeline": pipeline,
    }
    send = context.recorder.invoke("send", records=outputs, sources=sources, txn=name, **facts)
    end = context.recorder.invoke("end", txn=name, verdict=verdict) if verdict else 0
    return ack, send, end


async def _step(
    context: Context, client: AsyncClient, consumer: AsyncConsumer, name: str, messages: list[Message],
    outputs: list[Any], sources: list[str],
) -> bool:  # fmt: skip
    txn = client.transaction(timeout_ms=TXN_TIMEOUT_MS)
    ack, send, _ = _record_step(context, consumer, name, messages, outputs, sources)
    try:
        sent = [
            await txn.send(context.topic(PIPELINES["step"]), value, partition=partition) for partition, value in outputs
        ]
        for each in sent:
            await each.result()
        await txn.ack(consumer, messages)
    except LedgerError as error:
        context.recorder.info("send", send, error)
        context.recorder.info("ack", ack, error)
        await deferred.end(context, txn, name, "abort")
        return False
    context.recorder.ok("send", send)
    context.recorder.ok("ack", ack)
    verdict = context.chance.choices(("commit", "abort", "abandon"), (10, 1, 1))[0]
    return await deferred.end(context, txn, name, verdict) == "committed"


async def _redeliver(consumer: AsyncConsumer) -> None:
    try:
        await consumer.redeliver_unacked()
    except LedgerError:
        return  # the leases expire


# -- transactions ------------------------------------------------------------------------------------------------------


async def dense(context: Context) -> None:
    """As many small transactions as the brokers take; most of them in one request."""
    async with connect(context) as client:
        lanes = [asyncio.create_task(_dense(context, client, lane)) for lane in range(LANES)]
        try:
            await asyncio.gather(*lanes)
        finally:
            for lane in lanes:
                lane.cancel()


async def _dense(context: Context, client: AsyncClient, lane: int) -> None:
    values = Values(f"{context.name}.{lane}", context.chance)
    async for number in context.rounds(0.0):
        name, some = f"{values.writer}#{number}", values.some(3)
        kind = context.chance.random()
        if kind < 0.1:
            txn = client.transaction(timeout_ms=TXN_TIMEOUT_MS)
            is_sent = await _send(context, txn, name, context.topic(DENSE), some, writer=name)
            await deferred.end(context, txn, name, context.chance.choice(("commit", "abort")) if is_sent else "abort")
            continue
        if kind < 0.3:
            await deferred.transact(context, client, name, context.topic(DENSE), some)
            continue
        # Each transaction is a writer: one whose answer was lost may take effect after the next one.
        call = {"topic": context.topic(DENSE), "records": some, "writer": name, "mode": "idempotent", "txn": name}
        send = context.recorder.invoke("send", **call)
        end = context.recorder.invoke("end", txn=name, verdict="commit")
        records = {context.topic(DENSE): [Record(value, partition=int(partition)) for partition, value in some]}
        try:
            done = await client.execute(records=records, timeout_ms=TXN_TIMEOUT_MS)
        except LedgerError as error:
            context.recorder.info("send", send, error)
            context.recorder.info("end", end, error)
            continue
        context.recorder.ok("send", send, positions=_placed(done, some))
        context.recorder.ok("end", end, outcome="committed")


async def _send(context: Context, txn: AsyncTransaction, name: str, topic: str, some: list[Any], **facts: Any) -> bool:
    """Returns whether all records were accepted."""
    call = {"topic": topic, "records": some, "writer": context.name, "mode": "idempotent", "txn": name, **facts}
    op = context.recorder.invoke("send", **call)
    try:
        keys, due_ms = facts.get("keys") or [None] * len(some), facts.get("due_ms")
        sent = [
            await txn.send(topic, value, key=key, partition=p, deliver_at=due_ms)
            for (p, value), key in zip(some, keys, strict=True)
        ]
        positions = [await each.result() for each in sent]
    except LedgerError as error:
        context.recorder.info("send", op, error)
        return False
    context.recorder.ok("send", op, positions=_positions(positions, some))
    return True


def _positions(positions: Sequence[Any], some: Sequence[Any]) -> list[list[Any]]:
    """Where records are in the log: without those that wait, and without those whose offset the broker forgot."""
    found = zip(positions, some, strict=True)
    return [[position.partition, position.offset, value] for position, (_, value) in found if position.offset >= 0]


def _placed(done: Executed, some: Sequence[Any]) -> list[list[Any]]:
    """The records of each result are those of its partition, in order."""
    found: list[list[Any]] = []
    for result in done.results:
        values = [value for partition, value in some if partition == result.partition]
        if result.base_offset >= 0 and result.records == len(values):
            found += [[result.partition, result.base_offset + n, value] for n, value in enumerate(values)]
    return found


async def _close(producer: Any) -> None:
    try:
        await producer.close()
    except LedgerError:
        return  # its records have been recorded as unknown
