"""The demo's consume-transform-produce job: an ordinary client that may be killed at any time.

    receive from flights  →  one transaction: a record to delays, a record to routes, the acknowledgement  →  again

It stores nothing.  If it is killed before the commit, its transaction is aborted and its flights are redelivered; if it
is killed after the commit, they are acknowledged.  Most steps use `client.execute`, one request; every fourth uses a
transaction of several requests.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from itertools import count
from typing import Literal

from redis_ledger import AsyncClient, LedgerError, Message, Record
from redis_ledger.app.tools.demo.flights import DELAYS, FLIGHTS, ROUTES, SUBSCRIPTION, Flight, route, to_delay, to_route
from redis_ledger.client._async.consumer import AsyncConsumer

Sabotage = Literal["none", "duplicate", "lose"]

WAIT_MS = 200
ACK_TIMEOUT_MS = 2_000  # messages of a killed worker are redelivered after this time
TRANSACTION_TIMEOUT_MS = 4_000
MANY_CALLS_EVERY = 4
SABOTAGED = 0  # the flight of the sabotage
PAUSE_S = 0.05
PATIENCE_MS = 3_000  # after this time a step without a response is given up


class Worker:
    """sabotage: break a promise on purpose, to test the check.  It depends on the flight, not on the worker, so that it
    happens exactly once."""

    def __init__(self, client: AsyncClient, consumer: AsyncConsumer, step_records: int, sabotage: Sabotage) -> None:
        self._client = client
        self._consumer = consumer
        self._step_records = step_records
        self._sabotage: Sabotage = sabotage
        self._stopping = False

    def stop(self) -> None:
        """Stops after the current step."""
        self._stopping = True

    async def run(self) -> None:
        # Messages of an earlier process of this name are redelivered immediately.
        await self._consumer.redeliver_unacked()
        for step in count():
            if self._stopping:
                return
            try:
                messages = await self._consumer.receive(self._step_records, wait_ms=WAIT_MS)
                if messages:
                    await self._step(messages, in_one_call=step % MANY_CALLS_EVERY != 0)
            except LedgerError as error:
                # The step took effect completely or not at all; in the latter case its messages are redelivered.
                print(f"step given up: {error.code}: {error}", file=sys.stderr, flush=True)
                await asyncio.sleep(PAUSE_S)

    async def _step(self, messages: list[Message], in_one_call: bool) -> None:
        inputs = [message.json() for message in messages]
        records = outputs(inputs, lose=self._sabotage == "lose")
        if in_one_call:
            await self._client.execute(
                acks=[(self._consumer, messages)], records=records, timeout_ms=TRANSACTION_TIMEOUT_MS
            )
        else:
            async with self._client.transaction(timeout_ms=TRANSACTION_TIMEOUT_MS) as txn:
                await txn.begin()
                for topic, of_topic in records.items():
                    for record in of_topic:
                        await txn.send(topic, record.value, key=record.key)
                await txn.ack(self._consumer, messages)
        if self._sabotage == "duplicate":
            async with self._client.producer(DELAYS) as producer:
                for again in (to_delay(flight) for flight in inputs if flight["flight"] == SABOTAGED):
                    await producer.send(again, key=str(SABOTAGED))


def outputs(inputs: list[Flight], lose: bool = False) -> dict[str, list[Record]]:
    """Topic → output records of the flights.  lose: omit a record of the sabotaged flight."""
    delays = [Record(to_delay(flight), key=str(flight["flight"])) for flight in inputs]
    kept = [flight for flight in inputs if not (lose and flight["flight"] == SABOTAGED)]
    return {DELAYS: delays, ROUTES: [Record(to_route(flight), key=route(flight)) for flight in kept]}


async def work(url: str, name: str, step_records: int, sabotage: Sabotage) -> None:
    """Runs until SIGTERM or the end of stdin."""
    loop = asyncio.get_running_loop()
    async with AsyncClient(url, timeout_ms=PATIENCE_MS, attempt_ms=PATIENCE_MS) as client:
        consumer = client.consumer(
            FLIGHTS, SUBSCRIPTION, name=name, ack_timeout_ms=ACK_TIMEOUT_MS, prefetch=step_records
        )
        worker = Worker(client, consumer, step_records, sabotage)
        running = asyncio.create_task(worker.run())
        loop.add_signal_handler(signal.SIGTERM, worker.stop)
        loop.add_reader(sys.stdin.fileno(), lambda: os.read(sys.stdin.fileno(), 1) or running.cancel())
        with contextlib.suppress(asyncio.CancelledError):
            await running


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--step-records", type=int, required=True)
    parser.add_argument("--sabotage", choices=["none", "duplicate", "lose"], default="none")
    arguments = parser.parse_args()
    asyncio.run(work(arguments.url, arguments.name, arguments.step_records, arguments.sabotage))


if __name__ == "__main__":
    main()
