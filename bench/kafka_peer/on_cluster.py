"""redis-ledger on a Redis Cluster: two brokers on three primaries, at level `process`.

A transaction then needs a step for each slot, and the coordinator and a partition are on different servers, mostly.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from bench.kafka_peer.servers import Ours, Server
from bench.processes import REDIS_SETTINGS
from tests.support import redis_servers

BROKERS, PRIMARIES = 2, 3
# A rewrite of the append-only file would be the work of six more processes on two cores.


class OnCluster(Server):
    """root: the source tree of the brokers."""

    def __init__(self, label: str, home: Path, root: Path) -> None:
        super().__init__(label, "process", home)
        self.root = root
        self._brokers: list[Ours] = []
        self._primaries: list[int] = []
        self._stack = contextlib.ExitStack()

    @property
    def bootstrap(self) -> str:
        return ",".join(each.bootstrap for each in self._brokers)

    @property
    def pid(self) -> int:
        return self._brokers[0].pid

    def command(self) -> list[str]:
        return self._brokers[0].command()

    def launch(self) -> None:
        cluster = self._stack.enter_context(redis_servers.redis_cluster(PRIMARIES, **REDIS_SETTINGS))
        self._primaries = [each.pid for each in cluster.servers]
        for number in range(BROKERS):
            home = self.home / f"broker{number}"
            home.mkdir()
            self._brokers.append(Ours(self.label, self.durability, home, self.root, cluster.url))
        for each in self._brokers:
            each.launch()

    def await_ready(self) -> None:
        for each in self._brokers:
            each.await_ready()

    def broker_pids(self) -> list[int]:
        return [each.pid for each in self._brokers]

    def store_pids(self) -> list[int]:
        return list(self._primaries)

    def expect_alive(self) -> None:
        for each in self._brokers:
            each.expect_alive()

    def kill(self) -> None:
        raise NotImplementedError("outages are measured with one Redis")

    def stop(self) -> None:
        with self._stack:
            for each in self._brokers:
                each.stop()

    def last_words(self) -> str:
        return "\n".join(each.last_words() for each in self._brokers)
