"""What a transaction has done on its participants: while its end is under way, of a Kafka client, and within bounds."""

from __future__ import annotations

import pytest

from redis_ledger.broker.transactions import participant_details
from redis_ledger.ids import TxnId
from tests.support.broker import one, records
from tests.support.kafka_client import KafkaClient, listening
from tests.support.kafka_transactional import NEW, Transactional


@pytest.fixture
async def broker(redis_url, prefix):
    async with one(redis_url, prefix, end_overdue_ms=60_000) as broker:
        await broker.topics.create("t", 2)
        yield broker


async def of(broker, txn: TxnId, **how):
    return (await broker.participant_details.of(txn, 0, 100, **how)).partitions


@pytest.mark.parametrize("commit", [True, False])
async def test_a_partition_that_has_ended_shows_its_marker_while_another_is_still_open(broker, commit):
    # Given a decided transaction that has ended on partition 0 only
    txn = (await broker.transactions.begin()).id
    for partition in (0, 1):
        await broker.records.produce("t", records("a", "b", partition=partition), transaction=txn)
    decision = await broker.coordinators.decide(txn, commit=commit)
    here = [each for each in decision.participants if each.partition == 0]
    await broker.transactions.apply(decision._replace(participants=here))
    await broker.records.produce("t", records("later", partition=0))
    # Then both show its records, and only the first a marker
    ended, still = sorted(await of(broker, txn), key=lambda each: each.partition)
    assert (ended.written.first_offset, ended.written.last_offset, ended.written.records) == (0, 1, 2)
    assert (ended.written.marker_offset, ended.written.marker) == (2, "commit" if commit else "abort")
    assert (still.written.records, still.written.marker) == (2, None)
    assert not ended.is_cut
    assert not still.is_cut


async def test_a_partition_that_is_registered_and_not_written_has_no_offsets(broker):
    txn = (await broker.transactions.begin()).id
    await broker.transactions.add_partitions(txn, [("t", 1)])
    (found,) = await of(broker, txn)
    assert (found.partition, found.written.first_offset, found.written.records) == (1, None, 0)


async def test_what_a_bound_cuts_is_marked(broker, monkeypatch):
    txn = (await broker.transactions.begin()).id
    for value in "abcdefgh":
        await broker.records.produce("t", records(value, partition=0), transaction=txn)
    (whole,) = await of(broker, txn)
    assert (whole.written.records, whole.is_cut) == (8, False)
    (cut,) = await of(broker, txn, entries_max=5)
    assert (cut.written.records, cut.is_cut) == (5, True)
    monkeypatch.setattr(participant_details, "PAGE", 3)
    (paged,) = await of(broker, txn)
    assert paged == whole


async def test_many_acknowledgements_are_counted_and_their_first_ranges_shown(broker):
    await broker.topics.create("in")
    await broker.subscriptions.create("in", "job")
    await broker.records.produce("in", records(*map(str, range(2_000))))
    txn = (await broker.transactions.begin()).id
    left = 2_000
    while left:
        messages = await broker.subscriptions.receive("in", "job", "c", max_records=500)
        left -= len(messages)
        every_other = [each.id for each in messages if each.id.offset % 2]
        await broker.subscriptions.ack("in", "job", "c", every_other, transaction=txn)
    (found,) = (await broker.participant_details.of(txn, 0, 100)).subscriptions
    assert (found.pending, found.is_cut) == (1_000, True)
    assert [tuple(each) for each in found.ranges[:2]] == [(1, 1), (3, 3)]
    assert len(found.ranges) == participant_details.RANGES_MAX


async def test_a_kafka_clients_second_transaction_does_not_show_the_records_of_its_first(broker):
    async with listening(broker) as where, KafkaClient(where) as client:
        producer = await Transactional(client, "billing", NEW).init()
        assert await producer.send("t", "a", "b") == 0
        assert await producer.end() == 0
        assert await producer.send("t", "c") == 0
        (listed,) = await broker.transactions.list("open")
        (found,) = await of(broker, listed.id)
        assert (found.written.first_offset, found.written.records, found.written.marker) == (3, 1, None)
        held = (await broker.held_offsets.of("t")).partitions[0]
        assert held.record is not None
        assert held.record.producer is not None
        assert held.record.producer.transactional_id == "billing"
        await broker.transactions.abort(listed.id)


async def test_a_group_shows_the_offset_that_it_commits(broker):
    txn = (await broker.transactions.begin()).id
    await broker.external_offsets.note("nightly", "t", {0: 7}, txn)
    found = (await broker.participant_details.of(txn, 0, 100)).subscriptions
    assert [(each.partition, each.subscription, each.group_offset) for each in found] == [(0, "nightly", 7)]
