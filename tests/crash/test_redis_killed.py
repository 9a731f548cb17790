"""Redis is killed with -9 and restarts: with `appendfsync always` no acknowledged record is lost or duplicated."""

from __future__ import annotations

import asyncio
from collections import Counter

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import ExecuteAcks, ExecuteRecords, NewRecord, ProducerSequence
from redis_ledger.errors import LedgerError, SequenceGap
from redis_ledger.ids import MessageId
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from tests.support.broker import backlog, eventually, live_transactions, one, outstanding, visible
from tests.support.redis_servers import redis_server
from tests.support.sidecar import all_buffered

STEPS, WORKERS = 160, 8


async def worker(broker: Broker, steps: list[int], acknowledged: list[int]) -> None:
    while steps:
        number = steps.pop()
        value = [NewRecord(None, str(number).encode())]
        while True:  # the same step under the same nonce, until it is acknowledged
            try:
                await broker.execute.run(
                    [ExecuteAcks("in", "work", "w", [MessageId(0, number)])],
                    [ExecuteRecords("left", value), ExecuteRecords("right", value)],
                    nonce=f"step-{number}",
                )
                break
            except LedgerError:
                await asyncio.sleep(0.02)
        acknowledged.append(number)


async def producer(broker: Broker, acknowledged: list[int]) -> None:
    """One idempotent producer; a batch whose outcome is unknown is sent again with its sequence."""
    pid, epoch = await broker.producers.allocate()
    sequence = 0
    while sequence < STEPS:
        try:
            await broker.records.produce(
                "plain", [NewRecord(None, str(sequence).encode())], producer=ProducerSequence(pid, epoch, sequence)
            )
        except SequenceGap:
            raise
        except LedgerError:
            await asyncio.sleep(0.02)
            continue
        acknowledged.append(sequence)
        sequence += 1
        await asyncio.sleep(0.002)


async def test_redis_killed_in_a_stream_of_steps_loses_and_doubles_nothing():
    """CL-19, TB-13, TC-06, SC-05, SC-06: two kills -9 of Redis under eight workers and an idempotent producer."""
    with redis_server(appendonly="yes", appendfsync="always") as server:
        async with one(server.url, "k", coordinators=2) as broker:
            # Given inputs received, and workers that turn each into an output on two topics
            await broker.topics.create("in")
            for topic, buffer in (("left", "marker"), ("right", "sidecar")):
                await broker.topics.create(topic, 2, settings={TXN_BUFFER: BUFFERS[buffer]})
            await broker.subscriptions.create("in", "work")
            await broker.records.produce("in", [NewRecord(None, str(n).encode()) for n in range(STEPS)])
            messages = await broker.subscriptions.receive("in", "work", "w", max_records=STEPS, ack_timeout_ms=60_000)
            assert len(messages) == STEPS
            steps, done, produced = list(range(STEPS)), list[int](), list[int]()
            tasks = [asyncio.create_task(worker(broker, steps, done)) for _ in range(WORKERS)]
            tasks.append(asyncio.create_task(producer(broker, produced)))
            # When Redis is killed twice on the way, while steps are under way
            for share in (STEPS // 3, 2 * STEPS // 3):
                while len(done) < share:
                    await asyncio.sleep(0.001)
                server.kill()
                await asyncio.sleep(0.1)
                server.start()
            async with asyncio.timeout(30):
                await asyncio.gather(*tasks)
            # Then every step is there once, on both topics, and so is every record of the producer
            everything = Counter(str(n) for n in range(STEPS))
            for topic in ("left", "right", "plain"):
                seen = await visible(broker, topic)
                assert Counter(v for values in seen.values() for v in values) == everything, topic
            assert sorted(done) == sorted(produced) == list(range(STEPS))
            assert (await visible(broker, "plain"))[0] == [str(n) for n in range(STEPS)]
            # And nothing is left over
            assert await eventually(lambda: live_transactions(broker), 0) == 0
            assert [await outstanding(broker, topic) for topic in ("in", "left", "right")] == [0, 0, 0]
            assert await backlog(broker, "in", "work") == 0
            assert await all_buffered(broker, ["right"]) == 0
