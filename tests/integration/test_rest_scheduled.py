"""Delayed records over HTTP, on a real broker and Redis."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.records.build import encode
from tests.integration.test_rest_idempotency import fail_once
from tests.support.broker import eventually
from tests.support.rest import client_of, open_broker

ALL = "/v1/topics/t/scheduled"
HOUR_MS = 3_600_000
FAR = "2999-01-01T00:00:00Z"
FAR_MS = 32_472_144_000_000


@pytest.fixture
async def broker(redis_url: str, prefix: str) -> AsyncIterator[Broker]:
    async with open_broker(redis_url, prefix, coordinators=2) as broker:
        yield broker


@pytest.fixture
async def api(broker: Broker) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(broker) as client:
        yield client


async def ask(api: httpx.AsyncClient, method: str, path: str, body: Any = None, status: int = 200, **more: Any) -> Any:
    answer = await api.request(method, path, json=body, **more)
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


async def schedule(api: httpx.AsyncClient, **body: Any) -> str:
    """The id."""
    [placed] = (await ask(api, "POST", ALL, body, 201))["scheduled"]
    return str(placed["id"])


async def records_of(api: httpx.AsyncClient, partition: int = 0) -> list[Any]:
    found = await ask(api, "GET", f"/v1/topics/t/partitions/{partition}/records")
    return [record.get("value") for record in found["records"]]


async def seen(api: httpx.AsyncClient, count: int, partition: int = 0) -> list[Any]:
    """The values, as soon as there are so many of them."""
    until = time.monotonic() + 30
    while len(values := await records_of(api, partition)) < count and time.monotonic() < until:
        await asyncio.sleep(0.005)
    return values


def now_ms() -> int:
    """Redis runs on this machine, so its clock is ours."""
    return time.time_ns() // 1_000_000


async def test_a_record_is_seen_when_it_is_due_and_not_before(api):
    # Given a record for now and two for later, the earlier one given last
    await ask(api, "POST", "/v1/topics", {"name": "t"}, 201)
    due = now_ms() + 1_000
    body = {"records": [{"value": 2, "deliver_at": due + 200}, {"value": 0}, {"value": 1, "deliver_at": due}]}
    first, later = (await ask(api, "POST", "/v1/topics/t/records", body))["results"]
    # When a client pages on
    assert await records_of(api) == [0]
    times: dict[int, int] = {}
    while len(times) < 2:
        for value in (await records_of(api))[1:]:
            times.setdefault(value, now_ms())
        await asyncio.sleep(0.001)
    # Then each comes in its time and in order, and the answer said so
    assert list(times) == [1, 2]
    assert (times[1] >= due, times[2] >= due + 200) == (True, True)
    assert (first["base_offset"], later["base_offset"], later["records"]) == (0, -1, 2)
    assert [placed["deliver_at_ms"] for placed in later["scheduled"]] == [due + 200, due]


async def test_subscriptions_and_batches_get_it_too(api):
    await ask(api, "POST", "/v1/topics", {"name": "t"}, 201)
    await ask(api, "POST", "/v1/topics/t/subscriptions", {"name": "s"}, 201)
    body = {"records": [{"key": "k", "text": "late", "headers": {"h": "v"}, "deliver_after": 100}]}
    await ask(api, "POST", "/v1/topics/t/records", body)
    assert (await ask(api, "POST", "/v1/topics/t/subscriptions/s:receive", {}))["messages"] == []
    got = await ask(api, "POST", "/v1/topics/t/subscriptions/s:receive", {"wait_ms": 5_000})
    [message] = got["messages"]
    assert (message["key"], message["text"], message["headers"]) == ("k", "late", {"h": "v"})
    assert (await ask(api, "POST", "/v1/topics/t/subscriptions/s:ack", {"ids": [message["id"]]}))["acknowledged"] == 1


@pytest.mark.parametrize("end", ["commit", "abort"])
async def test_a_transaction_schedules_when_it_commits_and_not_when_it_aborts(api, end):
    txn = (await ask(api, "POST", "/v1/transactions", {}, 201))["id"]
    body = {"transaction": txn, "records": [{"value": 1, "deliver_after": HOUR_MS}, {"value": 2, "deliver_after": 1}]}
    [result] = (await ask(api, "POST", "/v1/topics/t/records", body))["results"]
    ids = [placed["id"] for placed in result["scheduled"]]
    # While it is open nothing of it waits, though the second record is due
    assert (await ask(api, "GET", ALL))["scheduled"] == []
    assert (await ask(api, "GET", f"{ALL}/{ids[0]}", status=404))["code"] == "unknown_scheduled"
    await ask(api, "POST", f"/v1/transactions/{txn}:{end}", {})
    if end == "abort":
        await ask(api, "GET", f"{ALL}/{ids[0]}", status=410)
        assert (await ask(api, "GET", ALL))["scheduled"] == []
        assert await records_of(api) == []
    else:
        assert await seen(api, 1) == [2]
        assert (await ask(api, "GET", f"{ALL}/{ids[0]}"))["value"] == 1


async def test_a_step_in_one_request_schedules_as_well(api):
    body = {"records": [{"topic": "t", "records": [{"value": 1, "deliver_at": FAR}, {"value": 2}]}]}
    executed = await ask(api, "POST", "/v1/transactions:execute", body)
    [placed] = [placed for result in executed["results"] for placed in result.get("scheduled", ())]
    assert placed["deliver_at_ms"] == FAR_MS
    assert await records_of(api) == [2]
    assert (await ask(api, "GET", f"{ALL}/{placed['id']}"))["value"] == 1


async def test_records_are_created_one_by_one_or_as_a_list(api):
    id = await schedule(api, key="k", value={"a": 1}, headers={"h": "v"}, deliver_at=FAR)
    assert await ask(api, "GET", f"{ALL}/{id}") == {
        "id": id, "deliver_at_ms": FAR_MS, "timestamp_ms": pytest.approx(now_ms(), abs=60_000), "key": "k",
        "value": {"a": 1}, "headers": {"h": "v"},
    }  # fmt: skip
    body = {"deliver_after": HOUR_MS, "records": [{"value": 1}, {"value": 2, "deliver_at": 5}, {"base64": "/w=="}]}
    made = await ask(api, "POST", ALL, body, 201)
    assert len(made["scheduled"]) == 2
    assert made["delivered"] == [{"partition": 0, "base_offset": 0, "records": 1, "duplicate": False}]
    assert (await ask(api, "GET", f"{ALL}/{made['scheduled'][1]['id']}"))["base64"] == "/w=="


@pytest.mark.parametrize("after", [False, True])
async def test_a_repeated_request_schedules_once(api, broker, after):
    # Given a first attempt that fails before or after it was carried out
    body, key = {"value": 1, "deliver_at": FAR}, {"idempotency-key": "k"}
    fail_once(broker, "records", "produce", after)
    await ask(api, "POST", ALL, body, 503, headers=key)
    # When it is repeated, twice
    second = await ask(api, "POST", ALL, body, 201, headers=key)
    third = await ask(api, "POST", ALL, body, 201, headers=key)
    # Then one record waits, and the answers are the same
    waiting = (await ask(api, "GET", ALL))["scheduled"]
    assert (len(waiting), second) == (1, third)
    assert second["scheduled"] == [{"id": waiting[0]["id"], "deliver_at_ms": FAR_MS}]


async def test_scheduled_records_are_paged_by_due_time_across_partitions(api):
    await ask(api, "POST", "/v1/topics", {"name": "t", "partitions": 3}, 201)
    records = [
        {"partition": n % 3, "key": f"k{n % 2}", "value": n, "deliver_at": FAR_MS + (n * 7) % 30} for n in range(30)
    ]
    await ask(api, "POST", ALL, {"records": records}, 201)
    expected = sorted(range(30), key=lambda n: (n * 7) % 30)
    found: list[int] = []
    after = ""
    while True:
        page = await ask(api, "GET", f"{ALL}?limit=7{after}")
        found += [record["value"] for record in page["scheduled"]]
        if "after" not in page:
            break
        after = f"&after={page['after']}"
    assert found == expected

    async def listed(query: str) -> list[int]:
        return [record["value"] for record in (await ask(api, "GET", f"{ALL}?{query}"))["scheduled"]]

    assert await listed("key=k1") == [n for n in expected if n % 2]
    assert await listed("partition=2") == [n for n in expected if n % 3 == 2]
    assert await listed(f"from={FAR_MS + 3}&to={FAR_MS + 6}") == expected[3:6]
    assert await listed(f"to={FAR}") == []
    await ask(api, "GET", ALL + "?after=nonsense", status=400)


async def test_cancel_returns_whether_the_record_was_cancelled_or_delivered(api):
    far = await schedule(api, value=1, deliver_at=FAR)
    soon = await schedule(api, value=2, deliver_after=1)
    assert await seen(api, 1) == [2]
    # When both are cancelled, with others that are not there
    answer = await ask(api, "POST", ALL + ":cancel", {"ids": [far, soon, "0:999.0", "7:1.0", "x"]})
    # Then each has its outcome, and says the same on its own
    assert [each["outcome"] for each in answer["results"]] == [
        "cancelled", "already_delivered", "unknown", "unknown", "unknown",
    ]  # fmt: skip
    await ask(api, "DELETE", f"{ALL}/{far}", status=204)
    assert (await ask(api, "DELETE", f"{ALL}/{soon}", status=409))["code"] == "already_delivered"
    assert (await ask(api, "DELETE", f"{ALL}/0:999.0", status=404))["code"] == "unknown_scheduled"
    assert (await ask(api, "GET", f"{ALL}/{far}", status=410))["code"] == "already_cancelled"
    assert (await ask(api, "GET", f"{ALL}/{soon}", status=409))["code"] == "already_delivered"
    assert (await ask(api, "PATCH", f"{ALL}/{far}", {"deliver_after": 1}, 410))["code"] == "already_cancelled"
    assert await records_of(api) == [2]


async def test_one_record_of_several_that_are_due_together_is_cancelled_alone(api):
    made = await ask(api, "POST", ALL, {"deliver_after": 4_000, "records": [{"value": n} for n in range(4)]}, 201)
    ids = [placed["id"] for placed in made["scheduled"]]
    await ask(api, "DELETE", f"{ALL}/{ids[1]}", status=204)
    await ask(api, "PATCH", f"{ALL}/{ids[2]}", {"deliver_at": FAR})
    assert await seen(api, 2) == [0, 3]
    assert [record["id"] for record in (await ask(api, "GET", ALL))["scheduled"]] == [ids[2]]


async def test_a_record_is_given_an_earlier_and_a_later_time_under_its_id(api):
    id = await schedule(api, value=1, deliver_at=FAR)
    assert await ask(api, "PATCH", f"{ALL}/{id}", {"deliver_at": FAR_MS + 5}) == {"id": id, "deliver_at_ms": FAR_MS + 5}
    assert (await ask(api, "GET", f"{ALL}/{id}"))["deliver_at_ms"] == FAR_MS + 5
    before_ms = now_ms()
    moved = await ask(api, "PATCH", f"{ALL}/{id}", {"deliver_after": "PT0.1S"})
    assert before_ms <= moved["deliver_at_ms"] < now_ms() + 1_000
    assert await seen(api, 1) == [1]


async def test_scheduled_records_are_counted_charted_reindexed_and_cleared(api):
    await ask(api, "POST", "/v1/topics", {"name": "t", "partitions": 2}, 201)
    records = [{"partition": n % 2, "value": n, "deliver_at": FAR_MS + n * 10} for n in range(10)]
    await ask(api, "POST", ALL, {"records": records}, 201)
    stats = await ask(api, "GET", ALL + ":stats")
    assert [each["records"] for each in stats["partitions"]] == [5, 5]
    total = stats["total"]
    assert (total["records"], total["first_due_ms"], total["last_due_ms"]) == (10, FAR_MS, FAR_MS + 90)
    bins = (await ask(api, "GET", f"{ALL}:histogram?from={FAR_MS}&to={FAR_MS + 100}&bins=5"))["bins"]
    assert [(each["from_ms"] - FAR_MS, each["records"]) for each in bins] == [(n * 20, 2) for n in range(5)]
    assert (await ask(api, "POST", ALL + ":rebuild", {"partition": 1}))["entries"] == 5
    assert (await ask(api, "POST", ALL + ":rebuild"))["entries"] == 10
    assert await ask(api, "DELETE", ALL + "?partition=0") == {"cancelled": 5}
    assert [r["value"] for r in (await ask(api, "GET", ALL))["scheduled"]] == [1, 3, 5, 7, 9]
    assert await ask(api, "DELETE", ALL) == {"cancelled": 5}
    assert (await ask(api, "GET", ALL + ":stats"))["total"]["records"] == 0


async def test_a_clear_before_the_commit_of_a_repetition_leaves_it_as_it_was_asked_for(api, broker, monkeypatch):
    # Given a clear that comes when the record and how it repeats are stored, and its transaction is not committed yet
    await broker.topics.create("t")
    transactions, commit = broker.transactions, broker.transactions.commit

    async def after_a_clear(txn: Any) -> Any:
        assert await broker.delayed.clear("t") == 0
        return await commit(txn)

    monkeypatch.setattr(transactions, "commit", after_a_clear)
    id = await schedule(api, value="tick", repeat="PT1H", deliver_after=100_000)
    # Then it repeats all the same
    assert (await ask(api, "GET", f"{ALL}/{id}"))["repeat"] == "PT1H"
    await ask(api, "PATCH", f"{ALL}/{id}", {"deliver_after": 0})
    assert await seen(api, 1) == ["tick"]

    async def waits() -> int:
        return len((await ask(api, "GET", ALL))["scheduled"])

    assert await eventually(waits, 1) == 1


async def test_record_repeats_a_number_of_times_or_until_cancelled(api):
    id = await schedule(api, value="tick", repeat="PT1S", times=2, deliver_after=3_000)
    assert (await ask(api, "GET", f"{ALL}/{id}"))["times_left"] == 2
    other = await schedule(api, value="never again", repeat="0 0 1 1 *", timezone="Europe/Berlin", until=FAR)
    found = await ask(api, "GET", f"{ALL}/{other}")
    assert (found["repeat"], found["until_ms"]) == ("0 0 1 1 *", FAR_MS)
    assert await seen(api, 2) == ["tick", "tick"]
    await ask(api, "DELETE", f"{ALL}/{other}", status=204)
    assert (await ask(api, "GET", ALL))["scheduled"] == []


async def test_moved_recurring_record_continues_from_its_new_time(api):
    # Given two records that repeat: one has been delivered once, the other is brought forward
    first = await schedule(api, value=1, repeat="PT1H", deliver_after=1)
    other = await schedule(api, value=2, repeat="PT1H", deliver_after=100_000)
    assert await seen(api, 1) == [1]
    await ask(api, "PATCH", f"{ALL}/{other}", {"deliver_after": 1})
    assert await seen(api, 2) == [1, 2]

    # Then each waits once, for its next time, also when the index is made again
    async def dues() -> list[tuple[str, int]]:
        listed = (await ask(api, "GET", ALL))["scheduled"]
        return [(each["id"], each["deliver_at_ms"]) for each in listed]

    until = time.monotonic() + 30
    while len(before := await dues()) < 2 and time.monotonic() < until:
        await asyncio.sleep(0.01)
    assert [id for id, _ in before] == [first, other]
    assert all(due > now_ms() + HOUR_MS - 60_000 for _, due in before)
    assert [(await ask(api, "GET", f"{ALL}/{id}"))["deliver_at_ms"] for id, _ in before] == [due for _, due in before]
    await ask(api, "POST", ALL + ":rebuild")
    assert await dues() == before
    assert await records_of(api) == [1, 2]


async def test_a_topic_says_whether_and_how_long_it_delays(api):
    settings = {"delayed_delivery_max_delay_ms": 1_000, "delayed_delivery_tick_time_ms": 5}
    made = await ask(api, "POST", "/v1/topics", {"name": "t", "settings": settings}, 201)
    assert {**made["settings"], **settings} == made["settings"]
    assert "delayed_delivery" not in made["settings"]
    too_long = await ask(api, "POST", ALL, {"value": 1, "deliver_after": 1_001}, 400)
    assert (too_long["code"], too_long["max_delay_ms"]) == ("delay_too_long", 1_000)
    changed = await ask(api, "PATCH", "/v1/topics/t", {"settings": {"delayed_delivery": False}})
    assert changed["settings"]["delayed_delivery"] is False
    made = await ask(api, "POST", ALL, {"value": 2, "deliver_after": 999}, 201)
    assert (made["scheduled"], made["delivered"][0]["base_offset"]) == ([], 0)
    assert await records_of(api) == [2]
    refused = await ask(api, "POST", ALL, {"value": 3, "repeat": "PT1H", "deliver_after": 5}, 400)
    assert refused["code"] == "invalid_repeat"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None), ("DELETE", "", None), ("GET", "/0:1.0", None), ("DELETE", "/0:1.0", None),
        ("PATCH", "/0:1.0", {"deliver_at": 5}), ("POST", ":cancel", {"ids": ["0:1.0"]}), ("GET", ":stats", None),
        ("GET", ":histogram", None), ("POST", ":rebuild", {}),
    ],
)  # fmt: skip
async def test_of_a_topic_that_is_not_there_nothing_waits(api, method, path, body):
    assert (await ask(api, method, ALL + path, body, 404))["code"] == "unknown_topic"


async def test_of_a_topic_with_nothing_scheduled_everything_is_empty(api):
    await ask(api, "POST", "/v1/topics", {"name": "t"}, 201)
    assert await ask(api, "GET", ALL) == {"scheduled": []}
    assert (await ask(api, "GET", ALL + ":stats"))["total"]["first_due_ms"] == -1
    assert sum(each["records"] for each in (await ask(api, "GET", ALL + ":histogram"))["bins"]) == 0
    assert await ask(api, "DELETE", ALL) == {"cancelled": 0}
    assert await ask(api, "POST", ALL + ":rebuild", {}) == {"entries": 0}
    assert (await ask(api, "GET", f"{ALL}/0:1.0", status=404))["code"] == "unknown_scheduled"
    assert (await ask(api, "GET", f"{ALL}/9:1.0", status=404))["code"] == "unknown_partition"


async def test_a_record_batch_is_stored_unchanged_whatever_headers_its_records_have(api):
    # Given a topic that delays the records of Kafka clients by their headers
    await ask(api, "POST", "/v1/topics", {"name": "t", "partitions": 1, "settings": {"delayed_delivery": True}}, 201)
    # When a batch with such a header is sent over HTTP
    batch = encode([(None, b"7", [("deliver-at", FAR.encode())], 0)])
    kind = {"content-type": "application/vnd.redis-ledger.batch"}
    answer = await api.post("/v1/topics/t/records", params={"partition": 0}, content=batch, headers=kind)
    # Then the record is there at once
    assert answer.status_code == 200, answer.text
    assert await records_of(api) == [7]
    assert (await ask(api, "GET", ALL))["scheduled"] == []
