"""A client that measures a broker under attack.  A process of its own: building an attack does not slow it down.

livez     GET /livez every 20 ms on a kept connection; the longest and the mean answer time since the last report
strain    how much longer 2 ms of work take than 2 ms, nine times in ten: what the machine is busy with besides
honest    one small record produced, and read back at its offset, over and over, in a topic of its own

python tests/attack/bystander.py PORT        a line on stdin → one report as JSON on stdout; ends with its stdin
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from typing import Any

LOOK_EVERY_S = 0.02
TIMEOUT_S = 60.0
WORK_S = 0.002
TOPIC = "honest"
JSON = {"content-type": "application/json"}


class Seen:
    """What was measured since the last report.  rounds: of the honest client; failures: what it was refused."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._livez_s: list[float] = []
        self._rounds_s: list[float] = []
        self._failures: list[str] = []
        self._strains: list[float] = []
        self._began_s = {"livez": 0.0, "honest": 0.0}  # of what is under way; 0: nothing

    def begins(self, what: str) -> float:
        now_s = time.monotonic()
        with self._lock:
            self._began_s[what] = now_s
        return now_s

    def ends(self, what: str, failure: str | None = None) -> None:
        now_s = time.monotonic()
        with self._lock:
            took_s = now_s - self._began_s[what]
            self._began_s[what] = 0.0
            (self._livez_s if what == "livez" else self._rounds_s).append(took_s)
            if failure is not None:
                self._failures.append(f"{what}: {failure}")

    def worked(self, strain: float) -> None:
        with self._lock:
            self._strains.append(strain)

    def report(self) -> dict[str, Any]:
        """And begins anew.  What is under way counts with what it has taken so far."""
        with self._lock:
            now_s = time.monotonic()
            under_way = {what: now_s - began_s if began_s else 0.0 for what, began_s in self._began_s.items()}
            livez = [*self._livez_s, under_way["livez"]]
            rounds = [*self._rounds_s, under_way["honest"]]
            found = {
                "livez_worst_s": max(livez), "livez_mean_s": sum(livez) / len(livez), "looks": len(self._livez_s),
                "strain": max(1.0, *sorted(self._strains)[len(self._strains) * 9 // 10 :][:1], 1.0),
                "rounds": len(self._rounds_s), "round_worst_s": max(rounds), "failures": self._failures,
            }  # fmt: skip
            self._livez_s, self._rounds_s, self._failures, self._strains = [], [], [], []
        return found


class Door:
    """One connection, opened again after a failure."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._http: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        if self._http is None:
            self._http = http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT_S)
        try:
            self._http.request(method, path, None if body is None else json.dumps(body), JSON if body else {})
            answer = self._http.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self._http.close()
            self._http = None
            raise
        assert answer.status < 400, f"{method} {path}: {answer.status} {text[:200]!r}"
        return json.loads(text)


def look(port: int, seen: Seen) -> None:
    door = Door(port)
    while True:
        seen.begins("livez")
        failure = None
        try:
            door.ask("GET", "/livez")
        except Exception as error:  # noqa: BLE001 - any error is reported
            failure = repr(error)
        seen.ends("livez", failure)
        time.sleep(LOOK_EVERY_S)  # the pace of the watch


def strain(_port: int, seen: Seen) -> None:
    while True:
        began_s, until_s = time.monotonic(), time.thread_time() + WORK_S
        while time.thread_time() < until_s:
            pass
        seen.worked((time.monotonic() - began_s) / WORK_S)
        time.sleep(LOOK_EVERY_S)  # the pace of the watch


def serve(port: int, seen: Seen) -> None:
    door, number = Door(port), 0
    while True:
        number += 1
        seen.begins("honest")
        failure = None
        try:
            made = door.ask("POST", f"/v1/topics/{TOPIC}/records", {"records": [{"value": number}], "partition": 0})
            offset = made["results"][0]["base_offset"]
            path = f"/v1/topics/{TOPIC}/partitions/0/records?offset={offset}&max_records=1"
            (record,) = door.ask("GET", path)["records"]
            assert (record["offset"], record["value"]) == (offset, number), record
        except Exception as error:  # noqa: BLE001 - any error is reported
            failure = repr(error)
        seen.ends("honest", failure)
        time.sleep(LOOK_EVERY_S)  # the pace of a modest client


def main() -> None:
    port, seen = int(sys.argv[1]), Seen()
    for work in (look, serve, strain):
        threading.Thread(target=work, args=(port, seen), daemon=True).start()
    for _ in sys.stdin:
        print(json.dumps(seen.report()), flush=True)


if __name__ == "__main__":
    main()
