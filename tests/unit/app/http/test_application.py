"""The HTTP application: routing, errors, idempotency and metrics, with a stub broker."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest

from redis_ledger.app.http.application import OPERATIONS, create_app
from redis_ledger.app.http.fast_path import FastPath
from redis_ledger.app.http.request import BATCH
from redis_ledger.errors import OutcomeUnknown, StoreUnavailable, TopicBusy, UnknownTopic
from redis_ledger.telemetry import exposition, logs
from tests.support.rest import client_of
from tests.unit.app.fake import FakeBroker

RECORD = {"records": [{"value": 1}]}
RECORDS = "/v1/topics/orders/records"
DEEP = b"[" * 10_000 + b"]" * 10_000


def expect_problem(response: Any, status: int, code: str, detail: str = "") -> None:
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    body = response.json()
    assert {"type", "title", "status", "detail", "code", "retriable"} <= set(body)
    assert (body["code"], body["type"], body["status"]) == (code, f"urn:redis-ledger:problem:{code}", status)
    assert detail in body["detail"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code", "detail"),
    [
        ("GET", "/v2/topics", b"", 404, "route_not_found", "/v2/topics"),
        ("GET", "/v1/topics/", b"", 404, "route_not_found", "/docs"),
        ("PUT", "/v1/topics", b"", 405, "method_not_allowed", "it supports GET, POST"),
        ("GET", "/v1/transactions:execute", b"", 405, "method_not_allowed", "it supports POST"),
        ("POST", "/v1/topics", b"{", 400, "invalid_json", "not valid JSON"),
        ("POST", "/v1/topics", b"", 400, "invalid_json", "empty"),
        ("POST", "/v1/topics", b'{"name":"\xff"}', 400, "invalid_json", "UTF-8"),
        ("POST", "/v1/topics", b'{"name":"\\ud800"}', 400, "invalid_json", ""),
        ("POST", "/v1/topics", b'{"nam":"a"}', 400, "invalid_request", "unknown field nam; did you mean name?"),
        ("POST", "/v1/topics", b"{}", 400, "invalid_request", "missing required field name"),
        ("POST", "/v1/topics", b'{"name":1}', 400, "invalid_request", "$.name: expected str, got int"),
        ("POST", "/v1/topics", b'{"name":"a","partitions":0}', 400, "invalid_request", "$.partitions: expected int"),
        ("POST", "/v1/topics", DEEP, 400, "invalid_json", "deeper"),
        ("POST", "/v1/topics", b'{"name":' + DEEP + b"}", 400, "invalid_json", "deeper"),
        ("POST", RECORDS, b'{"records":[{"value":' + DEEP + b"}]}", 400, "invalid_json", "deeper"),
        ("POST", RECORDS, b'{"records":[{"value":' + b"[" * 101 + b"]" * 101 + b"}]}", 400, "invalid_json", "[0]"),
        ("POST", RECORDS, b'{"records":[{"value":{"a":}}]}', 400, "invalid_json", ""),
        ("POST", RECORDS, b'{"records":[]}', 400, "invalid_request", "$.records: expected array of length >= 1"),
        ("POST", RECORDS, b'{"records":[{},{"partition":-1}]}', 400, "invalid_request", "$.records[1].partition"),
        ("POST", RECORDS, b'{"records":[{"base64":"*"}]}', 400, "invalid_request", "$.records[0].base64"),
        ("POST", RECORDS, b'{"records":[{"timestamp_ms":9007199254740993}]}', 400, "invalid_request", "timestamp_ms"),
        ("POST", RECORDS, b'{"records":[{}],"epoch":1}', 400, "invalid_request", "go together"),
        (
            "POST", RECORDS, b'{"records":[{}],"producer_id":1,"epoch":0,"sequence":0}', 400, "invalid_request",
            "$.partition",
        ),
        ("POST", RECORDS, b'{"records":[{}],"transaction":"x"}', 404, "transaction_not_found", "such as 3-382"),
        ("POST", RECORDS + "?partition=0", b'{"records":[{}]}', 400, "invalid_request", "leave them out of the query"),
        ("GET", "/v1/topics/a/subscriptions?limit=1", b"", 400, "invalid_request", "takes no query parameters"),
        ("GET", "/v1/topics/a/partitions/x/records", b"", 404, "unknown_partition", "numbered from 0"),
        ("GET", "/v1/topics/a/partitions/-1/records", b"", 404, "unknown_partition", ""),
        ("GET", "/v1/topics/a/partitions/99999999999/records", b"", 404, "unknown_partition", ""),
        ("GET", "/v1/topics/a/partitions/0/records?offset=x", b"", 400, "invalid_request", "$.offset"),
        ("GET", "/v1/topics/a/partitions/0/records?offset=-1", b"", 400, "invalid_request", "$.offset: expected"),
        ("GET", "/v1/topics/a/partitions/0/records?offset=x", b"", 400, "invalid_request", "$.offset: 'x' is"),
        ("GET", "/v1/topics/a/partitions/0/records?offset=9007199254740993", b"", 400, "invalid_request", "$.offset"),
        ("GET", "/v1/topics/a/partitions/0/records?offset=1&offset=2", b"", 400, "invalid_request", "is repeated"),
        ("GET", "/v1/topics/a/partitions/0/records?ofset=1", b"", 400, "invalid_request", "did you mean offset?"),
        ("GET", "/v1/topics/a/partitions/0/records?isolation=%ff", b"", 400, "invalid_request", "percent-encode"),
        ("GET", "/v1/transactions?status=lost", b"", 400, "invalid_request", "$.status"),
        ("POST", "/v1/transactions", b'{"timeout_ms":-1}', 400, "invalid_request", "$.timeout_ms"),
        ("POST", "/v1/transactions", b'{"timeout_ms":1e3}', 400, "invalid_request", "$.timeout_ms"),
        ("POST", "/v1/transactions:execute", b"{}", 400, "invalid_request", "$ is empty"),
        ("GET", "/v1/transactions/3", b"", 404, "transaction_not_found", ""),
    ],
)  # fmt: skip
async def test_invalid_request_gets_a_specific_problem(method, path, body, status, code, detail):
    broker = FakeBroker()
    async with client_of(broker) as client:
        response = await client.request(method, path, content=body)
    expect_problem(response, status, code, detail)
    assert broker.calls == []


async def test_wrong_method_gets_the_allowed_ones():
    async with client_of(FakeBroker()) as client:
        response = await client.put("/v1/topics/orders")
    assert response.headers["allow"] == "DELETE, GET, PATCH"


@pytest.mark.parametrize("size", [101, 300, 100_000])
@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_over_the_limit_is_refused_and_nothing_reaches_the_broker(size, declared):
    broker = FakeBroker(body_bytes_max=100)

    async def pieces():
        for start in range(0, size, 50):
            yield b" " * min(50, size - start)

    async with client_of(broker) as client:
        content = b" " * size if declared else pieces()
        response = await client.post(RECORDS, content=content, headers={"idempotency-key": "k"})
    expect_problem(response, 413, "request_too_large", "100 bytes")
    assert (broker.calls, broker.idempotency.records) == ([], {})


async def test_a_body_at_the_limit_is_accepted():
    body = json.dumps(RECORD).encode()
    broker = FakeBroker(body_bytes_max=len(body))
    async with client_of(broker) as client:
        response = await client.post(RECORDS, content=body)
    assert response.status_code == 200


async def test_more_records_than_allowed_are_too_large():
    broker = FakeBroker(records_per_request_max=2)
    async with client_of(broker) as client:
        three = await client.post(RECORDS, json={"records": [{}, {}, {}]})
        mixed = await client.post(
            "/v1/transactions:execute",
            json={
                "acks": [{"topic": "a", "subscription": "s", "ids": ["0:1", "0:2"]}],
                "records": [{"topic": "b", "records": [{}]}],
            },
        )
    expect_problem(three, 413, "request_too_large", "at most 2")
    expect_problem(mixed, 413, "request_too_large", "at most 2")
    assert broker.calls == []


async def test_unsupported_content_type_is_rejected():
    async with client_of(FakeBroker()) as client:
        yaml = await client.post(RECORDS, content=b"a: 1", headers={"content-type": "application/yaml"})
        batch = await client.post(RECORDS, content=b"x", headers={"content-type": BATCH})
    expect_problem(yaml, 400, "invalid_request", "application/yaml")
    expect_problem(batch, 400, "invalid_request", "?partition=0")


async def test_unexpected_error_is_logged_with_trace_and_returned_without():
    stream = io.StringIO()
    logs.configure(stream=stream)
    broker = FakeBroker()
    broker.fails = KeyError("secret")
    async with client_of(broker) as client:
        response = await client.post(RECORDS, json=RECORD)
    expect_problem(response, 500, "internal_error")
    assert "secret" not in response.text
    line = json.loads(stream.getvalue())
    assert (line["operation"], line["event"], line["level"]) == ("produce", "request failed", "error")
    assert "KeyError: 'secret'" in line["trace"]


async def test_redis_failure_is_a_retriable_problem_with_retry_after():
    broker = FakeBroker()
    broker.fails = StoreUnavailable()
    async with client_of(broker) as client:
        response = await client.get("/readyz")
    expect_problem(response, 503, "store_unavailable")
    assert (response.json()["retriable"], response.headers["retry-after"]) == (True, "1")


async def test_a_hot_operation_answers_the_same_through_the_framework():
    async def answers(app_of: Any) -> list[tuple[int, str]]:
        broker: Any = FakeBroker()
        front = create_app(broker)
        app_of(front)
        async with client_of(broker, front) as client:
            return [
                (r.status_code, r.text)
                for r in [
                    await client.post(RECORDS, json=RECORD),
                    await client.post("/v1/transactions"),
                    await client.post("/v1/transactions/3-17:commit"),
                    await client.post("/v1/transactions:execute", json={"records": [{"topic": "out", **RECORD}]}),
                    await client.get("/v1/topics/a/partitions/0/records"),
                    await client.post(RECORDS, content=b"{"),
                ]
            ]

    def framework_only(front: FastPath) -> None:
        assert front._hot
        front._hot = {}

    assert await answers(lambda front: None) == await answers(framework_only)


def test_no_two_operations_share_a_method_and_path():
    places = [(operation.method, operation.path) for operation in OPERATIONS]
    assert len(places) == len(set(places))


# -- long polls --------------------------------------------------------------------------------------------------------


async def poll(front: FastPath, gone: asyncio.Event) -> list[dict[str, Any]]:
    """Runs a long poll over bare ASGI; the client disconnects on demand.  Returns the sent messages."""
    sent: list[dict[str, Any]] = []
    asked = False

    async def receive() -> dict[str, Any]:
        nonlocal asked
        if not asked:
            asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": "/v1/topics/a/partitions/0/records", "query_string": b"wait_ms=60000",
        "headers": [],
    }  # fmt: skip
    await front(scope, receive, send)
    return sent


async def test_cancellation_ends_the_wait():
    broker: Any = FakeBroker()
    gone = asyncio.Event()
    waiting = asyncio.create_task(poll(create_app(broker), gone))
    await broker.started.wait()
    gone.set()
    assert await waiting == []
    assert broker.cancelled.is_set()


async def test_draining_ends_waits_and_readiness_but_not_liveness():
    broker: Any = FakeBroker()
    front = create_app(broker)
    waiting = asyncio.create_task(poll(front, asyncio.Event()))
    await broker.started.wait()
    front.drain()
    sent = await waiting
    assert (sent[0]["status"], json.loads(sent[1]["body"])["code"]) == (503, "draining")
    assert broker.cancelled.is_set()
    async with client_of(broker, front) as client:
        expect_problem(await client.get("/readyz"), 503, "draining")
        assert (await client.get("/livez")).status_code == 200


async def test_wait_is_limited_by_the_broker():
    broker: Any = FakeBroker(wait_ms_max=1)
    front = create_app(broker)
    waiting = asyncio.create_task(poll(front, asyncio.Event()))
    await broker.started.wait()
    front.drain()
    await waiting
    assert broker.asked("fetch")[0]["wait_ms"] == 1


# -- Idempotency-Key ---------------------------------------------------------------------------------------------------


async def test_repeated_request_gets_the_stored_response():
    broker = FakeBroker()
    async with client_of(broker) as client:
        first, second = [await client.post("/v1/transactions", headers={"idempotency-key": "k"}) for _ in range(2)]
    assert (first.status_code, first.text) == (second.status_code, second.text)
    assert ("idempotent-replayed" in first.headers, second.headers["idempotent-replayed"]) == (False, "true")
    assert [asked["nonce"] for asked in broker.asked("begin")] == ["nonce-of-k"]


async def test_a_key_of_another_request_is_refused():
    async with client_of(FakeBroker()) as client:
        await client.post(RECORDS, json=RECORD, headers={"idempotency-key": "k"})
        other = await client.post(RECORDS, json={"records": [{"value": 2}]}, headers={"idempotency-key": "k"})
        elsewhere = await client.post("/v1/topics/b/records", json=RECORD, headers={"idempotency-key": "k"})
    expect_problem(other, 422, "idempotency_key_reused")
    expect_problem(elsewhere, 422, "idempotency_key_reused")


async def test_repeated_running_request_is_not_started_again():
    broker = FakeBroker()
    async with client_of(broker) as client:
        await client.post(RECORDS, json=RECORD, headers={"idempotency-key": "k"})
        broker.idempotency.records["k"].update(answer=None, running=True)
        response = await client.post(RECORDS, json=RECORD, headers={"idempotency-key": "k"})
    expect_problem(response, 409, "request_in_progress")
    assert len(broker.asked("produce")) == 1


@pytest.mark.parametrize("key", ["", "a" * 256, "é", "a\tb"])
async def test_a_key_that_is_not_printable_ascii_is_refused(key):
    async with client_of(FakeBroker()) as client:
        response = await client.post(RECORDS, json=RECORD, headers={b"idempotency-key": key.encode()})
    expect_problem(response, 400, "invalid_request", "1 to 255 printable ASCII")


async def test_a_produce_under_a_key_is_numbered_by_one_producer_id_for_all_its_attempts():
    broker = FakeBroker()
    async with client_of(broker) as client:
        for failure in (OutcomeUnknown(), TopicBusy(), None):
            broker.fails = failure
            await client.post(RECORDS, json=RECORD, headers={"idempotency-key": "k"})
    producers = [asked["producer"] for asked in broker.asked("produce")]
    assert len(producers) == 3
    assert [each[:3] for each in producers] == [(101, 0, 0)] * 3


async def test_an_error_that_changed_nothing_frees_the_key():
    broker = FakeBroker()
    async with client_of(broker) as client:
        broker.fails = UnknownTopic()
        refused = await client.post(RECORDS, json=RECORD, headers={"idempotency-key": "k"})
        broker.fails = None
        corrected = await client.post(RECORDS, json={"records": [{"value": 2}]}, headers={"idempotency-key": "k"})
    assert (refused.status_code, corrected.status_code) == (404, 200)


async def test_errors_are_never_stored_as_response():
    broker = FakeBroker()
    async with client_of(broker) as client:
        broker.fails = StoreUnavailable()
        first = await client.post("/v1/transactions", headers={"idempotency-key": "k"})
        broker.fails = None
        second = await client.post("/v1/transactions", headers={"idempotency-key": "k"})
    assert (first.status_code, second.status_code) == (503, 201)
    assert [asked["nonce"] for asked in broker.asked("begin")] == ["nonce-of-k"] * 2


async def test_records_of_a_transaction_whose_first_attempt_is_in_doubt_are_not_written_again():
    broker = FakeBroker()
    body = {**RECORD, "transaction": "3-17"}
    async with client_of(broker) as client:
        broker.fails = StoreUnavailable()
        await client.post(RECORDS, json=body, headers={"idempotency-key": "k"})
        broker.fails = None
        response = await client.post(RECORDS, json=body, headers={"idempotency-key": "k"})
    expect_problem(response, 504, "outcome_unknown", "Abort the transaction")
    assert len(broker.asked("produce")) == 1


async def test_requests_are_counted_by_operation_and_outcome():
    def counted(outcome: str) -> float:
        name = "redis_ledger_http_requests_total"
        return exposition.REGISTRY.get_sample_value(name, {"operation": "get_transaction", "outcome": outcome}) or 0

    before = counted("ok"), counted("transaction_not_found")
    async with client_of(FakeBroker()) as client:
        await client.get("/v1/transactions/3-17")
        await client.get("/v1/transactions/no")
        shown = (await client.get("/metrics")).text
    assert (counted("ok"), counted("transaction_not_found")) == (before[0] + 1, before[1] + 1)
    assert "# HELP redis_ledger_http_requests_total" in shown


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "outcome"),
    [
        ("GET", "/v1/nowhere", {}, 404, "route_not_found"),
        ("DELETE", "/v1/transactions", {}, 405, "method_not_allowed"),
        ("POST", "/v1/transactions", {"origin": "https://evil.example"}, 403, "forbidden"),
    ],
)
async def test_request_without_an_operation_is_counted(method, path, headers, status, outcome):
    def counted() -> float:
        labels = {"operation": "unknown", "outcome": outcome}
        return exposition.REGISTRY.get_sample_value("redis_ledger_http_requests_total", labels) or 0

    before = counted()
    async with client_of(FakeBroker()) as client:
        expect_problem(await client.request(method, path, headers=headers), status, outcome)
    assert counted() == before + 1


def test_every_metric_has_help_text():
    assert [each.name for each in exposition.declared() if not each.help.endswith(".") or " " in each.name] == []
