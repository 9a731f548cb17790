"""Offload over HTTP: bodies of requests and responses, errors, and lost responses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from redis_ledger import AsyncClient, Client
from redis_ledger.app.http.application import create_app
from redis_ledger.offload.manifest import Stretch, folder, segment_file_name
from tests.support.offload_topic import TOPIC, OffloadTopic, offload_topic
from tests.support.rest import client_of
from tests.support.threaded_broker import LosesFirstAnswers, threaded_broker

ONE = f"/v1/topics/{TOPIC}/partitions/0/cold"
SEGMENT = {
    "first": 0, "end": 2, "file": "", "records": 0, "bytes": 0, "min_ms": -1, "max_ms": -1, "checksum": "00" * 8,
}  # fmt: skip
SWAP = {"topic_id": "the present one", "remove": [0], "add": [SEGMENT]}


@pytest.fixture
async def world(redis_url: str, prefix: str, tmp_path: Path) -> AsyncIterator[OffloadTopic]:
    async with offload_topic(redis_url, prefix, tmp_path / "history") as world:
        yield world


@pytest.fixture
async def api(world: OffloadTopic) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(world.broker, create_app(world.broker)) as client:
        yield client


async def ask(api: httpx.AsyncClient, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    answer = await api.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_a_plan_is_asked_for_published_and_shown(world, api):
    # Given a transaction that was aborted: history without a record, and so without a file
    txn = (await world.broker.transactions.begin(60_000)).id
    await api.post(f"/v1/topics/{TOPIC}/records", json={"records": [{"value": 1}], "transaction": str(txn)})
    await world.broker.transactions.abort(txn)
    # When a plan is asked for with an empty body, there is none; with the active ledger there is one
    assert await ask(api, "POST", f"{ONE}:plan") == {"plan": None}
    plan = (await ask(api, "POST", f"{ONE}:plan", {"seal": True}))["plan"]
    [stretch] = plan["stretches"]
    assert (stretch["first"], stretch["end"]) == (0, 2)
    assert stretch["file"].endswith(f"-{plan['id']}.parquet")
    shown = await ask(api, "GET", f"/v1/topics/{TOPIC}/cold")
    assert shown == {
        "topic_id": (await ask(api, "GET", f"/v1/topics/{TOPIC}"))["id"],
        "home": str(world.home),
        "partitions": [
            {
                "partition": 0, "start_offset": 0, "stable_offset": 2, "cold_offset": 0, "version": 0, "plan": plan,
                "segments": [],
            }
        ],
    }  # fmt: skip
    # Then it can be published, and the topic tells where history ends
    published = await ask(api, "POST", f"{ONE}:publish", {"plan": plan["id"], "segments": [SEGMENT]})
    assert (published["cold_offset"], published["ledgers_dropped"]) == (2, 1)
    [partition] = (await ask(api, "GET", f"/v1/topics/{TOPIC}/cold"))["partitions"]
    assert (partition["plan"], partition["segments"], partition["version"]) == (None, [SEGMENT], 1)
    [state] = (await ask(api, "GET", f"/v1/topics/{TOPIC}"))["partition_states"]
    assert (state["cold_offset"], state["start_offset"]) == (2, 0)
    assert await ask(api, "POST", f"{ONE}:forget") == {"files": []}


@pytest.mark.parametrize(
    ("call", "body", "status", "code", "detail"),
    [
        ("publish", {"plan": "x", "segments": [SEGMENT]}, 409, "unknown_plan", "there is no plan"),
        ("abandon", {"plan": "x"}, 409, "unknown_plan", "there is no plan"),
        ("swap", {"version": 1, **SWAP}, 409, "manifest_changed", "has version 0, not 1"),
        ("swap", {"version": 0, **SWAP}, 409, "segment_mismatch", "No segment begins"),
        ("swap", {"version": 0, **SWAP, "topic_id": "x"}, 404, "unknown_topic", "was deleted and created again"),
        ("swap", {"version": 0, "remove": [0], "add": [SEGMENT]}, 400, "invalid_request", "topic_id"),
        ("plan", {"topic_id": "x"}, 404, "unknown_topic", "was deleted and created again"),
        ("forget", {"topic_id": "x"}, 404, "unknown_topic", "was deleted and created again"),
        ("publish", {"plan": "x", "segments": []}, 400, "invalid_request", "segments"),
        ("publish", {"plan": "x", "segments": [{**SEGMENT, "extra": 1}]}, 400, "invalid_request", "extra"),
        ("publish", {"plan": "x", "segments": [{**SEGMENT, "first": -1}]}, 400, "invalid_request", "first"),
        ("plan", {"older_than_ms": -1}, 400, "invalid_request", "older_than_ms"),
        ("plan", {"seal": "yes"}, 400, "invalid_request", "seal"),
    ],
)
async def test_invalid_requests_are_refused_with_a_sentence(world, api, call, body, status, code, detail):
    if body.get("topic_id") == SWAP["topic_id"]:
        body = {**body, "topic_id": await world.topic_id()}
    problem = await ask(api, "POST", f"{ONE}:{call}", body, status)
    assert (problem["code"], detail in problem["detail"]) == (code, True), problem


@pytest.mark.parametrize("query", ["limit=0", "limit=10001", "limit=x", "after=x", "from=1"])
async def test_a_page_that_cannot_be_is_refused(api, query):
    assert (await ask(api, "GET", f"/v1/topics/{TOPIC}/cold?{query}", status=400))["code"] == "invalid_request"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v1/topics/none/partitions/0/cold:plan", "unknown_topic"),
        (f"/v1/topics/{TOPIC}/partitions/7/cold:plan", "unknown_partition"),
        (f"/v1/topics/{TOPIC}/partitions/x/cold:forget", "unknown_partition"),
    ],
)
async def test_a_place_that_does_not_exist_is_not_found(api, path, code):
    assert (await ask(api, "POST", path, {}, 404))["code"] == code


async def test_a_lost_answer_is_asked_for_again_and_nothing_is_done_twice(redis_url, prefix, tmp_path):
    async with offload_topic(redis_url, prefix, tmp_path) as world:
        with threaded_broker(redis_url, prefix, brokers=2, offload_home=str(tmp_path), retention_ms=-1) as brokers:
            network = LosesFirstAnswers()
            async with AsyncClient(brokers.urls, http=network) as client:
                # Given history that was planned, written and published, and every first answer lost
                await world.produce("a", "b")
                plan = await client.offload.plan(TOPIC, 0, seal=True)
                assert plan is not None
                segments = await world.written(plan)
                topic_id = await world.topic_id()
                stretch = Stretch(0, 2, segment_file_name(folder(TOPIC, topic_id, 0), 0, 2, "compacted"))
                smaller = await world.write(stretch, (await world.rows(0, 2))[1:])
                assert (await client.offload.publish(TOPIC, 0, plan, segments)).offloaded_offset == 2
                # Then each later step is answered as it was done, once
                swapped = await client.offload.swap(TOPIC, 0, 1, [0], [smaller], topic_id=topic_id)
                assert (swapped.version, swapped.files) == (2, [segments[0].file])
                await world.broker.topics.delete_records(TOPIC, 0, 2)
                assert await client.offload.forget(TOPIC, 0) == [smaller.file]
                await world.produce("c")
                plan = await client.offload.plan(TOPIC, 0, seal=True)
                assert plan is not None
                assert await client.offload.abandon(TOPIC, 0, plan) == [plan.stretches[0].file]
            assert len([url for url in network.lost if "/cold:" in url]) == 5
            assert (await world.offload_state()).version == 3


async def test_threads_have_the_same_calls(redis_url, prefix, tmp_path):
    async with offload_topic(redis_url, prefix, tmp_path) as world:
        await world.produce("a")
        with threaded_broker(redis_url, prefix, offload_home=str(tmp_path), retention_ms=-1) as brokers:
            with Client(brokers.urls) as client:
                plan = client.offload.plan(TOPIC, 0, seal=True)
                assert plan is not None
                segments = await world.written(plan)
                assert client.offload.publish(TOPIC, 0, plan.id, segments).offloaded_offset == 1
                assert client.offload.describe(TOPIC).partitions[0].segments == segments
