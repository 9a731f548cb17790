"""An application that uses the SDK, of whichever release comes first on its path; it ends when its stdin does.

    python sdk.py ROLE NAME URL,URL

Each line it prints is JSON: what it asked for, was answered, got and could not do (tests/support/client_history.py).
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from redis_ledger import AsyncClient, LedgerError, Record

PARTITIONS = 4
DUE_AFTER_MS = (300, 2_000, 7_000, 15_000, 30_000)
IsOn = Callable[[], bool]


class Undone(Exception):
    """Thrown to abort a transaction."""


def tell(kind: str, **facts: Any) -> None:
    print(json.dumps({"at": time.time(), "kind": kind, **facts}), flush=True)


def tell_error(doing: str, error: Exception) -> None:
    tell("error", doing=doing, text=f"{type(error).__name__}: {error}")


def values(name: str, first: int, count: int) -> list[tuple[int, str]]:
    return [(number % PARTITIONS, f"{name}-{number}") for number in range(first, first + count)]


async def produce(client: AsyncClient, name: str, is_on: IsOn) -> None:
    number = 0
    async with client.producer("load") as producer:
        while is_on():
            some = values(name, number, 10)
            number += 10
            tell("asked", topic="load", values=some)
            try:
                sent = [await producer.send(value, partition=partition) for partition, value in some]
                for each in sent:
                    await each.result()
            except LedgerError as error:
                tell_error("produce", error)
            else:
                tell("answered", values=[value for _, value in some], outcome="committed")
            await asyncio.sleep(0.05)


async def transact(client: AsyncClient, name: str, is_on: IsOn) -> None:
    """Every fourth transaction is aborted; each has records of now and one for later."""
    number = 0
    while is_on():
        some, later = values(name, number, 6), values(f"{name}.later", number, 1)
        number += 6
        due_ms = round(time.time() * 1000) + 4_000
        tell("asked", topic="load", values=some, step=number)
        tell("asked", topic="later", values=later, step=number, due_ms=due_ms)
        outcome = ""
        try:
            async with client.transaction(timeout_ms=20_000) as txn:
                for partition, value in some:
                    await txn.send("load", value, partition=partition)
                for partition, value in later:
                    await txn.send("later", value, partition=partition, deliver_at=due_ms)
                if number % 24 == 0:
                    raise Undone
            outcome = "committed"
        except Undone:
            outcome = "aborted"
        except LedgerError as error:
            tell_error("transaction", error)
        if outcome:
            tell("answered", values=[value for _, value in (*some, *later)], outcome=outcome)
        await asyncio.sleep(0.1)


async def schedule(client: AsyncClient, name: str, is_on: IsOn) -> None:
    number = 0
    async with client.producer("later", linger_ms=0) as producer:
        while is_on():
            for after_ms in DUE_AFTER_MS:
                some = values(name, number, 1)
                number += 1
                due_ms = round(time.time() * 1000) + after_ms
                tell("asked", topic="later", values=some, due_ms=due_ms)
                try:
                    await (await producer.send(some[0][1], partition=some[0][0], deliver_at=due_ms)).result()
                except LedgerError as error:
                    tell_error("schedule", error)
                else:
                    tell("answered", values=[some[0][1]], outcome="committed")
            await asyncio.sleep(0.3)


def got(topic: str, by: str, messages: list[Any]) -> list[tuple[int, int]]:
    tell("got", topic=topic, by=by, records=[(m.partition, m.offset, m.text()) for m in messages])
    return [(m.partition, m.offset) for m in messages]


async def acknowledge(client: AsyncClient, topic: str, by: str, is_on: IsOn) -> None:
    async with client.consumer(topic, by) as consumer:
        while is_on():
            try:
                messages = await consumer.receive(100, wait_ms=500)
                if not messages:
                    continue
                there = got(topic, by, messages)
                await consumer.ack(messages)
            except LedgerError as error:
                tell_error(f"subscription {by}", error)
            else:
                tell("done", topic=topic, by=by, records=there)


async def work(client: AsyncClient, name: str, is_on: IsOn) -> None:
    await acknowledge(client, "load", "workers", is_on)


async def watch(client: AsyncClient, name: str, is_on: IsOn) -> None:
    await acknowledge(client, "later", "watch", is_on)


async def step(client: AsyncClient, name: str, is_on: IsOn) -> None:
    """Consume, transform, produce: once for each message."""
    async with client.consumer("load", "steps", prefetch=200) as consumer:
        while is_on():
            try:
                messages = await consumer.receive(50, wait_ms=500)
                if not messages:
                    continue
                made = [Record(f"out of {m.text()}", partition=m.partition) for m in messages]
                await client.execute(acks=[(consumer, messages)], records={"steps": made}, timeout_ms=10_000)
                tell("done", topic="load", by="steps", records=[(m.partition, m.offset) for m in messages])
            except LedgerError as error:
                tell_error("step", error)
                await consumer.redeliver_unacked()


ROLES = {"produce": produce, "transact": transact, "schedule": schedule, "work": work, "watch": watch, "step": step}


async def main(role: str, name: str, urls: str) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin, stopped.set)
    try:
        async with AsyncClient(urls.split(",")) as client:
            await ROLES[role](client, name, lambda: not stopped.is_set())
    except Exception as error:
        tell_error("everything", error)
        raise
    tell("end")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
