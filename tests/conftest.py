"""What every test may ask for.  Servers are shared by a session; tests keep apart by prefix and flush nothing."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from redis_ledger.telemetry import logs, metrics
from tests.support.collection import Collection
from tests.support.examples import register_profiles
from tests.support.random_order import MixedFiles, RandomOrder
from tests.support.redis_servers import ClusterServers, Server, redis_cluster, redis_server
from tests.support.time_limits import TimeLimits

register_profiles()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--random-order", type=int, metavar="SEED", help="run tests in an order that this number determines"
    )
    parser.addoption("--mix-files", action="store_true", help="run files in an arbitrary, fixed order")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Collection())
    config.pluginmanager.register(TimeLimits(config))
    if (seed := config.getoption("random_order", None)) is not None:
        config.pluginmanager.register(RandomOrder(seed))
    elif config.getoption("mix_files", False):
        config.pluginmanager.register(MixedFiles())


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
