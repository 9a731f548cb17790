"""What becomes invalid while a fetch is under way, in both clients: nothing that it brings is handed out."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from redis_ledger import AsyncClient, Client
from tests.support.stub_broker import StubBroker, hurry

OLD, NEW = [0, 1, 2], [10, 11]


class HeldBroker(StubBroker):
    """Seeks to messages that were not there before.  A receive that has leased messages is answered when `may_answer`
    is set."""

    def __init__(self) -> None:
        super().__init__()
        self.add_messages(*OLD)
        self.has_leased, self.may_answer = threading.Event(), threading.Event()

    def seek(self) -> None:
        """As the broker: leases end, and delivery begins anew."""
        self.queue.clear()
        self.leased.clear()
        self.acked = [f"0:{n}" for n in range(10)]  # the messages before the new position
        self.add_messages(*NEW)

    def _subscription(self, path, body):
        if path.endswith(":seek"):
            self.seek()
        return super()._subscription(path, body)

    async def handle_async_request(self, request):
        response = await super().handle_async_request(request)
        if request.url.path.endswith(":receive") and not response.headers.get("idle"):
            self.has_leased.set()
            while not self.may_answer.is_set():
                await asyncio.sleep(0.001)
        return response

    def handle_request(self, request):
        response = super().handle_request(request)
        if request.url.path.endswith(":receive") and not response.headers.get("idle"):
            self.has_leased.set()
            assert self.may_answer.wait(30)
        return response


@pytest.fixture
def stub():
    return HeldBroker()


async def leased(stub: HeldBroker) -> None:
    while not stub.has_leased.is_set():
        await asyncio.sleep(0.001)


async def all_of(consumer, count: int) -> list[int]:
    """And what comes behind them."""
    found: list[int] = []
    while len(found) < count and (more := await consumer.receive(100, wait_ms=5_000)):
        found += [message.json() for message in more]
    return found + [message.json() for message in await consumer.receive(100, wait_ms=20)]


@pytest.mark.parametrize("kind", ["shared", "key_shared", "exclusive", "failover"])
@pytest.mark.parametrize("seeks", [1, 2])
async def test_a_fetch_that_was_under_way_at_a_seek_brings_nothing(stub, kind, seeks):
    async with AsyncClient("http://b", http=stub) as client, client.consumer("t", "s", kind=kind) as consumer:
        # Given a call that waits, and its fetch under way: what it brings counts as delivered
        waiting = asyncio.create_task(consumer.receive(100, wait_ms=5_000))
        await leased(stub)
        # When the position is moved before it is answered
        for _ in range(seeks):
            await consumer.seek("latest")
        stub.may_answer.set()
        # Then messages from the new position come, and no others
        found = [message.json() for message in await waiting]
        assert found + await all_of(consumer, len(NEW) - len(found)) == NEW


@pytest.mark.parametrize("kind", ["shared", "exclusive"])
def test_a_fetch_that_was_under_way_at_a_seek_brings_nothing_to_the_twin_for_threads(stub, kind):
    with Client("http://b", http=stub) as client, client.consumer("t", "s", kind=kind) as consumer:
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(consumer.receive, 100, 5_000)
            assert stub.has_leased.wait(30)
            consumer.seek("latest")
            stub.may_answer.set()
            assert [message.json() for message in waiting.result()] == NEW


async def test_what_was_fetched_before_a_seek_is_not_handed_out(stub):
    stub.may_answer.set()
    async with AsyncClient("http://b", http=stub) as client, client.consumer("t", "s", prefetch=10) as consumer:
        hurry(consumer)
        assert [message.json() for message in await consumer.receive(1)] == OLD[:1]
        assert [message.json() for message in consumer._prefetching._ahead] == OLD[1:]
        await consumer.seek("latest")
        assert await all_of(consumer, len(NEW)) == NEW


async def test_messages_that_a_discarded_fetch_has_leased_are_returned_at_once(stub):
    """A consumer of a shared subscription would keep them until its leases expire."""
    async with AsyncClient("http://b", http=stub) as client, client.consumer("t", "s", name="w") as consumer:
        assert await consumer.receive(100, wait_ms=0) == []
        await leased(stub)
        # When the broker carries out the seek before the receive, so that the messages are leased after it
        seek = stub.seek
        stub.seek = lambda: None
        await consumer.seek("latest")
        stub.seek = seek
        stub.may_answer.set()
        assert sorted(await all_of(consumer, len(OLD))) == OLD
    assert {"consumer": "w", "ids": ["0:0", "0:1", "0:2"], "delay_ms": 0, "delivered": False} in stub.bodies


async def test_what_comes_when_no_call_waits_for_it_any_more_is_returned_and_does_not_count(stub):
    """It would wait in the client until its lease expires, and count as delivered."""
    async with AsyncClient("http://b", http=stub) as client, client.consumer("t", "s", name="w") as consumer:
        assert await consumer.receive(2, wait_ms=600) == []
        stub.may_answer.set()
        while stub.count("POST", ":nack") == 0:
            await asyncio.sleep(0.001)
        assert {"consumer": "w", "ids": ["0:0", "0:1"], "delay_ms": 0, "delivered": False} in stub.bodies
        assert sorted(await all_of(consumer, len(OLD))) == OLD


async def test_an_exclusive_consumer_names_nothing_from_before_a_seek(stub):
    """The broker would continue after the message that it names."""
    stub.may_answer.set()
    async with (
        AsyncClient("http://b", http=stub) as client,
        client.consumer("t", "s", kind="exclusive", prefetch=0) as consumer,
    ):
        assert len(await consumer.receive(100)) == len(OLD)
        await consumer.seek("latest")
        await consumer.receive(100)
        await consumer.receive(100, wait_ms=0)
    after = [body.get("after") for body in stub.bodies if "max_records" in body]
    assert not after[1]
    assert after[2]
