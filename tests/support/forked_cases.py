"""Cases, each in a process of its own, that import nothing: one process for all of them forks for each case.

    test ── module, case ──▶ ForkedCases.main ── fork ──▶ work(case, pipe) ✗      died at its n-th write, or survived
         ◀── report ────────                  ◀── report ──

A module of cases has `Case`, `Report` and `work(case, report_to)`, which writes its report to that descriptor and ends
the process.  The forking process has no event loop and no connections, so a case starts with none.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.support.reaper import ends_with_us

DIED = 17  # exit code of a case that died at a write
ROOT = Path(__file__).resolve().parents[2]


class ForkedCases:
    """It starts with the first case.  A case that was given up ends it; the next case starts it anew."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None

    async def __call__(self, case: Any) -> Any:
        """The report of a case.  Raises AssertionError if it neither died at a write nor survived."""
        link = self._link or self._start()
        loop = asyncio.get_running_loop()
        line = json.dumps({"module": type(case).__module__, "case": asdict(case)}).encode() + b"\n"
        answer = b""
        try:
            await loop.sock_sendall(link, line)
            while not answer.endswith(b"\n"):
                some = await loop.sock_recv(link, 1 << 16)
                assert some, "the process that forks has ended"
                answer += some
        except BaseException:
            self.end()
            raise
        report = json.loads(answer)
        assert "error" not in report, report["error"]
        return sys.modules[type(case).__module__].Report(**report)

    def _start(self) -> socket.socket:
        self._link, theirs = socket.socketpair()
        self._link.setblocking(False)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__], cwd=ROOT, stdin=theirs.fileno(), stdout=theirs.fileno(),
                start_new_session=True,  # so that its end is that of the case
            )  # fmt: skip
        ends_with_us(self._process)
        return self._link

    def end(self) -> None:
        if self._process is not None and self._link is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._link.close()
        self._process = self._link = None


# -- the other process -------------------------------------------------------------------------------------------------


@functools.cache
def imported(module: str) -> Any:
    """With what it has imported kept from the garbage collector, which would copy it in each case."""
    found = importlib.import_module(module)
    gc.collect()
    gc.freeze()
    return found


def run_forked(work: Callable[[int], Coroutine[Any, Any, None]]) -> dict[str, Any]:
    """What a child that does the work reported.  work: ends the process itself; given the pipe's end to report to."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            asyncio.run(work(write_end))
        except BaseException:  # noqa: BLE001 - the step itself failed
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    report: dict[str, Any] = json.loads(text) if text else {}
    if code != (DIED if report.get("died") else 0) or not report:
        return {"error": f"exit code {code}, report {report}"}
    return report


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        module = imported(asked["module"])
        print(json.dumps(run_forked(functools.partial(module.work, module.Case(**asked["case"])))), flush=True)


if __name__ == "__main__":
    main()
