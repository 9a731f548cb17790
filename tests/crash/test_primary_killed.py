"""The primary dies with kill -9 while clients produce, at durability `replicas`: nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import httpx
import pytest
from aiokafka import AIOKafkaProducer

from redis_ledger.broker.broker import Broker
from redis_ledger.errors import LedgerError
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from tests.support.broker import eventually, live_transactions, one, records, status, values_of, visible
from tests.support.kafka_client import listening
from tests.support.redis_servers import Server, replicated
from tests.support.rest import client_of
from tests.support.sentinels import naming, sentinel

FailOver = Callable[[], None]
WRITERS = 3
TIMEOUT_MS = 5_000  # of a transaction whose outcome its client does not know
FAILED_OVER_S_MAX = 40.0  # a sentinel takes ten seconds


@contextlib.asynccontextmanager
async def by_hand(servers: Sequence[Server]) -> AsyncIterator[tuple[str, FailOver]]:
    """An operator promotes the replica that is furthest, and points the other one at it."""
    primary, *followers = servers
    named = [primary.port]

    def fail_over() -> None:
        heir, other = sorted(followers, key=offset, reverse=True)
        heir.ask("REPLICAOF", "NO", "ONE")
        other.ask("REPLICAOF", "127.0.0.1", heir.port)
        named[0] = heir.port

    async with naming(named) as url:
        yield url, fail_over


@contextlib.asynccontextmanager
async def by_sentinel(servers: Sequence[Server]) -> AsyncIterator[tuple[str, FailOver]]:
    with sentinel(servers[0]) as watcher:
        watcher.wait_for_replicas(2)
        yield watcher.url, lambda: None


def offset(server: Server) -> int:
    lines = server.info("replication").splitlines()
    return next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"slave_repl_offset:"))


@contextlib.contextmanager
def lagging(primary: Server, followers: Sequence[Server]) -> Iterator[None]:
    """Replicas that get nothing of what the primary writes meanwhile."""
    for server in followers:
        server.freeze()
    primary.ask("CLIENT", "KILL", "TYPE", "replica")
    try:
        yield
    finally:
        for server in followers:
            server.thaw()


class Clients:
    """Produces until it is stopped, and records the acknowledged records."""

    def __init__(self, broker: Broker, address: tuple[str, int]) -> None:
        self.broker, self.address = broker, address
        self.kafka: list[str] = []
        self.rest: list[str] = []
        self.steps: list[str] = []
        self.stops = asyncio.Event()

    async def run_kafka(self) -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=f"{self.address[0]}:{self.address[1]}", acks="all", enable_idempotence=True,
            request_timeout_ms=20_000, retry_backoff_ms=50, linger_ms=1,
        )  # fmt: skip
        await producer.start()
        try:
            for number in range(100_000):
                if self.stops.is_set():
                    return
                value = f"k{number}"
                await producer.send_and_wait("kafka", value.encode(), partition=0)
                self.kafka.append(value)
        finally:
            await producer.stop()

    async def run_rest(self, writer: int) -> None:
        async with client_of(self.broker) as http:
            for number in range(100_000):
                if self.stops.is_set():
                    return
                value = f"{writer}-{number}"
                with contextlib.suppress(httpx.HTTPError):
                    answer = await http.post("/v1/topics/rest/records", json={"records": [{"value": value}]})
                    if answer.status_code == 200:
                        self.rest.append(value)
                    else:
                        await asyncio.sleep(0.02)

    async def run_transactions(self) -> None:
        """One record on each of two topics, committed together; what was not acknowledged is left to its timeout."""
        for number in range(100_000):
            if self.stops.is_set():
                return
            try:
                txn = (await self.broker.transactions.begin(TIMEOUT_MS)).id
                for topic in ("left", "right"):
                    await self.broker.records.produce(topic, records(f"s{number}"), transaction=txn)
                await self.broker.transactions.commit(txn)
                assert await status(self.broker, txn) in {"committing", "committed"}
                self.steps.append(f"s{number}")
            except LedgerError:
                await asyncio.sleep(0.02)

    async def until_more(self, count: int) -> None:
        """Waits until each kind of client has so many answers more than now."""
        wanted = [(done, len(done) + count) for done in (self.kafka, self.rest, self.steps)]
        async with asyncio.timeout(FAILED_OVER_S_MAX):
            while any(len(done) < most for done, most in wanted):
                await asyncio.sleep(0.02)


@pytest.mark.parametrize("way", [by_hand, by_sentinel])
async def test_no_acknowledged_write_is_lost_when_the_primary_dies(way):
    with replicated(2) as servers:
        primary, *followers = servers
        async with way(servers) as (url, fail_over), contextlib.AsyncExitStack() as stack:
            broker = await stack.enter_async_context(
                one(url, "k", coordinators=2, min_insync_replicas=2, replicas_timeout_ms=5_000)
            )
            for topic in ("kafka", "rest", "left"):
                await broker.topics.create(topic)
            await broker.topics.create("right", settings={TXN_BUFFER: BUFFERS["sidecar"]})
            clients = Clients(broker, await stack.enter_async_context(listening(broker)))
            tasks = [asyncio.create_task(clients.run_kafka()), asyncio.create_task(clients.run_transactions())]
            tasks += [asyncio.create_task(clients.run_rest(number)) for number in range(WRITERS)]
            # Given clients with acknowledged writes
            await clients.until_more(20)
            # When the primary takes writes that no replica gets, and dies
            with lagging(primary, followers):
                await asyncio.sleep(0.3)
                held = [len(done) for done in (clients.kafka, clients.rest, clients.steps)]
                await asyncio.sleep(0.3)
                assert held == [len(done) for done in (clients.kafka, clients.rest, clients.steps)]
                stored = primary.ask("HGET", "k:{rest:0}:state", "next")
                assert isinstance(stored, bytes)
                assert int(stored) > held[1]  # the primary has more than was acknowledged
                primary.kill()
            fail_over()
            # Then clients go on at the new primary
            await clients.until_more(20)
            clients.stops.set()
            async with asyncio.timeout(30):
                await asyncio.gather(*tasks)
            # and everything acknowledged is there: once if the client is idempotent, and on both topics or none
            found_once = Counter(await values_of(broker, "kafka"))
            assert not set(clients.kafka) - found_once.keys()
            assert set(found_once.values()) == {1}
            assert not {f'"{value}"' for value in clients.rest} - set(await values_of(broker, "rest"))
            # An open transaction holds back readers of "left", and not those of "right"
            assert await eventually(lambda: live_transactions(broker), 0, 4 * TIMEOUT_MS / 1000) == 0
            found = [set((await visible(broker, topic))[0]) for topic in ("left", "right")]
            assert found[0] == found[1]
            assert not set(clients.steps) - found[0]
