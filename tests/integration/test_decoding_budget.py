"""Decoding is charged to the requesting principal, for every API, and bounded for all requests together."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from redis_ledger.app.http.application import create_app
from redis_ledger.app.http.received import received
from redis_ledger.app.http.routers import subscriptions
from redis_ledger.auth.acl import ANONYMOUS
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import NewRecord
from redis_ledger.decoding import memory as memories
from redis_ledger.kafka.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from redis_ledger.records.build import encode
from tests.support.broker import one
from tests.support.kafka_batches import NOW_MS
from tests.support.kafka_client import KafkaClient, listening
from tests.support.rest import client_of

MB = 1 << 20
RECORDS = "/v1/topics/t/partitions/0/records"
ONE = (None, b"small", (), NOW_MS)
LARGE = (None, bytes(MB), (), NOW_MS + 1)


@pytest.fixture
async def broker(redis_url, prefix) -> AsyncIterator[Broker]:
    async with one(redis_url, prefix, batch_decoded_bytes_max=4 * MB, decoded_bytes_max=4 * MB) as opened:
        await opened.topics.create("t", 1)
        await opened.subscriptions.create("t", "s", "shared", "earliest")
        yield opened


async def packed(broker: Broker, *rows) -> None:
    """One batch that is small as it is stored."""
    await broker.records.produce_batches("t", 0, encode(rows or (ONE, LARGE), compression=4))


@pytest.fixture
def paid(broker, monkeypatch) -> list[int]:
    """Bytes that were read, of each charge."""
    charge, found = broker.quotas.charge, list[int]()

    def counted(principal, **used):
        found.append(used.get("bytes_out", 0))
        return charge(principal, **used)

    monkeypatch.setattr(broker.quotas, "charge", counted)
    return found


READS = {
    "records": ("GET", f"{RECORDS}?offset=0&max_records=1", None),
    "receive": ("POST", "/v1/topics/t/subscriptions/s:receive", {"consumer": "c", "max_records": 1}),
    "waiting receive": (
        "POST",
        "/v1/topics/t/subscriptions/s:receive",
        {"consumer": "c", "max_records": 1, "wait_ms": 999},
    ),
    "offset for a time": ("GET", f"/v1/topics/t/partitions/0/offsets?timestamp_ms={NOW_MS}", None),
    "scheduled": ("GET", "/v1/topics/t/scheduled?limit=1", None),
    "console": ("GET", "/console/topic.json?name=t", None),
}


@pytest.mark.parametrize("read", READS)
async def test_a_small_answer_out_of_a_large_batch_is_paid_for_as_what_was_decoded(broker, paid, read):
    await packed(broker)
    if read == "scheduled":
        far = [NewRecord(None, b"x" * MB, deliver_after_ms=1_000_000)]
        await broker.records.produce("t", far)
    await broker.quotas.change(ANONYMOUS, {"bytes_out_per_s": 10 * MB})
    method, path, body = READS[read]
    async with client_of(broker) as http:
        answer = await http.request(method, path, json=body)
        assert answer.status_code == 200, answer.text
    assert MB <= sum(paid) < 2.5 * MB
    assert broker.decoding.memory.taken == 0


async def test_decoded_response_bytes_are_charged_once(broker, paid):
    await broker.records.produce_batches("t", 0, encode([(None, b"x" * MB, (), NOW_MS)]))
    await broker.quotas.change(ANONYMOUS, {"bytes_out_per_s": 10 * MB})
    async with client_of(broker) as http:
        answer = await http.get(f"{RECORDS}?offset=0")
    assert abs(sum(paid) - len(answer.content)) < 1_000


async def test_put_backs_pay_for_what_they_decode(broker, paid):
    await packed(broker)
    await broker.quotas.change(ANONYMOUS, {"bytes_out_per_s": 10 * MB})
    async with client_of(broker) as http:
        answer = await http.post("/v1/topics/t/subscriptions/s:putBack", json={"limit": 1})
        assert answer.status_code == 200, answer.text
    assert MB <= sum(paid) < 2.5 * MB


async def test_an_answer_ends_where_the_memory_does_and_the_next_one_continues(broker):
    for _ in range(5):
        await packed(broker, LARGE, LARGE)
    async with client_of(broker) as http:
        at, answers = 0, list[int]()
        while len(answers) < 20 and at < 10:
            answer = (await http.get(f"{RECORDS}?offset={at}")).json()
            answers.append(len(answer["records"]))
            at = answer["next_offset"]
        assert sum(answers) == 10
        assert len(answers) > 2
        received = list[int]()
        while len(received) < 10:
            asked = {"consumer": "c", "max_records": 100, "wait_ms": 100}
            messages = (await http.post("/v1/topics/t/subscriptions/s:receive", json=asked)).json()["messages"]
            assert messages
            received += [message["offset"] for message in messages]
    assert sorted(received) == list(range(10))
    assert broker.decoding.memory.taken == 0


async def posted(broker: Broker, path: str, body: Any) -> int:
    """The status.  The body comes in one piece, as from a server that had it all when it was asked."""
    sent = list[Any]()
    pieces = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]

    async def receive() -> Any:
        return pieces.pop() if pieces else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(b"content-type", b"application/json")], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
        "root_path": "", "http_version": "1.1", "scheme": "http",
    }  # fmt: skip
    await create_app(broker)(scope, receive, send)
    return int(sent[0]["status"])


async def test_a_body_in_one_piece_and_the_answer_of_a_receive_are_counted(broker, monkeypatch):
    memory, free = broker.client_memory, list[int]()
    produce = broker.records.produce

    async def watched(*given, **more):
        free.append(memory.free)
        return await produce(*given, **more)

    async def shown(*given):
        free.append(memory.free)
        return await received(*given)

    monkeypatch.setattr(broker.records, "produce", watched)
    monkeypatch.setattr(subscriptions, "received", shown)
    body = {"records": [{"value": "x" * 200_000}]}
    assert await posted(broker, "/v1/topics/t/records", body) == 200
    assert await posted(broker, "/v1/topics/t/subscriptions/s:receive", {"consumer": "c"}) == 200
    assert [memory.bytes_max - each >= 200_000 for each in free] == [True, True]
    assert memory.free == memory.bytes_max
    # Where there is no memory for it a large body is refused, a small one is not
    await memory.reserve(memory.bytes_max)
    assert await posted(broker, "/v1/topics/t/records", body) == 503
    assert await posted(broker, "/v1/topics/t/records", {"records": [{"value": 1}]}) == 200


async def test_a_form_of_the_console_leaves_no_memory_taken(broker):
    async with client_of(broker) as http:
        form = {"content-type": "application/x-www-form-urlencoded"}
        await http.post("/console/topics/create", content=b"name=u&csrf=x", headers=form)
    assert broker.client_memory.free == broker.client_memory.bytes_max


async def test_requests_wait_for_memory_and_are_refused_in_the_end_and_may_come_again(broker, monkeypatch):
    monkeypatch.setattr(memories, "WAIT_S_MAX", 0.1)
    await packed(broker)
    memory = broker.decoding.memory
    assert memory.take_now(memory.bytes_max)
    raw = encode([ONE, LARGE], compression=4)
    by_time = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, NOW_MS)])])
    async with client_of(broker) as http, listening(broker) as address, KafkaClient(address) as kafka:
        for name in ("records", "receive", "waiting receive", "offset for a time"):
            method, path, body = READS[name]
            refused = await http.request(method, path, json=body)
            assert (refused.status_code, refused.json()["code"]) == (503, "decoding_busy"), name
            assert refused.json()["decoded_bytes_max"] == 4 * MB
        kind = {"content-type": "application/vnd.redis-ledger.batch"}
        refused = await http.post("/v1/topics/t/records?partition=0", content=raw, headers=kind)
        assert (refused.status_code, refused.json()["code"]) == (503, "decoding_busy")
        assert (await kafka.ask(by_time, 5)).topics[0].partitions[0].error_code == 7
        # Then memory is free again, and the same request that waits goes on
        monkeypatch.setattr(memories, "WAIT_S_MAX", 60.0)
        waiting = asyncio.ensure_future(http.get(READS["records"][1]))
        await asyncio.sleep(0.02)  # it has begun to wait
        memory.give(memory.bytes_max)
        assert (await waiting).status_code == 200
        assert (await kafka.ask(by_time, 5)).topics[0].partitions[0].offset == 0
        method, path, body = READS["receive"]
        assert len((await http.request(method, path, json=body)).json()["messages"]) == 1  # none was lost
    assert memory.taken == 0
