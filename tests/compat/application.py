"""A process of a real Kafka client that takes orders (line_client.py)."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence

from tests.support.reaper import ends_with_us

ANSWER_S_MAX = 90.0


class Application:
    """What it does not answer in time has an unknown outcome, and the process is ended."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        ends_with_us(self._process)

    def does(self, order: str) -> bool:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        hangs = threading.Timer(ANSWER_S_MAX, self._process.kill)
        hangs.start()
        try:
            self._process.stdin.write(f"{order}\n")
            self._process.stdin.flush()
            return self._process.stdout.readline() == "ok\n"
        except BrokenPipeError:
            return False
        finally:
            hangs.cancel()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
