"""Clients that have no credentials, beside one that has logged in: they use up nothing that it needs."""

from __future__ import annotations

import contextlib
import resource
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import Serve
from tests.support.redis_servers import redis_server

TOKEN = "a-token-of-more-than-thirty-two-characters"
BUDGET, FRAME = 16 << 20, 390 << 10
STRANGERS, CONNECTIONS_MAX = 60, 80
SASL_HANDSHAKE, SASL_AUTHENTICATE, METADATA = 17, 36, 3


@contextlib.contextmanager
def serving(folder: Path, *settings: str) -> Iterator[Serve]:
    file = folder / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    words = [word for each in (*settings, f"bootstrap_token_file={file}") for word in ("--set", each)]
    with redis_server() as redis:
        serve = Serve("--redis", redis.url, "--durability", "lossy", "--set", "auth_required=true", *words)
        try:
            yield serve
        finally:
            serve.clean_up()


@pytest.fixture(scope="module")
def broker(tmp_path_factory) -> Iterator[Serve]:
    settings = (f"client_bytes_max={BUDGET}", f"kafka_connections_max={CONNECTIONS_MAX}")
    with serving(tmp_path_factory.mktemp("token"), *settings) as serve:
        yield serve


def connected(serve: Serve, field: str = "kafka") -> socket.socket:
    host, _, port = (serve.field(field) if field == "kafka" else serve.urls[0][7:]).rpartition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def framed(key: int, version: int, body: bytes) -> bytes:
    message = struct.pack(">hhih", key, version, 1, 1) + b"c" + body
    return struct.pack(">i", len(message)) + message


def answered(client: socket.socket) -> bytes:
    size = struct.unpack(">i", client.recv(4, socket.MSG_WAITALL))[0]
    return client.recv(size, socket.MSG_WAITALL)


def logged_in(serve: Serve) -> socket.socket:
    client = connected(serve)
    client.sendall(framed(SASL_HANDSHAKE, 1, struct.pack(">h", 5) + b"PLAIN"))
    answered(client)
    proof = b"\0token\0" + TOKEN.encode()
    client.sendall(framed(SASL_AUTHENTICATE, 0, struct.pack(">i", len(proof)) + proof))
    assert answered(client)[4:6] == b"\0\0"
    return client


@contextlib.contextmanager
def besieging(serve: Serve, count: int, sent: bytes) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            client = stack.enter_context(connected(serve))
            with contextlib.suppress(OSError):
                client.sendall(sent)
        yield


def test_half_frames_before_login_do_not_close_a_client_that_sends_a_large_one(broker):
    half = struct.pack(">i", FRAME + 1_000) + bytes(FRAME)
    message = framed(METADATA, 1, struct.pack(">i", -1) + bytes(3 << 20))
    with logged_in(broker) as client, besieging(broker, STRANGERS, half):
        for at in range(0, len(message), 1 << 19):
            client.sendall(message[at : at + (1 << 19)])
            with besieging(broker, STRANGERS // 4, half):
                pass
        assert answered(client)


def test_connections_that_do_not_log_in_leave_room_for_those_that_do(broker):
    with logged_in(broker) as before, besieging(broker, CONNECTIONS_MAX + 10, b""), logged_in(broker) as after:
        for client in (before, after):
            client.sendall(framed(METADATA, 1, struct.pack(">i", 0)))
            assert answered(client)


def test_a_form_before_login_is_small_and_a_request_without_token_is_refused_before_its_body(broker):
    for path, status in (("/console/login", b"413"), ("/v1/topics/t/records", b"401")):
        with connected(broker, "http") as client:
            client.sendall(
                b"POST %s HTTP/1.1\r\nhost: b\r\ncontent-length: 1000000\r\n" % path.encode()
                + b"content-type: application/x-www-form-urlencoded\r\n\r\n" + bytes(1_000)
            )  # fmt: skip
            assert client.recv(12, socket.MSG_WAITALL)[9:] == status


@pytest.fixture
def few_files() -> Iterator[int]:
    """The soft limit of open files that a broker starts with."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        yield 256
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.full
@pytest.mark.parametrize("field", ["kafka", "http"])
def test_connections_do_not_use_up_the_files_of_a_broker(tmp_path, few_files, field):
    with serving(tmp_path) as serve:
        assert serve.ready
        resource.setrlimit(resource.RLIMIT_NOFILE, (2 * few_files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        with contextlib.ExitStack() as stack:
            for _ in range(few_files + 20):
                stack.enter_context(connected(serve, field))
            stack.enter_context(logged_in(serve))
            assert serve.call("GET", "/livez") == {"status": "live"}
