"""Topics with the sidecar buffer through the doors that ordinary topics have: Parquet, inspection, REST, Kafka."""

from __future__ import annotations

import time
from typing import Any

import pytest

from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import UnknownScheduled
from redis_ledger.ids import MessageId, ScheduledId
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from tests.support import cli
from tests.support.broker import begun, one, receive_values, records, values_of
from tests.support.offload_job import offload
from tests.support.rest import client_of
from tests.support.threaded_broker import threaded_broker

ASIDE = {TXN_BUFFER: BUFFERS["sidecar"]}


@pytest.fixture
async def broker(redis_url, prefix, tmp_path):
    """A topic t of: one plain record; transactions of one, three and two batches; an aborted one; a plain record."""
    kept: dict[str, Any] = {"offload_home": str(tmp_path / "offload"), "retention_ms": -1}
    async with one(redis_url, prefix, **kept) as broker:
        await broker.topics.create("t", settings=ASIDE)
        await broker.records.produce("t", records("0"))
        for values in ("1", "234", "56"):
            await broker.transactions.commit(await begun(broker, *values))
        await broker.transactions.abort(await begun(broker, "x", "y"))
        await broker.records.produce("t", records("7"))
        yield broker


ALL = list("01234567")


async def ledgers(broker):
    k = (await broker.catalog.partition("t", 0)).keys
    return sorted(int(name) for name in await broker.store.command("HKEYS", k.ledgers, key=k.state) if name)


# -- Parquet -----------------------------------------------------------------------------------------------------------


async def test_a_topic_is_offloaded_and_its_payload_is_dropped(broker):
    """SC-08, SC-14: also that of transactions, once their ledger is sealed and nothing of it is open."""
    opened = await begun(broker, "8", "9")
    await broker.aborted_payload.look_at_all()
    assert await offload(broker, "t", 0) == 8
    assert await values_of(broker, "t") == ALL
    assert [await values_of(broker, "t", offset=n) for n in (3, 6)] == [ALL[3:], ALL[6:]], "in a transaction's middle"
    assert -1 in await ledgers(broker), "it has the payload of an open transaction"
    await broker.transactions.commit(opened)
    assert await values_of(broker, "t") == [*ALL, "8", "9"]


async def test_delay_ledgers_of_transactions_are_dropped_after_the_offload(broker):
    """SC-14"""
    await broker.aborted_payload.look_at_all()
    index = (await broker.delayed.messages("t", 0)).index
    await index.seal(-1)
    await broker.transactions.commit(await begun(broker, "8", "9"))
    partition = await broker.catalog.partition("t", 0)
    assert await offload(broker, "t", 0) == 10
    await partition.trim(retention_ms=-1, retention_bytes=-1)
    left = [number for number in await ledgers(broker) if number < 0]
    assert len(left) <= 1, left
    assert await values_of(broker, "t") == [*ALL, "8", "9"]
    await broker.subscriptions.create("t", "late", "shared", start="earliest")
    assert list((await receive_values(broker, "t", "late")).values()) == [*ALL, "8", "9"]


async def test_acknowledged_records_of_a_transaction_are_trimmed_with_the_others(broker):
    """SC-14: retention_acknowledged."""
    await broker.topics.grow("t", None, {"retention_acknowledged": 1, "retention_ms": 0})
    await broker.subscriptions.create("t", "s", "shared", start="earliest")
    got = await receive_values(broker, "t", "s")
    assert list(got.values()) == ALL
    await broker.subscriptions.ack("t", "s", "c1", [id for id, value in got.items() if value in "012346"])
    await broker.maintenance.retain()
    assert (await broker.topics.head("t", 0)).start_offset == 5
    assert await values_of(broker, "t", offset=5) == [*"567"]


# -- inspection --------------------------------------------------------------------------------------------------------


async def test_the_state_of_a_record_of_a_transaction_is_found_by_batch_and_index(broker):
    """SC-13"""
    await broker.subscriptions.create("t", "s", "shared", start="earliest")
    await receive_values(broker, "t", "s")
    await broker.subscriptions.ack("t", "s", "c1", [MessageId(0, 3)])
    async with client_of(broker) as http:
        found = [
            (await http.get(f"/v1/topics/t/partitions/0/records/{at}/subscriptions/s", params=more)).json()["state"]
            for at, more in ((3, {}), (4, {}), (2, {"batch_index": 1}), (4, {"batch_index": 0}))
        ]
    assert found == ["acknowledged", "delivered", "invalid_position", "delivered"]


async def test_a_backlog_counts_records_of_transactions_once(broker):
    """SC-13"""
    await broker.subscriptions.create("t", "s", "shared", start="earliest")
    got = await receive_values(broker, "t", "s")
    await broker.subscriptions.ack("t", "s", "c1", [each for each in got if each.offset in (2, 3)])
    async with client_of(broker) as http:
        answer = await http.get("/v1/topics/t/partitions/0/backlog/s")
        assert answer.status_code == 200, answer.text
        found = answer.json()
    assert [found[name] for name in ("records", "batches", "acknowledged", "entries")] == [6, 6, 2, 8]


# -- open transactions -------------------------------------------------------------------------------------------------


async def test_open_transactions_of_both_buffers_are_listed_page_by_page(broker):
    """SC-11"""
    txns = [await begun(broker, "open") for _ in range(3)]
    opened, at = [], 0
    async with client_of(broker) as http:
        while at is not None:
            answer = await http.get("/v1/topics/t/partitions/0/transactions", params={"limit": 1, "open_from": at})
            assert answer.status_code == 200, answer.text
            opened += answer.json()["open"]
            assert len(opened) <= 3
            at = answer.json().get("open_next")
    assert sorted(each["transaction"] for each in opened) == sorted(map(str, txns))
    assert {each["buffer"] for each in opened} == {"sidecar"}


async def test_a_scheduled_record_without_a_transaction_is_not_read_before_it_is_due(broker):
    await broker.records.produce("t", [NewRecord(None, b"later", deliver_after_ms=3_600_000)])
    assert (await values_of(broker, "t"), await broker.delayed.pending("t")) == (ALL, 1)


async def test_a_scheduled_record_of_a_transaction_is_delivered_when_it_is_due(broker):
    """SC-23: due 5 s after the send, committed after 2 s, and received by a shared subscription 5 s after the send."""
    await broker.subscriptions.create("t", "s", "shared", start="latest")
    txn = await begun(broker)
    sent_s = time.monotonic()
    await broker.records.produce("t", [NewRecord(None, b"later", deliver_after_ms=5_000)], transaction=txn)
    assert await receive_values(broker, "t", "s", wait_ms=2_000) == {}
    await broker.transactions.commit(txn)
    received: dict[MessageId, str] = {}
    while not received and time.monotonic() - sent_s < 60:
        received = await receive_values(broker, "t", "s", wait_ms=1_000)
    assert list(received.values()) == ["later"]
    assert time.monotonic() - sent_s >= 5
    assert await receive_values(broker, "t", "s", "c2", wait_ms=100) == {}


def test_the_command_line_creates_and_changes_topics_with_the_buffer(redis_url, prefix):
    """SC-01"""
    with threaded_broker(redis_url, prefix) as brokers:

        def run(line: str) -> str:
            done = cli.run(*line.split(), REDIS_LEDGER_URL=brokers.urls[0])
            assert done.code == 0, done.err
            return str(done.out)

        run("topics create pay --txn-buffer sidecar")
        assert "txn_buffer sidecar" in run("topics describe pay")
        txn = brokers.do(begun(brokers.brokers[0], "x", topic="pay"))
        assert "sidecar" in run("topics transactions pay")
        assert "has written nothing" not in run(f"txns show {txn}")
        assert "open" not in run("txns why pay")
        run(f"txns commit {txn}")
        run("topics grow pay --txn-buffer marker")
        assert "txn_buffer marker" in run("topics describe pay")


async def test_batch_of_an_open_transaction_is_no_scheduled_record(broker):
    """Both are entries of the same ledgers, and the id of a topic that was deleted may name either."""
    transaction = await begun(broker, "8", "9")
    for entry in range(1, 20):
        id = ScheduledId(0, entry, 0)
        assert all(isinstance(each, UnknownScheduled) for each in await broker.delayed.cancel("t", [id]))
        with pytest.raises(UnknownScheduled):
            await broker.delayed.reschedule("t", id, deliver_after_ms=1000)
        with pytest.raises(UnknownScheduled):
            await broker.delayed.get("t", id)
    await broker.transactions.commit(transaction)
    assert await values_of(broker, "t") == [*ALL, "8", "9"]


async def test_cancelling_all_scheduled_records_keeps_open_transactions(broker):
    opened = [await begun(broker, *values) for values in ("8", "9a", "b", "c")]
    assert await broker.delayed.clear("t") == 0
    for transaction in opened:
        await broker.transactions.commit(transaction)
    await broker.records.produce("t", records("d"))
    assert await values_of(broker, "t") == [*ALL, "8", "9", "a", "b", "c", "d"]
