"""A broker is killed around the step that is the commit of one transaction, or of several at once: the outputs of each
are there once, and its inputs are acknowledged."""

from __future__ import annotations

import asyncio
import random
import threading

import pytest

from redis_ledger import AsyncClient
from tests.support.broker import backlog, one, visible

LATEST_S = 0.015  # a step takes less


@pytest.mark.parametrize("rounds", [2, pytest.param(6, marks=pytest.mark.full)])
@pytest.mark.parametrize("at_once", [1, 8])
async def test_a_step_survives_the_broker_that_executes_it_and_takes_effect_once(
    serve, redis_url, prefix, at_once, rounds
):
    """CL-15, CL-19: killed before the step, within it, or after it and before the answer."""
    chance = random.Random(50)
    async with one(redis_url, prefix) as judge:
        await judge.topics.create("in")
        await judge.topics.create("out", 2)
        survivor, victim = serve(), serve()
        for number in range(rounds):
            async with (
                AsyncClient([victim.urls[0], survivor.urls[0]], attempt_ms=5_000) as client,
                client.consumer("in", "work", prefetch=0, start="earliest") as consumer,
            ):
                async with client.producer("in") as producer:
                    for n in range(at_once):
                        await producer.send(f"{number}.{n}", partition=0)
                messages = await consumer.receive(at_once, wait_ms=5_000)
                assert len(messages) == at_once
                txns = [client.transaction() for _ in messages]
                for txn, message in zip(txns, messages, strict=True):
                    for n in range(2):
                        await txn.send("out", message.text(), partition=n)
                    await txn.ack(consumer, message)
                killing = threading.Timer(LATEST_S * chance.random(), victim.process.kill)
                killing.start()
                await asyncio.gather(*(txn.commit() for txn in txns))
                await asyncio.to_thread(killing.join)
                assert [txn.id for txn in txns] == [None] * at_once
            victim = serve() if number < rounds - 1 else victim
        expected = [f"{number}.{n}" for number in range(rounds) for n in range(at_once)]
        found = await visible(judge, "out")
        assert {partition: sorted(values) for partition, values in found.items()} == {0: expected, 1: expected}
        assert await backlog(judge, "in", "work") == 0
