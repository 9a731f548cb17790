"""Clients that use aiokafka: a producer, transactions with zombies, a consumer group, and a pipeline.

aiokafka may wait for long, so every call has a limit.  After an error a client is replaced by a new one, as an
application that was restarted would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from tests.sim.clients.context import INPUT, KEYS, NAMES, PARTITIONS, PIPELINES, PLAIN, TXN, Context, Values

CALL_S_MAX = 15.0
CLOSE_S_MAX = 3.0
TXN_TIMEOUT_MS = 6_000
CONNECTION = {"request_timeout_ms": 4_000, "retry_backoff_ms": 100, "metadata_max_age_ms": 5_000}
# TimeoutError: a limit of ours.  OSError and the rest: what aiokafka lets through when connections break.
FAILURES = (KafkaError, TimeoutError, OSError, AssertionError, asyncio.InvalidStateError, RuntimeError)


async def within(call: Awaitable[Any], seconds: float = CALL_S_MAX) -> Any:
    """Raises TimeoutError.  Does not wait for a call that ignores its cancellation, as asyncio.wait_for would."""
    task = asyncio.ensure_future(call)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_forget)
    if not task.done() or task.cancelled():
        raise TimeoutError
    return task.result()


def _forget(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()


async def drop(*clients: Any) -> None:
    """Stops clients, whatever state they are in."""
    for client in clients:
        if client is None:
            continue
        with suppress(*FAILURES):
            await within(client.stop(), CLOSE_S_MAX)
            continue
        # stop() may wait for a coordinator for ever, and a member whose heartbeats go on keeps its partitions.
        coordinator = getattr(client, "_coordinator", None)
        for name in ("_coordination_task", "_heartbeat_task", "_commit_refresh_task"):
            if (task := getattr(coordinator, name, None)) is not None:
                task.cancel()
        with suppress(*FAILURES):
            await within((client._client if coordinator else client.client).close(), CLOSE_S_MAX)


class Producers:
    """A producer, replaced after a failure.  Each has a writer of its own: <name>.<life>."""

    def __init__(self, context: Context, **conf: Any) -> None:
        self._context, self._conf, self._life = context, conf, 0
        self.producer: AIOKafkaProducer | None = None
        self.values = Values(context.name, context.chance)

    async def get(self) -> AIOKafkaProducer | None:
        """Returns None if a new one did not start."""
        if self.producer is None:
            self._life += 1
            self.values = Values(f"{self._context.name}.{self._life}", self._context.chance)
            self.producer = await start_producer(self._context, self.values.writer, **self._conf)
        return self.producer

    def leave(self) -> AIOKafkaProducer | None:
        """Returns the producer, which goes on by itself; the next `get` makes a new one."""
        producer, self.producer = self.producer, None
        return producer

    async def replace(self) -> None:
        await drop(self.leave())


async def start_producer(context: Context, writer: str, **conf: Any) -> AIOKafkaProducer | None:
    id = conf.get("transactional_id")
    op = context.recorder.invoke("init", transactional_id=id, writer=writer) if id else 0
    producer = AIOKafkaProducer(bootstrap_servers=context.kafka, linger_ms=2, **CONNECTION, **conf)
    try:
        await within(producer.start())
    except FAILURES as error:
        if op:
            context.recorder.info("init", op, error)
        await drop(producer)
        return None
    if op:
        context.recorder.ok("init", op)
    return producer


async def send_all(
    producer: AIOKafkaProducer, topic: str, some: list[Any], keys: Sequence[str | None] = ()
) -> list[list[Any]]:  # fmt: skip
    """Returns partition, offset and value of each.  keys: of the records, or none."""
    sent = [
        await producer.send(topic, value.encode(), key=key.encode() if key else None, partition=partition)
        for (partition, value), key in zip_longest(some, keys)
    ]
    placed = await asyncio.gather(*sent)
    return [[p.partition, p.offset, value] for p, (_, value) in zip(placed, some, strict=True) if p.offset >= 0]


async def produce(context: Context) -> None:
    await _produce(context, context.topic(INPUT))


async def keys(context: Context) -> None:
    """Produces records with few keys and some without."""
    await _produce(context, context.topic(KEYS), NAMES)


async def _produce(context: Context, topic: str, names: Sequence[str | None] = ()) -> None:
    """names: the keys of records, if they have any."""
    producers = Producers(context, enable_idempotence=True)
    try:
        async for _ in context.rounds():
            producer = await producers.get()
            if producer is None:
                continue
            some = producers.values.some(8)
            chosen = [context.chance.choice(names) for _ in some] if names else []
            facts = {
                "topic": topic,
                "records": some,
                "keys": chosen,
                "writer": producers.values.writer,
                "mode": "idempotent",
            }
            op = context.recorder.invoke("send", **facts)
            try:
                positions = await within(send_all(producer, topic, some, chosen))
            except FAILURES as error:
                context.recorder.info("send", op, error)
                await producers.replace()
            else:
                context.recorder.ok("send", op, positions=positions)
    finally:
        await producers.replace()


async def transact(context: Context) -> None:
    """Commits and aborts.  Sometimes a second producer of the same id begins, and the first goes on as a zombie."""
    producers = Producers(context, transactional_id=context.name, transaction_timeout_ms=TXN_TIMEOUT_MS)
    zombies: list[asyncio.Task[None]] = []
    try:
        async for number in context.rounds():
            producer = await producers.get()
            if producer is None:
                continue
            verdict = context.chance.choices(("commit", "abort"), (5, 1))[0]
            if not await transaction(context, producer, producers.values, f"{context.name}#{number}", verdict):
                await producers.replace()
            elif context.chance.random() < 0.05:
                old, values = producers.leave(), producers.values
                zombies.append(asyncio.create_task(_haunt(context, old, values, number)))
    finally:
        await asyncio.gather(*zombies)
        await producers.replace()


async def _haunt(context: Context, producer: AIOKafkaProducer, values: Values, number: int) -> None:
    """The old producer goes on until it is fenced."""
    for attempt in range(5):
        await asyncio.sleep(0.3)  # while the new producer of its id begins
        if not await transaction(context, producer, values, f"{context.name}#{number}.z{attempt}", "commit"):
            break
    await drop(producer)


async def transaction(context: Context, producer: AIOKafkaProducer, values: Values, name: str, verdict: str) -> bool:
    """Returns whether the producer can go on."""
    try:
        await within(producer.begin_transaction())
    except FAILURES:
        return False
    for _ in range(context.chance.randint(1, 2)):
        some = values.some(4)
        facts = {
            "topic": context.topic(TXN),
            "records": some,
            "writer": values.writer,
            "mode": "idempotent",
            "txn": name,
        }
        op = context.recorder.invoke("send", **facts)
        try:
            positions = await within(send_all(producer, context.topic(TXN), some))
        except FAILURES as error:
            context.recorder.info("send", op, error)
            return await end(context, producer, name, "abort")
        context.recorder.ok("send", op, positions=positions)
    return await end(context, producer, name, verdict)


async def end(context: Context, producer: AIOKafkaProducer, name: str, verdict: str) -> bool:
    op = context.recorder.invoke("end", txn=name, verdict=verdict)
    try:
        await within(producer.commit_transaction() if verdict == "commit" else producer.abort_transaction())
    except FAILURES as error:
        context.recorder.info("end", op, error)
        return False
    context.recorder.ok("end", op, outcome="committed" if verdict == "commit" else "aborted")
    return True


def make_consumer(context: Context, group: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        bootstrap_servers=context.kafka, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
        isolation_level="read_committed", session_timeout_ms=6_000, heartbeat_interval_ms=500, **CONNECTION,
    )  # fmt: skip


async def group(context: Context) -> None:
    """Two members; each commits what it got."""
    consumer: AIOKafkaConsumer | None = None
    try:
        async for _ in context.rounds(0.05):
            try:
                if consumer is None:
                    consumer = make_consumer(context, "group")
                    consumer.subscribe([context.topic(PLAIN)])
                    await within(consumer.start())
                found = await _poll(context, consumer, context.topic(PLAIN), "group")
                if found:
                    await _commit(context, consumer, {at.partition: r[-1].offset + 1 for at, r in found.items()})
            except FAILURES:
                await drop(consumer)
                consumer = None
    finally:
        await drop(consumer)


async def _poll(context: Context, consumer: AIOKafkaConsumer, topic: str, group: str) -> dict[Any, list[Any]]:
    op = context.recorder.invoke("poll", topic=topic, group=group)
    try:
        found: dict[Any, list[Any]] = await within(consumer.getmany(timeout_ms=300, max_records=30))
    except FAILURES as error:
        context.recorder.info("poll", op, error)
        raise
    records = [[r.partition, r.offset, r.value.decode()] for some in found.values() for r in some]
    context.recorder.ok("poll", op, records=records)
    return found


async def _commit(context: Context, consumer: AIOKafkaConsumer, positions: dict[int, int]) -> None:
    facts = {
        "topic": context.topic(PLAIN),
        "group": "group",
        "positions": {str(p): offset for p, offset in positions.items()},
    }
    op = context.recorder.invoke("offsets", **facts)
    try:
        await within(
            consumer.commit({TopicPartition(context.topic(PLAIN), p): offset for p, offset in positions.items()})
        )
    except FAILURES as error:
        context.recorder.info("offsets", op, error)
        raise
    context.recorder.ok("offsets", op)


async def chain(context: Context) -> None:
    """Consumes, transforms and produces; offsets are committed in the transaction.

    One instance with all partitions: its transactional id fences the instance before it, as without KIP-447."""
    producers = Producers(context, transactional_id=context.name, transaction_timeout_ms=TXN_TIMEOUT_MS)
    consumer: AIOKafkaConsumer | None = None
    number = 0
    try:
        async for number in context.rounds(0.05):
            try:
                producer = await producers.get()
                if producer is None:
                    continue
                if consumer is None:
                    consumer = make_consumer(context, "chain")
                    consumer.assign(
                        [TopicPartition(context.topic(INPUT), partition) for partition in range(PARTITIONS)]
                    )
                    await within(consumer.start())
                found = await _poll(context, consumer, context.topic(INPUT), "chain")
                is_done = not found or await _link(context, producer, producers.values, found, number)
            except FAILURES:
                is_done = False
            if not is_done or context.chance.random() < 0.01:
                await producers.replace()
                await drop(consumer)
                consumer = None
    finally:
        await producers.replace()
        await drop(consumer)


async def _link(
    context: Context, producer: AIOKafkaProducer, values: Values, found: dict[Any, list[Any]], number: int
) -> bool:
    """Returns whether the transaction was committed."""
    name = f"{context.name}#{number}"
    records = [r for some in found.values() for r in some]
    outputs = [[r.partition, values.of(r.value.decode())] for r in records]
    ends = {at: some[-1].offset + 1 for at, some in found.items()}
    await within(producer.begin_transaction())
    facts = {
        "topic": context.topic(PIPELINES["chain"]),
        "writer": values.writer,
        "mode": "idempotent",
        "pipeline": "chain",
    }
    sources = [r.value.decode() for r in records]
    send = context.recorder.invoke("send", records=outputs, sources=sources, txn=name, **facts)
    positions = {str(at.partition): offset for at, offset in ends.items()}
    offsets = context.recorder.invoke(
        "offsets", topic=context.topic(INPUT), group="chain", positions=positions, txn=name
    )
    try:
        placed = await within(send_all(producer, context.topic(PIPELINES["chain"]), outputs))
        await within(producer.send_offsets_to_transaction(ends, "chain"))
    except FAILURES as error:
        context.recorder.info("send", send, error)
        context.recorder.info("offsets", offsets, error)
        await end(context, producer, name, "abort")
        return False
    context.recorder.ok("send", send, positions=placed)
    context.recorder.ok("offsets", offsets)
    return await end(context, producer, name, "commit")
