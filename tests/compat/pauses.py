"""Transactions of real Kafka clients while their coordinator is paused for longer than they wait for it.

    client    T1 ── end ── … ── end, at another broker ── T2: a record, an offset ──────── a record ── end
    broker a       ├─────────── paused for 12 s ─────────────────────────────┤ the end of T1 is in its socket

    python -m tests.compat.pauses [--minutes 5] [--brokers 2] [--client aiokafka|librdkafka|'COMMAND ...']

What a late request must not do: show records of T2 while it is open, or of an aborted one; lose those of a committed
one; set the offset back.  Each client has its own brokers, and all of them run at the same time.  A command is a
program that takes orders as line_client.py does.  librdkafka may hang (librdkafka/FINDINGS.md): it is ended then, and
the next process goes on under its name.  Source: docs/decisions/0056.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shlex
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from redis_ledger.kafka.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tests.compat import environment
from tests.compat.application import Application
from tests.support.kafka_client import KafkaClient
from tests.support.kafka_offsets import fetch
from tests.support.processes import Serve

PAUSE_S, LATE_S = 12.0, 1.5
PARTITIONS, FENCINGS = 2, 8
PROGRAM, CLIENTS = Path(__file__).parent / "line_client.py", ("aiokafka", "librdkafka")


class Seen(NamedTuple):
    """Outcomes: committed, aborted, unknown, or none if it never began.  early, late: what committed readers saw while
    T2 was open, and at the end."""

    first: str
    second: str
    early: set[str]
    late: set[str]
    offset: int


def faults(seen: Seen) -> list[str]:
    both = {"t2-a", "t2-b"}
    found = {
        "T1 is lost": seen.first == "committed" and "t1" not in seen.late,
        "T1 was aborted and is visible": seen.first == "aborted" and "t1" in seen.late,
        "T2 is visible while it is open": bool(seen.early & both),
        "T2 is lost": seen.second == "committed" and not both <= seen.late,
        "T2 was aborted and is visible": seen.second == "aborted" and bool(both & seen.late),
        "T2 is torn": seen.second in ("unknown", "none") and len(both & seen.late) == 1,
        f"the offset is {seen.offset}": "unknown" not in (seen.first, seen.second) and seen.offset != _offset(seen),
    }
    return [fault for fault, is_so in found.items() if is_so]


def _offset(seen: Seen) -> int:
    return 2 if seen.second == "committed" else 1 if seen.first == "committed" else -1


class Pauses:
    def __init__(self, client: str, count: int, folder: Path) -> None:
        ours = [str(environment.PYTHON), str(PROGRAM), client]
        self._client = ours if client in CLIENTS else shlex.split(client)
        self._brokers = list[Serve]()
        for _ in range(count):
            self._brokers.append(Serve("--data-dir", folder, "--durability", "process"))
            assert self._brokers[-1].ready
        self._a, self._b = self._brokers[:2]
        self._b.call("POST", "/v1/topics", {"name": "t", "partitions": PARTITIONS})

    def clean_up(self) -> None:
        for broker in reversed(self._brokers):
            broker.process.send_signal(signal.SIGCONT)
            broker.clean_up()

    def round(self, number: int) -> Seen:
        name, group = asyncio.run(self._coordinated_by_a(number)), f"g{number}"
        wanted = [random.choice(["commit", "abort"]) for _ in range(2)]
        application = self._start(name, group)
        orders = ("init", "begin", f"send {number}:t1 0", "offset 1")
        assert all(application.does(order) for order in orders), "the first transaction failed before the pause"
        self._a.process.send_signal(signal.SIGSTOP)
        goes_on = threading.Timer(PAUSE_S, self._a.process.send_signal, (signal.SIGCONT,))
        goes_on.start()
        first, second, early = _end(application, wanted[0]), "none", set[str]()
        if first != "unknown" and application.does("begin"):
            is_sent = application.does(f"send {number}:t2-a 0") and application.does("offset 2")
            goes_on.join()
            time.sleep(LATE_S)  # what a carries out late is done by then
            early = self._texts(number)
            is_sent = application.does(f"send {number}:t2-b 1") and is_sent
            second = _end(application, wanted[1] if is_sent else "abort")
        goes_on.join()
        time.sleep(LATE_S)  # likewise
        application.end()
        if "unknown" in (first, second):
            self._fence(name, group)
        return Seen(first, second, early, self._texts(number), asyncio.run(self._offset(group)))

    def _start(self, name: str, group: str) -> Application:
        servers = ",".join(each.field("kafka") for each in self._brokers[1:] + self._brokers[:1])
        return Application([*self._client, servers, name, group, "t"])

    def _fence(self, name: str, group: str) -> None:
        """As the next process of an application does: an open transaction holds committed readers back.  Some clients
        fence when they begin."""
        for _ in range(FENCINGS):
            application = self._start(name, group)
            is_fenced = all(application.does(order) for order in ("init", "begin", "abort"))
            application.end()
            if is_fenced:
                return
        raise AssertionError(f"{name} could not be fenced")

    async def _coordinated_by_a(self, number: int) -> str:
        port = int(self._a.field("kafka").rpartition(":")[2])
        async with KafkaClient(_address(self._b)) as client:
            for attempt in range(1_000):
                name = f"app-{number}-{attempt}"
                if (await client.ask(FindCoordinatorRequest(name, 1), 2)).port == port:
                    return name
        raise AssertionError("broker a coordinates nothing")

    async def _offset(self, group: str) -> int:
        async with KafkaClient(_address(self._b)) as client:
            return int((await fetch(client, {"t": [0]}, group=group))["t", 0][0])

    def _texts(self, number: int) -> set[str]:
        """What committed readers see of the round."""
        found, mark = set[str](), f"{number}:"
        for partition in range(PARTITIONS):
            at, page = "earliest", {"records": [None]}
            while page["records"]:
                page = self._b.call("GET", f"/v1/topics/t/partitions/{partition}/records?offset={at}&wait_ms=0")
                found |= {record["text"] for record in page["records"]}
                at = page["next_offset"]
        return {text.removeprefix(mark) for text in found if text.startswith(mark)}


def _address(broker: Serve) -> tuple[str, int]:
    host, _, port = broker.field("kafka").rpartition(":")
    return host, int(port)


def _end(application: Application, verdict: str) -> str:
    return ("committed" if verdict == "commit" else "aborted") if application.does(verdict) else "unknown"


def run(client: str, brokers: int, until_s: float, failures: list[str]) -> None:
    tally, number = Counter[str](), 0
    with tempfile.TemporaryDirectory(prefix="redis-ledger-pauses-") as folder:
        pauses = Pauses(client, brokers, Path(folder))
        try:
            while time.monotonic() < until_s:
                number += 1
                seen = pauses.round(number)
                tally[f"{seen.first}, {seen.second}"] += 1
                failures += [f"{client}, round {number}: {fault}; {seen}" for fault in faults(seen)]
        except Exception as error:  # noqa: BLE001 - the other clients go on
            failures.append(f"{client}, round {number}: {error!r}")
        finally:
            pauses.clean_up()
    print(f"{client}, {brokers} brokers: {number} rounds; T1 and T2 were {dict(tally)}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--brokers", type=int, default=2)
    parser.add_argument("--client", action="append")
    asked = parser.parse_args()
    if environment.main():
        return 1
    failures, until_s = list[str](), time.monotonic() + 60 * asked.minutes
    with ThreadPoolExecutor() as pool:
        for client in asked.client or CLIENTS:
            pool.submit(run, client, asked.brokers, until_s, failures)
    print("\n".join(failures) or "no faults")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
