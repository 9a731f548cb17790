"""Quotas at both ports: requests above them wait, other principals are unaffected, and changes apply everywhere."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator

import pytest
from typer.testing import CliRunner

from redis_ledger.app.cli.main import app
from redis_ledger.auth.acl import ANONYMOUS
from redis_ledger.auth.quota import OTHERS, Quota
from redis_ledger.broker.broker import Broker
from redis_ledger.errors import InvalidRequest, TransactionQuotaExceeded
from redis_ledger.kafka.protocol.messages import txn_offset_commit_request as in_txn
from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from redis_ledger.kafka.protocol.messages.alter_client_quotas_request import AlterClientQuotasRequest, OpData
from redis_ledger.kafka.protocol.messages.alter_client_quotas_request import EntityData as AlterEntity
from redis_ledger.kafka.protocol.messages.alter_client_quotas_request import EntryData as AlterEntry
from redis_ledger.kafka.protocol.messages.api_versions_request import ApiVersionsRequest
from redis_ledger.kafka.protocol.messages.describe_client_quotas_request import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.fetch_response import PartitionData
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest
from redis_ledger.telemetry import metrics
from tests.support import secured_rest
from tests.support.broker import eventually, one, two
from tests.support.busy_machine import busy_machine
from tests.support.kafka_batches import batch, fetch, fetched, produce, produced
from tests.support.kafka_client import KafkaClient, listening
from tests.support.rest import client_of
from tests.support.secured_kafka import secured

COORDINATOR_LOADING, INVALID_REQUEST, CONCURRENT_TRANSACTIONS = 14, 42, 51


@pytest.fixture
async def broker(redis_url, prefix) -> AsyncIterator[Broker]:
    async with one(redis_url, prefix) as opened:
        await opened.topics.create("t", 1)
        yield opened


def throttled(door: str) -> float:
    return float(metrics.throttled_requests.labels(door)._value.get())


def size_of(data: PartitionData) -> int:
    assert isinstance(data.records, memoryview)
    return len(data.records)


# -- Kafka -------------------------------------------------------------------------------------------------------------


async def test_producer_over_its_quota_is_answered_and_muted_for_the_throttle_time(broker):
    await broker.quotas.change(ANONYMOUS, {"bytes_in_per_s": 20_000})
    sent, before = batch("x" * 60_000), throttled("kafka")
    async with listening(broker) as address, KafkaClient(address) as noisy, KafkaClient(address) as other:
        began = time.monotonic()
        async with busy_machine() as machine:
            answer = await noisy.ask(produce("t", sent), 9)
        assert produced(answer).error_code == 0
        assert 1_900 <= answer.throttle_time_ms <= 2_100  # 40 000 bytes over a second's worth of 20 000
        assert time.monotonic() - began < 1.8 + machine.lost_s
        assert (await noisy.ask(ApiVersionsRequest("a", "1"), 3)).error_code == 0
        assert time.monotonic() - began >= 1.8
        assert throttled("kafka") == before + 1
        await broker.quotas.remove(ANONYMOUS)
        assert (await other.ask(produce("t", sent), 9)).throttle_time_ms == 0


async def test_a_consumer_over_its_bytes_gets_nothing_more_until_what_it_got_is_paid_for(broker):
    async with listening(broker) as address, KafkaClient(address) as client, KafkaClient(address) as again:
        for _ in range(4):
            await client.ask(produce("t", batch("x" * 30_000)), 9)
        await broker.quotas.change(ANONYMOUS, {"bytes_out_per_s": 20_000})
        first = await client.ask(fetch("t"), 12)
        # not more than some seconds' worth, and more than one, so it has to be paid for
        assert 20_000 < size_of(fetched(first)) <= 100_000 + 40_000
        assert first.throttle_time_ms > 1_000
        second = await again.ask(fetch("t"), 12)  # another connection of the same principal
        assert second.responses == []
        assert second.throttle_time_ms > 500


async def test_requests_a_second_are_kept_to_over_a_burst(broker):
    await broker.quotas.change(ANONYMOUS, {"requests_per_s": 20})
    async with listening(broker) as address, KafkaClient(address) as client:
        began = time.monotonic()
        for _ in range(50):
            await client.ask(MetadataRequest([]), 9)
        took = time.monotonic() - began
    assert 1.2 <= took <= 60.0  # 20 at once, 30 at 20 a second


async def test_another_connection_is_no_way_around_a_quota(broker):
    await broker.quotas.change(ANONYMOUS, {"bytes_in_per_s": 20_000})
    async with listening(broker) as address:
        async with KafkaClient(address) as first:
            throttle_ms = (await first.ask(produce("t", batch("x" * 80_000)), 9)).throttle_time_ms
            assert throttle_ms > 2_900
        began = time.monotonic()
        async with busy_machine() as machine, KafkaClient(address) as second:
            assert (await second.ask(ApiVersionsRequest("a", "1"), 3)).throttle_time_ms > 500
            assert time.monotonic() - began < 2.0 + machine.lost_s
            await second.ask(produce("t", batch("x")), 9)
            assert time.monotonic() - began > 0.5


async def test_a_login_is_no_way_around_a_quota(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await world.broker.topics.create("t", 1)
        await world.broker.quotas.change("User:root", {"bytes_in_per_s": 20_000})
        first = await world.client("root")
        assert (await first.ask(produce("t", batch("x" * 40_000)), 9)).throttle_time_ms > 900
        began = time.monotonic()
        second = await world.client("root")
        await second.ask(produce("t", batch("x")), 9)
        assert time.monotonic() - began > 0.5


async def test_a_muted_connection_that_is_left_is_gone_at_once_and_drains(broker):
    await broker.quotas.change(ANONYMOUS, {"bytes_in_per_s": 1})
    async with listening(broker) as address:
        async with KafkaClient(address) as client:
            assert (await client.ask(produce("t", batch("x" * 1_000)), 9)).throttle_time_ms == 30_000
        began = time.monotonic()
    assert time.monotonic() - began < 20.0  # the listener has stopped without waiting


async def begun(client: KafkaClient, transactional_id: str) -> tuple[int, int, int]:
    """Error code of the first touch; producer id and epoch."""
    who = await client.ask(InitProducerIdRequest(transactional_id, 60_000), 4)
    assert who.error_code == 0
    asked = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=who.producer_id,
        v3_and_below_producer_epoch=who.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic("t", [0])],
    )
    answer = await client.ask(asked, 3)
    code = answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
    return code, who.producer_id, who.producer_epoch


async def test_a_kafka_client_with_too_many_open_transactions_gets_a_retriable_error(broker):
    await broker.quotas.change(ANONYMOUS, {"open_transactions": 2})
    async with listening(broker) as address, KafkaClient(address) as client:
        first = await begun(client, "a")
        assert [first[0], (await begun(client, "b"))[0], (await begun(client, "c"))[0]] == [
            0,
            0,
            CONCURRENT_TRANSACTIONS,  # which clients take as: again in a moment
        ]
        assert (await client.ask(EndTxnRequest("a", *first[1:], True), 3)).error_code == 0
        assert (await begun(client, "c"))[0] == 0


# -- REST --------------------------------------------------------------------------------------------------------------


async def test_a_transaction_that_begins_with_a_group_s_offsets_is_counted(broker):
    await broker.quotas.change(ANONYMOUS, {"open_transactions": 1})
    async with listening(broker) as address, KafkaClient(address) as client:
        assert (await begun(client, "a"))[0] == 0
        who = await client.ask(InitProducerIdRequest("b", 60_000), 4)
        offsets = in_txn.TxnOffsetCommitRequestTopic("t", partitions=[in_txn.TxnOffsetCommitRequestPartition(0, 1)])
        asked = in_txn.TxnOffsetCommitRequest("b", "g", who.producer_id, who.producer_epoch, topics=[offsets])
        answer = await client.ask(asked, 5)
        assert answer.topics[0].partitions[0].error_code == COORDINATOR_LOADING
        assert [each.state for each in await broker.producers.list_transactions() if each.started_ms] == ["Ongoing"]


async def test_repeated_failed_attempts_cause_no_repeated_reads(broker, monkeypatch):
    asked: list[object] = []

    async def is_open(key: object) -> bool:
        asked.append(key)
        return True

    monkeypatch.setattr(broker.quotas, "_is_open", is_open)
    await broker.quotas.change(ANONYMOUS, {"open_transactions": 3})
    for key in "abc":
        await broker.quotas.may_open(ANONYMOUS, key)
    for _ in range(20):
        with pytest.raises(TransactionQuotaExceeded):
            await broker.quotas.may_open(ANONYMOUS, "d")
    assert asked == ["a", "b", "c"]
    for key in "abc":
        broker.quotas.ended(key)
    assert broker.quotas._open == {}


async def test_a_body_that_does_not_come_is_not_paid_for(broker):
    """A false Content-Length would exhaust the quota of all who share the principal: here the anonymous one."""
    await broker.quotas.change(ANONYMOUS, {"bytes_in_per_s": broker.config.body_bytes_max})
    async with client_of(broker) as http:
        answer = await http.post("/v1/topics/t/records", content=b"", headers={"content-length": f"{1 << 40}"})
        assert answer.status_code == 413
        assert (await http.get("/v1/topics")).status_code == 200


async def test_the_console_is_no_way_around_a_quota(broker):
    await broker.quotas.change(ANONYMOUS, {"requests_per_s": 2, "bytes_out_per_s": 1_000})
    async with client_of(broker) as http:
        assert (await http.get("/console/topics")).status_code == 200
        refused = await http.get("/console/topics.json")
        assert (refused.status_code, refused.json()["code"]) == (429, "quota_exceeded")
        assert (await http.get("/v1/topics")).status_code == 429
        assert (await http.get("/console/login")).status_code == 429


async def test_rest_throttles_with_retry_after(broker):
    await broker.quotas.change(ANONYMOUS, {"bytes_in_per_s": 1_000})
    body = {"records": [{"value": "x" * 3_000}]}
    async with client_of(broker) as http:
        assert (await http.post("/v1/topics/t/records", json=body)).status_code == 200  # let through, and paid for
        refused = await http.post("/v1/topics/t/records", json=body)
        assert (refused.status_code, refused.json()["code"]) == (429, "quota_exceeded")
        assert 2 <= int(refused.headers["retry-after"]) <= 3
        assert 1.0 < refused.json()["retry_after_s"] <= 3.0
        for open_to_all in ("/livez", "/readyz"):
            assert (await http.get(open_to_all)).status_code == 200
        await broker.quotas.change(ANONYMOUS, {"bytes_in_per_s": None})
        assert (await http.post("/v1/topics/t/records", json=body)).status_code == 200


async def test_denied_requests_are_no_way_around_a_quota(redis_url, prefix):
    async with secured_rest.secured(redis_url, prefix) as world:
        await world.broker.quotas.change("User:eve", {"requests_per_s": 1})
        statuses = [(await world.ask("eve", "DELETE", "/v1/topics/t")).status_code for _ in range(10)]
        assert statuses[0] == 403
        assert statuses.count(429) >= 7
        assert (await world.ask("root", "DELETE", "/v1/topics/t")).status_code == 404


async def test_rest_reads_are_charged(broker):
    async with client_of(broker) as http:
        await http.post("/v1/topics/t/records", json={"records": [{"value": "x" * 5_000}]})
        await broker.quotas.change(ANONYMOUS, {"bytes_out_per_s": 1_000})
        url = "/v1/topics/t/partitions/0/records?offset=earliest"
        assert (await http.get(url)).status_code == 200
        assert (await http.get(url)).status_code == 429


async def test_open_transactions_are_counted_and_those_ended_elsewhere_are_not(redis_url, prefix):
    async with two(redis_url, prefix) as (here, there), client_of(here) as http:
        await here.quotas.change(ANONYMOUS, {"open_transactions": 2})
        ids = [(await http.post("/v1/transactions")).json()["id"] for _ in range(2)]
        refused = await http.post("/v1/transactions")
        assert (refused.status_code, refused.json()["code"]) == (429, "transaction_quota_exceeded")
        assert refused.headers["retry-after"] == "1"
        assert (await http.post(f"/v1/transactions/{ids[0]}:commit", json={})).status_code == 200
        third = await http.post("/v1/transactions")
        assert third.status_code == 201
        async with client_of(there) as elsewhere:
            assert (await elsewhere.post(f"/v1/transactions/{ids[1]}:abort", json={})).status_code == 200

        async def begins() -> int:
            return (await http.post("/v1/transactions")).status_code

        assert await eventually(begins, 201) == 201
        many = await asyncio.gather(*(http.post("/v1/transactions") for _ in range(5)))
        assert {each.status_code for each in many} == {429}


# -- administration ----------------------------------------------------------------------------------------------------


async def test_kafkas_tools_set_describe_and_remove_quotas_of_users(broker):
    async with listening(broker) as address, KafkaClient(address) as client:

        async def alter(user: str | None, *ops: OpData, kind: str = "user", only: bool = False) -> int:
            asked = AlterClientQuotasRequest([AlterEntry([AlterEntity(kind, user)], list(ops))], only)
            return int((await client.ask(asked, 1)).entries[0].error_code)

        async def described(*components: ComponentData) -> dict[str | None, dict[str, float]]:
            answer = await client.ask(DescribeClientQuotasRequest(list(components)), 1)
            assert answer.error_code == 0
            return {e.entity[0].entity_name: {v.key: v.value for v in e.values} for e in answer.entries}

        assert await alter("ada", OpData("producer_byte_rate", 1e6), OpData("consumer_byte_rate", 2e6)) == 0
        assert await alter(None, OpData("request_rate", 500.0)) == 0
        assert await alter("eve", OpData("producer_byte_rate", 1.0), only=True) == 0
        ada, others = {"producer_byte_rate": 1e6, "consumer_byte_rate": 2e6}, {"request_rate": 500.0}
        assert await described() == {None: others, "ada": ada}
        assert await described(ComponentData("user", 0, "ada")) == {"ada": ada}
        assert await described(ComponentData("user", 1, None)) == {None: others}
        assert await described(ComponentData("client-id", 2, None)) == {}
        assert broker.quotas.quota_of("User:ada") == Quota(1_000_000, 2_000_000, 500, 0)
        assert await alter("ada", OpData("consumer_byte_rate", 0.0, True)) == 0
        assert broker.quotas.quota_of("User:ada").bytes_out_per_s == 0
        refused = [
            await alter("ada", OpData("request_percentage", 50.0)),
            await alter("ada", OpData("producer_byte_rate", float("nan"))),
            await alter("ada", OpData("producer_byte_rate", -1.0)),
            await alter("some client", OpData("producer_byte_rate", 1.0), kind="client-id"),
            await alter("a\nb", OpData("producer_byte_rate", 1.0)),
        ]
        assert refused == 5 * [INVALID_REQUEST]


async def test_quotas_are_administered_by_rest_in_parts(broker):
    async with client_of(broker) as http:
        answer = await http.put("/v1/quotas/User:ada", json={"bytes_in_per_s": 10, "requests_per_s": 20})
        shown = {"principal": "User:ada", "bytes_in_per_s": 10, "bytes_out_per_s": None, "requests_per_s": 20}
        assert answer.json() == {**shown, "open_transactions": None}
        await http.put("/v1/quotas/User:ada", json={"bytes_in_per_s": None})
        (row,) = (await http.get("/v1/quotas")).json()["quotas"]
        assert (row["bytes_in_per_s"], row["requests_per_s"]) == (None, 20)
        assert (await http.put("/v1/quotas/ada", json={"requests_per_s": 1})).status_code == 400
        assert (await http.delete("/v1/quotas/User:ada")).status_code == 204
        assert (await http.get("/v1/quotas")).json() == {"quotas": []}


def test_quotas_are_administered_on_the_command_line(redis_url, prefix):
    def run(*words: str) -> str:
        given = [*words, "--redis", redis_url, "--set", f"prefix={prefix}", "--json"]
        done = CliRunner().invoke(app, ["quotas", *given])
        assert done.exit_code == 0, done.output
        return done.stdout

    run("set", "ada", "--requests-per-s", "5", "--bytes-in-per-s", "7")
    run("set", "ada", "--bytes-in-per-s", "-1")
    assert json.loads(run("list")) == {
        "principal": "User:ada", "bytes_in_per_s": None, "bytes_out_per_s": None, "requests_per_s": 5,
        "open_transactions": None,
    }  # fmt: skip
    assert json.loads(run("remove", "User:ada"))["removed"] is True
    assert run("list") == ""


# -- both --------------------------------------------------------------------------------------------------------------


async def test_both_doors_take_from_the_same_bucket(broker):
    await broker.quotas.change(ANONYMOUS, {"requests_per_s": 2})
    async with listening(broker) as address, KafkaClient(address) as kafka, client_of(broker) as http:
        waits = [(await kafka.ask(MetadataRequest([]), 9)).throttle_time_ms for _ in range(3)]
        assert waits[2] > 0
        assert (await http.get("/v1/topics")).status_code == 429


async def test_a_change_counts_at_other_brokers_within_a_moment_and_settings_where_nothing_is_said(redis_url, prefix):
    async with two(redis_url, prefix, quota_requests_per_s=50) as (here, there):
        assert there.quotas.quota_of("User:ada").requests_per_s == 50
        await here.quotas.change(OTHERS, {"requests_per_s": 5})
        await here.quotas.change("User:ada", {"requests_per_s": 7, "bytes_in_per_s": 1})

        async def seen() -> list[int]:
            return [there.quotas.quota_of(who).requests_per_s or 0 for who in ("User:ada", "User:bob")]

        assert await eventually(seen, [7, 5], 5.0) == [7, 5]
        assert await there.quotas.all() == {
            OTHERS: Quota(requests_per_s=5),
            "User:ada": Quota(bytes_in_per_s=1, requests_per_s=7),
        }
        await here.quotas.remove("User:ada")
        assert await eventually(seen, [5, 5], 5.0) == [5, 5]
        assert await here.quotas.remove("User:ada") is False


async def test_without_quotas_nothing_is_counted(broker):
    assert not broker.quotas.is_on
    async with client_of(broker) as http:
        assert (await http.get("/v1/topics")).status_code == 200
    assert broker.quotas._uses == {}


@pytest.mark.parametrize(
    ("principal", "wanted"),
    [
        ("ada", {"requests_per_s": 1}),
        ("User:", {"requests_per_s": 1}),
        ("User:a\nb", {"requests_per_s": 1}),
        ("User:ada", {"requests_per_s": -1}),
        ("User:ada", {"requests_per_s": 2**53}),
        ("User:ada", {"speed": 1}),
    ],
)
async def test_invalid_quota_is_refused_without_changes(broker, principal, wanted):
    with pytest.raises(InvalidRequest):
        await broker.quotas.change(principal, wanted)
    assert await broker.quotas.all() == {}
