"""Transactions of Kafka clients over a real socket, in both transaction versions, and across both ports."""

from __future__ import annotations

import asyncio
import re

import pytest

from redis_ledger.broker.types import NewRecord
from redis_ledger.clock import ManualClock
from redis_ledger.kafka.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from redis_ledger.kafka.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.messages.list_transactions_request import ListTransactionsRequest
from redis_ledger.kafka.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.support.broker import eventually, live_transactions, one, two, values_of, vanish
from tests.support.kafka_batches import batch, fetch, fetched, produce, produced, values
from tests.support.kafka_client import BrokerClient, KafkaClient, listening
from tests.support.kafka_transactional import NEW, OLD, Transactional

pytestmark = pytest.mark.usefixtures("both_ways")

INVALID_REQUEST, FENCED_EPOCH, INVALID_TXN_STATE, UNKNOWN_ID, INVALID_TIMEOUT, FENCED = 42, 47, 48, 49, 50, 90
LAPSED = {OLD: FENCED, NEW: INVALID_TXN_STATE}  # the answer to a commit of what an administrator has aborted


@pytest.fixture
async def client(redis_url, prefix):
    async with one(redis_url, prefix) as broker, listening(broker) as address, BrokerClient(broker, address) as client:
        await broker.topics.create("t", partitions=3)
        yield client


@pytest.fixture(params=[OLD, NEW], ids=["transaction version 1", "transaction version 2"])
async def producer(client, request):
    return await Transactional(client, "pay", request.param).init()


async def read(client, *, committed: bool = True, partition: int = 0) -> list[str]:
    return values(
        fetched(await client.ask(fetch("t", partitions=(partition,), committed=committed), 12)), committed=committed
    )


# -- one producer ------------------------------------------------------------------------------------------------------


async def test_a_transaction_is_seen_whole_when_it_is_committed_and_not_before(producer, client):
    """CL-21"""
    assert await producer.send("t", "a") == 0
    assert await producer.send("t", "b", partition=1) == 0
    assert (await read(client), await read(client, partition=1)) == ([], [])
    assert await read(client, committed=False) == ["a"]
    assert await producer.end() == 0
    assert (await read(client), await read(client, partition=1)) == (["a"], ["b"])


async def test_an_aborted_transaction_is_never_seen_by_committed_readers(producer, client):
    """CL-21"""
    await producer.send("t", "no")
    assert await producer.end(commit=False) == 0
    await producer.send("t", "yes")
    assert await producer.end() == 0
    assert await read(client) == ["yes"]
    assert await read(client, committed=False) == ["no", "yes"]
    assert await values_of(client.broker, "t") == ["yes"]


async def test_one_transaction_follows_the_other_without_waiting(producer, client):
    for n in range(30):
        assert await producer.send("t", f"{n}") == 0
        assert await producer.end(commit=n % 3 != 0) == 0
    assert await read(client) == [f"{n}" for n in range(30) if n % 3 != 0]
    assert await eventually(lambda: live_transactions(client.broker), 0) == 0


async def test_a_committed_reader_behind_an_open_transaction_is_woken_by_its_end(producer, client):
    async with KafkaClient(client.address) as reader:
        await producer.send("t", "a")
        waiting = asyncio.create_task(reader.ask(fetch("t", wait_ms=15_000), 12))
        await client.ask(produce("t", batch("plain")), 9)
        await asyncio.sleep(0.2)
        assert not waiting.done()
        await producer.end()
        assert values(fetched(await waiting)) == ["a", "plain"]


async def test_an_end_that_is_repeated_is_answered_alike_and_one_that_contradicts_is_refused(producer, client):
    await producer.send("t", "a")
    pid, epoch = producer.pid, producer.epoch
    assert await producer.end() == 0
    now = producer.epoch
    producer.pid, producer.epoch = pid, epoch
    assert await producer.end() == 0
    assert producer.epoch == now
    producer.epoch = epoch
    assert await producer.end(commit=False) in (INVALID_TXN_STATE, FENCED)
    assert await read(client) == ["a"]


async def test_a_batch_that_comes_after_the_end_is_refused_or_belongs_to_the_next_transaction(client):
    old = await Transactional(client, "old", OLD).init()
    await old.send("t", "a")
    await old.end()
    assert await old.send("t", "late", add=False) == INVALID_TXN_STATE
    new = await Transactional(client, "new", NEW).init()
    await new.send("t", "b")
    pid, epoch = new.pid, new.epoch
    await new.end()
    late = batch("late", producer=(pid, epoch, 1), transactional=True)
    answer = await client.ask(produce("t", late, transactional_id="new"), NEW)
    assert produced(answer).error_code == FENCED_EPOCH
    assert await read(client, committed=False) == ["a", "b"]


async def test_a_batch_of_a_partition_that_was_not_added_is_refused(client):
    producer = await Transactional(client, "pay", OLD).init()
    await producer.send("t", "a")
    assert await producer.send("t", "b", partition=1, add=False) == INVALID_TXN_STATE
    assert await read(client, committed=False, partition=1) == []


async def test_many_partitions_end_together(client, producer):
    await client.broker.topics.create("wide", partitions=100)
    await asyncio.gather(*(producer.send("wide", f"{n}", partition=n) for n in range(100)))
    assert await producer.end() == 0
    seen = await asyncio.gather(*(values_of(client.broker, "wide", n) for n in range(100)))
    assert seen == [[f"{n}"] for n in range(100)]


# -- fencing -----------------------------------------------------------------------------------------------------------


async def test_a_second_producer_of_the_id_fences_the_first_and_aborts_what_it_left(producer, client):
    """CL-21"""
    await producer.send("t", "left open")
    async with KafkaClient(client.address) as other:
        second = await Transactional(other, "pay", producer.version).init()
        # What the first left is over when the second is answered
        assert await client.broker.transactions.list("open") == []
        assert (second.pid, second.epoch) == (producer.pid, producer.epoch + 1)
        await second.send("t", "mine")
        assert await producer.send("t", "zombie", add=False) == FENCED_EPOCH
        assert await producer.end() == FENCED
        assert await second.end() == 0
    assert await read(client) == ["mine"]


async def test_a_fenced_producer_cannot_take_its_successors_identity(producer, client):
    await producer.send("t", "old")
    async with KafkaClient(client.address) as other:
        successor = await Transactional(other, "pay", producer.version).init()
        await successor.send("t", "new")
        held = InitProducerIdRequest("pay", 30_000, producer.pid, producer.epoch)
        assert (await client.ask(held, 4)).error_code == FENCED
        assert (await client.ask(held, 3)).error_code == FENCED_EPOCH
        assert await producer.end() == FENCED
        assert await read(client) == []
        assert await successor.end() == 0
    assert await read(client) == ["new"]


@pytest.mark.parametrize(("version", "fenced"), [(3, FENCED_EPOCH), (4, FENCED), (5, FENCED)])
@pytest.mark.parametrize("held", [(0, 0), (77 << 48, 5), (1 << 60, 0)])
async def test_a_foreign_producer_id_is_ignored_for_a_new_transactional_id_and_fenced_for_a_known_one(
    client, version, fenced, held
):
    """Kafka's TransactionCoordinator.handleInitProducerId"""
    answer = await client.ask(InitProducerIdRequest("new", 30_000, *held), version)
    assert (answer.error_code, answer.producer_epoch) == (0, 0)
    assert answer.producer_id not in (-1, held[0])
    assert (await client.ask(InitProducerIdRequest("new", 30_000, *held), version)).error_code == fenced


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_a_producer_without_a_transactional_id_always_gets_a_producer_id_of_its_own(client, version):
    """A client that sends zeros by default must not share producer id 0 with every other one."""
    answers = [await client.ask(InitProducerIdRequest(None, 0, 0, 0), version) for _ in range(3)]
    assert [(answer.error_code, answer.producer_epoch) for answer in answers] == [(0, 0)] * 3
    assert len({answer.producer_id for answer in answers}) == 3


@pytest.mark.parametrize("held", [(5, -1), (-1, 5)])
@pytest.mark.parametrize("name", ["pay", None])
async def test_half_an_identity_is_refused(client, name, held):
    assert (await client.ask(InitProducerIdRequest(name, 1_000, *held), 4)).error_code == INVALID_REQUEST


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_batch_with_the_producer_id_of_another_transactional_id_is_refused(client, version):
    victim = await Transactional(client, "pay", version).init()
    await Transactional(client, "steal", version).init()
    assert await victim.send("t", "mine") == 0
    for name in ("steal", "never used", None):
        data = batch("theirs", producer=(victim.pid, victim.epoch, 1), transactional=True)
        answer = produced(await client.ask(produce("t", data, transactional_id=name), version))
        assert answer.error_code != 0, name
    assert await victim.end() == 0
    assert await read(client) == ["mine"]


async def test_the_producer_id_of_another_transactional_id_ends_and_adds_nothing(client):
    victim = await Transactional(client, "pay", OLD).init()
    thief = await Transactional(client, "steal", OLD).init()
    assert await victim.send("t", "mine") == 0
    thief.pid, thief.epoch = victim.pid, victim.epoch
    assert await thief.add("t", 1) != 0
    assert await thief.end(commit=False) != 0
    assert await victim.end() == 0
    assert await read(client) == ["mine"]


async def test_a_producer_of_old_versions_gets_invalid_epoch(client):
    first = await Transactional(client, "pay", OLD).init()
    await first.send("t", "a")
    await Transactional(client, "pay", OLD).init()
    answer = await client.ask(EndTxnRequest("pay", first.pid, first.epoch, True), 1)
    assert answer.error_code == FENCED_EPOCH
    answer = await client.ask(InitProducerIdRequest("pay", 1000, first.pid, first.epoch + 7), 3)
    assert answer.error_code == FENCED_EPOCH


@pytest.mark.parametrize(
    ("timeout_ms", "name", "code"), [(0, "a", INVALID_TIMEOUT), (900_001, "a", INVALID_TIMEOUT), (1000, "", 42)]
)
async def test_an_identity_asked_for_with_nonsense_is_refused(client, timeout_ms, name, code):
    assert (await client.ask(InitProducerIdRequest(name, timeout_ms), 4)).error_code == code


async def test_an_unknown_identity_is_refused_everywhere(client):
    stranger = Transactional(client, "stranger", NEW)
    stranger.pid, stranger.epoch = 77, 0
    assert await stranger.add("t", 0) == UNKNOWN_ID
    assert await stranger.end() == UNKNOWN_ID
    assert (await client.ask(AddOffsetsToTxnRequest("stranger", 77, 0, "g"), 3)).error_code == UNKNOWN_ID
    assert await stranger.send("t", "a", add=False) == UNKNOWN_ID


# -- several brokers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_any_broker_takes_any_step_of_a_transaction(redis_url, prefix, version):
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t", partitions=3)
        async with (
            listening(first) as here,
            listening(second) as there,
            KafkaClient(here) as a,
            KafkaClient(there) as b,
        ):
            producer = await Transactional(a, "pay", version).init()
            for n in range(6):
                producer.client = (a, b)[n % 2]
                assert await producer.send("t", f"{n}") == 0
                producer.client = (b, a)[n // 2 % 2]
                assert await producer.end() == 0
            assert await values_of(second, "t") == [f"{n}" for n in range(6)]


async def test_a_half_ended_transaction_of_a_killed_broker_is_completed_by_another(redis_url, prefix):
    """A commit that was decided, and whose markers were never written, does not hold the producer up."""
    async with one(redis_url, prefix, end_overdue_ms=60_000) as second:
        async with one(redis_url, prefix, end_overdue_ms=60_000) as first:
            await first.topics.create("t")
            async with listening(first) as here, KafkaClient(here) as a:
                producer = await Transactional(a, "pay", OLD).init()
                await producer.send("t", "decided")
                decided = await first.transactional_ids.end("pay", producer.pid, producer.epoch, True, False)
                assert decided.decision is not None
                await vanish(first)
        async with listening(second) as there, KafkaClient(there) as b:
            producer.client = b
            assert await producer.send("t", "next") == 0
            assert await producer.end() == 0
        assert await values_of(second, "t") == ["decided", "next"]


# -- across doors ------------------------------------------------------------------------------------------------------


async def test_a_transaction_begun_by_rest_blocks_kafka_readers_and_its_abort_is_filtered_by_them(client):
    txn = (await client.broker.transactions.begin()).id
    await client.broker.records.produce("t", [NewRecord(None, b"rest", partition=0)], transaction=txn)
    await client.ask(produce("t", batch("kafka")), 9)
    assert await read(client) == []
    await client.broker.transactions.abort(txn)
    assert await read(client) == ["kafka"]
    assert await read(client, committed=False) == ["rest", "kafka"]


async def test_a_kafka_transaction_is_listed_and_ended_by_rest(producer, client):
    await producer.send("t", "a")
    (listed,) = await client.broker.transactions.list("open")
    assert listed.partitions == [("t", 0)]
    await client.broker.transactions.abort(listed.id)
    assert await producer.end() == LAPSED[producer.version]
    assert await read(client) == []


async def test_hanging_transactions_are_found_described_and_aborted(producer, client):
    native = (await client.broker.transactions.begin()).id
    await producer.send("t", "hangs")
    listed = (await client.ask(ListTransactionsRequest(["Ongoing"]), 0)).transaction_states
    assert {state.transactional_id for state in listed} == {"pay", str(native)}
    (only,) = (await client.ask(ListTransactionsRequest(producer_id_filters=[producer.pid]), 0)).transaction_states
    assert (only.transactional_id, only.transaction_state) == ("pay", "Ongoing")
    described = (await client.ask(DescribeTransactionsRequest(["pay", "unknown"]), 0)).transaction_states
    assert [(d.error_code, d.transaction_state) for d in described] == [(0, "Ongoing"), (105, "")]
    assert [(topic.topic, topic.partitions) for topic in described[0].topics] == [("t", [0])]
    abort = WritableTxnMarker(producer.pid, producer.epoch, False, [WritableTxnMarkerTopic("t", [0, 1])])
    answer = await client.ask(WriteTxnMarkersRequest([abort]), 1)
    assert [p.error_code for p in answer.markers[0].topics[0].partitions] == [0, 0]
    assert await read(client) == []
    assert await producer.end() == LAPSED[producer.version]
    described = (await client.ask(DescribeTransactionsRequest(["pay"]), 0)).transaction_states
    assert re.match("(Complete|Prepare)Abort", described[0].transaction_state)


async def test_a_marker_with_an_earlier_epoch_does_not_abort_the_transaction_of_a_later_producer(client):
    first = await Transactional(client, "pay", OLD).init()
    second = await Transactional(client, "pay", OLD).init()
    assert (second.pid, second.epoch) == (first.pid, first.epoch + 1)
    assert await second.send("t", "later") == 0
    abort = WritableTxnMarker(first.pid, first.epoch, False, [WritableTxnMarkerTopic("t", [0])])
    answer = await client.ask(WriteTxnMarkersRequest([abort]), 1)
    assert answer.markers[0].topics[0].partitions[0].error_code == FENCED_EPOCH
    assert await second.end() == 0
    assert await read(client) == ["later"]


async def test_transactions_are_listed_by_state_producer_duration_and_name(redis_url, prefix):
    clock = ManualClock()
    async with one(redis_url, prefix, clock=clock) as broker, listening(broker) as address:
        await broker.topics.create("t")
        async with BrokerClient(broker, address) as client:
            await Transactional(client, "pay-idle", NEW).init()
            older = await Transactional(client, "pay-older", NEW).init()
            younger = await Transactional(client, "younger", NEW).init()
            assert await older.send("t", "a") == 0
            clock.advance(10_000)
            assert await younger.send("t", "b") == 0
            clock.advance(5_000)

            async def listed(*filters):
                found = (await client.ask(ListTransactionsRequest(*filters), 2)).transaction_states
                return sorted(each.transactional_id for each in found)

            all_ids = ["pay-idle", "pay-older", "younger"]
            assert await listed() == await listed([], [], -1, "") == all_ids
            assert await listed(["Ongoing"]) == ["pay-older", "younger"]
            assert await listed(["Empty"]) == ["pay-idle"]
            assert await listed([], [younger.pid]) == ["younger"]
            assert await listed([], [], 0) == ["pay-older", "younger"]
            assert await listed([], [], 7_000) == ["pay-older"]
            assert await listed([], [], 16_000) == []
            assert await listed([], [], -1, "pay-.*") == ["pay-idle", "pay-older"]
            assert await listed(["Ongoing"], [], -1, "pay-.*") == ["pay-older"]


async def test_an_administrator_cannot_commit_what_the_coordinator_has_not(producer, client):
    await producer.send("t", "a")
    commit = WritableTxnMarker(producer.pid, producer.epoch, True, [WritableTxnMarkerTopic("t", [0])])
    answer = await client.ask(WriteTxnMarkersRequest([commit]), 1)
    assert answer.markers[0].topics[0].partitions[0].error_code == INVALID_TXN_STATE
    assert await read(client) == []


# -- upkeep ------------------------------------------------------------------------------------------------------------


async def test_an_unused_transactional_id_expires(redis_url, prefix):
    clock = ManualClock()
    async with one(redis_url, prefix, clock=clock, transactional_id_expiration_ms=10_000) as broker:
        await broker.producers.init("idle", 1_000)
        clock.advance(6_000)
        pid, epoch = await broker.producers.init("busy", 1_000)
        clock.advance(6_000)
        await broker.maintenance.expire_transactional_ids()
        assert await broker.transactional_ids.get("idle") is None
        assert (await broker.producers.init("busy", 1_000)) == (pid, epoch + 1)
