"""Clients that ask for much and read nothing, or send half of what they said: what memory they get, who is closed."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time

import pytest

from redis_ledger.records.build import encode
from tests.attack.harness import BATCH, Siege, besieged
from tests.support.bombs import NOW_MS
from tests.support.kafka_batches import fetch
from tests.support.kafka_codec import request
from tests.support.processes import eventually

FETCH = 1
ANSWER_BYTES = 50 << 20
TOPIC_BYTES = 56 << 20
BUDGET = 64 << 20
SPARE_MB = 130  # of what a broker takes besides the budget: payload on its way from Redis, caches, Python itself

UNREAD_S = [2, pytest.param(5, marks=pytest.mark.full)]


@pytest.fixture(scope="module")
def siege():
    with besieged(
        "--set", f"client_bytes_max={BUDGET}", "--set", "tail_cache_bytes=1048576", "--set", "http_head_ms=2000",
        "--set", "http_body_ms=2000", "--set", "kafka_frame_ms=2000",
    ) as opened:  # fmt: skip
        fill(opened, "large")
        yield opened


def fill(siege: Siege, topic: str) -> None:
    data = encode([(None, os.urandom(1 << 20), (), NOW_MS)])
    for _ in range(TOPIC_BYTES // len(data)):
        assert siege.post(f"/v1/topics/{topic}/records?partition=0", data, BATCH)[0] == 200


def fetch_frame(topic: str = "large") -> bytes:
    return b"".join(map(bytes, request(FETCH, 11, 7, "slow", fetch(topic, bytes_max=ANSWER_BYTES))))


def kafka_socket(siege: Siege) -> socket.socket:
    host, _, port = siege.broker.field("kafka").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=60)


def read_frame(client: socket.socket) -> int:
    """The size of the next answer, all of it read."""
    head = client.recv(4, socket.MSG_WAITALL)
    size: int = struct.unpack(">i", head)[0]
    left = size
    while left:
        left -= len(client.recv(min(left, 1 << 16)))
    return size


def is_closed(client: socket.socket) -> bool:
    """What came before the end is read."""
    client.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        try:
            while client.recv(1 << 20):
                pass
        except ConnectionError:
            pass
        return True
    return False


@pytest.mark.parametrize("seconds", UNREAD_S)
def test_large_fetches_that_nobody_reads_stay_within_the_budget(siege, seconds):
    before = siege.memory_mb("VmRSS")
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(kafka_socket(siege)) for _ in range(20)]
        for client in clients:
            client.sendall(fetch_frame())
        time.sleep(seconds)  # they read nothing meanwhile
        siege.check(livez_s_max=1.0)
    assert siege.memory_mb() < before + BUDGET / 1e6 + SPARE_MB


def test_large_fetches_that_are_read_are_all_answered(siege):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(kafka_socket(siege)) for _ in range(20)]
        for client in clients:
            client.sendall(fetch_frame())
        sizes = [read_frame(client) for client in clients]
    assert min(sizes) > 1 << 20, "the first batch, at least"
    assert max(sizes) > 40 << 20, "while there is room, all that was asked for"
    siege.check(livez_s_max=1.0)


def http_socket(siege: Siege) -> socket.socket:
    return socket.create_connection(("127.0.0.1", siege.port), timeout=60)


def read_request(topic: str = "large", accept: str = BATCH["content-type"]) -> bytes:
    path = f"/v1/topics/{topic}/partitions/0/records?offset=0&max_bytes={16 << 20}&isolation=read_uncommitted"
    return f"GET {path} HTTP/1.1\r\nhost: x\r\naccept: {accept}\r\n\r\n".encode()


@pytest.mark.parametrize("seconds", UNREAD_S)
def test_rest_answers_that_nobody_reads_are_within_the_same_budget(siege, seconds):
    before = siege.memory_mb("VmRSS")
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(http_socket(siege)) for _ in range(30)]
        clients += [stack.enter_context(kafka_socket(siege)) for _ in range(10)]
        for client in clients[:30]:
            client.sendall(read_request())
        for client in clients[30:]:
            client.sendall(fetch_frame())
        time.sleep(seconds)  # they read nothing meanwhile
        siege.check(livez_s_max=1.0)
    assert siege.memory_mb("VmRSS") < before + BUDGET / 1e6 + SPARE_MB


def test_a_slow_reader_is_closed_for_one_whose_batch_finds_no_memory(siege):
    batch = encode([(None, os.urandom(7 << 20), (), NOW_MS)])
    assert siege.post("/v1/topics/whole/records?partition=0", batch, BATCH)[0] == 200
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(kafka_socket(siege)) for _ in range(12)]
        for client in slow:
            client.sendall(fetch_frame())
            time.sleep(0.2)  # the kernel takes some of it, too
        quick = stack.enter_context(kafka_socket(siege))
        quick.sendall(fetch_frame("whole"))
        assert read_frame(quick) > 7 << 20
        assert any(is_closed(client) for client in slow)
    siege.check(livez_s_max=1.0)


# -- half requests -----------------------------------------------------------------------------------------------------

HALVES = 200


def test_half_kafka_requests_take_no_more_than_their_share_and_are_closed(siege):
    before = siege.memory_mb("VmRSS")
    half = struct.pack(">i", 100 << 20) + os.urandom(1 << 20)  # it says 100 MiB, and one comes
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(kafka_socket(siege)) for _ in range(HALVES)]
        for client in clients:
            with contextlib.suppress(ConnectionError):
                client.sendall(half)
        siege.check(livez_s_max=1.0)
        assert siege.memory_mb("VmRSS") < before + BUDGET / 2e6 + SPARE_MB
        eventually(lambda: all(is_closed(client) for client in clients))


def test_an_honest_producer_gets_its_memory_from_half_requests_that_do_not_go_on(siege):
    half = struct.pack(">i", 100 << 20) + os.urandom(1 << 20)
    with contextlib.ExitStack() as stack:
        for _ in range(BUDGET // (4 << 20)):
            client = stack.enter_context(kafka_socket(siege))
            with contextlib.suppress(ConnectionError):
                client.sendall(half)
        time.sleep(1.5)  # the attack takes this time
        body = encode([(None, os.urandom(7 << 20), (), NOW_MS)])
        statuses = set[int]()

        def is_taken() -> bool:
            statuses.add(siege.post("/v1/topics/other/records?partition=0", body, BATCH)[0])
            return 200 in statuses

        eventually(is_taken)  # the half requests are closed
        assert statuses <= {200, 503}
    siege.check(livez_s_max=1.0)


BEGINNINGS = [b"G", b"GET /v1 HT", b"GET /v1 HTTP/1.1\r\nhost: x\r\nx-a: "]


def test_half_heads_are_ended_also_when_a_byte_comes_each_second(siege):
    with contextlib.ExitStack() as stack:
        clients = {stack.enter_context(http_socket(siege)): each for each in BEGINNINGS for _ in range(50)}
        for client, beginning in clients.items():
            client.sendall(beginning)
        for _ in range(4):  # http_head_ms is two seconds
            time.sleep(1)  # the attack takes this time
            for client in clients:
                with contextlib.suppress(ConnectionError):
                    client.sendall(b"a")
        assert all(is_closed(client) for client in clients)
    siege.check(livez_s_max=1.0)


def test_half_bodies_are_ended_and_take_no_more_than_their_share(siege):
    before = siege.memory_mb("VmRSS")
    head = b"POST /v1/topics/other/records HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    head += b"content-length: 16000000\r\n\r\n"
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(http_socket(siege)) for _ in range(60)]
        for client in clients:
            client.settimeout(5)
            with contextlib.suppress(OSError):
                client.sendall(head + bytes(1 << 20))
        siege.check(livez_s_max=1.0)
        assert siege.memory_mb("VmRSS") < before + BUDGET / 2e6 + SPARE_MB
