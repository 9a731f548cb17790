"""What every test may ask for.  Servers are shared by a session; tests keep apart by prefix and flush nothing."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from hypothesis import settings

from redis_ledger.telemetry import logs, metrics
from tests.support.examples import examples
from tests.support.redis_servers import ClusterServers, Server, redis_cluster, redis_server

# `fixed` draws the same examples in every run, so that no change fails for a history that it has nothing to do with.
# `--hypothesis-profile=random` draws new ones, three times as many (tests/support/examples.py).  No deadlines: machines
# are shared, so the time that an example takes says nothing.
settings.register_profile("fixed", deadline=None, derandomize=True, database=None, max_examples=examples(100))
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile("fixed")


@pytest.fixture(autouse=True)
def room_for_topics() -> None:
    """Metrics are those of a process, and one that runs tests sees more topics than have series of their own."""
    metrics.topics.forget(tuple(metrics.topics))


@pytest.fixture(scope="session")
def redis() -> Iterator[Server]:
    with redis_server() as server:
        yield server


@pytest.fixture(scope="session")
def redis_url(redis: Server) -> str:
    return redis.url


@pytest.fixture(scope="session")
def cluster() -> Iterator[ClusterServers]:
    with redis_cluster() as servers:
        yield servers


@pytest.fixture(scope="session")
def cluster_url(cluster: ClusterServers) -> str:
    return cluster.url


@pytest.fixture(autouse=True)
def warnings_are_logged() -> None:
    """Commands that ran in this process before may have asked for less."""
    logs.configure("warning")


@pytest.fixture
def prefix() -> str:
    """A prefix that no other test uses."""
    return f"t{secrets.token_hex(6)}"
