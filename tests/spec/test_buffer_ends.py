"""Ends of transactions that a partition does not have: each succeeds, and its log is as it was before."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.errors import TransactionNotFound
from redis_ledger.ids import TxnId
from redis_ledger.kafka.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from redis_ledger.txn.coordinator import Decision, Participant
from redis_ledger.txn.states import TxnState
from tests.support.broker import SHORT, begun, one, records
from tests.support.kafka_client import KafkaClient, listening
from tests.support.kafka_transactional import NEW, OLD, Transactional
from tests.support.rest import client_of

ENDS = pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
INVALID_TXN_STATE = 48


@pytest.fixture(params=[True, False], ids=["in one call", "in steps"], autouse=True)
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHORT, "one_call_transactions", request.param)


@pytest.fixture(params=["marker", "sidecar"])
async def broker(request, redis_url, prefix):
    """With topic `t`: a plain record, a committed, an aborted and an open transaction, and a record behind them."""
    async with one(
        redis_url, prefix, transaction_buffer_snapshot_max_transaction_count=0, end_overdue_ms=60_000
    ) as opened:
        await opened.topics.create("t", settings={TXN_BUFFER: BUFFERS[request.param]})
        await opened.records.produce("t", records("plain"))
        await opened.transactions.commit(await begun(opened, "committed"))
        await opened.transactions.abort(await begun(opened, "aborted"))
        await begun(opened, "open")
        await opened.records.produce("t", records("behind"))
        yield opened


async def content(broker: Any) -> list[Any]:
    """The log, and everything that readers of it use: state, open and aborted transactions, and the sidecar buffer."""
    k, command = (await broker.catalog.partition("t", 0)).keys, broker.store.command
    return [
        await command("XRANGE", k.log, "-", "+", key=k.state),
        sorted(_pairs(await command("HGETALL", k.state, key=k.state))),
        sorted(_pairs(await command("HGETALL", k.open, key=k.state))),
        sorted(_pairs(await command("HGETALL", k.ledgers, key=k.state))),
        *[await command("ZRANGE", key, 0, -1, "WITHSCORES", key=k.state) for key in (k.firsts, k.aborted, k.sidecar)],
    ]


def _pairs(row: list[bytes]) -> list[tuple[bytes, bytes]]:
    return list(zip(row[::2], row[1::2], strict=True))


@ENDS
async def test_a_transaction_that_was_registered_and_wrote_nothing_leaves_the_log_as_it_was(broker, commit):
    """TB-26: over REST, and its end again."""
    before = await content(broker)
    async with client_of(broker) as http:
        txn = (await http.post("/v1/transactions", json={})).json()["id"]
        body = {"partitions": [{"topic": "t", "partition": 0}]}
        assert (await http.post(f"/v1/transactions/{txn}/partitions", json=body)).status_code == 200
        assert await content(broker) == before
        for _ in range(2):
            answer = await http.post(f"/v1/transactions/{txn}:{'commit' if commit else 'abort'}")
            assert answer.status_code == 200, answer.text
            assert await content(broker) == before


@ENDS
async def test_a_kafka_transaction_that_added_the_partition_and_wrote_nothing_leaves_the_log_as_it_was(broker, commit):
    """TB-26: and so does the next one of its producer."""
    before = await content(broker)
    async with listening(broker) as address, KafkaClient(address) as client:
        producer = await Transactional(client, "pay", OLD).init()
        for _ in range(2):
            assert await producer.add("t", 0) == 0
            assert await producer.end(commit) == 0
            assert await content(broker) == before


@pytest.mark.parametrize(("commit", "code"), [(True, INVALID_TXN_STATE), (False, 0)])
async def test_a_kafka_client_may_abort_a_transaction_that_touched_nothing(broker, commit, code):
    """TB-26: as in Kafka, from EndTxn 5 on; a commit of nothing is refused."""
    before = await content(broker)
    async with listening(broker) as address, KafkaClient(address) as client:
        producer = await Transactional(client, "pay", NEW).init()
        for _ in range(2):
            assert await producer.end(commit) == code
            assert await content(broker) == before


@ENDS
async def test_an_end_of_a_transaction_that_is_unknown_to_the_partition_leaves_the_log_as_it_was(broker, commit):
    """TB-26: never registered there, ended there before, and known to no coordinator; each end is carried out twice."""
    partition = await broker.catalog.partition("t", 0)
    here, state = Participant("t", partition.topic_id, 0), TxnState.COMMITTING if commit else TxnState.ABORTING
    elsewhere = (await broker.transactions.begin()).id
    ended = await begun(broker, "written and ended")
    await (broker.transactions.commit if commit else broker.transactions.abort)(ended)
    unknown = TxnId(elsewhere.coordinator, elsewhere.serial + 1_000_000)
    before = await content(broker)
    for txn in (elsewhere, ended, unknown):
        for _ in range(2):
            await broker.transactions.apply(Decision(txn, state, [here], -1))
            assert await content(broker) == before
    with pytest.raises(TransactionNotFound):
        await (broker.transactions.commit if commit else broker.transactions.abort)(unknown)


async def test_a_kafka_administrator_may_abort_a_transaction_that_the_partition_does_not_have(broker):
    """TB-26: WriteTxnMarkers for a producer that has nothing open there; a commit is the coordinator's only."""
    before = await content(broker)
    async with listening(broker) as address, KafkaClient(address) as client:
        producer = await Transactional(client, "pay", NEW).init()
        for pid in (producer.pid, 12_345):
            for commit, code in ((False, 0), (True, INVALID_TXN_STATE)):
                marker = WritableTxnMarker(pid, 0, commit, [WritableTxnMarkerTopic("t", [0])])
                answer = await client.ask(WriteTxnMarkersRequest([marker]), 1)
                assert answer.markers[0].topics[0].partitions[0].error_code == code
                assert await content(broker) == before
