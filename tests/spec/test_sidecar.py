"""The sidecar buffer through brokers: what a reader sees, what a crash leaves, and what space is given back."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from redis_ledger.errors import (
    AlreadyCommitted,
    DuplicateSequence,
    TopicBusy,
    TransactionEnded,
    TransactionNotFound,
)
from redis_ledger.ids import MessageId, TxnId
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.entries import parse_log
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from redis_ledger.ledger.sidecar import is_reference
from redis_ledger.records.build import encode
from tests.support.both_buffers import SIDECAR, BothBuffers
from tests.support.broker import SHORT, begun, eventually, heads, one, raw, receive_values, records, two, values_of

SIDECAR_TOPIC = {TXN_BUFFER: BUFFERS["sidecar"]}


@pytest.fixture(params=[True, False], ids=["in one call", "in steps"], autouse=True)
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHORT, "one_call_transactions", request.param)


@pytest.fixture
async def broker(redis_url, prefix):
    """With topic `t` in the sidecar buffer."""
    async with one(redis_url, prefix) as opened:
        await opened.topics.create("t", settings=SIDECAR_TOPIC)
        yield opened


async def partition_keys(broker: Any, topic: str = "t") -> Any:
    return (await broker.catalog.partition(topic, 0)).keys


async def log(broker: Any, topic: str = "t") -> list[Any]:
    k = await partition_keys(broker, topic)
    return parse_log(await broker.store.command("XRANGE", k.log, "-", "+", key=k.state))


async def buffered(broker: Any, topic: str = "t") -> int:
    """Members of the buffer, without the sentinel."""
    k = await partition_keys(broker, topic)
    return int(await broker.store.command("ZCARD", k.sidecar, key=k.state)) - 1


async def payload_entries(broker: Any, topic: str = "t") -> int:
    """Entries of all ledgers."""
    k = await partition_keys(broker, topic)
    numbers = [int(name) for name in await broker.store.command("HKEYS", k.ledgers, key=k.state) if name]
    return sum([await broker.store.command("XLEN", k.data(n), key=k.state) for n in numbers])


async def test_the_buffer_is_a_setting_of_the_topic_that_changes_while_nothing_is_open(broker):
    """SC-01"""
    txn = await begun(broker, "a")
    with pytest.raises(TopicBusy, match="open transactions"):
        await broker.topics.grow("t", None, {TXN_BUFFER: BUFFERS["marker"]})
    await broker.transactions.commit(txn)
    await broker.topics.grow("t", None, {TXN_BUFFER: BUFFERS["marker"]})
    txn = await begun(broker, "b")
    assert await raw(broker) == ["a", "b"]
    await broker.transactions.commit(txn)
    assert await raw(broker) == ["a", "b", "[marker]"]


async def test_a_transaction_ends_in_the_buffer_in_which_it_began(redis_url, prefix):
    """SC-01: a broker with an older view of the setting sends its batches to the same buffer."""
    async with two(redis_url, prefix) as (a, b):
        await a.topics.create("t", settings=SIDECAR_TOPIC)
        txn = await begun(a, "a")
        partition = await b.catalog.partition("t", 0)
        partition._has_sidecar = False
        async with asyncio.timeout(30):
            await b.records.produce("t", records("b"), transaction=txn)
        await a.records.produce("t", records("c"), transaction=txn)
        assert await raw(a) == []
        await b.transactions.commit(txn)
        assert await values_of(a, "t") == ["a", "b", "c"]


async def test_a_topic_without_transactions_pays_for_an_empty_key_only(broker):
    """SC-02"""
    await broker.records.produce("t", records("a", "b"))
    k = await partition_keys(broker)
    assert await buffered(broker) == 0
    assert await broker.store.command("HGET", k.delay.state, "ledger", key=k.state) is None
    txn = await begun(broker, "c")
    assert await buffered(broker) == 1
    await broker.transactions.commit(txn)
    assert await buffered(broker) == 0, "a transaction of one batch is an ordinary entry of the log"


async def test_records_of_open_transactions_are_not_in_the_log_and_no_reader_waits_for_them(broker):
    """SC-03, SC-10: a thousand sends."""
    txn = await begun(broker)
    values = [str(n) for n in range(1_000)]
    await asyncio.gather(*(broker.records.produce("t", records(value), transaction=txn) for value in values[:500]))
    await broker.records.produce("t", records("plain"))
    await asyncio.gather(*(broker.records.produce("t", records(value), transaction=txn) for value in values[500:]))
    assert await raw(broker) == await values_of(broker, "t") == ["plain"]
    assert await heads(broker) == (0, 1, 1, 1)
    assert len(await log(broker)) == 1
    await broker.transactions.commit(txn)
    first, *others = await raw(broker)
    assert (first, sorted(others, key=int)) == ("plain", values)
    assert await values_of(broker, "t") == [first, *others]


async def test_a_batch_that_is_sent_again_is_never_stored_twice(redis_url, prefix):
    """SC-04: also by another broker, and with another payload.  The window of a producer has five batches."""
    async with two(redis_url, prefix) as (a, b):
        await a.topics.create("t", settings=SIDECAR_TOPIC)
        txn = (await a.transactions.begin()).id
        await a.transactions.add_partitions(txn, [("t", 0)])

        async def send(broker, values):
            partition, answers = await broker.catalog.partition("t", 0), list[object]()
            for sequence, value in enumerate(values):
                request = AppendRequest(encode([(None, value.encode(), (), 1)]), 1, 1, txn.producer_id, 0, sequence)
                try:
                    accepted = await partition.append(request, txn)
                except DuplicateSequence:
                    answers.append("duplicate")
                else:
                    answers.append((accepted.base_offset, accepted.duplicate))
            return answers

        assert await send(a, "0123456789") == [(-1, False)] * 10
        for broker in (b, a):
            assert await send(broker, "abcdefghij") == ["duplicate"] * 5 + [(-1, True)] * 5
        await b.transactions.commit(txn)
        assert await values_of(a, "t") == list("0123456789")


async def test_a_commit_is_one_entry_of_the_log_that_names_its_records(broker):
    """SC-05, SC-06, SC-08: 500 batches of 100 records, and a commit that is repeated."""
    txn = (await broker.transactions.begin()).id
    for n in range(500):
        await broker.records.produce("t", records(*(f"{n}.{i}" for i in range(100))), transaction=txn)
    k = await partition_keys(broker)
    decision = await broker.coordinators.decide(txn, commit=True)
    for _ in range(3):
        await broker.transactions._participants.end(decision)
    await broker.transactions.commit(txn)
    entries = await broker.store.command("XRANGE", k.log, "-", "+", key=k.state)
    assert len(entries) == 1
    assert sum(map(len, entries[0][1])) < 1_000
    [entry] = parse_log(entries)
    assert is_reference(entry)
    assert (entry.base_offset, entry.records) == (0, 50_000)
    assert await values_of(broker, "t") == [f"{n}.{i}" for n in range(500) for i in range(100)]


async def test_a_record_has_the_offset_of_its_place_in_the_transaction(broker):
    """SC-09: known from the commit on, for seeks, reads from the middle, and acknowledgements."""
    await broker.records.produce("t", records("plain"))
    txn = await begun(broker, *"abcdef")
    await broker.transactions.commit(txn)
    assert [await values_of(broker, "t", offset=n) for n in (3, 6)] == [["c", "d", "e", "f"], ["f"]]
    await broker.subscriptions.create("t", "s", "shared", start="earliest")
    await broker.subscriptions.seek("t", "s", offsets={0: 4})
    assert list(await receive_values(broker, "t", "s")) == [MessageId(0, n) for n in (4, 5, 6)]


async def test_transactions_appear_in_the_order_of_their_commits_each_in_one_piece(broker):
    """SC-10"""
    t1, t2 = await begun(broker, "1a"), await begun(broker, "2a")
    await broker.records.produce("t", records("1b"), transaction=t1)
    await broker.records.produce("t", records("2b"), transaction=t2)
    await broker.transactions.commit(t2)
    assert await values_of(broker, "t") == ["2a", "2b"]
    await broker.transactions.commit(t1)
    assert await values_of(broker, "t") == ["2a", "2b", "1a", "1b"]


async def test_records_of_a_transaction_are_acknowledged_one_by_one(redis_url, prefix):
    """SC-12, SC-13: after a restart only the others are delivered again, and then the mark passes them all."""
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", settings=SIDECAR_TOPIC)
        await broker.subscriptions.create("t", "s", "shared")
        await broker.transactions.commit(await begun(broker, *"abc"))
        messages = await receive_values(broker, "t", "s", ack_timeout_ms=1)
        assert list(messages.values()) == ["a", "b", "c"]
        await broker.subscriptions.ack("t", "s", "c1", [MessageId(0, 0), MessageId(0, 2)])
    async with one(redis_url, prefix) as broker:
        again = await eventually(lambda: receive_values(broker, "t", "s"), {MessageId(0, 1): "b"})
        assert again == {MessageId(0, 1): "b"}
        await broker.subscriptions.ack("t", "s", "c1", [MessageId(0, 1)])
        (cursor,) = (await broker.subscriptions.stats("t", "s")).cursors
        assert (cursor.mark_delete, cursor.backlog) == (3, 0)


async def test_an_aborted_transaction_leaves_nothing(broker):
    """SC-07, SC-15, SC-16, SC-20: 700 batches are deleted in two pages, and the others stay where they are."""
    await broker.records.produce("t", records("plain"))
    txn = await begun(broker, *(["x" * 1_000] * 700))
    await broker.transactions.abort(txn)
    assert (await heads(broker), len(await log(broker))) == ((0, 1, 1, 0), 1)
    await broker.aborted_payload.look_at_all()
    assert (await buffered(broker), await payload_entries(broker)) == (0, 1)
    k = await partition_keys(broker)
    row = (await broker.store.command("HGET", k.ledgers, -1, key=k.state)).split()
    assert [int(row[0]) - int(row[1]), int(row[4])] == [0, 0], "no entry is left, and none waits for its offset"


async def test_a_transaction_that_times_out_leaves_nothing_either(broker):
    """SC-07"""
    await begun(broker, "a", "b", timeout_ms=1)
    await asyncio.sleep(0.01)  # longer than its timeout
    k = await partition_keys(broker)

    async def opened() -> int:
        return int(await broker.store.command("HLEN", k.open, key=k.state)) - 1

    assert await eventually(opened, 0) == 0
    await broker.aborted_payload.look_at_all()
    assert (await log(broker), await buffered(broker)) == ([], 0)


async def test_leftovers_below_the_watermark_are_aborted(redis_url, prefix):
    """SC-07, TB-12: a transaction whose end never reached the partition."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        await broker.topics.create("t", settings=SIDECAR_TOPIC)
        txn = await begun(broker, "lost", "lost too")
        k = await partition_keys(broker)
        row = await broker.store.command("HGET", k.open, txn.producer_id, key=k.state)
        score = await broker.store.command("ZSCORE", k.firsts, txn.producer_id, key=k.state)
        await broker.transactions.abort(txn)
        await broker.store.command("HSET", k.open, txn.producer_id, row, key=k.state)
        await broker.store.command("ZADD", k.firsts, score, txn.producer_id, key=k.state)
        await broker.transactions.commit(await begun(broker, "next"))
        assert await broker.store.command("HLEN", k.open, key=k.state) == 1
        assert await values_of(broker, "t") == ["next"]


async def test_trimmed_transactions_go_with_their_batches_and_no_others(broker):
    """SC-14"""
    for name in "ab":
        await broker.transactions.commit(await begun(broker, f"{name}1", f"{name}2"))
    await begun(broker, "open 1", "open 2")
    assert await broker.topics.delete_records("t", 0, 1) == 1, "in the middle of a transaction"
    await broker.aborted_payload.look_at_all()
    assert (await buffered(broker), await values_of(broker, "t")) == (6, ["a2", "b1", "b2"])
    assert await broker.topics.delete_records("t", 0, 2) == 2
    await broker.aborted_payload.look_at_all()
    assert (await buffered(broker), await values_of(broker, "t")) == (4, ["b1", "b2"])


async def test_an_ended_transaction_takes_no_more_records(broker):
    """SC-17"""
    for end in (broker.transactions.commit, broker.transactions.abort):
        txn = await begun(broker, "a")
        await end(txn)
        partition = await broker.catalog.partition("t", 0)
        request = AppendRequest(encode([(None, b"late", (), 1)]), 1, 1, txn.producer_id, 0, -1)
        with pytest.raises(TransactionEnded):
            await partition.append(request, txn)
    assert await values_of(broker, "t") == ["a"]


async def test_errors_of_an_unknown_an_ended_and_a_committed_transaction_differ(broker):
    """SC-18: of the buffer's contract; a reader of an open one sees nothing, and there is nothing beyond the last."""
    with pytest.raises(TransactionNotFound):
        await broker.transactions.commit(TxnId(0, 12345))
    txn = await begun(broker, "a", "b")
    assert await values_of(broker, "t") == []
    first = await broker.transactions.commit(txn)
    with pytest.raises(AlreadyCommitted):
        await broker.transactions.abort(txn)
    assert (await broker.transactions.commit(txn)).status == first.status == "committed"
    assert await values_of(broker, "t") == ["a", "b"]


async def test_a_transaction_that_wrote_nothing_adds_nothing(broker):
    """SC-19"""
    txn = (await broker.transactions.begin()).id
    await broker.transactions.add_partitions(txn, [("t", 0)])
    await broker.transactions.commit(txn)
    assert (await heads(broker), await log(broker)) == ((0, 0, 0, 0), [])


@pytest.mark.parametrize("seed", range(5))
async def test_both_buffers_show_the_same_records(broker, seed):
    """SC-21: one workload in both, read while transactions are open and in the end; only the order differs."""
    both, random, waiting = BothBuffers(broker), Random(seed), list[int]()
    await both.create()
    for n in range(300):
        act = random.random()
        if act < 0.2:
            await both.begin()
        elif act < 0.4 and both.open:
            await both.end(random.choice([*both.open]), commit=random.random() < 0.7)
        elif act < 0.5:
            waiting.append(await both.compare())
        else:
            await both.write(random.choice([None, *both.open]), *(f"{n}.{i}" for i in range(random.randint(1, 3))))
    assert sum(each > 0 for each in waiting) > 5, "few reads with committed records behind an open transaction"
    for txn in [*both.open]:
        await both.end(txn, commit=True)
        waiting.append(await both.compare())
    assert waiting[-1] == 0
    assert len(await values_of(broker, SIDECAR)) > 100


async def test_readers_look_a_transaction_up_once(broker):
    """SC-22: three subscriptions and a reader."""
    await broker.transactions.commit(await begun(broker, *"abc"))
    (partition,) = broker.catalog.opened_partitions()
    reads, read = [], partition.reader.sidecar._range

    async def counting(*given: Any) -> Any:
        reads.append(given)
        return await read(*given)

    partition.reader.sidecar._range = counting
    for name in ("s1", "s2", "s3"):
        await broker.subscriptions.create("t", name, "shared", start="earliest")
        assert list((await receive_values(broker, "t", name)).values()) == ["a", "b", "c"]
    assert await values_of(broker, "t") == ["a", "b", "c"]
    assert len(reads) == 1


@pytest.mark.parametrize("commits", [True, False])
async def test_a_transaction_with_records_that_are_due_later(broker, commits):
    """SC-23: in one batch with records that are due now, and alone; scheduled by the commit, forgotten by the abort."""
    far = datetime(2999, 1, 1, tzinfo=UTC)
    txn = await begun(broker, "first")
    mixed = [*records("now"), *(each._replace(deliver_at_ms=int(far.timestamp() * 1000)) for each in records("later"))]
    await broker.records.produce("t", mixed, transaction=txn)
    await broker.records.produce("t", mixed[1:], transaction=txn)
    assert (await raw(broker), await broker.delayed.pending("t")) == ([], 0)
    await (broker.transactions.commit if commits else broker.transactions.abort)(txn)
    assert await values_of(broker, "t") == (["first", "now"] if commits else [])

    async def pending() -> int:
        return int(await broker.delayed.pending("t"))

    assert await eventually(pending, 2 if commits else 0) == (2 if commits else 0)


async def test_a_full_delay_ledger_is_sealed_and_dropped_when_its_records_are_trimmed(redis_url, prefix):
    """SC-14: payload of the buffer does not stay because its ledger goes on."""
    async with one(redis_url, prefix, ledger_bytes_max=1 << 20) as broker:
        await broker.topics.create("t", settings=SIDECAR_TOPIC)
        for _ in range(5):
            await broker.transactions.commit(await begun(broker, *["x" * 400_000] * 3))
        k = await partition_keys(broker)

        async def ledgers() -> list[int]:
            return sorted(int(n) for n in await broker.store.command("HKEYS", k.ledgers, key=k.state) if int(n) < 0)

        before = await eventually(ledgers, [-5, -4, -3, -2, -1])
        assert len(before) >= 4
        assert [len(v) for v in await values_of(broker, "t")] == [400_000] * 15
        await broker.topics.delete_records("t", 0, None)
        await broker.aborted_payload.look_at_all()
        assert len(await ledgers()) == 1
        assert await payload_entries(broker) == 0


async def test_the_log_shows_what_is_in_the_buffer(broker):
    """SC-11: records, state and place of a transaction, before and after its commit."""
    txn = await begun(broker, "a", "bc")
    (details,) = (await broker.participant_details.of(txn, 0, 10)).partitions
    assert (details.written.records, details.written.batches, details.written.first_offset) == (2, 2, None)
    listed = await broker.partition_transactions.describe("t", 0)
    assert ([(each.transaction, each.buffer) for each in listed.open], listed.held_by) == ([(txn, "sidecar")], None)
    await broker.transactions.commit(txn)
    assert (await broker.partition_transactions.get("t", 0, txn)).state == "committed"
    assert (await broker.partition_transactions.describe("t", 0)).open == []
