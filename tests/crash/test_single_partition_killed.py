"""A broker is killed around the append of a transaction over one partition: all of its records are in the log once, and
those of a client that was killed before its commit are not."""

from __future__ import annotations

import asyncio
import random
import sys
import threading

import pytest

from redis_ledger import Client
from tests.support.broker import one, raw
from tests.support.processes import ROOT

CHILD = """
import sys, time
from redis_ledger import Client

with Client(sys.argv[1]) as client:
    txn = client.transaction()
    for n in range(10):
        txn.send("t", f"never {n}")
    print("sent", flush=True)
    time.sleep(60)  # until it is killed
"""


@pytest.mark.parametrize("rounds", [2, pytest.param(4, marks=pytest.mark.full)])
async def test_a_commit_survives_the_broker_that_appends_and_is_there_once(serve, redis_url, prefix, rounds):
    """CL-17: killed before the append, or after it and before the answer."""
    chance, expected = random.Random(17), list[str]()
    async with one(redis_url, prefix) as judge:
        await judge.topics.create("t")
        survivor, victim = serve(), serve()
        for number in range(rounds):
            with Client([victim.urls[0], survivor.urls[0]], attempt_ms=5_000) as client:
                with client.transaction() as warm:  # has its connection and its producer id
                    warm.send("t", f"warm {number}")
                killing = threading.Timer(chance.uniform(0, 0.004), victim.process.kill)
                with client.transaction() as txn:
                    for n in range(10):
                        txn.send("t", f"{number}.{n}")
                    killing.start()
                killing.join()
                assert txn.id is None
            expected += [f"warm {number}", *(f"{number}.{n}" for n in range(10))]
            victim = serve() if number < rounds - 1 else victim
        assert await raw(judge) == expected


async def test_a_client_that_is_killed_before_its_commit_leaves_nothing(serve, redis_url, prefix):
    """CL-17"""
    async with one(redis_url, prefix) as judge:
        await judge.topics.create("t")
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CHILD, serve().urls[0], cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        try:
            assert child.stdout is not None
            assert await child.stdout.readline() == b"sent\n"
        finally:
            child.kill()
            await child.wait()
        await asyncio.sleep(0.2)  # what it could have sent would arrive in this time
        assert await raw(judge) == []
        assert await judge.transactions.list() == []
