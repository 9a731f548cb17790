"""An application that uses aiokafka; it ends when its stdin does.

    python aio.py ROLE NAME HOST:PORT,HOST:PORT

Prints what it did as sdk.py does.  SIGUSR1: it writes what it waits for, and what aiokafka did last, to stderr.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener
from aiokafka.errors import CommitFailedError, KafkaError

PARTITIONS = 4
IsOn = Callable[[], bool]


def tell(kind: str, **facts: Any) -> None:
    print(json.dumps({"at": time.time(), "kind": kind, **facts}), flush=True)


def tell_error(doing: str, error: Exception) -> None:
    tell("error", doing=doing, text=f"{type(error).__name__}: {error}")


def values(name: str, first: int, count: int) -> list[tuple[int, str]]:
    return [(number % PARTITIONS, f"{name}-{number}") for number in range(first, first + count)]


async def send_all(producer: AIOKafkaProducer, some: list[tuple[int, str]]) -> None:
    sent = [await producer.send("load", value.encode(), partition=partition) for partition, value in some]
    await asyncio.gather(*sent)


async def idempotent(name: str, brokers: str, is_on: IsOn) -> None:
    number = 0
    async with AIOKafkaProducer(bootstrap_servers=brokers, enable_idempotence=True, linger_ms=2) as producer:
        while is_on():
            some = values(name, number, 10)
            number += 10
            tell("asked", topic="load", values=some)
            try:
                await send_all(producer, some)
            except KafkaError as error:
                tell_error("idempotent", error)
            else:
                tell("answered", values=[value for _, value in some], outcome="committed")
            await asyncio.sleep(0.08)


async def transactional(name: str, brokers: str, is_on: IsOn) -> None:
    number = 0
    async with AIOKafkaProducer(bootstrap_servers=brokers, transactional_id=name) as producer:
        while is_on():
            some = values(name, number, 6)
            number += 6
            outcome = "aborted" if number % 30 == 0 else "committed"
            tell("asked", topic="load", values=some, step=number)
            try:
                await producer.begin_transaction()
                await send_all(producer, some)
                await (producer.commit_transaction() if outcome == "committed" else producer.abort_transaction())
            except KafkaError as error:
                tell_error("transaction", error)
                await producer.abort_transaction()
                outcome = "aborted"
            tell("answered", values=[value for _, value in some], outcome=outcome)
            await asyncio.sleep(0.1)


class AfterTheStep(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """aiokafka rejoins its group in the background, and then goes on at what was committed by then: a step that is
    under way has to end first, or it is done once more."""

    def __init__(self) -> None:
        self.step = asyncio.Lock()

    async def on_partitions_revoked(self, revoked: Any) -> None:
        async with self.step:
            pass

    async def on_partitions_assigned(self, assigned: Any) -> None:
        pass


def consumer_of(by: str, brokers: str, listener: AfterTheStep) -> AIOKafkaConsumer:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=brokers, group_id=by, auto_offset_reset="earliest", enable_auto_commit=False,
        isolation_level="read_committed", session_timeout_ms=10_000, heartbeat_interval_ms=500,
    )  # fmt: skip
    consumer.subscribe(["load"], listener=listener)
    return consumer


async def group(by: str, brokers: str, is_on: IsOn, producer: AIOKafkaProducer | None = None) -> None:
    """Commits what it got, by itself or with what the producer makes of it."""
    listener = AfterTheStep()
    async with consumer_of(by, brokers, listener) as consumer:
        while is_on():
            try:
                # Not within the step: while partitions are revoked, it waits until they are assigned.
                found = await consumer.getmany(timeout_ms=300, max_records=200)
                if not found:
                    continue
                async with listener.step:
                    records = [(r.partition, r.offset, r.value.decode()) for some in found.values() for r in some]
                    tell("got", topic="load", by=by, records=records)
                    ends = {at: some[-1].offset + 1 for at, some in found.items()}
                    if producer is not None:
                        await step(producer, by, records, ends)
                if producer is None:
                    await consumer.commit(ends)
            except CommitFailedError as error:  # a rebalance overtook it
                tell("moved", doing=f"commit of {by}", text=str(error))
            except KafkaError as error:
                tell_error(f"group {by}", error)
                await consumer.seek_to_committed()
            else:
                tell("position", topic="load", by=by, positions={at.partition: end for at, end in ends.items()})


async def step(producer: AIOKafkaProducer, by: str, records: list[tuple[int, int, str]], ends: dict[Any, int]) -> None:
    async with producer.transaction():
        for partition, _, value in records:
            await producer.send("chained", f"out of {value}".encode(), partition=partition)
        await producer.send_offsets_to_transaction(ends, by)


async def chain(by: str, brokers: str, is_on: IsOn) -> None:
    """Consume, transform, produce: offsets are committed in the transaction."""
    async with AIOKafkaProducer(bootstrap_servers=brokers, transactional_id=by) as producer:
        await group(by, brokers, is_on, producer)


ROLES: dict[str, Any] = {"idempotent": idempotent, "transactional": transactional, "group": group, "chain": chain}


class LastLines(logging.Handler):
    """Keeps the newest lines of the log, debug lines included."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[str] = deque(maxlen=400)
        self.setFormatter(logging.Formatter("%(asctime)s %(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record)[:300])

    def show(self) -> None:
        print(*self.lines, sep="\n", file=sys.stderr)
        for task in asyncio.all_tasks():
            task.print_stack(file=sys.stderr)
        sys.stderr.flush()


def keep_last_lines() -> LastLines:
    kept, log = LastLines(), logging.getLogger("aiokafka")
    log.setLevel(logging.DEBUG)
    log.addHandler(kept)
    shown = logging.StreamHandler()
    shown.setLevel(logging.WARNING)
    log.addHandler(shown)
    log.propagate = False
    for chatty in ("aiokafka.conn", "aiokafka.consumer.fetcher"):
        logging.getLogger(chatty).setLevel(logging.INFO)
    return kept


async def main(role: str, name: str, brokers: str) -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(sys.stdin, stopped.set)
    loop.add_signal_handler(signal.SIGUSR1, keep_last_lines().show)
    try:
        await ROLES[role](name, brokers, lambda: not stopped.is_set())
    except Exception as error:
        tell_error("everything", error)
        raise
    tell("end")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
