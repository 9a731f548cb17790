"""Redis is unavailable for longer than a session, an ack timeout or the lease of an Idempotency-Key."""

from __future__ import annotations

import asyncio
import time

import pytest

from redis_ledger.broker.idempotency import Idempotency
from redis_ledger.broker.types import ProducerSequence
from redis_ledger.errors import ConsumerBusy, LedgerError, NotYourMessage
from tests.support.broker import receive_values, records, two, values_of
from tests.support.busy_machine import busy_machine
from tests.support.redis_servers import redis_server

SESSION_MS = 2_500
PAUSE_S = 3.0


def frozen(server):
    """It keeps its connections, and answers nothing."""
    server.freeze()
    time.sleep(PAUSE_S)  # sessions and leases run by the clock of the machine
    server.thaw()


def restarted(server):
    """It is gone, and comes back slowly with what it had."""
    server.kill()
    time.sleep(PAUSE_S)  # sessions and leases run by the clock of the machine
    server.start()


@pytest.fixture
def server():
    with redis_server(appendonly="yes", appendfsync="always") as server:
        yield server


@pytest.fixture
async def pair(server, prefix):
    settings = {"consumer_session_ms": SESSION_MS, "redis_timeout_ms": 1_000, "redis_retry_ms": 1_000}
    async with two(server.url, prefix, **settings) as brokers:
        await brokers[0].topics.create("t", 1)
        await brokers[0].records.produce("t", records("a", "b", "c"))
        yield brokers


async def taken_over(broker, until):
    """Whether a second consumer that polls all the time gets the subscription before the first one's next call."""
    while not until.is_set():
        try:
            await broker.subscriptions.receive("t", "x", "second")
        except ConsumerBusy:
            await asyncio.sleep(0.02)
        except LedgerError:
            await asyncio.sleep(0.02)  # Redis is away
        else:
            return True
    return False


@pytest.mark.parametrize("away", [frozen, restarted])
async def test_an_exclusive_consumer_keeps_its_subscription(server, pair, away):
    await pair[0].subscriptions.create("t", "x", "exclusive")
    assert list((await receive_values(pair[0], "t", "x", "first")).values()) == ["a", "b", "c"]
    owner_is_back = asyncio.Event()
    rival = asyncio.create_task(taken_over(pair[1], owner_is_back))
    # When Redis is away for two sessions, and the owner calls a while after it is back
    await asyncio.to_thread(away, server)
    await asyncio.sleep(SESSION_MS / 3000)
    # Then it is the owner, although another consumer has asked all the time
    got = await receive_values(pair[0], "t", "x", "first")
    await pair[0].subscriptions.ack_cumulative("t", "x", "first", max(got))
    owner_is_back.set()
    assert list(got.values()) == ["a", "b", "c"]
    assert not await rival


async def test_an_owner_that_does_not_come_back_is_replaced_a_session_after_the_pause(server, pair):
    await pair[0].subscriptions.create("t", "x", "exclusive")
    await receive_values(pair[0], "t", "x", "first")
    await asyncio.to_thread(frozen, server)
    back_s = time.monotonic()
    async with busy_machine(pair[1]) as machine:
        assert await asyncio.wait_for(taken_over(pair[1], asyncio.Event()), 30)
    assert SESSION_MS / 1000 - 0.5 < time.monotonic() - back_s < SESSION_MS / 1000 + 2 + machine.lost_s


async def test_ack_leases_run_out_in_a_pause_and_a_late_acknowledgement_counts_until_another_consumer_has_them(
    server, pair
):
    await pair[0].subscriptions.create("t", "x", "shared")
    got = list(await receive_values(pair[0], "t", "x", "first", ack_timeout_ms=1_000))
    await asyncio.to_thread(frozen, server)
    # The first one's acknowledgement comes before anyone has asked
    await pair[0].subscriptions.ack("t", "x", "first", got[:1])
    # What another consumer has by then is its own
    assert list((await receive_values(pair[1], "t", "x", "second")).values()) == ["b", "c"]
    with pytest.raises(NotYourMessage):
        await pair[0].subscriptions.ack("t", "x", "first", got[1:])


async def test_a_request_with_an_idempotency_key_that_outlives_its_lease_in_a_pause_has_one_effect(server, pair):
    async def claim(broker):
        keys = Idempotency(broker.store, lease_ms=1_000, keep_ms=60_000)
        return await keys.claim("k", b"f" * 32, producer_id=await broker.producers.ids.allocate_keyed())

    async def produce(broker, claim):
        return await broker.records.produce(
            "t", records("once", partition=0), producer=ProducerSequence(claim.producer_id, 0, 0)
        )

    first = await claim(pair[0])
    await asyncio.to_thread(frozen, server)
    # When the client repeats it at another broker, while the first one still works on it
    again = await claim(pair[1])
    assert again.resumed
    placed = [await produce(pair[1], again), await produce(pair[0], first)]
    for each in (first, again):
        await each.finish(200, b"{}")
    # Then both have done it under one name, which the partition accepts once
    assert placed[0][0].base_offset == placed[1][0].base_offset
    assert await values_of(pair[0], "t") == ["a", "b", "c", "once"]
