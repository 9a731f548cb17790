"""The processes of a run: Redis, brokers, and a proxy on every link between clients, brokers and Redis.

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
from contextlib import AsyncExitStack
from pathlib import Path

from tests.sim import planted, serve
from tests.sim.redis_nodes import RedisNodes
from tests.sim.schedule import HOSTS, Schedule
from tests.support.processes import ROOT
from tests.support.proxy import Proxy
from tests.support.reaper import ends_with_us
from tests.support.redis_servers import lasting_port

READY_S_MAX = 120.0
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


class Broker:
    """A broker at addresses that it keeps when it is started again."""

    def __init__(self, name: str, folder: Path, redis_url: str, kafka: str, advertised: str, http: str) -> None:
        self.name, self.url = name, f"http://{http}"
        self._log = folder / f"{name}.log"
        self._command = [
            sys.executable, "-m", "tests.sim.serve", "serve", "--redis", redis_url, "--data-dir", str(folder / name),
            "--durability", "process", "--http", http, "--kafka", kafka, "--kafka-advertised", advertised,
            "--log-level", "warning", *(w for k, v in SETTINGS.items() for w in ("--set", f"{k}={v}")),
        ]  # fmt: skip
        self._clock = folder / f"{name}.clock"
        self.step_clock(0)
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None  # empties its standard output

    def start(self, bug: str = "") -> None:
        """Returns when the broker is ready."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("REDIS_LEDGER_")}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, cwd=ROOT,
                env={**clean, planted.VARIABLE: bug, serve.CLOCK: str(self._clock)},
            )  # fmt: skip
        ends_with_us(self._process)
        assert self._process.stdout is not None
        has_line = select.select([self._process.stdout], [], [], READY_S_MAX)[0]
        line = self._process.stdout.readline() if has_line else b""
        assert line.startswith(b"ready"), f"{self.name}: {self._log.read_text()[-2_000:]}"
        self._reader = threading.Thread(target=self._process.stdout.read, daemon=True)
        self._reader.start()

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
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None


class Processes:
    def __init__(self, plan: Schedule, folder: Path, bug: str = "") -> None:
        self.plan, self.bug = plan, bug
        self.redis = RedisNodes(plan.redis, plan.fsync, folder, self._link)
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
        redis_url = await self.redis.url(name)
        http = lasting_port()
        listeners, advertised = [], []
        for host in HOSTS:
            await self._link(f"{host}-{name}.http", http)
            port = lasting_port()
            listeners.append(f"{host}://127.0.0.1:{port}")
            link = await self._link(f"{host}-{name}.kafka", port)
            advertised.append(f"{host}://127.0.0.1:{link.port}")
        self.brokers[name] = Broker(
            name, self._folder, redis_url, ",".join(listeners), ",".join(advertised), f"127.0.0.1:{http}"
        )
        self._stack.callback(self.brokers[name].kill)

    def links_of(self, host: str) -> list[Proxy]:
        return [link for name, link in self.links.items() if name.startswith(f"{host}-")]

    async def _link(self, name: str, port: int) -> Proxy:
        link = self.links[name] = Proxy("127.0.0.1", port)
        link.keeps_requests, link.port = False, lasting_port()
        await link.listen(None)
        self._stack.push_async_callback(link.close)
        return link
