"""End-to-end flows over REST, on a real Redis."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from redis_ledger.app.http.request import BATCH
from redis_ledger.records.build import encode
from redis_ledger.records.read import decode
from tests.support.busy_machine import within
from tests.support.rest import rest

SUBSCRIPTION = "/v1/topics/orders/subscriptions/billing"


@pytest.fixture
async def api(redis_url: str, prefix: str) -> AsyncIterator[httpx.AsyncClient]:
    async with rest(redis_url, prefix, coordinators=2) as client:
        yield client


async def ok(response: Any, status: int = 200) -> Any:
    """The body of an answer that must have this status."""
    answer = await response
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


async def expect_problem(response: Any, status: int, code: str) -> Any:
    answer = await response
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"].endswith(".")
    return answer.json()


async def produce(api: httpx.AsyncClient, topic: str, *values: Any, **more: Any) -> Any:
    records = [{"value": value} for value in values]
    return await ok(api.post(f"/v1/topics/{topic}/records", json={"records": records, **more}))


async def values(api: httpx.AsyncClient, topic: str, partition: int = 0, **query: Any) -> list[Any]:
    answer = await ok(api.get(f"/v1/topics/{topic}/partitions/{partition}/records", params=query))
    return [record["value"] for record in answer["records"]]


async def subscribe(api: httpx.AsyncClient, name: str = "billing", **more: Any) -> None:
    await ok(api.post("/v1/topics/orders/subscriptions", json={"name": name, **more}), 201)


async def test_a_topic_is_created_listed_described_grown_and_deleted(api):
    created = await ok(api.post("/v1/topics", json={"name": "orders", "partitions": 2}), 201)
    assert (await ok(api.get("/v1/topics")))["topics"] == [created]
    assert [s["partition"] for s in (await ok(api.get("/v1/topics/orders")))["partition_states"]] == [0, 1]
    grown = await ok(api.patch("/v1/topics/orders", json={"partitions": 3, "settings": {"retention_ms": 1_000}}))
    assert (grown["partitions"], grown["settings"]["retention_ms"], grown["id"]) == (3, 1_000, created["id"])
    await ok(api.delete("/v1/topics/orders"), 204)
    await expect_problem(api.get("/v1/topics/orders"), 404, "unknown_topic")


async def test_a_topic_has_settings_of_its_own_and_the_others_from_the_broker(api):
    own = {"batch_bytes_max": 400, "ledger_bytes_max": 1 << 20}
    created = await ok(api.post("/v1/topics", json={"name": "orders", "settings": own}), 201)
    assert created["settings"] == {
        "retention_ms": 604_800_000, "retention_bytes": -1, "retention_acknowledged": False,
        "ledger_age_ms_max": 3_600_000, "delayed_delivery_max_delay_ms": 0, "delayed_delivery_tick_time_ms": 2,
        "txn_buffer": "marker", **own,
    }  # fmt: skip
    body = {"records": [{"text": "x" * 500}]}
    await expect_problem(api.post("/v1/topics/orders/records", json=body), 413, "request_too_large")
    await ok(api.patch("/v1/topics/orders", json={"settings": {"batch_bytes_max": 4_000}}))
    await ok(api.post("/v1/topics/orders/records", json=body))
    changed = await ok(api.patch("/v1/topics/orders", json={"settings": {"retention_acknowledged": True}}))
    assert changed["settings"]["retention_acknowledged"] is True
    wrong = {"settings": {"ledger_bytes_max": 1_000}}
    await expect_problem(api.patch("/v1/topics/orders", json=wrong), 400, "invalid_request")


async def test_records_come_back_as_they_were_sent(api):
    sent: list[dict[str, Any]] = [
        {"key": "k", "value": {"a": [1, 2.5, None]}, "headers": {"h": "x"}, "timestamp_ms": 1_763_720_931_000},
        {"key_base64": "/wA=", "base64": "AAH/", "headers_base64": {"b": "/w==", "none": None}},
        {"text": "grüß dich"},
        {"key": "gone"},
    ]
    await ok(api.post("/v1/topics/t/records", json={"records": sent, "partition": 0}))
    read = (await ok(api.get("/v1/topics/t/partitions/0/records")))["records"]
    assert [record.pop("offset") for record in read] == [0, 1, 2, 3]
    stamps = [record.pop("timestamp_ms") for record in read]
    assert stamps[0] == sent[0].pop("timestamp_ms")
    assert read == [*sent[:3], {"key": "gone", "value": None}]


async def test_a_reader_continues_at_the_next_offset_however_small_its_steps(api):
    await produce(api, "t", *range(25))
    await produce(api, "t", *range(25, 30))
    seen, offset = [], 0
    while offset < 30:
        answer = await ok(api.get("/v1/topics/t/partitions/0/records", params={"offset": offset, "max_records": 7}))
        assert len(answer["records"]) <= 7
        assert answer["next_offset"] > offset
        seen += [record["value"] for record in answer["records"]]
        offset = answer["next_offset"]
    assert seen == list(range(30))


async def test_batches_go_in_and_out_as_they_are(api):
    batch = encode([(b"k", b"1", (), 5), (None, b"2", (), 6)])
    answer = await ok(
        api.post("/v1/topics/t/records?partition=0", content=batch + batch, headers={"content-type": BATCH})
    )
    assert [(r["base_offset"], r["records"]) for r in answer["results"]] == [(0, 2), (2, 2)]
    raw = await api.get("/v1/topics/t/partitions/0/records?offset=2", headers={"accept": BATCH})
    assert raw.headers["content-type"] == BATCH
    assert (raw.headers["redis-ledger-next-offset"], raw.headers["redis-ledger-end-offset"]) == ("4", "4")
    assert [(r.offset, r.key, r.value) for r in decode(raw.content)] == [(2, b"k", b"1"), (3, None, b"2")]


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda batch: batch[:-1], "corrupt_batch"),
        (lambda batch: batch[:-1] + bytes([batch[-1] ^ 1]), "bad_checksum"),
        (lambda batch: b"", "corrupt_batch"),
        (lambda batch: b"\xff" * 100, "corrupt_batch"),
    ],
)
async def test_a_damaged_batch_is_refused_and_nothing_is_written(api, damage, code):
    whole = encode([(None, b"1", (), 5)])
    await ok(api.post("/v1/topics", json={"name": "t"}), 201)
    for body in (damage(whole), whole + damage(whole)) if damage(whole) else (b"",):
        post = api.post("/v1/topics/t/records?partition=0", content=body, headers={"content-type": BATCH})
        await expect_problem(post, 400, code)
    assert await values(api, "t") == []


async def test_an_idempotent_producer_gets_errors_for_gaps_repeats_and_stale_epochs(api):
    producer = await ok(api.post("/v1/producers"), 201)

    def numbered(sequence: int, epoch: int = 0) -> Any:
        body = {"records": [{"value": sequence}], "partition": 0, "producer_id": producer["producer_id"]}
        return api.post("/v1/topics/t/records", json={**body, "epoch": epoch, "sequence": sequence})

    first = await ok(numbered(0))
    assert (await ok(numbered(0)))["results"] == [{**first["results"][0], "duplicate": True}]
    await expect_problem(numbered(2), 409, "sequence_gap")
    await ok(numbered(0, epoch=1))
    await expect_problem(numbered(1), 409, "stale_epoch")
    assert await values(api, "t") == [0, 0]


async def test_messages_are_leased_acknowledged_and_given_back(api):
    await produce(api, "orders", "a", "b", "c")
    await subscribe(api)
    messages = (await ok(api.post(f"{SUBSCRIPTION}:receive", json={"consumer": "one"})))["messages"]
    assert [(m["id"], m["value"], m["redelivery_count"]) for m in messages] == [
        ("0:0", "a", 0),
        ("0:1", "b", 0),
        ("0:2", "c", 0),
    ]
    assert (await ok(api.post(f"{SUBSCRIPTION}:receive")))["messages"] == []
    await expect_problem(
        api.post(f"{SUBSCRIPTION}:ack", json={"ids": ["0:0"], "consumer": "two"}), 409, "not_your_message"
    )
    assert await ok(api.post(f"{SUBSCRIPTION}:ack", json={"ids": ["0:0", "0:2"], "consumer": "one"})) == {
        "acknowledged": 2
    }
    assert await ok(api.post(f"{SUBSCRIPTION}:nack", json={"all": True, "consumer": "one"})) == {"redelivering": 1}
    again = (await ok(api.post(f"{SUBSCRIPTION}:receive", json={"consumer": "two"})))["messages"]
    assert [(m["id"], m["redelivery_count"]) for m in again] == [("0:1", 1)]
    stats = await ok(api.get(SUBSCRIPTION))
    assert (stats["backlog"], stats["leased"], stats["kind"]) == (1, 1, "shared")


async def test_an_exclusive_subscription_has_one_consumer_and_takes_cumulative_acks(api):
    await produce(api, "orders", *range(5))
    await subscribe(api, kind="exclusive")
    await ok(api.post(f"{SUBSCRIPTION}:receive", json={"consumer": "one"}))
    await expect_problem(api.post(f"{SUBSCRIPTION}:receive", json={"consumer": "two"}), 409, "consumer_busy")
    done = await ok(api.post(f"{SUBSCRIPTION}:ackCumulative", json={"id": "0:3", "consumer": "one"}))
    assert done == {"acknowledged": 4}
    await subscribe(api, "other")
    await expect_problem(
        api.post("/v1/topics/orders/subscriptions/other:ackCumulative", json={"id": "0:3"}),
        409,
        "wrong_subscription_kind",
    )
    clash = api.post("/v1/topics/orders/subscriptions", json={"name": "other", "kind": "exclusive"})
    await expect_problem(clash, 409, "subscription_exists")


async def test_a_subscription_can_seek(api):
    await produce(api, "orders", *range(4))
    await subscribe(api, start="latest")
    assert (await ok(api.post(f"{SUBSCRIPTION}:receive")))["messages"] == []
    assert (await ok(api.post(f"{SUBSCRIPTION}:seek", json={"offsets": {"0": 2}})))["backlog"] == 2
    assert [m["value"] for m in (await ok(api.post(f"{SUBSCRIPTION}:receive")))["messages"]] == [2, 3]
    assert (await ok(api.post(f"{SUBSCRIPTION}:seek", json={"to": "earliest"})))["backlog"] == 4
    await expect_problem(api.post(f"{SUBSCRIPTION}:seek", json={}), 400, "invalid_request")


@pytest.mark.parametrize("name", ["a/b", "ü ñ", "a:receive", "%", "..", "x" * 200, "a?b#c", "/"])
async def test_any_printable_name_of_a_subscription_works_in_a_path(api, name):
    await produce(api, "orders", 1)
    await subscribe(api, name)
    path = "/v1/topics/orders/subscriptions/" + quote(name, safe="").replace("..", "%2E%2E")
    assert (await ok(api.get(path)))["name"] == name
    assert [m["id"] for m in (await ok(api.post(f"{path}:receive")))["messages"]] == ["0:0"]
    await ok(api.delete(path), 204)
    await expect_problem(api.get(path), 404, "unknown_subscription")


async def test_a_transaction_shows_everything_at_its_commit(api):
    await produce(api, "orders", "in")
    await subscribe(api)
    await ok(api.post(f"{SUBSCRIPTION}:receive"))
    txn = (await ok(api.post("/v1/transactions", json={"timeout_ms": 5_000}), 201))["id"]
    await produce(api, "out", "result", transaction=txn)
    await ok(api.post(f"{SUBSCRIPTION}:ack", json={"ids": ["0:0"], "transaction": txn}))
    assert (await values(api, "out"), (await ok(api.get(SUBSCRIPTION)))["pending"]) == ([], 1)
    assert await values(api, "out", isolation="read_uncommitted") == ["result"]
    shown = await ok(api.get(f"/v1/transactions/{txn}"))
    assert shown["partitions"] == [{"topic": "out", "partition": 0}]
    assert shown["subscriptions"] == [{"topic": "orders", "partition": 0, "subscription": "billing"}]
    for _ in range(2):
        assert await ok(api.post(f"/v1/transactions/{txn}:commit")) == {"id": txn, "status": "committed"}
    assert (await values(api, "out"), (await ok(api.get(SUBSCRIPTION)))["backlog"]) == (["result"], 0)
    await expect_problem(api.post(f"/v1/transactions/{txn}:abort"), 409, "already_committed")
    late = api.post("/v1/topics/out/records", json={"records": [{"value": 1}], "transaction": txn})
    await expect_problem(late, 409, "already_committed")


async def test_an_aborted_transaction_leaves_nothing(api):
    await produce(api, "orders", "in")
    await subscribe(api)
    await ok(api.post(f"{SUBSCRIPTION}:receive"))
    txn = (await ok(api.post("/v1/transactions"), 201))["id"]
    await produce(api, "out", "never seen", transaction=txn)
    await ok(api.post(f"{SUBSCRIPTION}:ack", json={"ids": ["0:0"], "transaction": txn}))
    assert await ok(api.post(f"/v1/transactions/{txn}:abort")) == {"id": txn, "status": "aborted"}
    await produce(api, "out", "seen")
    assert await values(api, "out") == ["seen"]
    assert (await ok(api.get(SUBSCRIPTION)))["backlog"] == 1
    await expect_problem(api.post(f"/v1/transactions/{txn}:commit"), 409, "already_aborted")


async def test_open_transactions_are_listed_oldest_first_and_participants_can_be_named(api):
    await ok(api.post("/v1/topics", json={"name": "orders", "partitions": 2}), 201)
    await subscribe(api)
    ids = [(await ok(api.post("/v1/transactions"), 201))["id"] for _ in range(3)]
    added = await ok(
        api.post(f"/v1/transactions/{ids[0]}/partitions", json={"partitions": [{"topic": "orders", "partition": 1}]})
    )
    assert added["partitions"] == [{"topic": "orders", "partition": 1}]
    await ok(
        api.post(
            f"/v1/transactions/{ids[0]}/subscriptions",
            json={"subscriptions": [{"topic": "orders", "subscription": "billing"}]},
        )
    )
    await ok(api.post(f"/v1/transactions/{ids[1]}:abort"))
    found = await ok(api.get("/v1/transactions", params={"status": "open", "limit": 10}))
    assert sorted(t["id"] for t in found["transactions"]) == sorted([ids[0], ids[2]])
    started = [t["started_ms"] for t in found["transactions"]]
    assert started == sorted(started)
    assert (await ok(api.get("/v1/transactions?min_age_ms=60000")))["transactions"] == []


async def test_execute_does_all_of_a_step_or_nothing(api):
    await produce(api, "orders", "a", "b")
    await subscribe(api)
    await ok(api.post(f"{SUBSCRIPTION}:receive"))

    def step(*ids: str) -> Any:
        acks = [{"topic": "orders", "subscription": "billing", "ids": list(ids)}]
        return api.post(
            "/v1/transactions:execute",
            json={"acks": acks, "records": [{"topic": "out", "records": [{"value": list(ids)}]}]},
        )

    done = await ok(step("0:0"))
    assert (done["status"], done["results"][0]["topic"], done["results"][0]["records"]) == ("committed", "out", 1)
    await expect_problem(step("0:0", "0:1"), 409, "transaction_conflict")
    assert await values(api, "out") == [["0:0"]]
    await ok(step("0:1"))
    assert await values(api, "out") == [["0:0"], ["0:1"]]
    assert (await ok(api.get(SUBSCRIPTION)))["backlog"] == 0


@pytest.mark.parametrize(
    ("call", "status", "code"),
    [
        (lambda api: api.get("/v1/topics/none"), 404, "unknown_topic"),
        (lambda api: api.delete("/v1/topics/none"), 404, "unknown_topic"),
        (lambda api: api.patch("/v1/topics/none", json={"partitions": 2}), 404, "unknown_topic"),
        (lambda api: api.patch("/v1/topics/orders", json={"partitions": 1}), 400, "invalid_request"),
        (lambda api: api.post("/v1/topics", json={"name": "a b"}), 400, "invalid_topic_name"),
        (lambda api: api.post("/v1/topics", json={"name": "x", "partitions": 100_000}), 400, "invalid_request"),
        (lambda api: api.post("/v1/topics", json={"name": "orders"}), 409, "topic_exists"),
        (lambda api: api.get("/v1/topics/none/partitions/0/records"), 404, "unknown_topic"),
        (lambda api: api.get("/v1/topics/orders/partitions/7/records"), 404, "unknown_partition"),
        (lambda api: api.get("/v1/topics/orders/partitions/0/records?offset=99"), 416, "offset_out_of_range"),
        (
            lambda api: api.post("/v1/topics/orders/records", json={"records": [{}], "partition": 9}),
            404,
            "unknown_partition",
        ),
        (lambda api: api.get("/v1/topics/none/subscriptions"), 404, "unknown_topic"),
        (lambda api: api.get("/v1/topics/orders/subscriptions/none"), 404, "unknown_subscription"),
        (lambda api: api.post("/v1/topics/orders/subscriptions/none:receive"), 404, "unknown_subscription"),
        (lambda api: api.post(f"{SUBSCRIPTION}:ack", json={"ids": ["0"]}), 400, "invalid_position"),
        (lambda api: api.post(f"{SUBSCRIPTION}:ack", json={"ids": ["0:5"]}), 409, "not_delivered"),
        (lambda api: api.post(f"{SUBSCRIPTION}:receive", json={"partitions": [9]}), 404, "unknown_partition"),
        (lambda api: api.get("/v1/transactions/0-99"), 404, "transaction_not_found"),
        (lambda api: api.post("/v1/transactions/0-99:commit"), 404, "transaction_not_found"),
        (lambda api: api.get("/v1/transactions/77-1"), 404, "coordinator_not_found"),
        (lambda api: api.post("/v1/transactions", json={"timeout_ms": 10**12}), 400, "invalid_timeout"),
        (
            lambda api: api.post("/v1/topics/orders/records", json={"records": [{}], "transaction": "0-99"}),
            404,
            "transaction_not_found",
        ),
    ],
)
async def test_missing_and_invalid_resources_get_distinct_problems(api, call, status, code):
    await ok(api.post("/v1/topics", json={"name": "orders", "partitions": 2}), 201)
    await subscribe(api)
    assert (await expect_problem(call(api), status, code))["title"]


async def test_a_long_poll_ends_with_the_record_it_waited_for(api):
    await ok(api.post("/v1/topics", json={"name": "orders"}), 201)
    await subscribe(api)
    fetching = asyncio.create_task(values(api, "orders", offset=0, wait_ms=10_000))
    receiving = asyncio.create_task(ok(api.post(f"{SUBSCRIPTION}:receive", json={"wait_ms": 10_000})))
    await asyncio.sleep(0.05)  # let both begin to wait; the test holds without it too
    await produce(api, "orders", "news")
    async with within(5):
        assert await fetching == ["news"]
        assert [m["value"] for m in (await receiving)["messages"]] == ["news"]


async def test_readiness_has_the_state_of_the_broker(api):
    assert (await ok(api.get("/readyz")))["coordinators"] == 2
    assert (await ok(api.get("/v1")))["links"]["docs"] == "/docs"
    assert json.loads((await api.get("/openapi.json")).content)["openapi"] == "3.1.0"
    assert "/v1/transactions:execute" in (await api.get("/docs")).text
