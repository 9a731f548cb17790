"""Addresses on the command line."""

from __future__ import annotations

import socket

import pytest

from redis_ledger.app.cli.serve_options import overrides
from redis_ledger.app.process.addresses import HostPort, is_loopback, listen, without_secrets
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.process.supervisor import field


@pytest.mark.parametrize(
    ("text", "host", "port", "url"),
    [
        ("127.0.0.1:8080", "127.0.0.1", 8080, "http://127.0.0.1:8080"),
        ("localhost:0", "localhost", 0, "http://localhost:0"),
        ("[::1]:80", "::1", 80, "http://[::1]:80"),
    ],
)
def test_host_and_port_are_read(text: str, host: str, port: int, url: str) -> None:
    assert HostPort.parse(text, "--http") == (host, port)
    assert HostPort.parse(text, "--http").url == url


@pytest.mark.parametrize("text", ["", "8080", ":8080", "host:", "host:-1", "host:65536", "host:http", "host:８０"])
def test_invalid_address_is_rejected(text: str) -> None:
    with pytest.raises(CommandError, match="is not HOST:PORT"):
        HostPort.parse(text, "--http")


@pytest.mark.parametrize(
    ("host", "is_so"),
    [
        ("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
        ("10.0.0.1", False), ("fe80::1", False), ("::ffff:10.0.0.1", False), ("no-such-host.invalid", False),
    ],
)  # fmt: skip
def test_only_loopback_addresses_are_loopback(host: str, is_so: bool) -> None:
    assert is_loopback(host) is is_so


def test_port_0_becomes_the_bound_port() -> None:
    bound, address = listen(HostPort("127.0.0.1", 0), "--http")
    with bound:
        assert address.port == bound.getsockname()[1] != 0


def test_port_in_use_is_rejected_with_the_fix() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(CommandError, match="in use: stop the other process, or choose another port"):
            listen(HostPort("127.0.0.1", taken.getsockname()[1]), "--http")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user:pass@host:6379/0", "redis://host:6379/0"),
        ("redis+sentinel://:p%40ss@h1,h2/main?sentinel_password=x", "redis+sentinel://h1,h2/main"),
        ("redis://:a/b@c@host", "redis://host"),
        ("unix:///run/redis.sock?db=0", "unix:///run/redis.sock"),
    ],
)
def test_a_shown_url_has_no_secrets(url: str, shown: str) -> None:
    assert without_secrets(url) == shown


def test_a_field_of_the_ready_line() -> None:
    line = "ready http=http://127.0.0.1:8080 kafka=off redis=unix:///d/redis.sock"
    assert [field(line, name) for name in ("http", "kafka", "redis")] == [
        "http://127.0.0.1:8080", "off", "unix:///d/redis.sock",
    ]  # fmt: skip


def test_overrides_are_pairs() -> None:
    assert overrides(["prefix=a=b", "num_partitions=4"]) == {"prefix": "a=b", "num_partitions": "4"}
    with pytest.raises(CommandError, match="is not NAME=VALUE"):
        overrides(["num_partitions"])
