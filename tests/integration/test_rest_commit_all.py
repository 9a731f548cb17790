"""Transactions that are committed together, over HTTP and by the SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from redis_ledger import AsyncClient, errors
from tests.support.rest import rest
from tests.support.threaded_broker import LosesFirstAnswers, ThreadedBroker

NAME = "spark:a/query {1}"


@pytest.fixture
async def api(redis_url: str, prefix: str) -> AsyncIterator[httpx.AsyncClient]:
    async with rest(redis_url, prefix, coordinators=4) as client:
        await client.post("/v1/topics", json={"name": "out"})
        yield client


async def begun(api: httpx.AsyncClient, value: str, together: str = NAME) -> str:
    txn: str = (await api.post("/v1/transactions", json={"together": together, "owner": f"task {value}"})).json()["id"]
    answer = await api.post("/v1/topics/out/records", json={"records": [{"value": value}], "transaction": txn})
    assert answer.status_code == 200, answer.text
    return txn


async def commit_all(api: httpx.AsyncClient, *txns: str, **more: Any) -> tuple[int, Any]:
    answer = await api.post("/v1/transactions:commitAll", json={"transactions": txns, **more})
    return answer.status_code, answer.json()


async def test_a_step_is_committed_once_and_its_number_returned(api):
    # Given two workers' transactions, and a name that has to be quoted
    txns = [await begun(api, value) for value in "ab"]
    shown = (await api.get("/v1/transactions", params={"owner": "task "})).json()["transactions"]
    assert [(each["id"], each["owner"]) for each in shown] == [(txns[0], "task a"), (txns[1], "task b")]
    asked = "/v1/transactions:once"
    assert (await api.get(asked, params={"name": NAME})).json() == {"name": NAME, "number": None}
    # When both are committed, again, and by another worker that did the same step
    once = {"name": NAME, "number": 0}
    assert await commit_all(api, *txns, once=once) == (200, {"status": "committed", "number": 0})
    assert await commit_all(api, *txns, once=once) == (200, {"status": "committed", "number": 0})
    late = await begun(api, "a")
    assert await commit_all(api, late, once=once) == (200, {"status": "already", "number": 0})
    # Then the number is there
    assert (await api.get(asked, params={"name": NAME})).json() == {"name": NAME, "number": 0}
    assert (await api.get(f"/v1/transactions/{late}")).json()["status"] == "open"


async def test_a_refusal_names_the_transaction_and_nothing_is_committed(api):
    txns = [await begun(api, value) for value in "abc"]
    await api.post(f"/v1/transactions/{txns[1]}:abort")
    status, problem = await commit_all(api, *txns, once={"name": NAME, "number": 1})
    assert (status, problem["code"], problem["transaction"]) == (409, "already_aborted", txns[1])
    assert (await api.get(f"/v1/transactions/{txns[0]}")).json()["status"] == "open"
    assert await commit_all(api, txns[0], txns[2], wait="logged") == (200, {"status": "committing"})


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "invalid_request"),
        ({"transactions": []}, 400, "invalid_request"),
        ({"transactions": ["x"]}, 404, "transaction_not_found"),
        ({"transactions": ["0-1", "1-1"]}, 400, "invalid_request"),
        ({"transactions": ["77-1"]}, 404, "coordinator_not_found"),
        ({"transactions": ["0-1"] * 10_001}, 400, "invalid_request"),
        ({"once": {"name": "", "number": 1}}, 400, "invalid_request"),
        ({"once": {"name": "n", "number": -1}}, 400, "invalid_request"),
        ({"once": {"name": "n", "number": 2**53 + 1}}, 400, "invalid_request"),
        ({"once": {"name": "n"}}, 400, "invalid_request"),
        ({"transactions": ["0-1"], "wait": "never"}, 400, "invalid_request"),
    ],
)
async def test_invalid_commit_all_bodies_are_refused(api, body, status, code):
    answer = await api.post("/v1/transactions:commitAll", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


async def test_offsets_noted_in_a_transaction_count_when_it_commits(api):
    place = "/v1/topics/out/subscriptions/etl%2F1"
    txns = [await begun(api, "a"), await begun(api, "b")]
    body = {"offsets": {"0": 2}, "transaction": txns[0]}
    noted = await api.post(f"{place}:noteOffsets", json=body)
    assert (noted.status_code, noted.json()["kind"], noted.json()["pending"]) == (200, "kafka", 1)
    assert (await api.get(place)).json()["cursors"][0]["mark_delete"] == -1
    await commit_all(api, *txns, once={"name": NAME, "number": 1})
    (cursor,) = (await api.get(place)).json()["cursors"]
    assert (cursor["mark_delete"], cursor["pending"]) == (2, 0)
    # And what an aborted one noted does not count
    late = await begun(api, "a")
    await api.post(f"{place}:noteOffsets", json={"offsets": {"0": 9}, "transaction": late})
    await api.post(f"/v1/transactions/{late}:abort")
    assert (await api.get(place)).json()["cursors"][0]["mark_delete"] == 2
    await api.post(f"{place}:noteOffsets", json={"offsets": {"0": 0}})
    assert (await api.get(place)).json()["cursors"][0]["mark_delete"] == 0


@pytest.mark.parametrize(
    ("name", "offsets", "status", "code"),
    [
        ("work", {"0": 1}, 409, "wrong_subscription_kind"),
        ("etl", {"5": 1}, 404, "unknown_partition"),
        ("etl", {}, 400, "invalid_request"),
        ("etl", {"0": -1}, 400, "invalid_request"),
    ],
)
async def test_offsets_that_cannot_be_noted_are_refused(api, name, offsets, status, code):
    await api.post("/v1/topics/out/subscriptions", json={"name": "work"})
    answer = await api.post(f"/v1/topics/out/subscriptions/{name}:noteOffsets", json={"offsets": offsets})
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


async def test_the_sdk_commits_a_step_once_although_every_answer_is_lost_once(brokers: ThreadedBroker):
    async def written(client: AsyncClient) -> list[str]:
        txns = []
        for n in range(3):
            txns.append((await client.transactions.begin(together="job", owner="worker")).id)
            await (await client.resume_transaction(txns[-1]).send("out", f"{n}")).result()
        return txns

    losing = LosesFirstAnswers()
    async with AsyncClient(brokers.urls, http=losing) as client, AsyncClient(brokers.urls) as worker:
        await client.topics.create("out")
        done = await client.transactions.commit_all(await written(worker), once=("job", 7))
        assert (done.status, done.number) == ("committed", 7)
        late = await written(worker)
        done = await client.transactions.commit_all(late, once=("job", 7))
        assert (done.status, done.number) == ("already", 7)
        for left in await client.transactions.list("open", owner="worker"):
            await client.transactions.abort(left.id)
        assert [message.value async for message in client.read("out")] == [b"0", b"1", b"2"]
        assert await client.transactions.once("job") == 7
        assert await client.transactions.once("other") is None
        with pytest.raises(errors.AlreadyAborted):
            await client.transactions.commit_all(late, once=("job", 8))
    assert "POST /v1/transactions:commitAll" in losing.lost
