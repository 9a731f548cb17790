"""A broker is killed while operations wait in it for the next batch of the transaction log."""

from __future__ import annotations

import asyncio

import httpx

from tests.support.broker import eventually, one
from tests.support.processes import Serve
from tests.support.proxy import proxy

WAITING = "redis_ledger_coordinator_waiting_operations"


async def test_operations_that_waited_in_a_killed_broker_were_not_answered_and_leave_nothing(redis, redis_url, prefix):
    """BW-19: kill -9 while one batch is on its way to Redis and five begins wait for the next."""
    environ = {"REDIS_LEDGER_PREFIX": prefix, "REDIS_LEDGER_COORDINATORS": "1"}
    async with proxy("127.0.0.1", redis.port) as relay, httpx.AsyncClient(timeout=30, trust_env=False) as http:
        victim = Serve("--redis", relay.url, "--durability", "lossy", environ=environ)
        try:
            (url,) = await asyncio.to_thread(lambda: victim.urls)

            async def begin(owner):
                return await http.post(f"{url}/v1/transactions", json={"owner": owner})

            async def waiting():
                lines = (await http.get(f"{url}/metrics")).text.splitlines()
                return next(float(line.split()[-1]) for line in lines if line.startswith(WAITING))

            assert (await begin("confirmed")).status_code == 201
            # Given a batch that Redis has not received, and begins behind it
            relay.hold()
            first = asyncio.create_task(begin("on its way"))
            while b"on%20its%20way" not in b"".join(relay.requests):
                assert not first.done(), "it was answered, and has not reached Redis"
                await asyncio.sleep(0.01)
            begins = [asyncio.create_task(begin(f"waiting {n}")) for n in range(5)]
            assert await eventually(waiting, 5.0) == 5.0
            assert b"waiting%20" not in b"".join(relay.requests)
            # When the broker is killed
            victim.process.kill()
            # Then no caller has got a success
            answers = await asyncio.gather(first, *begins, return_exceptions=True)
            assert all(isinstance(answer, httpx.TransportError) for answer in answers), answers
            relay.release()
        finally:
            victim.clean_up()
    # And a broker that starts afterwards has what was confirmed, and nothing of what waited
    async with one(redis_url, prefix, coordinators=1) as after:
        owners = [txn.owner for txn in await after.transactions.list()]
        assert owners[0] == "confirmed"
        assert set(owners) <= {"confirmed", "on its way"}
        assert len(await after.transactions.list("open")) == len(owners)
