"""A broker is killed around the step that is the commit of a transaction: its outputs are there once, and its inputs
are acknowledged."""

from __future__ import annotations

import random
import threading

from redis_ledger import Client
from tests.support.broker import backlog, one, visible

ROUNDS = 6
LATEST_S = 0.012  # a step takes less


async def test_a_step_survives_the_broker_that_executes_it_and_takes_effect_once(serve, redis_url, prefix):
    """CL-15, CL-19: killed before the step, within it, or after it and before the answer."""
    chance = random.Random(50)
    async with one(redis_url, prefix) as judge:
        await judge.topics.create("in")
        await judge.topics.create("out", 2)
        survivor, victim = serve(), serve()
        for number in range(ROUNDS):
            with (
                Client([victim.urls[0], survivor.urls[0]], attempt_ms=5_000) as client,
                client.consumer("in", "work", prefetch=0, start="earliest") as consumer,
            ):
                client.producer("in").send(f"{number}", partition=0).result()
                messages = consumer.receive(1, wait_ms=5_000)
                txn = client.transaction()
                for n in range(2):
                    txn.send("out", f"{number}", partition=n)
                txn.ack(consumer, messages)
                killing = threading.Timer(LATEST_S * chance.random(), victim.process.kill)
                killing.start()
                txn.commit()
                killing.join()
                assert txn.id is None
            victim = serve() if number < ROUNDS - 1 else victim
        expected = [f"{number}" for number in range(ROUNDS)]
        assert await visible(judge, "out") == {0: expected, 1: expected}
        assert await backlog(judge, "in", "work") == 0
