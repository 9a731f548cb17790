"""Observability: transactions over REST and the command line, metrics, and the internal topic."""

from __future__ import annotations

import asyncio
import re
import time

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker import metrics_collector
from redis_ledger.records.batch import split
from redis_ledger.records.control import read_marker
from redis_ledger.telemetry import metrics
from tests.support.broker import eventually, one, records
from tests.support.chart import CHART
from tests.support.kafka_batches import fetch, fetched
from tests.support.kafka_client import KafkaClient, listening
from tests.support.redis_servers import redis_server
from tests.support.rest import client_of
from tests.support.secured_rest import secured


class Ahead:
    """A clock that can be set forward."""

    def __init__(self) -> None:
        self.by_ms = 0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.by_ms


@pytest.fixture
async def broker(redis_url, prefix, monkeypatch):
    monkeypatch.setattr(metrics_collector, "FRESH_S", 0.0)  # every scrape reads anew
    metrics.topics.forget(list(metrics.topics))
    async with one(redis_url, prefix, clock=Ahead(), end_overdue_ms=60_000) as broker:
        yield broker


async def scrape(broker):
    """Name and label values → value."""
    async with client_of(broker) as http:
        answer = await http.get("/metrics")
    assert answer.status_code == 200
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


# -- transactions ------------------------------------------------------------------------------------------------------


async def test_a_transaction_shows_its_times_its_owner_and_what_it_touched(broker):
    """OB-06: over REST; and after its end its outcome."""
    await broker.topics.create("in")
    await broker.topics.create("out", 2)
    await broker.subscriptions.create("in", "job")
    await broker.records.produce("in", records("a"))
    async with client_of(broker) as http:
        body = {"timeout_ms": 30_000, "owner": "etl"}
        txn = (await http.post("/v1/transactions", json=body)).json()["id"]
        body = {"records": [{"text": "b"}], "partition": 1, "transaction": txn}
        assert (await http.post("/v1/topics/out/records", json=body)).status_code == 200
        leased = (await http.post("/v1/topics/in/subscriptions/job:receive", json={"consumer": "c"})).json()
        body = {"consumer": "c", "ids": [leased["messages"][0]["id"]], "transaction": txn}
        assert (await http.post("/v1/topics/in/subscriptions/job:ack", json=body)).status_code == 200
        shown = (await http.get(f"/v1/transactions/{txn}")).json()
        began, steps = shown.pop("started_ms"), shown.pop("steps")
        assert [each["name"] for each in steps] == [
            "begin", "add_partition", "append", "add_subscription", "pending_ack",
        ]  # fmt: skip
        assert abs(began - time.time() * 1_000) < 60_000
        assert not shown.pop("steps_cut")
        assert shown == {
            "id": txn, "status": "open", "timeout_ms": 30_000, "deadline_ms": began + 30_000, "timed_out": False,
            "owner": "etl", "partitions": [{"topic": "out", "partition": 1}],
            "subscriptions": [{"topic": "in", "partition": 0, "subscription": "job"}],
        }  # fmt: skip
        assert (await http.post(f"/v1/transactions/{txn}:commit")).status_code == 200

        async def status():
            return (await http.get(f"/v1/transactions/{txn}")).json()["status"]

        assert await eventually(status, "committed") == "committed"


async def test_transactions_are_listed_by_their_age_and_not_by_their_timeout(broker):
    """OB-07: two of 40 seconds and two new ones with the same timeout, over both coordinators."""
    old = [(await broker.transactions.begin(600_000)).id for _ in range(2)]
    broker.clock.by_ms = 40_000
    new = [(await broker.transactions.begin(600_000)).id for _ in range(2)]
    assert {txn.coordinator for txn in old} == {txn.coordinator for txn in new} == {0, 1}
    async with client_of(broker) as http:

        async def listed(min_age_ms):
            answer = await http.get("/v1/transactions", params={"status": "open", "min_age_ms": min_age_ms})
            return [each["id"] for each in answer.json()["transactions"]]

        assert await listed(30_000) == [str(txn) for txn in old]
        assert sorted(await listed(0)) == sorted(str(txn) for txn in old + new)
        assert await listed(50_000) == []


async def test_an_administrator_aborts_what_is_open_and_not_what_is_committed(redis_url, prefix):
    """OB-08: of another principal; a retry succeeds, and other principals are refused."""
    async with secured(redis_url, prefix) as world:
        await world.allow("ada", Op.IDEMPOTENT_WRITE, Resource.CLUSTER)
        await world.allow("admin", Op.ALTER, Resource.CLUSTER)
        await world.allow("eve", Op.DESCRIBE, Resource.CLUSTER)
        txn, committed = [(await world.post("ada", "/v1/transactions")).json()["id"] for _ in range(2)]
        assert (await world.post("ada", f"/v1/transactions/{committed}:commit")).status_code == 200
        refused = await world.post("eve", f"/v1/transactions/{txn}:abort")
        assert (refused.status_code, refused.json()["code"]) == (403, "transaction_forbidden")
        assert (await world.get("ada", f"/v1/transactions/{txn}")).json()["status"] == "open"
        for _ in range(2):
            answer = await world.post("admin", f"/v1/transactions/{txn}:abort")
            assert (answer.status_code, answer.json()["status"]) == (200, "aborted")
        answer = await world.post("admin", f"/v1/transactions/{committed}:abort")
        assert (answer.status_code, answer.json()["code"]) == (409, "already_committed")
        late = await world.post("ada", f"/v1/transactions/{txn}:commit")
        assert (late.status_code, late.json()["code"]) == (409, "already_aborted")


async def test_uncommitted_reads_show_every_record_with_its_transaction_and_every_marker_with_its_outcome(broker):
    """OB-27: records over REST, markers to a Kafka client; committed readers get neither these nor the undecided."""
    await broker.topics.create("t")
    txns = [(await broker.transactions.begin()).id for _ in range(3)]
    for name, txn in zip(("yes", "no", "open"), txns, strict=True):
        await broker.records.produce("t", records(name), transaction=txn)
    await broker.transactions.commit(txns[0])
    await broker.transactions.abort(txns[1])
    async with client_of(broker) as http:
        address = "/v1/topics/t/partitions/0/records"
        everything = {"isolation": "read_uncommitted"}
        shown = (await http.get(address, params=everything)).json()["records"]
        assert [(row["text"], row["transaction"]) for row in shown] == [
            ("yes", str(txns[0])), ("no", str(txns[1])), ("open", str(txns[2])),
        ]  # fmt: skip
        assert [row["text"] for row in (await http.get(address)).json()["records"]] == ["yes"]
    async with listening(broker) as where, KafkaClient(where) as kafka:
        answer = await kafka.ask(fetch("t", committed=False), 11)
        data = fetched(answer).records
        assert isinstance(data, memoryview | bytes | bytearray)
        raw = split(data)
        markers = [read_marker(bytes(each)) for header, each in raw if header.is_control]
        assert [(marker.producer_id, marker.commit) for marker in markers] == [
            (txns[0].producer_id, True), (txns[1].producer_id, False),
        ]  # fmt: skip


# -- metrics and alerts ------------------------------------------------------------------------------------------------

RULES = {
    rule["alert"]: rule["expr"]
    for group in yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
}


def above(alert, shown):
    """Whether an alert of the form `max by (...) (series) > number` holds for what is shown."""
    found = re.fullmatch(r"max(?: by \([\w, ]+\) )?\((\w+)\) > (\d+)", RULES[alert].strip())
    assert found is not None, RULES[alert]
    name, bound = found.groups()
    return most_of(name, shown) > int(bound)


def most_of(name, shown):
    return max(value for (series, *_), value in shown.items() if series == name)


async def test_alerts_fire_for_a_held_stable_offset_and_for_a_transaction_that_is_open_or_ending_for_long(
    broker, prefix
):
    """OB-23"""
    await broker.maintenance.close()
    await broker.topics.create(prefix)
    held = "RedisLedgerOldTransactionHoldsReaders"
    overdue = "RedisLedgerTransactionOverdue"
    txn = (await broker.transactions.begin(900_000)).id
    await broker.records.produce(prefix, records("held"), transaction=txn)
    fired = {}
    for seconds in (30, 290, 310, 1_190, 1_210):
        broker.clock.by_ms = seconds * 1_000
        shown = await scrape(broker)
        assert 0 <= shown["redis_ledger_partition_stable_lag_seconds", prefix, "0"] - seconds < 9
        fired[seconds] = (above(held, shown), above(overdue, shown))
    assert fired == {
        30: (False, False), 290: (False, False), 310: (True, False), 1_190: (True, False), 1_210: (True, True),
    }  # fmt: skip
    # And one that is decided and not ended counts as well
    await broker.coordinators.decide(txn, commit=True)
    assert above(overdue, await scrape(broker))
    await broker.transactions.commit(txn)
    await broker.coordinators.done(txn, lazy=False)
    shown = await scrape(broker)
    assert (above(held, shown), above(overdue, shown)) == (False, False)


async def test_an_alert_fires_when_what_is_stored_fills_redis(prefix, monkeypatch):
    """OB-23: 85 percent of maxmemory."""
    monkeypatch.setattr(metrics_collector, "FRESH_S", 0.0)
    with redis_server() as server:
        async with one(server.url, prefix) as broker:
            await broker.topics.create("t")
            for _ in range(100):  # by small requests: what Redis keeps for a large one it gives back
                await broker.records.produce("t", records("x" * 100_000))

            async def share():
                """Of this Redis: metrics of other tests' servers may be there too."""
                shown = {at[0]: value for at, value in (await scrape(broker)).items() if str(server.port) in str(at)}
                return [shown.get(f"redis_ledger_redis_memory_{which}_bytes", 0) for which in ("used", "max")]

            used, _ = await share()
            fires = []
            for part in (0.5, 0.95):
                assert server.ask("CONFIG", "SET", "maxmemory", int(used / part)) == b"OK"
                used_now, most = await share()
                while most != int(used / part):  # a look at Redis that takes long is shown by a later scrape
                    used_now, most = await share()
                fires.append(used_now / most > 0.85)
            assert fires == [False, True]
    assert "redis_memory_used_bytes) / " in RULES["RedisLedgerRedisMemoryHigh"]
    assert RULES["RedisLedgerRedisMemoryHigh"].strip().endswith("> 0.85")


async def test_an_alert_fires_when_the_transaction_log_grows(redis_url, prefix, monkeypatch):
    """OB-23: ten thousand transactions are left open, each with an entry of its own, since nothing is batched."""
    monkeypatch.setattr(metrics_collector, "FRESH_S", 0.0)
    fires = []
    async with one(redis_url, prefix, coordinators=1, transaction_log_batched_write_enabled=False) as broker:
        await broker.maintenance.close()
        for _ in range(2):
            await asyncio.gather(*(broker.transactions.begin() for _ in range(5_001)))
            fires.append(above("RedisLedgerTransactionLogGrows", await scrape(broker)))
    assert fires == [False, True]


async def test_counters_stay_at_a_scrape_and_series_go_with_their_topic(broker, prefix):
    """OB-24"""
    await broker.topics.create(prefix)
    await broker.records.produce(prefix, records("a"))
    txn = (await broker.transactions.begin()).id
    await broker.records.produce(prefix, records("b"), transaction=txn)
    await broker.transactions.commit(txn)

    async def counters():
        shown = await scrape(broker)
        return {at: value for at, value in shown.items() if at[0].endswith("_total") and "http" not in at[0]}

    before, after = await counters(), await counters()
    assert before["redis_ledger_topic_in_records_total", prefix] == 2
    moving = {at for at in before if "redis_calls" in at[0] or "round_trips" in at[0]}
    assert {at for at in before if before[at] > after[at]} == set()
    assert {at: before[at] for at in before.keys() - moving} == {at: after[at] for at in before.keys() - moving}
    await broker.topics.delete(prefix)
    assert [at for at in await scrape(broker) if prefix in at] == []
