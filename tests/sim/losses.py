"""What brokers report as lost, read from their logs: Redis came back with older data (docs/decisions/0028).

{"event": "Redis came back with older data: acknowledged records are lost", "topic": "plain", "partition": 2,
 "first_lost_offset": 40, "last_lost_offset": 43, ...}      a line of b0.log
{"broker": "b0", "lost": "partition", "topic": "plain", "partition": 2, "first": 40, "last": 43}      a report
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.sim.processes import Processes

BEGINNING = "Redis came back with older data"
FIELDS = {"witness": "other", "coordinator": "coordinator", "version": "catalog"}  # by which a line is recognised


class Reports:
    """Those that are added to the logs from now on."""

    def __init__(self, processes: Processes) -> None:
        self._logs = {name: broker.log for name, broker in processes.brokers.items()}
        self._read = {name: size_of(log) for name, log in self._logs.items()}

    def read(self) -> Iterator[dict[str, Any]]:
        for name, log in self._logs.items():
            with log.open("rb") as file:
                file.seek(self._read[name])
                for line in file:
                    report = parse(line)
                    if report:
                        yield {"broker": name, **report}


def parse(line: bytes) -> dict[str, Any]:
    """Returns nothing for another line."""
    if BEGINNING.encode() not in line:
        return {}
    found = json.loads(line)
    if "first_lost_offset" in found:
        return {
            "lost": "partition", "topic": found["topic"], "partition": found["partition"],
            "first": found["first_lost_offset"], "last": found["last_lost_offset"],
        }  # fmt: skip
    return {"lost": next(kind for field, kind in FIELDS.items() if field in found)}


def size_of(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0
