"""Batches of a few kilobytes that unpack into millions of headers, or into very large values."""

from __future__ import annotations

import asyncio
import warnings
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from redis_ledger.client import Client
from redis_ledger.config import Config
from redis_ledger.records.build import encode
from tests.attack.harness import BATCH, Siege, besieged
from tests.support.bombs import NOW_MS, batch, header_bomb, record, value_bomb
from tests.support.kafka_batches import produce, produced

LIMIT = Config().record_headers_max


def small(value: bytes = b"after") -> bytes:
    return encode([(None, value, (), NOW_MS)])


def store(siege: Siege, topic: str, *batches: bytes) -> list[int]:
    """As a Kafka client does: nothing is decoded.  The base offsets."""

    async def send() -> list[int]:
        async with siege.kafka() as client:
            answers = [produced(await client.ask(produce(topic, each), 9)) for each in batches]
            assert [each.error_code for each in answers] == [0] * len(batches)
            return [each.base_offset for each in answers]

    status, _ = siege.post("/v1/topics", {"name": topic})
    assert status == 201
    return asyncio.run(send())


def test_a_header_bomb_is_refused_by_rest_and_nothing_is_written(siege):
    siege.post("/v1/topics", {"name": "sent"})
    for body in (header_bomb(), header_bomb() * 3, small() + header_bomb()):
        status, problem = siege.post("/v1/topics/sent/records?partition=0", body, BATCH)
        assert (status, problem["code"]) == (413, "too_large_to_decode")
        assert (problem["setting"], problem["limit"]) == ("record_headers_max", LIMIT)
    siege.check()
    assert siege.memory_mb() < 500
    _, topic = siege.ask("GET", "/v1/topics/sent")
    assert topic["partition_states"][0]["end_offset"] == 0


def test_many_large_values_in_one_body_are_refused(siege):
    siege.post("/v1/topics", {"name": "values"})
    status, problem = siege.post("/v1/topics/values/records?partition=0", value_bomb((32 << 20) - 100) * 20, BATCH)
    assert (status, problem["setting"]) == (413, "request_decoded_bytes_max")
    status, problem = siege.post("/v1/topics/values/records?partition=0", value_bomb(33 << 20), BATCH)
    assert (status, problem["setting"]) == (413, "batch_decoded_bytes_max")
    siege.check()
    assert siege.memory_mb() < 700


def test_headers_of_many_records_are_counted_together(siege):
    siege.post("/v1/topics", {"name": "many"})
    one = record(None, b"", b"\x00\x01" * 900, 900)
    bomb = batch(*(record(None, b"", b"\x00\x01" * 900, 900, n) for n in range(10_000)))
    status, problem = siege.post("/v1/topics/many/records?partition=0", bomb, BATCH)
    assert (status, problem["setting"]) == (413, "headers_max")
    status, problem = siege.post("/v1/topics/many/records?partition=0", batch(one) * 200, BATCH)
    assert (status, problem["setting"]) == (413, "headers_max")
    siege.check()


@pytest.mark.parametrize("bomb", [header_bomb(), value_bomb(60 << 20)], ids=["headers", "value"])
def test_a_stored_bomb_is_skipped_by_every_reader(siege, bomb, request):
    """A batch that cannot be decoded: consumers get its offsets and continue after it."""
    topic = f"stored-{request.node.callspec.id}"
    before, at, after = store(siege, topic, small(b"before"), bomb, small())
    # REST: an answer ends when its budget is spent, and the next goes on
    shown, skipped, reached, more = list[int](), list[tuple[int, int, str]](), 0, True
    while more:
        status, read = siege.ask("GET", f"/v1/topics/{topic}/partitions/0/records?offset={reached}")
        assert status == 200
        shown += [each["offset"] for each in read["records"]]
        skipped += [(each["first_offset"], each["last_offset"], each["code"]) for each in read.get("skipped", [])]
        reached, more = read["next_offset"], read["more"]
    assert (shown, skipped) == ([before, after], [(at, at, "too_large_to_decode")])
    assert reached == after + 1
    # a subscription
    siege.post(f"/v1/topics/{topic}/subscriptions", {"name": "s"})
    got, passed = list[str](), list[int]()
    for _ in range(3):
        status, received = siege.post(f"/v1/topics/{topic}/subscriptions/s:receive", {"max_records": 10})
        assert status == 200
        got += [each["id"] for each in received["messages"]]
        passed += [each["first_offset"] for each in received.get("skipped", [])]
    assert (got, passed) == ([f"0:{before}", f"0:{after}"], [at])
    status, _ = siege.post(f"/v1/topics/{topic}/subscriptions/s:ack", {"ids": [*got, f"0:{at}"]})
    assert status == 200
    _, stats = siege.ask("GET", f"/v1/topics/{topic}/subscriptions/s")
    assert (stats["backlog"], stats["leased"]) == (0, 0)
    # the SDK
    with Client(siege.broker.urls[0]) as client, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert [each.offset for each in client.read(topic)] == [before, after]
        with client.consumer(topic, "sdk", prefetch=0) as consumer:
            found = [each for _ in range(3) for each in consumer.receive(10, wait_ms=0)]
            assert [each.offset for each in found] == [before, after]
    assert sum(f"messages {at} to {at} were skipped" in str(each.message) for each in told) == 2
    # by time, and the console's page
    status, found = siege.ask("GET", f"/v1/topics/{topic}/partitions/0/offsets?timestamp_ms={NOW_MS}")
    assert (status, found["offset"]) == (200, before)
    siege.check()
    siege.ask("GET", "/console")  # the first page makes the templates
    siege.forget()
    status, page = siege.ask("GET", f"/console/topic?name={topic}")
    assert status == 200
    assert b"Cannot decode" in page
    siege.check()
    assert siege.memory_mb() < 700


def test_dead_letters_of_a_bomb_say_where_it_is(siege):
    (at,) = store(siege, "poison", header_bomb())
    siege.post("/v1/topics/poison/subscriptions", {"name": "s"})
    siege.post("/v1/topics/poison/subscriptions/s:deadLetters", {"max_deliveries": 1, "topic": "dead"})
    _, first = siege.post("/v1/topics/poison/subscriptions/s:receive", {"consumer": "c"})
    assert [each["first_offset"] for each in first["skipped"]] == [at]
    siege.post("/v1/topics/poison/subscriptions/s:nack", {"consumer": "c", "all": True})
    _, second = siege.post("/v1/topics/poison/subscriptions/s:receive", {"consumer": "c"})
    assert second == {"messages": []}
    _, read = siege.ask("GET", "/v1/topics/dead/partitions/0/records")
    (letter,) = read["records"]
    assert letter["value"] is None
    assert letter["headers"]["dead-letter-offset"] == letter["headers"]["dead-letter-last-offset"] == str(at)
    assert letter["headers"]["dead-letter-error"] == "too_large_to_decode"
    _, stats = siege.ask("GET", "/v1/topics/poison/subscriptions/s")
    assert stats["backlog"] == 0
    # It holds nothing that could be put back.
    siege.post("/v1/topics/dead/subscriptions", {"name": "d"})
    assert siege.post("/v1/topics/dead/subscriptions/d:putBack", {}) == (200, {"put_back": 0})
    siege.check()


@pytest.mark.parametrize(
    "form",
    ["auto", pytest.param("text", marks=pytest.mark.full), pytest.param("base64", marks=pytest.mark.full)],
)
def test_large_values_are_read_by_several_without_much_memory(form):
    """30 MB of control characters are 180 MB of JSON."""
    with besieged() as siege:
        before = siege.memory_mb()
        (at,) = store(siege, "zeros", value_bomb(30_000_000))
        path = f"/v1/topics/zeros/partitions/0/records?offset={at}&as={form}"
        url = f"{siege.broker.urls[0]}{path}"
        with ThreadPoolExecutor(6) as readers:
            answers = list(readers.map(lambda _: httpx.get(url, timeout=60, trust_env=False), range(6)))
        sizes = [len(each.content) for each in answers if each.status_code == 200]
        assert {each.status_code for each in answers} <= {200, 503}  # 503: two are answered at a time
        assert len(sizes) >= 2
        assert len(set(sizes)) == 1
        assert min(sizes) > (40_000_000 if form == "base64" else 180_000_000)
        siege.check()
        assert siege.memory_mb() < before + 200


def test_a_thousand_bombs_cost_one_request_no_more_than_its_budget(siege):
    store(siege, "thousand", *([header_bomb()] * 100))
    _, read = siege.ask("GET", "/v1/topics/thousand/partitions/0/records?offset=0")
    assert 1 <= len(read["skipped"]) < 10
    assert read["more"]
    assert read["next_offset"] == read["skipped"][-1]["last_offset"] + 1
    siege.post("/v1/topics/thousand/subscriptions", {"name": "s"})
    _, received = siege.post("/v1/topics/thousand/subscriptions/s:receive", {"max_records": 100})
    assert 1 <= len(received["skipped"]) < 10
    siege.check()
