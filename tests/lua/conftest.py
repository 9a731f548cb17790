"""Partitions and coordinators on a single server and on a three-node cluster, on arbitrary slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis
from redis.crc import key_slot

from tests.lua.damaged_scenes import SCENES, UNSUITED
from tests.support.cursor_scripts import Subscription
from tests.support.damaged_values import DamagedValues, Tried
from tests.support.delay_scripts import Delays
from tests.support.fake_log import FakeLog, keys_of_log
from tests.support.ledger_scripts import Ledger, TxnCoordinator

Connect = Callable[[str], redis.Redis]


@pytest.fixture(scope="session")
def tried() -> Tried:
    """Calls that were tried with damaged values in this run."""
    return {}


@pytest.fixture(autouse=True)
def no_half_writes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tried: Tried) -> Iterator[None]:
    """No script raises after its first write, whatever value is damaged."""
    name = request.node.name
    scene = SCENES.get(f"{request.path.name}::{name}")
    is_any = "[single" in name and not name.startswith(UNSUITED)  # these tests have the marker `full`
    if scene is None and not is_any:
        yield
        return
    values = DamagedValues(scene, {} if scene else tried)
    values.install(monkeypatch)
    yield
    assert values.found == []
    assert set(values.tried) >= set(scene or ()), "the test does not call these scripts in a way that writes"


# A cluster refuses keys of other slots and keys that a call does not name, so it is stricter than a single server.
# `make test` calls functions there, and scripts by EVALSHA on a single server.
@pytest.fixture(params=[pytest.param("single", marks=pytest.mark.full), "cluster", "evalsha"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """A client of the node that owns a key.  evalsha: it calls scripts as a broker does if Redis takes no libraries."""
    clients: list[redis.Redis] = []

    def client(key: str) -> redis.Redis:
        if request.param == "cluster":
            url = request.getfixturevalue("cluster").owner(key_slot(key.encode())).url
        else:
            url = request.getfixturevalue("redis_url")
        made = redis.Redis.from_url(url)
        made.calls_by_sha = request.param == "evalsha"  # type: ignore[attr-defined]
        clients.append(made)
        return made

    yield client
    for each in clients:
        each.close()


@pytest.fixture
def ledger(connect: Connect, prefix: str) -> Ledger:
    """A new partition."""
    made = Ledger(connect(f"{prefix}:{{orders:0}}:"), prefix)
    made.create()
    return made


@pytest.fixture
def coordinator(connect: Connect, prefix: str) -> TxnCoordinator:
    """Coordinator 0, without transactions."""
    made = TxnCoordinator(connect(f"{prefix}:{{tc:0}}:"), prefix)
    made.open()
    return made


@pytest.fixture
def delays(connect: Connect, prefix: str) -> Iterator[Delays]:
    """A partition with delayed delivery; its counters must be consistent after every test."""
    made = Delays(connect(f"{prefix}:{{orders:0}}:"), prefix)
    made.create()
    made.schedule(1)
    yield made
    made.check()


@pytest.fixture(params=[pytest.param("redis_url", marks=pytest.mark.full), "cluster_url", "evalsha"])
def client(request: pytest.FixtureRequest, prefix: str) -> Iterator[redis.Redis]:
    """A client of the node that has the log of this prefix."""
    if request.param == "cluster_url":
        url = request.getfixturevalue("cluster").owner(key_slot(keys_of_log(prefix).state)).url
    else:
        url = request.getfixturevalue("redis_url")
    with redis.Redis.from_url(url) as opened:
        opened.calls_by_sha = request.param == "evalsha"
        yield opened


@pytest.fixture
def log(client: redis.Redis, prefix: str) -> FakeLog:
    """A partition's log without records."""
    return FakeLog(client, prefix)


@pytest.fixture
def sub(log: FakeLog) -> Subscription:
    """A subscription on ten records; c1 has received all of them."""
    log.append(10)
    made = Subscription(log)
    made.receive()
    return made
