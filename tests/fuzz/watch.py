"""Two eyes on the broker's process: what it writes into its log, and how much memory it has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.fuzz.findings import Findings
from tests.fuzz.process import Broker

LOOK_EVERY_S = 0.1
GROWTH_MB_MAX = 300.0


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
    """baseline_mb is what it has when the watch begins."""

    def __init__(self, broker: Broker, findings: Findings) -> None:
        self.broker, self.findings = broker, findings
        self.tail = LogTail(broker, findings)
        self.baseline_mb = broker.rss_mb()
        self.highest_mb = 0.0

    async def run(self, until: Callable[[], bool]) -> None:
        while not until():
            self.look()
            await asyncio.sleep(LOOK_EVERY_S)

    def look(self) -> None:
        self.tail.look()
        now_mb = self.broker.rss_mb()
        self.highest_mb = max(self.highest_mb, now_mb)
        if now_mb > self.baseline_mb + GROWTH_MB_MAX:
            told = f"{now_mb:.0f} MB; it began with {self.baseline_mb:.0f}"
            self.findings.add("memory", told, "resident memory", suspects=self.findings.suspects(None))
        if (code := self.broker.exit_code) is not None:
            self.findings.add("death", f"the process ended with {code}", suspects=self.findings.suspects(None))
