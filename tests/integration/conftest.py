"""Brokers and stores for several test files.  A file that needs a different one overrides the fixture."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from redis_ledger.app.embedded_redis.server import running_pid
from redis_ledger.broker.broker import Broker
from redis_ledger.store.store import Store
from tests.support.broker import SHORT, one, two
from tests.support.kafka_groups import Node, nodes
from tests.support.processes import RedisServer, Serve
from tests.support.redis_servers import redis_server
from tests.support.threaded_broker import ThreadedBroker, threaded_broker

T = TypeVar("T", Serve, RedisServer)
Keep = Callable[[T], T]


@pytest.fixture(scope="module")
def own_redis_url() -> Iterator[str]:
    """A Redis of a test file, for commands that read every key."""
    with redis_server() as server:
        yield server.url


@pytest.fixture(params=[True, False], ids=["in one call", "in steps"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """For files about transactions: how brokers end them (docs/decisions/0035)."""
    monkeypatch.setitem(SHORT, "one_call_transactions", request.param)


@pytest.fixture
async def broker(redis_url: str, prefix: str) -> AsyncIterator[Broker]:
    """With topic `t`."""
    async with one(redis_url, prefix) as opened:
        await opened.topics.create("t")
        yield opened


@pytest.fixture
async def pair(redis_url: str, prefix: str) -> AsyncIterator[tuple[Broker, Broker]]:
    """Two brokers with topic `t`."""
    async with two(redis_url, prefix) as opened:
        await opened[0].topics.create("t")
        yield opened


@pytest.fixture
def brokers(redis_url: str, prefix: str) -> Iterator[ThreadedBroker]:
    """Two brokers behind real sockets."""
    with threaded_broker(redis_url, prefix, brokers=2) as started:
        yield started


@pytest.fixture
async def node(redis_url: str, prefix: str) -> AsyncIterator[Node]:
    """A broker with a Kafka listener and the settings for groups."""
    async with nodes(redis_url, prefix=prefix) as (only,):
        yield only


@pytest.fixture(params=["redis_url", "cluster_url"])
async def store(request: pytest.FixtureRequest, prefix: str) -> AsyncIterator[Store]:
    """On a single server, and on a cluster."""
    opened = await Store.open(request.getfixturevalue(request.param), prefix=prefix)
    yield opened
    await opened.close()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Callable[[T], T]]:
    """Remembers what a test has started, and ends it."""
    started: list[Serve | RedisServer] = []

    def keep(process: T) -> T:
        started.append(process)
        return process

    yield keep
    for process in reversed(started):
        process.clean_up()
    for conf in tmp_path.rglob("redis.conf"):
        if (pid := running_pid(conf.parent)) is not None:
            os.kill(pid, signal.SIGKILL)
