"""REST responses with unambiguous bodies."""

from __future__ import annotations

import re
from typing import Any

import pytest

from redis_ledger.app.http.request import BATCH
from redis_ledger.broker.types import NewRecord
from tests.support.rest import client_of, open_broker, rest

ONE = "/v1/topics/orders/subscriptions/billing"


@pytest.fixture
async def api(redis_url, prefix):
    async with rest(redis_url, prefix) as client:
        await client.post("/v1/topics", json={"name": "orders"})
        await client.post("/v1/topics/orders/subscriptions", json={"name": "billing", "kind": "exclusive"})
        yield client


async def test_a_backlog_that_is_only_an_upper_bound_is_marked(api, monkeypatch):
    produced = {"records": [{"value": 1}]}
    for _ in range(3):  # the log: record, marker, record, marker, ...
        txn = (await api.post("/v1/transactions", json={})).json()["id"]
        await api.post("/v1/topics/orders/records", json={**produced, "transaction": txn})
        await api.post(f"/v1/transactions/{txn}:commit", json={})
    exact = (await api.get(ONE)).json()
    assert (exact["backlog"], exact["backlog_is_exact"], exact["cursors"][0]["backlog_is_exact"]) == (3, True, True)
    monkeypatch.setattr("redis_ledger.cursor.scripts.stats.__kwdefaults__", {"entries_max": 2})
    bound = (await api.get(ONE)).json()
    assert (bound["backlog"], bound["backlog_is_exact"], bound["cursors"][0]["backlog_is_exact"]) == (5, False, False)


async def test_a_setting_of_a_topic_can_be_taken_back(api):
    async def shown(**settings):
        answer = await api.patch("/v1/topics/orders", json={"settings": settings})
        return {name: answer.json()["settings"][name] for name in ("retention_ms", "batch_bytes_max")}

    before = await shown()
    assert await shown(retention_ms=5_000, batch_bytes_max=9_000) == {"retention_ms": 5_000, "batch_bytes_max": 9_000}
    assert await shown(retention_ms=None, delayed_delivery=None) == {**before, "batch_bytes_max": 9_000}
    made = await api.post("/v1/topics", json={"name": "new", "settings": {"retention_ms": None}})
    assert (made.status_code, made.json()["settings"]["retention_ms"]) == (201, before["retention_ms"])


async def test_reading_at_the_address_of_a_produce_names_the_right_one(api):
    answer = await api.get("/v1/topics/orders/records")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert "GET /v1/topics/{topic}/partitions/{partition}/records" in answer.json()["detail"]


async def test_the_root_leads_to_the_console(api):
    answer = await api.get("/")
    assert (answer.status_code, answer.headers["location"]) == (307, "/console")


async def test_a_receive_is_repeated_under_its_name_and_continued_behind_the_last_message(api):
    await api.post("/v1/topics/orders/records", json={"records": [{"value": n} for n in range(6)]})

    async def ids(**more):
        answer = await api.post(f"{ONE}:receive", json={"consumer": "c", "max_records": 2, **more})
        assert answer.status_code == 200, answer.text
        return [(message["id"], message["redelivery_count"]) for message in answer.json()["messages"]]

    assert await ids(request_id="r1") == [("0:0", 0), ("0:1", 0)]
    assert await ids(request_id="r1", attempt=1) == [("0:0", 0), ("0:1", 0)]
    assert await ids(after=["0:1"]) == [("0:2", 0), ("0:3", 0)]
    assert await ids(after=["0:1"]) == [("0:2", 0), ("0:3", 0)]
    assert await ids() == [("0:0", 1), ("0:1", 1)]
    refused = await api.post(f"{ONE}:receive", json={"attempt": 1})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")
    refused = await api.post(f"{ONE}:ackCumulative", json={"consumer": "other", "id": "0:3"})
    assert (refused.status_code, refused.json()["code"]) == (409, "not_your_message")
    assert (await api.post(f"{ONE}:ackCumulative", json={"consumer": "c", "id": "0:3"})).json() == {"acknowledged": 4}


async def test_a_cumulative_ack_names_one_message(api):
    """AK-14: a list is refused, and nothing is acknowledged."""
    await api.post("/v1/topics/orders/records", json={"records": [{"value": 1}, {"value": 2}]})
    await api.post(f"{ONE}:receive", json={"consumer": "c"})
    txn = (await api.post("/v1/transactions", json={})).json()["id"]
    for named, code in (
        ({"id": ["0:0", "0:1"]}, "invalid_request"),
        ({"ids": ["0:0", "0:1"]}, "invalid_request"),
        ({"id": "0:0,0:1"}, "invalid_position"),
    ):
        refused = await api.post(f"{ONE}:ackCumulative", json={"consumer": "c", "transaction": txn, **named})
        assert (refused.status_code, refused.json()["code"]) == (400, code), named
    assert (await api.post(f"/v1/transactions/{txn}:commit", json={})).status_code == 200
    assert (await api.get(ONE)).json()["backlog"] == 2


async def test_an_ack_of_an_undelivered_message_is_refused_and_its_transaction_continues(api):
    """AK-06, as decision 0019 departs from it."""
    await api.post("/v1/topics/orders/records", json={"records": [{"value": 1}, {"value": 2}]})
    await api.post(f"{ONE}:receive", json={"consumer": "c", "max_records": 1})
    txn = (await api.post("/v1/transactions", json={})).json()["id"]
    refused = await api.post(f"{ONE}:ack", json={"consumer": "c", "ids": ["0:1"], "transaction": txn})
    assert (refused.status_code, refused.json()["code"]) == (409, "not_delivered")
    taken = await api.post(f"{ONE}:ack", json={"consumer": "c", "ids": ["0:0"], "transaction": txn})
    assert taken.json() == {"acknowledged": 1}
    assert (await api.post(f"/v1/transactions/{txn}:commit", json={})).status_code == 200
    assert (await api.get(ONE)).json()["backlog"] == 1


async def test_a_reader_chooses_the_member_that_holds_a_value(api):
    """By default the content decides, so text that happens to be JSON comes back as JSON."""
    records: list[dict[str, Any]] = [{"text": "1.10"}, {"text": "plain"}, {"base64": "/w=="}, {"value": None}]
    await api.post("/v1/topics/orders/records", json={"records": records})
    later = [{**record, "deliver_after": "PT1H"} for record in records]
    placed = (await api.post("/v1/topics/orders/scheduled", json={"records": later})).json()["scheduled"]

    async def read(form: str) -> list[list[dict[str, Any]]]:
        where: dict[str, str] = {} if not form else {"as": form}
        await api.post(f"{ONE}:seek", json={"to": "earliest"})
        fetched = (await api.get("/v1/topics/orders/partitions/0/records", params={"offset": 0, **where})).json()
        received = (await api.post(f"{ONE}:receive", json=where)).json()
        listed = (await api.get("/v1/topics/orders/scheduled", params=where)).json()
        one = [(await api.get(f"/v1/topics/orders/scheduled/{each['id']}", params=where)).json() for each in placed]
        found = (fetched["records"], received["messages"], listed["scheduled"], one)
        members = ("value", "text", "base64")
        return [[{name: each[name] for name in members if name in each} for each in every] for every in found]

    tombstone = {"value": None}
    as_auto = [{"value": 1.1}, {"text": "plain"}, {"base64": "/w=="}, tombstone]
    assert await read("") == await read("auto") == [as_auto] * 4
    assert await read("text") == [[{"text": "1.10"}, {"text": "plain"}, {"base64": "/w=="}, tombstone]] * 4
    as_base64 = [{"base64": "MS4xMA=="}, {"base64": "cGxhaW4="}, {"base64": "/w=="}, tombstone]
    assert await read("base64") == [as_base64] * 4
    for refused in (
        await api.get("/v1/topics/orders/partitions/0/records", params={"as": "xml"}),
        await api.post(f"{ONE}:receive", json={"as": "xml"}),
    ):
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
async def test_read_returns_whether_more_records_follow(redis_url, prefix, isolation):
    """Markers and aborted records behind the last record are passed; they are not more records."""
    async with (
        open_broker(redis_url, prefix) as broker,
        open_broker(redis_url, prefix) as other,  # has nothing of the log in its memory
        client_of(broker) as api,
        client_of(other) as reader,
    ):
        await api.post("/v1/topics", json={"name": "orders"})
        for count, end in ((1, "commit"), (2, "abort"), (70, "abort"), (1, "commit"), (3, "abort"), (1, "")):
            txn = (await api.post("/v1/transactions", json={})).json()["id"]
            for _ in range(count):
                written = {"records": [{"value": "x" * 50}], "transaction": txn}
                await api.post("/v1/topics/orders/records", json=written)
            if end:
                await api.post(f"/v1/transactions/{txn}:{end}", json={})
        expected = [0, 76] if isolation == "read_committed" else [0, 2, 3, *range(5, 75), 76, 78, 79, 80, 82]
        for page in ({"max_bytes": 1}, {"max_records": 1}, {"max_bytes": 400}, {}):
            for client in (api, reader):
                read, pages, at, more = list[int](), 0, 0, True
                while more:
                    query = {"offset": at, "isolation": isolation, **page}
                    where = "/v1/topics/orders/partitions/0/records"
                    found = (await client.get(where, params=query)).json()
                    raw = await client.get(where, params=query, headers={"accept": BATCH})
                    assert [record["offset"] for record in found["records"]], (page, found)
                    read += [record["offset"] for record in found["records"]]
                    at, more, pages = found["next_offset"], found["more"], pages + 1
                    end = found["stable_offset" if isolation == "read_committed" else "end_offset"]
                    assert more == (at < end) == (read != expected), (page, found)
                    if "max_records" not in page:
                        assert int(raw.headers["redis-ledger-next-offset"]) == at
                assert read == expected


async def test_a_read_that_ends_in_front_of_a_batch_costs_no_round_trip_more(redis_url, prefix):
    """A small read in the middle of a log needs its log entries and its payload once each."""
    async with (
        open_broker(redis_url, prefix) as broker,
        open_broker(redis_url, prefix) as other,  # has nothing of the log in its memory
        client_of(other) as reader,
    ):
        await broker.topics.create("orders")
        for _ in range(20):
            await broker.records.produce("orders", [NewRecord(None, b"x" * 50)])

        async def reads() -> int:
            info = (await broker.store.command("INFO", "commandstats")).decode()
            return int(next(re.finditer(r"cmdstat_xrange:calls=(\d+)", info), [0, 0])[1])

        before = await reads()
        found = await reader.get("/v1/topics/orders/partitions/0/records", params={"offset": 3, "max_bytes": 1})
        assert (found.json()["next_offset"], found.json()["more"]) == (4, True)
        assert await reads() - before == 2
        await reader.get("/v1/topics/orders/partitions/0/records", params={"offset": 0})  # the whole is in memory now
        before = await reads()
        found = await reader.get("/v1/topics/orders/partitions/0/records", params={"offset": 7, "max_bytes": 1})
        assert (found.json()["next_offset"], found.json()["more"]) == (8, True)
        assert await reads() == before


async def test_leased_counts_what_consumers_have_now(api):
    """AK-04: what a nack or an abort gave back is delivered again; until then no consumer has it."""
    await api.post("/v1/topics/orders/records", json={"records": [{"value": n} for n in range(5)]})

    async def counts():
        found = (await api.get(ONE)).json()
        return found["leased"], found["cursors"][0]["leased"], found["pending"], found["backlog"]

    await api.post(f"{ONE}:receive", json={"consumer": "c"})
    assert await counts() == (5, 5, 0, 5)
    txn = (await api.post("/v1/transactions", json={})).json()["id"]
    await api.post(f"{ONE}:ack", json={"consumer": "c", "ids": ["0:0", "0:1"], "transaction": txn})
    assert await counts() == (3, 3, 2, 5)
    await api.post(f"/v1/transactions/{txn}:abort", json={})
    assert await counts() == (3, 3, 0, 5)
    await api.post(f"{ONE}:nack", json={"consumer": "c", "all": True})
    assert await counts() == (0, 0, 0, 5)


async def test_the_buckets_of_scheduled_records_include_the_open_one(api):
    await api.post("/v1/topics/orders/scheduled", json={"value": 1, "deliver_after": "PT1H"})
    stats = (await api.get("/v1/topics/orders/scheduled:stats")).json()
    assert (stats["total"]["buckets"], stats["partitions"][0]["buckets"]) == (1, 1)
    schemas = (await api.get("/openapi.json")).json()["components"]["schemas"]
    assert "the open one of each partition" in schemas["Delays"]["properties"]["buckets"]["description"]
