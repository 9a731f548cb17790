"""Requests for several partitions: each has its own result, in any order, and a failed one delays no other.

orders 0, 1   can be served            held 0       not authorized
orders 2      Redis fails for it       nowhere 0    no such topic
orders 9      no such partition
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.errors import StoreUnavailable
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.ledger.append_request import Accepted
from tests.support import several_partitions
from tests.support.broker import eventually, one, records
from tests.support.crashing_store import Trouble
from tests.support.kafka_batches import batch, fetch, produce, values
from tests.support.kafka_client import BrokerClient, KafkaClient, listening
from tests.support.kafka_transactional import NEW, OLD, Transactional
from tests.support.secured_kafka import Secured, secured
from tests.support.several_partitions import Place, answered, codes

GOOD: list[Place] = [("orders", 0), ("orders", 1)]
LOST, MISSING, HELD, NOWHERE = ("orders", 2), ("orders", 9), ("held", 0), ("nowhere", 0)
PLACES: list[Place] = [GOOD[0], MISSING, LOST, HELD, GOOD[1], NOWHERE]
NONE, UNKNOWN, FORBIDDEN, LOADING, NOT_ATTEMPTED, TXN_FORBIDDEN = 0, 3, 29, 14, 55, 53
STORE = StoreUnavailable.kafka_code
NOT_ENOUGH_REPLICAS, STORAGE = 19, 56  # what clients repeat in an answer to Produce, and to Fetch
WRONG = {MISSING: UNKNOWN, LOST: STORE, HELD: FORBIDDEN, NOWHERE: UNKNOWN}
# Every place is the first one once, and the last one once.
ORDERS = [PLACES[n:] + PLACES[:n] for n in range(len(PLACES))]


class Stage(NamedTuple):
    """ada may do everything with orders and nowhere, with group g and with transactional id tx; nothing with held."""

    world: Secured
    ada: KafkaClient
    trouble: Trouble

    async def transaction(self) -> tuple[str, int, int]:
        begun = await self.ada.ask(InitProducerIdRequest("tx", 30_000), 4)
        assert begun.error_code == 0
        return "tx", begun.producer_id, begun.producer_epoch

    async def ends(self, *places: Place) -> list[int]:
        return [(await self.world.broker.topics.head(*place)).end_offset for place in places]

    async def committed(self) -> dict[Place, int]:
        """Offsets of group g, on the partitions of orders."""
        answer = await self.ada.ask(several_partitions.fetch_offsets([*GOOD, LOST]), 8)
        return {place: slot.committed_offset for place, slot in answered(answer)}


@pytest.fixture
async def stage(redis_url, prefix) -> AsyncIterator[Stage]:
    async with secured(redis_url, prefix, coordinators=1) as world:
        await world.broker.topics.create("orders", 3)
        await world.broker.topics.create("held", 1)
        for topic in ("orders", "nowhere"):
            await world.allow("ada", Op.ALL, Resource.TOPIC, topic)
        await world.allow("ada", Op.ALL, Resource.GROUP, "g")
        await world.allow("ada", Op.ALL, Resource.TRANSACTIONAL_ID, "tx")
        for number in range(3):
            await world.broker.records.produce("orders", records("first"), partition=number)
        trouble = Trouble(world.broker.store)
        trouble.lost.add("{orders:2}")
        yield Stage(world, await world.client("ada"), trouble)
        trouble.lost.clear()


@pytest.mark.parametrize("places", ORDERS)
@pytest.mark.parametrize("version", [3, 9, 12])
async def test_produce_answers_every_partition_with_its_own_outcome(stage, places, version):
    answer = await stage.ada.ask(several_partitions.produce(places, "second"), version)
    assert codes(answer) == WRONG | {LOST: NOT_ENOUGH_REPLICAS} | dict.fromkeys(GOOD, NONE)
    bases = {place: slot.base_offset for place, slot in answered(answer)}
    assert bases == dict.fromkeys(WRONG, -1) | dict.fromkeys(GOOD, 1)
    stage.trouble.lost.clear()
    assert await stage.ends(*GOOD, LOST, HELD) == [2, 2, 1, 0]


@pytest.mark.parametrize("last", [0, 1, 2])
@pytest.mark.parametrize("lost", [0, 1, 2])
async def test_a_produce_is_answered_when_the_last_of_its_batches_has_its_outcome(stage, monkeypatch, last, lost):
    broker, places = stage.world.broker, [("orders", number) for number in range(3)]
    stage.trouble.lost.clear()
    outcomes: dict[int, asyncio.Future[Accepted]] = {}
    sent = asyncio.Event()

    async def append(partition, *_):
        outcomes[partition.number] = asyncio.get_running_loop().create_future()
        if len(outcomes) == len(places):
            sent.set()
        return outcomes[partition.number]

    monkeypatch.setattr(broker.appends, "append_batch", append)
    answer = asyncio.ensure_future(stage.ada.ask(several_partitions.produce(places), 9))
    await sent.wait()
    for number in sorted(outcomes, key=lambda number: number == last):
        await asyncio.sleep(0.02)  # time for a broker that does not wait for the others to answer
        assert not answer.done()
        if number == lost:
            outcomes[number].set_exception(StoreUnavailable())
        else:
            outcomes[number].set_result(Accepted(7, 0, False))
    assert codes(await answer) == {place: NOT_ENOUGH_REPLICAS if place[1] == lost else NONE for place in places}


async def test_produce_without_acknowledgements_closes_the_connection_when_any_batch_is_refused(stage):
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await stage.ada.ask(several_partitions.produce([GOOD[0], MISSING, GOOD[1]], "second", acks=0), 9)
    assert await eventually(lambda: stage.ends(*GOOD), [2, 2]) == [2, 2]


@pytest.mark.parametrize("places", ORDERS)
@pytest.mark.parametrize("version", [4, 12])
async def test_fetch_answers_every_partition_with_its_own_outcome(stage, places, version):
    answer = await stage.ada.ask(several_partitions.fetch(places, wait_ms=5_000), version)
    assert codes(answer) == WRONG | {LOST: STORAGE} | dict.fromkeys(GOOD, NONE)
    found = {place: values(slot) for place, slot in answered(answer) if not slot.error_code}
    assert found == {place: ["first"] for place in GOOD}


async def test_a_fetch_names_the_aborted_transactions_of_every_partition(redis_url, prefix):
    """CL-21"""
    async with one(redis_url, prefix) as broker, listening(broker) as address:
        await broker.topics.create("t", 4)
        async with BrokerClient(broker, address) as client:
            producer = await Transactional(client, "pay", NEW).init()
            for commit in (False, True):
                for number in (0, 1, 3):
                    assert await producer.send("t", f"{commit} {number}", partition=number) == 0
                assert await producer.end(commit) == 0
            answer = await client.ask(fetch("t", partitions=range(4), committed=True), 12)
            slots = {place[1]: slot for place, slot in answered(answer)}
            assert {number: values(slot) for number, slot in slots.items()} == {
                0: ["True 0"], 1: ["True 1"], 2: [], 3: ["True 3"]
            }  # fmt: skip
            assert {number: len(slot.aborted_transactions) for number, slot in slots.items()} == {
                0: 1,
                1: 1,
                2: 0,
                3: 1,
            }
            answer = await client.ask(fetch("t", partitions=range(4), committed=False), 12)
            assert [slot.aborted_transactions for _, slot in answered(answer)] == [None] * 4


@pytest.mark.parametrize("failing", [MISSING, LOST, HELD, NOWHERE])
async def test_a_fetch_that_waits_is_answered_at_once_when_one_of_its_partitions_fails(stage, failing):
    """The partitions that could be read have nothing new, so the wait would be as long as it may be."""
    answer = await stage.ada.ask(several_partitions.fetch([GOOD[0], failing, GOOD[1]], offset=1, wait_ms=60_000), 12)
    wrong = WRONG | {LOST: STORAGE}
    assert codes(answer) == {GOOD[0]: NONE, failing: wrong[failing], GOOD[1]: NONE}


@pytest.mark.parametrize("places", ORDERS)
@pytest.mark.parametrize("timestamp", [-1, -2, -3, 0])
async def test_list_offsets_answers_every_partition_with_its_own_outcome(stage, places, timestamp):
    answer = await stage.ada.ask(several_partitions.list_offsets(places, timestamp), 7)
    assert codes(answer) == WRONG | dict.fromkeys(GOOD, NONE)
    offsets = {place: slot.offset for place, slot in answered(answer)}
    assert offsets == dict.fromkeys(WRONG, -1) | dict.fromkeys(GOOD, 1 if timestamp == -1 else 0)


@pytest.mark.parametrize("places", ORDERS)
async def test_offset_for_leader_epoch_answers_every_partition_with_its_own_outcome(stage, places):
    answer = await stage.ada.ask(several_partitions.end_of_epoch(places), 4)
    assert codes(answer) == WRONG | dict.fromkeys(GOOD, NONE)
    ends = {place: slot.end_offset for place, slot in answered(answer)}
    assert ends == dict.fromkeys(WRONG, -1) | dict.fromkeys(GOOD, 1)


@pytest.mark.parametrize("places", ORDERS)
async def test_delete_records_answers_every_partition_with_its_own_outcome(stage, places):
    answer = await stage.ada.ask(several_partitions.delete_records(places), 2)
    assert codes(answer) == WRONG | dict.fromkeys(GOOD, NONE)
    marks = {place: slot.low_watermark for place, slot in answered(answer)}
    assert marks == dict.fromkeys(WRONG, -1) | dict.fromkeys(GOOD, 1)
    stage.trouble.lost.clear()
    states = (await stage.world.broker.topics.describe("orders"))[1]
    assert [state.start_offset for state in states] == [1, 1, 0]


@pytest.mark.parametrize("places", ORDERS)
async def test_offset_commit_answers_every_partition_with_its_own_outcome(stage, places):
    answer = await stage.ada.ask(several_partitions.commit_offsets(places, 1), 8)
    assert codes(answer) == WRONG | {LOST: LOADING} | dict.fromkeys(GOOD, NONE)
    stage.trouble.lost.clear()
    assert await stage.committed() == {GOOD[0]: 1, GOOD[1]: 1, LOST: -1}


@pytest.mark.parametrize("places", ORDERS)
async def test_offset_fetch_answers_every_partition_with_its_own_outcome(stage, places):
    stage.trouble.lost.clear()
    assert set(codes(await stage.ada.ask(several_partitions.commit_offsets([*GOOD, LOST], 1), 8)).values()) == {NONE}
    stage.trouble.lost.add("{orders:2}")
    # An offset that cannot be read is the error of the group: as that of a partition Java's consumer throws it.
    (group,) = (await stage.ada.ask(several_partitions.fetch_offsets(places), 8)).groups
    assert (group.error_code, group.topics) == (LOADING, [])
    answer = await stage.ada.ask(several_partitions.fetch_offsets([place for place in places if place != LOST]), 8)
    # A partition that does not exist has no committed offset, which is no error.
    assert codes(answer) == {HELD: FORBIDDEN} | dict.fromkeys((*GOOD, MISSING, NOWHERE), NONE)
    offsets = {place: slot.committed_offset for place, slot in answered(answer)}
    assert offsets == dict.fromkeys((MISSING, HELD, NOWHERE), -1) | dict.fromkeys(GOOD, 1)


@pytest.mark.parametrize("version", [2, 7, 8, 10])
async def test_a_fetch_of_all_offsets_leaves_out_topics_that_may_not_be_described(stage, version):
    stage.trouble.lost.clear()
    root = await stage.world.client("root")
    places = [GOOD[0], HELD, GOOD[1]]
    assert codes(await root.ask(several_partitions.commit_offsets(places, 1), 8)) == dict.fromkeys(places, NONE)
    for client, shown in ((stage.ada, GOOD), (root, places)):
        asked = several_partitions.fetch_all_offsets(version)
        found = answered(await client.ask(asked, version))
        assert len(list(found)) == len(shown)


@pytest.mark.parametrize("places", ORDERS)
@pytest.mark.parametrize("version", [3, 5])
async def test_txn_offset_commit_answers_every_partition_with_its_own_outcome(stage, places, version):
    txn = await stage.transaction()
    if version == 3:
        assert set(codes(await stage.ada.ask(several_partitions.add_to_transaction(GOOD, txn), 3)).values()) == {NONE}
    answer = await stage.ada.ask(several_partitions.commit_in_transaction(places, 1, txn), version)
    assert codes(answer) == WRONG | {LOST: LOADING} | dict.fromkeys(GOOD, NONE)
    stage.trouble.lost.clear()
    assert await stage.committed() == dict.fromkeys([*GOOD, LOST], -1)
    producer = Transactional(stage.ada, "tx", OLD if version == 3 else NEW)
    producer.pid, producer.epoch = txn[1:]
    assert await producer.end() == 0
    assert await stage.committed() == {GOOD[0]: 1, GOOD[1]: 1, LOST: -1}


async def test_the_right_to_write_the_topics_opens_no_transaction_of_another_to_them(stage):
    txn = await stage.transaction()
    await stage.world.allow("sender", Op.WRITE, Resource.TOPIC, "orders")
    sender = await stage.world.client("sender")
    answer = await sender.ask(several_partitions.add_to_transaction(GOOD, txn), 3)
    assert codes(answer) == dict.fromkeys(GOOD, TXN_FORBIDDEN)
    data = batch("x", producer=(*txn[1:], 0), transactional=True)
    answer = await sender.ask(produce("orders", data, transactional_id="tx"), NEW)
    assert codes(answer) == {GOOD[0]: TXN_FORBIDDEN}
    assert await stage.world.broker.transactions.list(status="open") == []


@pytest.mark.parametrize("places", ORDERS)
async def test_add_partitions_to_txn_adds_all_or_none(stage, places):
    txn = await stage.transaction()
    answer = await stage.ada.ask(several_partitions.add_to_transaction(places, txn), 3)
    wrong = {place: code for place, code in WRONG.items() if place != LOST}
    assert codes(answer) == wrong | dict.fromkeys([*GOOD, LOST], NOT_ATTEMPTED)
    assert await stage.world.broker.transactions.list(status="open") == []
    answer = await stage.ada.ask(several_partitions.add_to_transaction(GOOD, txn), 3)
    assert codes(answer) == dict.fromkeys(GOOD, NONE)
    (begun,) = await stage.world.broker.transactions.list(status="open")
    assert sorted(begun.partitions) == GOOD
