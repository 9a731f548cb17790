"""Eyes on the broker's process: what it writes into its log, how much memory it has, and whether it answers.

Whether it answers is asked in a thread and over new connections, so that the fuzzer's own work is not counted.
"""

from __future__ import annotations

import asyncio
import http.client
import socket
import time
from collections.abc import Callable

from redis_ledger.broker.client_memory import DECODED_ANSWERS, DECODED_BYTES_MAX
from redis_ledger.config import Config
from redis_ledger.decoding.budget import Decoding
from redis_ledger.kafka.protocol.messages.api_versions_request import ApiVersionsRequest
from tests.fuzz import corpus
from tests.fuzz.findings import Findings
from tests.fuzz.mutate import framed
from tests.fuzz.process import Broker

LOOK_EVERY_S = 0.1
ALIVE_EVERY_S, ALIVE_S_MAX = 1.0, 2.0


def growth_mb_max(config: Config) -> float:
    """Allowed growth of a broker's resident memory: what its settings allow requests and caches to hold."""
    unpacked = DECODED_ANSWERS * (DECODED_BYTES_MAX + config.batch_decoded_bytes_max)
    budgets = (
        config.client_bytes_max, Decoding(config).memory.bytes_max, unpacked, config.kafka_inflight_bytes_max,
        config.tail_cache_bytes * 5 // 4,  # a quarter more for what is read ahead
    )  # fmt: skip
    return sum(budgets) / 1e6


class LogTail:
    """Hands every whole line to the findings."""

    def __init__(self, broker: Broker, findings: Findings) -> None:
        self._file = broker.log.open("rb")
        self._findings = findings
        self._rest = b""

    def look(self) -> list[str]:
        """The signatures of the lines since the last look that hold something against the broker."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        found = [self._findings.read_line(line.decode(errors="replace")) for line in lines]
        return [signature for signature in found if signature is not None]

    def close(self) -> None:
        self._file.close()


class Watch:
    """baseline_mb: what it has when the watch begins.  late_s: the longest time in which the fuzzer's own event loop
    stood still: honest clients waited at least as long, and the broker cannot help it."""

    def __init__(self, broker: Broker, findings: Findings, config: Config) -> None:
        self.broker, self.findings = broker, findings
        self.growth_mb_max = growth_mb_max(config)
        self.tail = LogTail(broker, findings)
        self.baseline_mb = broker.rss_mb()
        self.highest_mb = 0.0
        self.late_s = 0.0

    async def run(self, until: Callable[[], bool]) -> None:
        while not until():
            self.look()
            began = time.monotonic()
            await asyncio.sleep(LOOK_EVERY_S)
            self.late_s = max(self.late_s, time.monotonic() - began - LOOK_EVERY_S)

    def look(self) -> None:
        self.tail.look()
        now_mb = self.broker.rss_mb()
        self.highest_mb = max(self.highest_mb, now_mb)
        if now_mb > self.baseline_mb + self.growth_mb_max:
            message = f"{now_mb:.0f} MB; it began with {self.baseline_mb:.0f}"
            self.findings.add("memory", message, "resident memory", suspects=self.findings.suspects(None))
        if (code := self.broker.exit_code) is not None:
            self.findings.add("death", f"the process ended with {code}", suspects=self.findings.suspects(None))


class Alive:
    """slowest_s: of /livez, and of ApiVersions at the Kafka port."""

    def __init__(self, broker: Broker, findings: Findings) -> None:
        self._broker, self._findings = broker, findings
        self.slowest_s = {"/livez": 0.0, "ApiVersions": 0.0}

    async def run(self, until: Callable[[], bool]) -> None:
        while not until():
            for name, ask in (("/livez", self._livez), ("ApiVersions", self._api_versions)):
                problem, took_s = await asyncio.to_thread(timed, ask)
                self.slowest_s[name] = max(self.slowest_s[name], took_s)
                if (problem is not None or took_s > ALIVE_S_MAX) and self._broker.exit_code is None:
                    suspects = self._findings.suspects(None)
                    self._findings.add(
                        "not alive", f"{name}: {problem or 'late'} after {took_s:.1f} s", name, None, suspects
                    )
            await asyncio.sleep(ALIVE_EVERY_S)

    def _livez(self) -> None:
        link = http.client.HTTPConnection(*self._broker.http, timeout=ALIVE_S_MAX * 2)
        try:
            link.request("GET", "/livez")
            if (status := link.getresponse().status) != 200:
                raise OSError(f"status {status}")
        finally:
            link.close()

    def _api_versions(self) -> None:
        with socket.create_connection(self._broker.kafka, timeout=ALIVE_S_MAX * 2) as link:
            link.sendall(framed(corpus.write(18, 3, 1, ApiVersionsRequest("alive", "1"))))
            if len(link.recv(8)) == 0:
                raise OSError("closed")


def timed(ask: Callable[[], None]) -> tuple[str | None, float]:
    """Why it failed, and the seconds it took."""
    began = time.monotonic()
    try:
        ask()
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__} {error}", time.monotonic() - began
    return None, time.monotonic() - began
