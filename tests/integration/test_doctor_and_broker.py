"""`doctor` and `serve` report the same about a Redis, for many kinds of defects."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from redis_ledger.app.cli.main import app
from redis_ledger.app.process import broker_process, startup
from redis_ledger.app.process.addresses import HostPort
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.config import Config
from tests.support.redis_servers import Server, redis_cluster, redis_server

FIT: dict[str, Any] = {"appendonly": "yes", "appendfsync": "always"}


class Ready(Exception):
    """The broker would serve."""


def serve_says(url: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines of its refusal; none if it starts."""

    def ready(line: str) -> None:
        raise Ready

    monkeypatch.setattr(broker_process, "say_ready", ready)
    config = Config(redis_retry_ms=1_000)
    options = startup.Options(data_dir, HostPort("127.0.0.1", 0), None, {}, url, "disk", config)
    try:
        with startup.listening(options) as listeners:
            asyncio.run(broker_process.serve(options, listeners, None))
    except Ready:
        return []
    except CommandError as refusal:
        lines = str(refusal).splitlines()
        return lines if len(lines) == 1 else [line[5:] for line in lines[1:]]
    raise AssertionError("serve ended")


def doctor_says(url: str) -> list[str]:
    """Its problems, as serve would write them."""
    arguments = ["doctor", "--json", "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0", "--redis", url]
    ran = CliRunner().invoke(app, arguments, env={"PATH": "/usr/bin:/bin"})
    bad = [each for each in json.loads(ran.stdout) if each["level"] == "problem"]
    assert ran.exit_code == (1 if bad else 0)
    return [f"{each['seen']}. {each['cure']}" for each in bad]


@contextlib.contextmanager
def on(change: Callable[[Server], str | None] = lambda server: None, **conf: str) -> Iterator[str]:
    """A Redis with these settings, changed so; change may return another URL."""
    with redis_server(**{**FIT, **conf}) as server:
        yield change(server) or server.url


@contextlib.contextmanager
def replica() -> Iterator[str]:
    with redis_server(**FIT) as primary, redis_server(**FIT) as server:
        server.ask("REPLICAOF", "127.0.0.1", primary.port)
        yield server.url


@contextlib.contextmanager
def cluster_node() -> Iterator[str]:
    with redis_cluster(**FIT) as servers:
        yield servers.servers[0].url


@contextlib.contextmanager
def nowhere(url: str) -> Iterator[str]:
    yield url


KINDS: dict[str, tuple[Callable[[], contextlib.AbstractContextManager[str]], tuple[str, ...]]] = {
    "fit": (on, ()),
    "evicts": (lambda: on(maxmemory_policy="allkeys-lru"), ("may evict",)),
    "keeps nothing": (lambda: on(appendonly="no"), ("appendonly no",)),
    "syncs seldom": (lambda: on(appendfsync="everysec"), ("appendfsync everysec",)),
    "syncs never": (lambda: on(appendfsync="no"), ("--durability process",)),
    "all of them": (
        lambda: on(maxmemory_policy="allkeys-lru", appendonly="no", appendfsync="everysec"),
        ("may evict", "appendonly no", "appendfsync everysec"),
    ),
    "replica": (replica, ("read-only replica of 127.0.0.1",)),
    "asks for a password": (lambda: on(requirepass="secret"), ("redis://:password@127.0.0.1",)),
    "another password": (
        lambda: on(lambda s: s.url.replace("//", "//:wrong@"), requirepass="secret"),
        ("refuses the user or password",),
    ),
    "password where none is": (
        lambda: on(lambda s: s.url.replace("//", "//:needless@")), ("refuses the user or password",),
    ),
    "not there": (lambda: nowhere("redis://127.0.0.1:1"), ("nothing listens there",)),
    "no such host": (lambda: nowhere("redis://no-such-host.invalid"), ("host name no-such-host.invalid is not known",)),
    "tls to plain": (
        lambda: on(lambda s: s.url.replace("redis:", "rediss:") + "?ssl_cert_reqs=none"), ("does not",),
    ),
    "no cluster": (lambda: on(lambda s: s.url.replace("redis:", "redis+cluster:")), ("cluster support disabled",)),
    "node of a cluster": (cluster_node, ("Use a redis+cluster:// URL.",)),
    "cannot be written": (lambda: on(min_replicas_to_write="1"), ("Not enough good replicas",)),
}  # fmt: skip


FEW = ("fit", "evicts", "no such host", "node of a cluster")  # in make test


@pytest.mark.parametrize("kind", [pytest.param(each, marks=() if each in FEW else pytest.mark.full) for each in KINDS])
def test_doctor_and_serve_say_the_same_of_a_redis(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, words = KINDS[kind]
    with make() as url:
        began_s = time.monotonic()
        refused = serve_says(url, tmp_path, monkeypatch)
        took_s = time.monotonic() - began_s
        assert doctor_says(url) == refused
    assert len(refused) == len(words)
    assert all(word in line for word, line in zip(words, refused, strict=True))
    assert took_s < 20 or not words  # a broken Redis is named after redis_retry_ms at most, a second here
