"""Measures how much of the machine a run gets: a second on a busy machine counts as less.

    every 100 ms    hash a buffer    processor time of this thread / time that passed    e.g. 0.4: others use the rest
                    sleep            how much longer the sleep took than asked for

Limits of a run are in these seconds, so that a stall caused by other programs is no finding.
"""

from __future__ import annotations

import hashlib
import threading
import time

SAMPLE_S = 0.1
BUFFER = bytes(400_000)


class MachineClock:
    def __init__(self) -> None:
        self._machine_s = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._measure, name="machine clock", daemon=True)
        self._thread.start()

    @property
    def machine_s(self) -> float:
        return self._machine_s

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _measure(self) -> None:
        while not self._stopped.is_set():
            began_s, began_cpu_s = time.monotonic(), time.thread_time()
            hashlib.sha256(BUFFER)  # releases the interpreter's lock
            busy_s, busy_cpu_s = time.monotonic() - began_s, time.thread_time() - began_cpu_s
            time.sleep(SAMPLE_S)  # the distance of the samples
            passed_s = time.monotonic() - began_s
            slept_well = min(1.0, SAMPLE_S / max(passed_s - busy_s, SAMPLE_S))
            self._machine_s += passed_s * min(1.0, busy_cpu_s / max(busy_s, 1e-9)) * slept_well
