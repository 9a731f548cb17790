"""Partitions and coordinators on a single server and on a three-node cluster, whose slots fall where they may."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis
from redis.crc import key_slot

from tests.support.delays import Delays
from tests.support.ledgers import Ledger, TxnCoordinator

Connect = Callable[[str], redis.Redis]


@pytest.fixture(params=["single", "cluster"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """A client of the node that owns a key."""
    clients: list[redis.Redis] = []

    def client(key: str) -> redis.Redis:
        if request.param == "single":
            url = request.getfixturevalue("redis_url")
        else:
            url = request.getfixturevalue("cluster").owner(key_slot(key.encode())).url
        clients.append(redis.Redis.from_url(url))
        return clients[-1]

    yield client
    for each in clients:
        each.close()


@pytest.fixture
def ledger(connect: Connect, prefix: str) -> Ledger:
    """A partition that has just been made."""
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
    """A partition where scheduling has been begun; whatever a test does to it, its numbers must agree afterwards."""
    made = Delays(connect(f"{prefix}:{{orders:0}}:"), prefix)
    made.create()
    made.schedule(1)
    yield made
    made.check()
