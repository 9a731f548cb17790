"""The log of a running broker: lines have their request, and never a secret."""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections import Counter

import httpx
import pytest

from redis_ledger.broker import maintenance
from redis_ledger.errors import StoreUnavailable, TooFewReplicas
from redis_ledger.groups import coordinator
from redis_ledger.ids import TxnId
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest
from redis_ledger.telemetry import logs
from tests.support.broker import eventually, one
from tests.support.kafka_batches import batch, produce
from tests.support.kafka_client import BrokerClient, listening
from tests.support.processes import Serve
from tests.support.redis_servers import Server
from tests.support.rest import client_of

PASSWORD, TOKEN = "hunter22-the-password", "rl_0a1b2c3d_the-secret-part-of-a-token"


@pytest.fixture
def lines():
    stream = io.StringIO()
    logs.configure("info", stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logs.configure("warning")


def broken(*_, **__):
    raise RuntimeError(f"a mistake of ours with {TOKEN}")


async def test_a_failed_request_is_found_in_the_log_by_the_id_its_answer_has(redis_url, prefix, lines, monkeypatch):
    async with one(redis_url, prefix) as broker, client_of(broker) as rest:
        monkeypatch.setattr(broker.records, "produce", broken)
        body = {"records": [{"text": "a"}]}
        own = await rest.post("/v1/topics/orders/records", json=body)
        given = await rest.post("/v1/topics/orders/records", json=body, headers={"X-Request-Id": "order-7"})
        bad = await rest.post("/v1/topics/orders/records", json=body, headers={"X-Request-Id": 'a "b"'})
    assert [answer.status_code for answer in (own, given, bad)] == [500, 500, 500]
    ids = [answer.headers["x-request-id"] for answer in (own, given, bad)]
    assert ids[1] == "order-7"
    assert len({*ids, 'a "b"'}) == 4
    failed = [line for line in lines() if line["event"] == "request failed"]
    assert [(line["request_id"], line["operation"], line["topic"]) for line in failed] == [
        (id, "produce", "orders") for id in ids
    ]
    assert "a mistake of ours" in failed[0]["trace"]


async def test_a_line_about_a_transaction_names_it_and_an_answer_that_is_well_has_no_id(
    redis_url, prefix, lines, monkeypatch
):
    async with one(redis_url, prefix) as broker, client_of(broker) as rest:
        txn = (await rest.post("/v1/transactions", json={})).json()["id"]
        monkeypatch.setattr(broker.records, "produce", broken)
        await rest.post("/v1/topics/t/records", json={"transaction": txn, "records": [{"text": "a"}]})
        monkeypatch.setattr(broker.transactions, "commit", broken)
        await rest.post(f"/v1/transactions/{txn}:commit", json={})
        well = await rest.get("/v1/topics")
    named = [(line["operation"], line["txn"]) for line in lines() if line["event"] == "request failed"]
    assert named == [("produce", txn), ("commit", txn)]
    assert "x-request-id" not in well.headers


async def test_a_kafka_request_that_fails_is_logged_with_its_api_client_topic_and_partition(
    redis_url, prefix, lines, monkeypatch
):
    async with one(redis_url, prefix) as broker, listening(broker) as address, BrokerClient(broker, address) as kafka:
        await broker.topics.create("orders", partitions=2)
        partition = await broker.catalog.partition("orders", 1)

        def failing(*_, **__):
            future = asyncio.get_running_loop().create_future()
            future.set_exception(RuntimeError("a mistake of ours"))
            return future

        monkeypatch.setattr(partition, "append", failing)
        await kafka.ask(produce("orders", batch("a"), partition=1), 9)
    (line,) = [line for line in lines() if line["event"] == "a Kafka request failed"]
    assert {name: line[name] for name in ("operation", "topic", "partition", "request_id", "peer")} == {
        "operation": "Produce", "topic": "orders", "partition": 1, "request_id": "test-1", "peer": "127.0.0.1",
    }  # fmt: skip


async def test_requests_that_fail_as_redis_is_unfit_are_logged_once_a_second(redis_url, prefix, lines, monkeypatch):
    async def unfit(*_, **__):
        raise TooFewReplicas("Redis has too few replicas.")

    async with one(redis_url, prefix) as broker, listening(broker) as address:
        monkeypatch.setattr(broker.catalog, "list", unfit)
        for _ in range(20):
            async with BrokerClient(broker, address) as kafka:
                with pytest.raises((ConnectionError, EOFError)):
                    await kafka.ask(MetadataRequest(None), 9)
    found = [line for line in lines() if line["event"].startswith("a Kafka request failed; closing")]
    assert 1 <= len(found) <= 5
    assert (found[0]["level"], found[0]["error"]) == ("warning", "Redis has too few replicas.")


@pytest.mark.parametrize("shape", ["json", pytest.param("text", marks=pytest.mark.full)])
async def test_no_secret_is_in_what_a_broker_writes_whatever_goes_wrong(tmp_path, prefix, shape):
    server = Server(tmp_path, requirepass=PASSWORD, appendonly="yes", appendfsync="always")
    server.start()
    url = f"redis://:{PASSWORD}@127.0.0.1:{server.port}"
    served = Serve(
        "--log-level", "debug", "--log-format", shape, "--set", "redis_retry_ms=2000", "--set", f"prefix={prefix}",
        environ={"REDIS_LEDGER_REDIS_URL": url},
    )  # fmt: skip
    try:
        ready_line = served.ready
        async with httpx.AsyncClient(base_url=served.urls[0], headers={"Authorization": f"Bearer {TOKEN}"}) as rest:
            await rest.post("/v1/topics/t/records", json={"records": [{"text": "a"}]})
            await rest.get("/v1/nowhere", params={"token": TOKEN})
            await rest.post("/v1/topics/t/records", content=b"{")
            # And Redis goes: everything that can be logged about its URL is
            server.kill()
            answer = await rest.post("/v1/topics/t/records", json={"records": [{"text": "a"}]}, timeout=30)
            assert answer.status_code >= 500
        served.process.terminate()
        _, written = served.end()
    finally:
        served.clean_up()
        server.kill()
    assert "stopping" in written
    for secret in (PASSWORD, TOKEN, TOKEN.rpartition("_")[2]):
        assert secret not in ready_line + written
    if shape == "json":
        assert all(json.loads(line)["event"] for line in written.splitlines())


def test_a_redis_login_failure_is_logged_without_the_password(tmp_path):
    server = Server(tmp_path, requirepass="another-one")
    server.start()
    served = Serve(
        "--set",
        "redis_retry_ms=2000",
        environ={"REDIS_LEDGER_REDIS_URL": f"redis://:{PASSWORD}@127.0.0.1:{server.port}"},
    )
    try:
        code, errors = served.end()
    finally:
        served.clean_up()
        server.kill()
    assert code == 2
    assert "cannot be" in errors
    assert PASSWORD not in errors


async def test_log_lines_of_a_timer_do_not_carry_the_request_that_set_it(redis_url, prefix, lines, monkeypatch):
    async with one(redis_url, prefix) as broker, client_of(broker) as rest:
        await broker.topics.create("orders", partitions=1)
        body = {"records": [{"text": "a"}], "deliver_after": 3_600}
        made = await rest.post("/v1/topics/orders/scheduled", json=body)
        id = made.json()["scheduled"][0]["id"]
        tracker = broker.delayed.trackers.get(await broker.catalog.partition("orders", 0))
        monkeypatch.setattr(tracker.index.scripts, "fire", broken)
        # When a request makes the record due at once, and that goes wrong
        moved = await rest.patch(
            f"/v1/topics/orders/scheduled/{id}", json={"deliver_after": 0}, headers={"X-Request-Id": "mine"}
        )
        assert moved.status_code == 200, moved.text

        async def logged() -> bool:
            return any(line["event"] == "delayed records could not be fired yet" for line in lines())

        assert await eventually(logged, True)
    (line, *_) = [line for line in lines() if line["event"] == "delayed records could not be fired yet"]
    assert (line["level"], line["topic"], line["partition"]) == ("error", "orders", 0)
    assert "request_id" not in line
    assert "operation" not in line


async def test_an_outage_is_logged_once_a_second_and_not_once_per_waiting_partition(tmp_path, prefix, lines):
    server = Server(tmp_path)
    server.start()
    url = f"redis://127.0.0.1:{server.port}"
    try:
        async with one(url, prefix, redis_retry_ms=500, redis_timeout_ms=1_000) as broker, client_of(broker) as rest:
            await broker.topics.create("orders", partitions=30)
            body = {"records": [{"text": "a", "partition": n} for n in range(30)], "deliver_after": 3_600}
            assert (await rest.post("/v1/topics/orders/scheduled", json=body)).status_code == 201
            before, began = len(lines()), time.monotonic()
            server.kill()
            for tracker in list(broker.delayed.trackers.all()):
                tracker.wake()

            async def logged() -> bool:
                return bool(sum(line.get("unsaid", 0) for line in fired(lines()[before:])) >= 29)

            assert await eventually(logged, True, within_s=20)
            assert len(fired(lines()[before:])) <= time.monotonic() - began + 1
    finally:
        server.kill()


async def test_upkeep_logs_a_refusal_that_lasts_once_for_each_job_and_reason(redis_url, prefix, lines, monkeypatch):
    monkeypatch.setattr(maintenance, "RETRY_S", 0.001)
    sweeps = 0

    async with one(redis_url, prefix) as broker:
        swept = broker.maintenance.sweep

        async def counted() -> float:
            nonlocal sweeps
            sweeps += 1
            return await swept()

        async def tries(more: int) -> None:
            least = sweeps + more

            async def reached() -> bool:
                return sweeps >= least

            assert await eventually(reached, True, within_s=20)

        def warned() -> list[tuple[str, str]]:
            found = [line for line in lines() if line["event"] == "maintenance failed, trying again"]
            return [(line["job"], line["error"]) for line in found if line["job"] == "sweep"]

        monkeypatch.setattr(broker.maintenance, "sweep", counted)
        for task in broker.maintenance._tasks:
            task.cancel()
        await asyncio.gather(*broker.maintenance._tasks, return_exceptions=True)
        await broker.maintenance.start()
        # Given a Redis that refuses writes; the job tries often and logs the reason once
        broker.store.admission.bar("The disk is full.")
        monkeypatch.setattr(broker.coordinators, "due", refused(broker))
        await tries(20)
        assert warned() == [("sweep", "The disk is full.")]
        # When the reason changes, it logs the new one once
        broker.store.admission.bar("The disk is gone.")
        await tries(20)
        assert warned() == [("sweep", "The disk is full."), ("sweep", "The disk is gone.")]
        # When REMIND_S is over, it reminds
        monkeypatch.setattr(maintenance, "REMIND_S", 0.0)
        await tries(5)
        assert len(warned()) > 4
        broker.store.admission.bar("")


def refused(broker):
    async def due(*_: object) -> None:
        raise broker.store.admission.refusal()

    return due


def fired(lines):
    return [line for line in lines if line["event"] == "delayed records could not be fired yet"]


async def test_repeated_failures_of_many_transactions_and_groups_are_logged_rarely(
    redis_url, prefix, lines, monkeypatch
):
    monkeypatch.setattr(coordinator, "WATCH_S", 0.001)
    async with one(redis_url, prefix) as broker:
        await broker.groups.coordinator.open("g", "classic")
        refusals = 0

        async def refuse(*_: object) -> None:
            nonlocal refusals
            refusals += 1
            raise StoreUnavailable("Redis is away.")

        async def refused_often() -> bool:
            return refusals >= 40

        # Given overdue transactions that cannot be ended, and owners of groups that cannot be read
        monkeypatch.setattr(broker.coordinators, "expire", refuse)
        monkeypatch.setattr(broker.groups.coordinator, "check_ownership", refuse)
        for serial in range(20):
            txn = TxnId(0, serial)
            broker.maintenance._ending[txn] = asyncio.create_task(broker.maintenance._end_overdue(txn))
        assert await eventually(refused_often, True)
    # Then each says so once
    said = Counter(line["event"] for line in lines())
    assert said["an overdue transaction could not be ended yet"] == 1
    assert said["the ownership of consumer groups cannot be checked, retrying"] == 1
