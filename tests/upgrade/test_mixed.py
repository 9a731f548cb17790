"""Restrictions while brokers of the previous release and of this one serve together, as in docs/howto/operate.md."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from redis_ledger import Client, errors
from tests.support.free_ports import free_port
from tests.support.processes import Release, Serve
from tests.support.redis_servers import Server, redis_server

TOKEN = "t" * 40
SEEN_S_MAX = 10.0


@pytest.fixture
def redis() -> Iterator[Server]:
    with redis_server() as server:
        yield server


@pytest.fixture
def start(redis: Server, tmp_path: Path) -> Iterator[Callable[..., Serve]]:
    """start(old) is a broker of the release before, start() one of this; settings are --set."""
    (tmp_path / "token").write_text(TOKEN)
    running: list[Serve] = []

    def one(release: Release = Release(), *settings: str) -> Serve:  # noqa: B008 - a tuple
        words = [
            "--redis",
            redis.url,
            "--durability",
            "lossy",
            *(word for each in settings for word in ("--set", each)),
        ]
        environ = {"REDIS_LEDGER_BOOTSTRAP_TOKEN_FILE": str(tmp_path / "token")}
        running.append(Serve(*words, http=f"127.0.0.1:{free_port()}", environ=environ, release=release))
        return running[-1]

    yield one
    for each in running:
        each.clean_up()


def ask(broker: Serve, path: str, body: Any = None, *, token: str = "", **headers: str) -> httpx.Response:
    shown = {"authorization": f"Bearer {token}"} if token else {}
    method = "GET" if body is None else "POST"
    return httpx.request(method, f"{broker.urls[0]}{path}", json=body, headers=shown | headers, trust_env=False)


def values(broker: Serve, topic: str) -> list[Any]:
    found = ask(broker, f"/v1/topics/{topic}/partitions/0/records?offset=0").json()
    return [record["value"] for record in found["records"]]


def receive(broker: Serve) -> list[Any]:
    """Values, given back at once."""
    body = {"consumer": "c", "ack_timeout_ms": 60_000}
    messages = ask(broker, "/v1/topics/t/subscriptions/s:receive", body).json()["messages"]
    if messages:
        ids = [message["id"] for message in messages]
        assert ask(broker, "/v1/topics/t/subscriptions/s:nack", {"consumer": "c", "ids": ids}).status_code == 200
    return [message["value"] for message in messages]


def test_broker_without_authentication_is_reported_by_others(start, old):
    closed, open_ = start(Release(), "auth_required=true"), start(old)
    # Given a broker that requires authentication
    assert ask(closed, "/v1/topics", {"name": "secrets"}, token=TOKEN).status_code == 201
    assert ask(closed, "/v1/topics/secrets").status_code == 401
    # Then the other broker accepts every client
    assert ask(open_, "/v1/topics/secrets/records", {"records": [{"value": "forged"}]}).status_code == 200
    assert values(open_, "secrets") == ["forged"]
    # And the one that asks counts it
    until = time.monotonic() + SEEN_S_MAX
    while "redis_ledger_brokers_open 1.0" not in ask(closed, "/metrics", token=TOKEN).text:
        assert time.monotonic() < until, "no warning about the broker without authentication"
        time.sleep(0.1)  # heartbeats come once a second


def test_idempotency_keys_are_scoped_to_the_principal_with_authentication(start, old):
    closed, open_ = start(Release(), "auth_required=true"), start(old)
    assert ask(open_, "/v1/topics", {"name": "t"}).status_code == 201
    body = {"records": [{"value": 1}]}
    for broker, token in ((open_, ""), (open_, ""), (closed, TOKEN), (closed, TOKEN)):
        answer = ask(broker, "/v1/topics/t/records", body, token=token, **{"idempotency-key": "k"})
        assert answer.status_code == 200
    # A request that is repeated at the same kind of broker is done once, and at the other kind again
    assert values(open_, "t") == [1, 1]


def test_dead_letter_rule_applies_to_new_brokers_and_ends_with_its_topic(start, old):
    new, before = start(), start(old)
    for name in ("t", "dead"):
        assert ask(new, "/v1/topics", {"name": name}).status_code == 201
    assert ask(new, "/v1/topics/t/subscriptions", {"name": "s"}).status_code == 201
    rule = {"max_deliveries": 1, "topic": "dead"}
    assert ask(new, "/v1/topics/t/subscriptions/s:deadLetters", rule).status_code == 200
    assert ask(new, "/v1/topics/t/records", {"records": [{"value": "bad"}]}).status_code == 200
    # The release before delivers as often as it is asked
    assert [receive(before) for _ in range(3)] == [["bad"]] * 3
    # This one moves what was delivered too often
    assert receive(new) == []
    assert values(new, "dead") == ["bad"]
    # When the release before deletes the topic, which knows no rules, and it is made again
    assert httpx.delete(f"{before.urls[0]}/v1/topics/t").status_code < 300
    assert ask(new, "/v1/topics", {"name": "t"}).status_code == 201
    assert ask(new, "/v1/topics/t/subscriptions", {"name": "s"}).status_code == 201
    assert ask(new, "/v1/topics/t/records", {"records": [{"value": "good"}]}).status_code == 200
    # Then the rule is not that topic's
    assert [receive(new) for _ in range(3)] == [["good"]] * 3


def test_later_storage_format_is_rejected_by_this_release_only(redis, start, old):
    assert start().ready
    assert redis.ask("HGET", "rl:{catalog}:state", "format") == b"2"
    assert start(old).ready
    redis.ask("HSET", "rl:{catalog}:state", "format", 3)
    code, said = start().end()
    assert code == 2
    assert "has format 3, and this redis-ledger reads 1 to 2" in said
    assert start(old).ready


def test_upgraded_data_keeps_its_storage_format_so_that_the_way_back_is_open(redis, start, old):
    assert start(old).ready
    assert start().ready
    assert redis.ask("HGET", "rl:{catalog}:state", "format") == b"1"


@pytest.mark.parametrize("kind", ["shared", "exclusive"])
def test_sdk_consumer_receives_from_previous_release(start, old, kind):
    before = start(old)
    with Client(before.urls, timeout_ms=10_000) as client:
        client.topics.create("t", 2)
        with client.producer("t") as producer:
            for number in range(20):
                producer.send(str(number), partition=number % 2)
        with client.consumer("t", "s", kind=kind, prefetch=5) as consumer:
            found: list[str] = []
            while len(found) < 20:
                messages = consumer.receive(3, wait_ms=2_000)
                assert messages, found
                found += [message.text() for message in messages]
                consumer.ack(messages)
        assert sorted(found, key=int) == [str(number) for number in range(20)]


def test_sdk_calls_work_with_previous_release_or_fail_clearly(start, old):
    before = start(old)
    with Client(before.urls, timeout_ms=10_000) as client:
        topic = client.topics.create("t", 2, {"retention_ms": 60_000})
        client.topics.grow("t", 3)
        assert len(client.topics.describe("t").partition_states) == 3
        client.subscriptions.create("t", "s")
        with client.producer("t") as producer:
            producer.send("now", partition=0).result()
            producer.send("later", partition=0, deliver_after=60_000).result()
            producer.send("once", partition=0, idempotency_key="k").result()
        [waiting] = client.scheduled.list("t")
        assert client.scheduled.get("t", waiting.id).text() == "later"
        client.scheduled.reschedule("t", waiting.id, deliver_after=120_000)
        assert client.scheduled.stats("t").total.records == 1
        assert client.scheduled.rebuild("t") == 1
        assert sum(each.records for each in client.scheduled.histogram("t")) == 1
        assert [each.outcome for each in client.scheduled.cancel_many("t", [waiting.id])] == ["cancelled"]
        assert [m.text() for m in client.read("t", 0, wait_ms=10)] == ["now", "once"]
        with client.consumer("t", "s") as consumer, client.transaction() as txn:
            messages = consumer.receive(10)
            txn.ack(consumer, messages)
            txn.send("t", "out", partition=1)
        client.subscriptions.seek("t", "s", "earliest")
        client.subscriptions.note_offsets("t", "noted", {0: 1})
        assert {each.name for each in client.subscriptions.list("t")} == {"s", "noted"}
        ids = [client.transactions.begin(together="job").id for _ in range(2)]
        assert client.transactions.commit_all(ids, once=("job", 1)).status == "committed"
        # Of history in Parquet: what there is, under the name of the topic; there is no home to plan for
        assert client.offload.describe("t").topic_id == topic.id
        assert client.offload.forget("t", 0) == []
        with pytest.raises(errors.OffloadDisabled):
            client.offload.plan("t", 0)
        # A guard that it does not know is not left out
        with pytest.raises(errors.InvalidRequest, match="topic_id"):
            client.offload.plan("t", 0, topic_id=topic.id)
