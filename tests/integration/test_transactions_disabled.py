"""Transactions are off: each transactional request of each protocol fails at once, and everything else works."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redis_ledger import AsyncClient, errors
from redis_ledger.app.http.application import OPERATIONS
from redis_ledger.broker.transactions.service import Transactions
from redis_ledger.broker.types import NewRecord
from redis_ledger.delay.recurrence import Recurrence
from redis_ledger.errors import TransactionsDisabled
from redis_ledger.kafka.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from redis_ledger.txn.coordinator import Participant
from tests.support.broker import (
    SWEPT_S_MAX,
    begun,
    eventually,
    heads,
    live_transactions,
    one,
    receive_values,
    records,
    status,
    values_of,
    vanish,
)
from tests.support.kafka_batches import batch, produce, produced
from tests.support.kafka_client import KafkaClient, listening
from tests.support.rest import client_of
from tests.support.threaded_broker import threaded_broker

TXN, TOPIC, SUBSCRIPTION = "0-1", "/v1/topics/t", "/v1/topics/t/subscriptions/s"
ACK = {"consumer": "c", "ids": ["0:0"]}
# Every operation with a transaction that may change something: method, path and body.
REFUSED: dict[str, tuple[str, str, Any]] = {
    "begin": ("POST", "/v1/transactions", {}),
    "add_partitions": ("POST", f"/v1/transactions/{TXN}/partitions", {"partitions": [{"topic": "t", "partition": 0}]}),
    "add_subscriptions": (
        "POST", f"/v1/transactions/{TXN}/subscriptions", {"subscriptions": [{"topic": "t", "subscription": "s"}]},
    ),
    "commit": ("POST", f"/v1/transactions/{TXN}:commit", {}),
    "abort": ("POST", f"/v1/transactions/{TXN}:abort", {}),
    "commit_all": ("POST", "/v1/transactions:commitAll", {"transactions": [TXN]}),
    "execute": (
        "POST", "/v1/transactions:execute", {"records": [{"topic": "t", "records": [{"value": 1}]}]},
    ),
    "produce": ("POST", f"{TOPIC}/records", {"records": [{"value": 1}], "transaction": TXN}),
    "ack": ("POST", f"{SUBSCRIPTION}:ack", {**ACK, "transaction": TXN}),
    "ack_cumulative": ("POST", f"{SUBSCRIPTION}:ackCumulative", {"consumer": "c", "id": "0:0", "transaction": TXN}),
    "note_offsets": ("POST", f"{SUBSCRIPTION}:noteOffsets", {"offsets": {"0": 1}, "transaction": TXN}),
}  # fmt: skip
DISABLED = TransactionsDisabled.kafka_code


def names_a_transaction(operation: Any) -> bool:
    if operation.method == "GET":
        return False
    fields = getattr(operation.body, "__struct_fields__", ())
    return operation.path.startswith("/v1/transactions") or "transaction" in fields


def test_the_table_has_every_operation_with_a_transaction():
    assert {operation.id for operation in OPERATIONS if names_a_transaction(operation)} == set(REFUSED)


async def test_each_rest_request_with_a_transaction_is_refused_and_names_the_setting(redis_url, prefix):
    """TC-19"""
    async with one(redis_url, prefix, transactions_enabled=False) as broker, client_of(broker) as http:
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s")
        for name, (method, path, body) in REFUSED.items():
            answer = await http.request(method, path, json=body)
            problem = answer.json()
            assert (name, answer.status_code, problem["code"], problem["retriable"]) == (
                name, 503, "transactions_disabled", False,
            )  # fmt: skip
            assert "transactions_enabled" in problem["detail"]
        headers = {"content-type": "application/vnd.redis-ledger.batch"}
        data = batch("x")
        answer = await http.post(f"{TOPIC}/records?partition=0&transaction={TXN}", content=data, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (503, "transactions_disabled")
        assert await heads(broker) == (0, 0, 0, 0)
        assert await live_transactions(broker) == 0
        # Views work, and show that there is nothing.
        assert (await http.get("/v1/transactions")).json() == {"transactions": []}


async def test_each_kafka_request_with_a_transaction_is_refused_and_the_first_says_why(redis_url, prefix):
    """TC-19"""
    async with (
        one(redis_url, prefix, transactions_enabled=False) as broker,
        listening(broker) as address,
        KafkaClient(address) as client,
    ):
        await broker.topics.create("t")
        found = await client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["pay"]), 4)
        (coordinator,) = found.coordinators
        assert coordinator.error_code == DISABLED
        assert "transactions_enabled" in coordinator.error_message
        assert (await client.ask(InitProducerIdRequest("pay", 30_000), 4)).error_code == DISABLED
        topics = [AddPartitionsToTxnTopic("t", [0])]
        added = await client.ask(AddPartitionsToTxnRequest([], "pay", 1, 0, topics), 3)
        (partition,) = added.results_by_topic_v3_and_below[0].results_by_partition
        assert partition.partition_error_code == DISABLED
        assert (await client.ask(AddOffsetsToTxnRequest("pay", 1, 0, "g"), 3)).error_code == DISABLED
        offsets = [TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(0, 1)])]
        for version in (3, 5):
            commit = TxnOffsetCommitRequest("pay", "g", 1, 0, -1, "", None, offsets)
            stored = await client.ask(commit, version)
            assert stored.topics[0].partitions[0].error_code == DISABLED
        assert (await client.ask(EndTxnRequest("pay", 1, 0, True), 3)).error_code == DISABLED
        data = batch("x", producer=(1, 0, 0), transactional=True)
        for version in (10, 12):
            slot = produced(await client.ask(produce("t", data, transactional_id="pay"), version))
            assert slot.error_code == DISABLED
        assert await heads(broker) == (0, 0, 0, 0)
        assert await live_transactions(broker) == 0


async def test_requests_without_a_transaction_work_and_never_look_at_the_switch(redis_url, prefix, monkeypatch):
    """TC-19: plain and idempotent produce, fetch, receive and acknowledge; also what the broker itself needs a
    transaction for, dead letters and recurring records."""
    looked = []

    def look(self: Transactions) -> None:
        looked.append(self)

    monkeypatch.setattr(Transactions, "check_enabled", look)
    async with (
        one(redis_url, prefix, transactions_enabled=False) as broker,
        client_of(broker) as http,
        listening(broker) as address,
        KafkaClient(address) as client,
    ):
        for name in ("t", "dead"):
            await broker.topics.create(name)
        await broker.subscriptions.create("t", "s")
        assert (await http.post(f"{TOPIC}/records", json={"records": [{"value": "a"}]})).status_code == 200
        given = await client.ask(InitProducerIdRequest(None, 30_000), 4)
        data = batch("b", producer=(given.producer_id, given.producer_epoch, 0))
        for _ in range(2):
            assert produced(await client.ask(produce("t", data), 10)).error_code == 0
        assert await values_of(broker, "t") == ['"a"', "b"]
        first, second = await receive_values(broker, "t", "s")
        await broker.subscriptions.ack("t", "s", "c1", [first])
        # a dead letter
        await broker.dead_letters.set("t", "s", 1, "dead")
        await broker.subscriptions.nack("t", "s", "c1", [second])
        assert await receive_values(broker, "t", "s") == {}
        assert await eventually(lambda: values_of(broker, "dead"), ["b"]) == ["b"]
        # a recurring record
        tick = NewRecord(None, b"tick", deliver_after_ms=50)
        placed = await broker.recurring.schedule("t", tick, Recurrence.parse("PT1H"))
        assert placed.id.partition == 0
        assert await eventually(lambda: values_of(broker, "t"), ['"a"', "b", "tick"]) == ['"a"', "b", "tick"]
    assert looked == []


async def test_transactions_from_before_still_end_so_that_no_reader_is_held(redis_url, prefix):
    """TC-19: one was open, one was decided and not ended on its partition, one of a Kafka client was open."""
    async with one(redis_url, prefix) as before:
        await before.maintenance.close()
        await before.topics.create("t")
        decided, left = await begun(before, "decided"), await begun(before, "open", timeout_ms=1_000)
        await before.coordinators.decide(decided, commit=True)
        pid, epoch = await before.producers.init("pay", 1_000)
        where = await before.catalog.partition("t", 0)
        await before.producers.add("pay", pid, epoch, [Participant("t", where.topic_id, 0)])
        await vanish(before)
    async with one(redis_url, prefix, transactions_enabled=False) as broker:
        await broker.records.produce("t", records("plain"))
        within_s = 1 + SWEPT_S_MAX
        assert await eventually(lambda: live_transactions(broker), 0, within_s) == 0
        assert await values_of(broker, "t") == ["decided", "plain"]
        assert (await status(broker, decided), await status(broker, left)) == ("committed", "aborted")


def test_the_sdk_raises_an_error_of_its_own_at_once(redis_url, prefix):
    """TC-19"""
    with threaded_broker(redis_url, prefix, transactions_enabled=False) as brokers:

        async def work() -> None:
            async with AsyncClient(brokers.urls) as client:
                await client.topics.create("t")
                async with client.producer("t") as producer:
                    await producer.send("plain")
                started = asyncio.get_running_loop().time()
                with pytest.raises(errors.TransactionsDisabled, match="transactions_enabled"):
                    async with client.transaction() as txn:
                        await (await txn.send("t", "never")).result()
                with pytest.raises(errors.TransactionsDisabled):
                    await client.transactions.begin()
                assert asyncio.get_running_loop().time() - started < 2
                assert [message.value async for message in client.read("t", 0)] == [b"plain"]

        asyncio.run(work())
