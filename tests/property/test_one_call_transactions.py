"""Any history of transactions leaves the same state and gets the same answers, whether they end in one call or several.

    world 1      every transaction ends in several calls, as on a cluster
    world 2      in one call where that is possible
    worlds 3, 4  two brokers, one of each kind: one begins and writes, the other one ends

After every step the keys of all coordinators and partitions are compared.  Source: docs/decisions/0035.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.broker.produce.append import BatchSource
from redis_ledger.broker.types import ExecuteAcks, ExecuteRecords
from redis_ledger.clock import ManualClock
from redis_ledger.errors import LedgerError
from redis_ledger.ids import MessageId, TxnId
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from redis_ledger.records.build import encode
from redis_ledger.txn.coordinator import Participant
from tests.support.broker import one, records
from tests.support.examples import examples
from tests.support.redis_servers import redis_server

TOPICS = {"a": 2, "b": 1, "in": 1}
TOPICS_IN = {"a": "marker", "b": "sidecar", "in": "marker"}  # → transaction buffer
PLACES = [("a", 0), ("a", 1), ("b", 0)]
MESSAGES = 12
worlds_made = itertools.count()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with redis_server(unix=True) as server:
        yield server.url


slots, places, outcomes = st.integers(0, 2), st.sampled_from(PLACES), st.booleans()
steps = st.one_of(
    st.tuples(st.just("begin"), slots),
    st.tuples(st.just("write"), slots, places),
    st.tuples(st.just("write"), slots, places),
    st.tuples(st.just("plain"), places),
    st.tuples(st.just("ack"), slots, st.integers(0, MESSAGES - 1)),
    st.tuples(st.just("end"), slots, outcomes),
    st.tuples(st.just("end"), slots, outcomes),
    st.tuples(st.just("end with both"), outcomes),
    st.tuples(st.just("execute"), places, st.integers(0, MESSAGES - 1)),
    st.tuples(st.just("id write"), slots, places),
    st.tuples(st.just("id write"), slots, places),
    st.tuples(st.just("id offset"), slots),
    st.tuples(st.just("id end"), slots, outcomes, st.booleans()),
    st.tuples(st.just("id end"), slots, outcomes, st.booleans()),
    st.tuples(st.just("id init"), slots),
    st.tuples(st.just("tick"), st.integers(1, 500)),
)


class World:
    """brokers: the first one begins and writes, the last one ends."""

    def __init__(self, brokers: list[Broker], clock: ManualClock, client: Any) -> None:
        self.brokers, self.clock, self.client = brokers, clock, client
        self.first, self.last = brokers[0], brokers[-1]
        self.txns: dict[int, TxnId] = {}
        self.identities: dict[int, tuple[int, int]] = {}
        self.sequences: dict[tuple[Any, ...], int] = {}
        self.ended = set[int]()  # slots whose transaction has ended, as a client knows
        self.steps = 0
        self.random: dict[str, str] = {}  # ids that differ between worlds, and what stands for them

    async def prepare(self) -> None:
        for topic, partitions in TOPICS.items():
            await self.first.topics.create(topic, partitions, settings={TXN_BUFFER: BUFFERS[TOPICS_IN[topic]]})
            self.random[(await self.first.catalog.get(topic)).id] = topic
        await self.first.subscriptions.create("in", "s")
        prefix = self.first.store.prefix
        self.random[self.client.hget(f"{prefix}:{{in:0}}:sub:s", "incarnation").decode()] = "incarnation"
        await self.first.records.produce("in", records(*map(str, range(MESSAGES))))
        await self.first.subscriptions.receive("in", "s", "c", max_records=MESSAGES, ack_timeout_ms=600_000)

    async def answer(self, step: tuple[Any, ...]) -> Any:
        """What the step answers; errors by their type."""
        try:
            answered = await getattr(self, step[0].replace(" ", "_"))(*step[1:])
        except LedgerError as error:
            answered = type(error).__name__
        for broker in self.brokers:
            while not all(coordinator.is_idle for coordinator in broker.coordinators):
                await asyncio.sleep(0)
        return answered

    async def begin(self, slot: int) -> Any:
        self.txns[slot] = (await self.first.transactions.begin(60_000)).id
        self.ended.discard(slot)
        return self.txns[slot]

    async def write(self, slot: int, place: tuple[str, int]) -> Any:
        if slot in self.txns and slot not in self.ended:
            topic, number = place
            txn = self.txns[slot]
            (where,) = await self.first.records.produce(topic, records("x", partition=number), transaction=txn)
            return where.base_offset
        return None

    async def plain(self, place: tuple[str, int]) -> Any:
        (where,) = await self.last.records.produce(place[0], records("p", partition=place[1]))
        return where.base_offset

    async def ack(self, slot: int, offset: int) -> Any:
        if slot in self.txns and slot not in self.ended:
            txn = self.txns[slot]
            return await self.first.subscriptions.ack("in", "s", "c", [MessageId(0, offset)], transaction=txn)
        return None

    async def end(self, slot: int, commit: bool) -> Any:
        if slot in self.txns:
            self.ended.add(slot)
            transactions = self.last.transactions
            return (await (transactions.commit if commit else transactions.abort)(self.txns[slot])).status
        return None

    async def end_with_both(self, commit: bool) -> Any:
        """Several at once: they share a call."""
        ends = [self.end(slot, commit) for slot in (0, 1)]
        found = await asyncio.gather(*ends, return_exceptions=True)
        return [type(each).__name__ if isinstance(each, Exception) else each for each in found]

    async def execute(self, place: tuple[str, int], offset: int) -> Any:
        acks = [ExecuteAcks("in", "s", "c", [MessageId(0, offset)])]
        output = [ExecuteRecords(place[0], records("e", partition=place[1]))]
        self.steps += 1  # a nonce chooses the coordinator; without one each broker takes its turns
        return (await self.last.execute.run(acks, output, nonce=f"n{self.steps}")).transaction

    async def id_init(self, slot: int) -> Any:
        self.identities[slot] = await self.last.producers.init(f"id{slot}", 60_000)
        return self.identities[slot]

    async def id_write(self, slot: int, place: tuple[str, int]) -> Any:
        if slot not in self.identities:
            return None
        pid, epoch = self.identities[slot]
        where = await self.first.catalog.partition(*place)
        await self.first.producers.add(f"id{slot}", pid, epoch, [Participant(place[0], where.topic_id, place[1])])
        used = (pid, epoch, place)
        sequence = self.sequences[used] = self.sequences.get(used, -1) + 1
        rows = [(None, b"k", (), 1_700_000_000_000)]
        data = encode(rows, producer_id=pid, epoch=epoch, sequence=sequence, transactional=True)
        appended = await self.first.appends.append_batch(where, data, BatchSource(f"id{slot}", False), 1 << 20)
        return (await appended).base_offset

    async def id_offset(self, slot: int) -> Any:
        if slot not in self.identities:
            return None
        pid, epoch = self.identities[slot]
        partition = await self.first.catalog.partition("in", 0)
        where = Participant("in", partition.topic_id, 0, "g")
        txn = await self.first.producers.add(f"id{slot}", pid, epoch, [where])
        return await self.first.offsets.commit("g", [OffsetEntry("in", 0, slot)], fence=-1, transaction=txn)

    async def id_end(self, slot: int, commit: bool, bump: bool) -> Any:
        if slot not in self.identities:
            return None
        self.identities[slot] = await self.last.producers.end(f"id{slot}", *self.identities[slot], commit, bump)
        return self.identities[slot]

    async def tick(self, ms: int) -> None:
        self.clock.advance(ms)

    def state(self) -> dict[str, Any]:
        """Everything of coordinators and partitions, without the names of brokers and incarnations of topics."""
        prefix, found = self.first.store.prefix, {}
        for key in sorted(self.client.keys(f"{prefix}:{{*")):
            name = key.decode().removeprefix(f"{prefix}:")
            if not name.startswith(("{tc:", "{a:", "{b:", "{in:")) or name.endswith(":calls"):
                continue
            text = repr(dumped(self.client, key))
            for id_, word in self.random.items():
                text = text.replace(id_, f"<{word}>")
            found[name] = text
        return found


def dumped(client: Any, key: bytes) -> Any:
    match client.type(key):
        case b"hash":
            return sorted(client.hgetall(key).items())
        case b"zset":
            return client.zrange(key, 0, -1, withscores=True)
        case b"stream":
            return client.xrange(key)
        case b"string":
            return client.get(key)
        case kind:
            raise AssertionError(f"{key!r} is a {kind!r}")


@contextlib.asynccontextmanager
async def world(url: str, client: Any, *ways: bool) -> AsyncIterator[World]:
    prefix, clock = f"w{next(worlds_made)}", ManualClock(1_750_000_000_000)
    async with contextlib.AsyncExitStack() as stack:
        brokers = [
            await stack.enter_async_context(
                one(url, prefix, clock=clock, name=f"b{n}", coordinators=2, one_call_transactions=way)
            )
            for n, way in enumerate(ways)
        ]
        for broker in brokers:
            await broker.maintenance.close()
        made = World(brokers, clock, client)
        await made.prepare()
        yield made


async def assert_worlds_agree(url: str, history: list[tuple[Any, ...]]) -> None:
    client = redis.Redis(unix_socket_path=url.removeprefix("unix://").split("?")[0])
    async with (
        world(url, client, False) as several,
        world(url, client, True) as in_one,
        world(url, client, True, False) as begun_in_one,
        world(url, client, False, True) as ended_in_one,
    ):
        others = (in_one, begun_in_one, ended_in_one)
        for step in [("id init", 0), ("id init", 1), ("id init", 2), *history]:
            expected = await several.answer(step)
            answers = [await other.answer(step) for other in others]
            assert answers == [expected] * len(others), step
            state = several.state()
            for other in others:
                assert other.state() == state, step
            if step[0] in ("end", "id end"):
                event(f"{step[0]}: {expected if step[0] == 'end' else ''}")
    client.close()


# Not shrunk: an example takes seconds.
@settings(
    max_examples=examples(6),
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(steps, min_size=5, max_size=40))
def test_a_history_in_one_call_or_in_several_leaves_the_same_state(url, history):
    asyncio.run(assert_worlds_agree(url, history))
