"""`redis-ledger import`: converts a stream to a topic, each entry once; its groups continue at their position."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
import redis

from redis_ledger import Client
from tests.support import cli
from tests.support.threaded_broker import threaded_broker


@pytest.fixture
def url(redis_url, prefix):
    with threaded_broker(redis_url, prefix) as found:
        yield found.urls[0]


@pytest.fixture
def client(url):
    with Client(url) as found:
        yield found


@pytest.fixture
def stream(redis_url, prefix):
    """The old Redis and the stream's key."""
    with redis.Redis.from_url(redis_url) as old:
        yield old, f"{prefix}old:orders"


def words_of(url, redis_url, key, topic, *more):
    return "import", key, topic, "--redis", redis_url, "--url", url, *more


def run(*words, code=0):
    ended = cli.run(*words)
    assert ended.code == code, ended.err
    return ended


def fill(stream, first, count):
    old, key = stream
    with old.pipeline() as pipe:
        for number in range(first, first + count):
            fields = {"order": number, "customer": f"c{number % 7}"}
            pipe.xadd(key, fields, id=f"{1_000 + number // 10}-{number % 10 + 1}")
        pipe.execute()


def read(client, topic):
    parts = range(client.topics.describe(topic).partitions)
    return [message for part in parts for message in client.read(topic, part, 0)]


def test_entries_become_records_with_their_time_and_id(url, client, stream, redis_url):
    fill(stream, 0, 3)
    said = run(*words_of(url, redis_url, stream[1], "orders", "--key-field", "customer"))
    assert said.out.startswith("imported 3 entries")
    first = read(client, "orders")[0]
    assert first.json() == {"order": "0", "customer": "c0"}
    assert (first.key, first.timestamp_ms, first.headers["redis-stream-id"]) == (b"c0", 1_000, b"1000-1")


def test_one_field_is_taken_as_it_is(url, client, stream, redis_url):
    old, key = stream
    old.xadd(key, {"body": b"\x00\xff"})
    run(*words_of(url, redis_url, key, "orders", "--value-field", "body"))
    assert [each.value for each in read(client, "orders")] == [b"\x00\xff"]


def test_a_repeated_import_adds_what_is_new(url, client, stream, redis_url):
    client.topics.create("orders", 3)
    fill(stream, 0, 25)
    words = words_of(url, redis_url, stream[1], "orders", "--key-field", "customer")
    assert run(*words).out.startswith("imported 25")
    assert run(*words).out.startswith("imported 0")
    with client.producer("orders") as producer:
        for _ in range(200):  # another producer writes more than the first look-back covers
            producer.send({"other": True}, partition=0)
    fill(stream, 25, 5)
    assert run(*words).out.startswith("imported 5")
    orders = sorted(int(each.json()["order"]) for each in read(client, "orders") if "order" in each.json())
    assert orders == list(range(30))


def test_the_order_of_the_stream_holds_for_each_key(url, client, stream, redis_url):
    client.topics.create("orders", 3)
    fill(stream, 0, 100)
    run(*words_of(url, redis_url, stream[1], "orders", "--key-field", "customer"))
    by_key: dict[bytes, list[int]] = {}
    for each in read(client, "orders"):
        by_key.setdefault(each.key, []).append(int(each.json()["order"]))
    assert len(by_key) == 7
    assert all(numbers == sorted(numbers) for numbers in by_key.values())


def test_it_shows_the_token_of_the_file_that_is_named(stream, redis_url, prefix, tmp_path):
    first = tmp_path / "token"
    first.write_text("0123456789abcdef0123456789abcdef\n")
    fill(stream, 0, 1)
    with threaded_broker(redis_url, f"{prefix}own", auth_required=True, bootstrap_token_file=str(first)) as found:
        words = words_of(found.urls[0], redis_url, stream[1], "orders")
        assert "Authentication is required" in run(*words, code=1).err
        assert run(*words, "--token-file", str(first)).out.startswith("imported 1 entry of")


@pytest.mark.full
def test_an_import_that_is_killed_continues(url, client, stream, redis_url):
    fill(stream, 0, 20_000)
    words = words_of(url, redis_url, stream[1], "orders")
    command = [sys.executable, "-m", "redis_ledger.app.cli.main", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = {each.name: each for each in client.topics.list()}
        if "orders" in found and client.topics.describe("orders").partition_states[0].end_offset:
            break
        time.sleep(0.005)  # the process has no other way to tell
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = client.topics.describe("orders").partition_states[0].stable_offset
    assert 0 < before < 20_000, "it was killed too late to tell"
    run(*words)
    assert [int(each.json()["order"]) for each in read(client, "orders")] == list(range(20_000))


def test_a_group_continues_behind_what_it_has_acknowledged(url, client, stream, redis_url):
    old, key = stream
    fill(stream, 0, 20)
    for name in ("done", "pending", "fresh"):
        old.xgroup_create(key, name, id="0")
    for name in ("done", "pending"):
        [[_, entries]] = old.xreadgroup(name, "c", {key: ">"}, count=12)
        acknowledged = [id for id, _ in entries if name == "done" or id != b"1000-6"]
        old.xack(key, name, *acknowledged)
    run(*words_of(url, redis_url, key, "orders"))
    expected = {"done": list(range(12, 20)), "pending": list(range(5, 20)), "fresh": list(range(20))}
    for name, orders in expected.items():
        with client.consumer("orders", name) as consumer:
            got: list[int] = []
            while len(got) < len(orders):
                got += [int(each.json()["order"]) for each in consumer.receive(100, wait_ms=5_000)]
        assert got == orders, name


def test_a_subscription_that_got_on_is_not_moved_back_by_another_import(url, client, stream, redis_url):
    old, key = stream
    fill(stream, 0, 20)
    for name in ("moved", "stayed"):
        old.xgroup_create(key, name, id="0")
        [[_, entries]] = old.xreadgroup(name, "c", {key: ">"}, count=5)
        old.xack(key, name, *[id for id, _ in entries])
    words = words_of(url, redis_url, key, "orders")
    run(*words)
    with client.consumer("orders", "moved", prefetch=0) as consumer:
        messages = consumer.receive(10)
        assert [int(each.json()["order"]) for each in messages] == list(range(5, 15))
        consumer.ack(messages)
    [[_, entries]] = old.xreadgroup("stayed", "c", {key: ">"}, count=7)
    old.xack(key, "stayed", *[id for id, _ in entries])
    fill(stream, 20, 3)
    run(*words)
    for name, first in (("moved", 15), ("stayed", 12)):
        with client.consumer("orders", name, prefetch=0) as consumer:
            assert [int(each.json()["order"]) for each in consumer.receive(100)] == list(range(first, 23)), name


def test_several_streams_go_into_one_topic_and_none_is_moved_over(url, client, stream, redis_url):
    old, key = stream
    fill(stream, 0, 10)
    for number in range(5):
        old.xadd(f"{key}:older", {"order": 100 + number}, id=f"{number + 1}-0")
    for each in (key, f"{key}:older"):
        old.xgroup_create(each, "workers", id="0")
        [[_, entries]] = old.xreadgroup("workers", "c", {each: ">"}, count=2)
        old.xack(each, "workers", *[id for id, _ in entries])
        assert run(*words_of(url, redis_url, each, "orders")).out.startswith("imported " + ("10", "5")[each != key])
    with client.consumer("orders", "workers", prefetch=0) as consumer:
        got = [int(each.json()["order"]) for each in consumer.receive(100)]
    assert got == [*range(2, 10), *range(100, 105)], "what one stream's group had not got stands before the other's"


def test_entries_are_large(url, client, stream, redis_url):
    old, key = stream
    for number in range(40):
        old.xadd(key, {"body": b"%d" % number + bytes(500_000)})
    run(*words_of(url, redis_url, key, "orders", "--value-field", "body"))
    assert [int(each.value.rstrip(b"\0")) for each in read(client, "orders")] == list(range(40))


@pytest.mark.parametrize(
    ("more", "said"),
    [(["--value-field", "nothing"], "no field 'nothing'"), (["--key-field", "nothing"], "no field 'nothing'")],
)
def test_a_missing_field_is_reported_before_any_write(url, client, stream, redis_url, more, said):
    fill(stream, 0, 3)
    assert said in run(*words_of(url, redis_url, stream[1], "orders", *more), code=2).err
    assert client.topics.list() == []


def test_a_missing_stream_is_reported(url, redis_url, prefix):
    assert "is not a stream in that Redis" in run(*words_of(url, redis_url, f"{prefix}none", "orders"), code=2).err


def test_headers_of_other_producers_and_groups_of_any_name_do_not_end_it(url, client, stream, redis_url):
    old, key = stream
    client.topics.create("orders", 1)
    with client.producer("orders") as producer:
        for forged in ({"redis-stream": key, "redis-stream-id": b"\xff"}, {"redis-stream-id": "999999-0"}):
            producer.send(b"x", headers=forged)
    fill(stream, 0, 40)
    old.xgroup_create(key, b"\xff", id="0")
    assert run(*words_of(url, redis_url, key, "orders")).out.startswith("imported 40 entries")
    assert [each.name for each in client.subscriptions.list("orders")] == ["ÿ"]
