"""A broker under attack: a process with little memory, on a Redis of its own, with bystanders who must be served.

    async def test_a_bomb_is_refused(siege):                  siege: one broker, one Redis, anonymous
        status, problem = siege.post("/v1/topics/t/records?partition=0", bomb(), BATCH)
        assert (status, problem["code"], problem["setting"]) == (413, "too_large_to_decode", "record_headers_max")
        siege.check()

    with besieged("--set", "auth_required=true") as siege:    with settings of its own
        ...

Batches to attack with are in tests/support/bombs.py.

How to add an entry: one file for each subject (`test_bombs.py`, `test_lists.py`), one test for each attack.  A test
attacks by `siege.ask`, `siege.post`, `siege.kafka()` or sockets of its own, asserts that the attacker is refused by an
error that names the limit, and ends with `siege.check()`, which asserts for the time since the last check:

- the broker lives, within MEMORY_BYTES of memory (RLIMIT_DATA: what Python and its threads map counts, code does not);
- the honest client has been served, without a failure, at least once;
- no GET /livez took longer than LIVEZ_S_MAX or 5 times the worst of an idle second before, whichever is more; times
  the strain of a machine that is busy with other things (bystander.py), STRAIN_MAX at most.

`siege.check()` returns what was measured.  The bystanders are a process of their own (bystander.py).
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.support.kafka_client import KafkaClient
from tests.support.processes import Serve
from tests.support.reaper import ends_with_us
from tests.support.redis_servers import Server, redis_server

MEMORY_BYTES = 1 << 30
LIVEZ_S_MAX, LIVEZ_TIMES_MAX = 0.2, 5.0
STRAIN_MAX = 5.0  # of a machine that is busy with other things
IDLE_S = 1.0
PATIENCE_S = 60.0
BATCH = {"content-type": "application/vnd.redis-ledger.batch"}
BYSTANDER = Path(__file__).with_name("bystander.py")


class Siege:
    """redis: the broker's own.  baseline_s: the worst answer of /livez while nothing else was asked."""

    def __init__(self, broker: Serve, redis: Server) -> None:
        self.broker, self.redis = broker, redis
        self.port = int(broker.urls[0].rpartition(":")[2])
        self._http = httpx.Client(base_url=broker.urls[0], timeout=PATIENCE_S, trust_env=False)
        pipe = subprocess.PIPE
        self._bystander = subprocess.Popen(
            [sys.executable, str(BYSTANDER), str(self.port)], stdin=pipe, stdout=pipe, text=True
        )
        ends_with_us(self._bystander)
        self.baseline_s = self._idle()

    # -- attacks -----------------------------------------------------------------------------------------------------

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Status and body.  body: bytes as they are, anything else as JSON."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        kind = {"content-type": "application/json"} if body is not None else {}
        answer = self._http.request(method, path, content=content, headers={**kind, **(headers or {})})
        is_json = "json" in answer.headers.get("content-type", "")
        return answer.status_code, answer.json() if is_json else answer.content

    def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
        return self.ask("POST", path, body, headers)

    def kafka(self) -> KafkaClient:
        host, _, port = self.broker.field("kafka").rpartition(":")
        return KafkaClient((host, int(port)))

    # -- what came of it ---------------------------------------------------------------------------------------------

    def check(self, *, livez_s_max: float = LIVEZ_S_MAX) -> dict[str, Any]:
        """What the bystanders saw since the last check.  Asserts what the module says."""
        seen = self._report()
        until_s = time.monotonic() + PATIENCE_S
        while not seen["rounds"] and time.monotonic() < until_s:
            time.sleep(0.05)  # the honest client has not come round yet
            seen = {**self._report(), "livez_worst_s": seen["livez_worst_s"], "strain": seen["strain"]}
        seen["memory_mb"] = self.memory_mb()
        print(f"\nbystanders: {seen}, baseline {self.baseline_s * 1000:.0f} ms")
        assert self.broker.process.poll() is None, "the broker died"
        assert not seen["failures"], seen["failures"][:3]
        assert seen["rounds"] > 0, "the honest client was not served"
        allowed_s = max(livez_s_max, LIVEZ_TIMES_MAX * self.baseline_s) * min(seen["strain"], STRAIN_MAX)
        assert seen["livez_worst_s"] <= allowed_s, f"/livez took {seen['livez_worst_s']:.3f} s, allowed {allowed_s:.3f}"
        return seen

    def forget(self) -> None:
        """Begins to measure anew."""
        self._report()

    def memory_mb(self, field: str = "VmHWM") -> float:
        """Resident memory of the broker at its highest, or now with VmRSS."""
        lines = Path(f"/proc/{self.broker.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{field}:"))

    def cpu_s(self) -> float:
        """Seconds that the broker has computed."""
        fields = Path(f"/proc/{self.broker.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime, stime

    def _idle(self) -> float:
        """The worst answer of a second in which only bystanders ask; their first topics and connections apart."""
        until_s = time.monotonic() + PATIENCE_S
        while not self._report()["rounds"]:
            assert time.monotonic() < until_s, "the honest client was never served"
            time.sleep(0.1)  # it comes round by itself
        self._report()
        time.sleep(IDLE_S)  # what is measured is this time
        return float(self._report()["livez_worst_s"])

    def _report(self) -> dict[str, Any]:
        assert self._bystander.stdin is not None
        assert self._bystander.stdout is not None
        self._bystander.stdin.write("\n")
        self._bystander.stdin.flush()
        found: dict[str, Any] = json.loads(self._bystander.stdout.readline())
        return found

    def close(self) -> None:
        self._http.close()
        self._bystander.kill()
        self._bystander.communicate()


@contextlib.contextmanager
def besieged(*arguments: str) -> Iterator[Siege]:
    """arguments: of `redis-ledger serve`, beside its Redis and ports."""
    with redis_server() as redis:
        broker = Serve("--redis", redis.url, "--durability", "lossy", *arguments)
        try:
            resource.prlimit(broker.process.pid, resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
            siege = Siege(broker, redis)
            try:
                yield siege
            finally:
                siege.close()
        finally:
            broker.clean_up()
