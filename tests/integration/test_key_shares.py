"""How the consumers of a key_shared subscription share its keys, through every door (docs/decisions/0046)."""

from __future__ import annotations

import json
import time

import httpx
import pytest

from redis_ledger import AsyncClient, Client, errors
from redis_ledger.app.http.application import create_app
from redis_ledger.broker.types import NewRecord
from redis_ledger.client.subscription_models import KeyShare
from redis_ledger.cursor import key_shares
from redis_ledger.store.keys import PartitionKeys
from tests.support.broker import one
from tests.support.cli import run
from tests.support.rest import client_of
from tests.support.threaded_broker import threaded_broker

SUBSCRIPTION = "/v1/topics/t/subscriptions/s"
NAMES = [f"k{n}" for n in range(12)]


@pytest.fixture
def broker(redis_url, prefix):
    with threaded_broker(redis_url, prefix) as broker:
        yield broker


@pytest.fixture
def client(broker):
    with Client(broker.urls) as client:
        yield client


@pytest.fixture
def rest(broker):
    with httpx.Client(base_url=broker.urls[0]) as http:

        def call(method, consumer, **body):
            answer = http.post(f"{SUBSCRIPTION}:{method}", json={"consumer": consumer, **body})
            assert answer.status_code == 200, answer.text
            return answer.json()

        call.stats = lambda: http.get(SUBSCRIPTION).json()  # type: ignore[attr-defined]
        yield call


def described(broker):
    """What the command prints of the consumers: by name, without the time."""
    ended = run("subscriptions", "describe", "t", "s", REDIS_LEDGER_URL=broker.urls[0])
    assert (ended.code, ended.err) == (0, ""), ended
    head, *rows = ended.out.split("\n\n")[1].splitlines()
    assert head.split() == ["consumer", "slots", "unacknowledged", "waiting", "returned", "session", "ends"]
    return {row.split()[0]: [int(each) for each in row.split()[1:5]] for row in rows}


def test_slots_and_waiting_records_are_shown_by_consumer(broker, client, rest):
    client.topics.create("t", 2)
    client.subscriptions.create("t", "s", "key_shared")
    assert client.subscriptions.stats("t", "s").consumers == []
    for name in ("a", "b"):
        rest("receive", name)
    # Given two consumers, and records of which a has got its own
    with client.producer("t") as producer:
        for key in NAMES:
            producer.send(key, key=key).result()
    a = rest("receive", "a")["messages"]
    found = rest.stats()
    ends = {each["consumer"]: each.pop("session_ends_ms") for each in found["consumers"]}
    waiting = len(NAMES) - len(a)
    assert waiting
    assert found["waiting"] == sum(each["waiting"] for each in found["cursors"]) == waiting
    assert found["consumers"] == [
        {"consumer": "a", "slots": 256, "unacknowledged": len(a), "waiting": 0, "returned": 0},
        {"consumer": "b", "slots": 256, "unacknowledged": 0, "waiting": waiting, "returned": 0},
    ]
    assert all(0 < each - time.time() * 1000 <= 30_000 for each in ends.values())
    assert described(broker) == {"a": [256, len(a), 0, 0], "b": [256, 0, waiting, 0]}
    # When b receives, and returns a record
    b = rest("receive", "b")["messages"]
    rest("nack", "b", ids=[b[0]["id"]], delay_ms=0)
    now = client.subscriptions.stats("t", "s")
    assert now.waiting == 1
    assert now.consumers[1] == KeyShare("b", 256, waiting - 1, 1, 1, now.consumers[1].session_ends_ms)
    # Then it waits no more as soon as b has got it again
    assert [each["id"] for each in rest("receive", "b")["messages"]] == [b[0]["id"]]
    now = client.subscriptions.stats("t", "s")
    assert (now.waiting, now.consumers[1].waiting, now.consumers[1].returned) == (0, 0, 0)
    # When b is closed, its records wait in its slots, which the next receive of a takes
    assert rest("closeConsumer", "b") == {"redelivering": waiting}
    assert described(broker)["b"] == [256, 0, waiting, waiting]
    assert len(rest("receive", "a")["messages"]) == waiting
    assert described(broker) == {"a": [512, len(NAMES), 0, 0]}
    [shown] = client.subscriptions.stats("t", "s").consumers
    assert (shown.consumer, shown.slots, shown.unacknowledged) == ("a", 512, len(NAMES))


def test_what_waits_on_a_shared_subscription_is_what_was_returned(broker, client, rest):
    client.topics.create("t", 1)
    client.subscriptions.create("t", "s")
    with client.producer("t") as producer:
        for key in NAMES:
            producer.send(key).result()
    got = rest("receive", "a", max_records=4)["messages"]
    rest("nack", "a", ids=[each["id"] for each in got[:3]], delay_ms=60_000)
    found = rest.stats()
    assert (found["waiting"], found["leased"], found["backlog"]) == (3, 1, len(NAMES))
    assert "consumers" not in found
    ended = run("subscriptions", "describe", "t", "s", "--json", REDIS_LEDGER_URL=broker.urls[0])
    assert json.loads(ended.out)["cursors"][0]["waiting"] == 3


async def test_several_calls_return_what_one_does(redis_url, prefix, monkeypatch):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", 2)
        await broker.subscriptions.create("t", "s", "key_shared")
        for name in ("a", "b"):
            await broker.subscriptions.receive("t", "s", name)
        await broker.records.produce("t", [NewRecord(name.encode(), b"v") for name in NAMES])
        got = await broker.subscriptions.receive("t", "s", "a")
        await broker.subscriptions.nack("t", "s", "a", [got[0].id], delay_ms=60_000)
        whole = await broker.subscriptions.key_shares("t", "s")
        assert [each.waiting for each in whole] == [1, len(NAMES) - len(got)]
        monkeypatch.setattr(key_shares, "GRANTS", 9)
        assert await broker.subscriptions.key_shares("t", "s") == whole


async def test_a_damaged_queue_is_named_and_positions_are_still_read(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t", 1)
        await broker.subscriptions.create("t", "s", "key_shared")
        await broker.subscriptions.receive("t", "s", "c")
        await broker.records.produce("t", [NewRecord(b"k", b"v")])
        assert await broker.subscriptions.receive("t", "s", "c")
        keys = PartitionKeys(prefix, "t", 0)
        leases = keys.sub("s").leases
        fields = await broker.store.command("HKEYS", leases, key=keys.state)
        (field,) = [each for each in fields if each[:1] == b"s"]
        await broker.store.command("HSET", leases, field, b"\xff", key=keys.state)
        slot = f"hash slot {int(field[1:])} "
        async with client_of(broker) as http:
            answer = await http.get(SUBSCRIPTION)
            assert (answer.status_code, answer.json()["code"]) == (500, "stored_damaged"), answer.text
            assert slot in answer.json()["detail"]
            assert (await http.get("/v1/topics/t/lag/s")).json()["lag"] == 1
            calls = {
                "receive": {"consumer": "c"},
                "ack": {"consumer": "c", "ids": ["0:0"]},
                "nack": {"consumer": "c", "ids": ["0:0"]},
            }
            for name, body in calls.items():
                answer = await http.post(f"{SUBSCRIPTION}:{name}", json=body)
                assert (answer.status_code, answer.json()["code"]) == (500, "stored_damaged"), answer.text
                assert slot in answer.json()["detail"]
                assert "redis-ledger fsck" in answer.json()["detail"]
        transport = httpx.ASGITransport(app=create_app(broker))
        async with AsyncClient("http://broker", http=transport) as client:
            with pytest.raises(errors.StoredDamaged, match=slot):
                await client.subscriptions.stats("t", "s")
