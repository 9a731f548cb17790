"""The processes of a run: Redis, brokers, and a proxy on every link between clients, brokers, Redis and its replicas.

    left  ──▶ left-b0.http, left-b0.kafka ───▶ b0 ──▶ b0-r0 ──▶ r0
    right ──▶ right-b0.http, right-b0.kafka ─▶

A Kafka client gets the addresses of the proxies of its host, because each host has a listener of its own.
"""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import httpx

from tests.sim import planted, serve
from tests.sim.cluster_nodes import ClusterNodes
from tests.sim.redis_nodes import RedisNodes, SingleNode
from tests.sim.schedule import HOSTS, Schedule
from tests.sim.sentinel_nodes import SentinelNodes
from tests.support.free_ports import free_port
from tests.support.processes import ROOT
from tests.support.proxy import Proxy
from tests.support.reaper import ends_with_us

READY_S_MAX, RETRY_S = 120.0, 0.5
SERVING_S_MAX = 30.0
# Short enough that what has to happen after a fault happens within a run.
SETTINGS = {
    "coordinators": 4,
    "consumer_session_ms": 3_000,
    "end_overdue_ms": 500,
    "redis_timeout_ms": 4_000,
    "redis_retry_ms": 3_000,
    "group_session_timeout_ms_min": 1_000,
    "auto_create_topics": "false",
}
NODES: dict[str, type[RedisNodes]] = {
    "single": SingleNode,
    "cluster": ClusterNodes,
    "sentinel": SentinelNodes,
    "cluster-replicas": ClusterNodes,
}


class Broker:
    """A broker at addresses that it keeps when it is started again.  settings: `--set` and others."""

    def __init__(
        self, name: str, folder: Path, redis_url: str, kafka: str, advertised: str, http: str, settings: Sequence[str]
    ) -> None:
        self.name, self.url = name, f"http://{http}"
        self.log, self.redis_url = folder / f"{name}.log", redis_url
        self._command = [
            sys.executable, "-m", "tests.sim.serve", "serve", "--redis", redis_url, "--data-dir", str(folder / name),
            "--http", http, "--kafka", kafka, "--kafka-advertised", advertised,
            "--log-level", "warning", *settings,
        ]  # fmt: skip
        self._clock = folder / f"{name}.clock"
        self.step_clock(0)
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None  # empties its standard output

    def start(self, bug: str = "") -> None:
        """Returns when the broker is ready.  One that ends, as Redis has too few replicas for it, is started again."""
        until = time.monotonic() + READY_S_MAX
        while not self._try_start(bug):
            assert time.monotonic() < until, f"{self.name}: {self.log.read_text()[-2_000:]}"
            time.sleep(RETRY_S)  # replicas that attach give no sign

    def _try_start(self, bug: str) -> bool:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("REDIS_LEDGER_")}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, cwd=ROOT,
                env={**clean, planted.VARIABLE: bug, serve.CLOCK: str(self._clock)},
            )  # fmt: skip
        ends_with_us(self._process)
        assert self._process.stdout is not None
        has_line = select.select([self._process.stdout], [], [], READY_S_MAX)[0]
        line = self._process.stdout.readline() if has_line else b""
        if not line.startswith(b"ready"):
            self.kill()
            return False
        self._reader = threading.Thread(target=self._process.stdout.read, daemon=True)
        self._reader.start()
        return True

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def step_clock(self, ahead_ms: int) -> None:
        """From now on the broker's clock is ahead by so much."""
        self._clock.touch()
        with self._clock.open("r+b") as file:
            file.write(serve.OFFSET.pack(ahead_ms))

    def kill(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        if self._reader is not None:
            self._reader.join()
            self._reader = None
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None


class Processes:
    def __init__(self, plan: Schedule, folder: Path, bug: str = "") -> None:
        self.plan, self.bug = plan, bug
        self.redis = NODES[plan.topology](plan, folder, self._add_link)
        self.brokers: dict[str, Broker] = {}
        self.links: dict[str, Proxy] = {}
        self._folder = folder
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Processes:
        try:
            self._stack.callback(self.redis.kill)
            await self.redis.start()
            for number in range(self.plan.brokers):
                await self._add_broker(f"b{number}")
            await asyncio.gather(*(asyncio.to_thread(each.start, self.bug) for each in self.brokers.values()))
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        for broker in self.brokers.values():
            broker.kill()
        await self._stack.aclose()

    def urls(self, host: str) -> list[str]:
        return [f"http://127.0.0.1:{self.links[f'{host}-{name}.http'].port}" for name in self.brokers]

    def kafka(self, host: str) -> str:
        return ",".join(f"127.0.0.1:{self.links[f'{host}-{name}.kafka'].port}" for name in self.brokers)

    async def _add_broker(self, name: str) -> None:
        redis_url, settings = await self.redis.url(name), dict(SETTINGS)
        if self.plan.durability == "replicas":
            settings |= {"min_insync_replicas": self.redis.copies, "replicas_timeout_ms": 3_000}
        words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        http = free_port()
        listeners, advertised = [], []
        for host in HOSTS:
            await self._add_link(f"{host}-{name}.http", Proxy("127.0.0.1", http))
            port = free_port()
            listeners.append(f"{host}://127.0.0.1:{port}")
            link = await self._add_link(f"{host}-{name}.kafka", Proxy("127.0.0.1", port))
            advertised.append(f"{host}://127.0.0.1:{link.port}")
        self.brokers[name] = Broker(
            name, self._folder, redis_url, ",".join(listeners), ",".join(advertised), f"127.0.0.1:{http}",
            ["--durability", self.plan.durability, *words],
        )  # fmt: skip
        self._stack.callback(self.brokers[name].kill)

    async def until_ready(self) -> None:
        """Returns when every broker serves, or has had time enough for it."""
        async with httpx.AsyncClient(timeout=5.0, trust_env=False) as http:
            until = time.monotonic() + SERVING_S_MAX
            for broker in self.brokers.values():
                while not await _is_ready(http, broker.url) and time.monotonic() < until:
                    await asyncio.sleep(RETRY_S)

    def links_of(self, host: str) -> list[Proxy]:
        return [link for name, link in self.links.items() if name.startswith(f"{host}-")]

    async def _add_link(self, name: str, link: Proxy) -> Proxy:
        self.links[name] = link
        link.keeps_requests, link.port = False, free_port()
        await link.listen(None)
        self._stack.push_async_callback(link.close)
        return link


async def _is_ready(http: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await http.get(f"{url}/readyz")).status_code == 200
    except httpx.HTTPError:
        return False
