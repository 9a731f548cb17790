"""Pipelines that die: counts every call by which a driver changes something, and stops the driver at one of them.

python -m tests.spark.dying '{"module": "replay", "jobs": [{"arguments": [...], "at": 1}, ...]}'

Each job runs in its own thread and waits before its call of that number.  When all jobs wait, the process ends by
os._exit, so each job has completed exactly the calls before it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from redis_ledger.client._sync.transport import Transport
from redis_ledger.offload.object_store import ObjectStore
from redis_ledger.spark import register
from redis_ledger.spark.pipelines import compact_spark, replay

DIED, NEVER = 9, 1 << 30
# Functions that change something, in addition to calls of a broker other than GET.
CHANGES = ((replay.Job, "write"), (compact_spark, "rewritten"), (ObjectStore, "delete"))


class _Calls(threading.local):
    """Counter of one thread.  at: the call before which it stops."""

    count = 0
    at = NEVER
    stopped: threading.Event | None = None


CALLS = _Calls()


def _arrived() -> None:
    CALLS.count += 1
    if CALLS.count == CALLS.at:
        assert CALLS.stopped is not None
        CALLS.stopped.set()
        threading.Event().wait()


def watched(replace: Callable[[Any, str, Any], None] = setattr) -> None:
    """Counts calls from here on, for each thread."""

    def counted(act: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            _arrived()
            return act(*args, **more)

        return call

    def sent(self: Transport, method: str, *args: Any, **more: Any) -> Any:
        if method != "GET":
            _arrived()
        return send(self, method, *args, **more)

    send = Transport.send
    replace(Transport, "send", sent)
    for home, name in CHANGES:
        replace(home, name, counted(getattr(home, name)))


def main() -> None:
    given = json.loads(sys.argv[1])
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.showConsoleProgress", "false")
    spark = builder.config("spark.log.level", "OFF").getOrCreate()
    register(spark)
    watched()
    pipeline: Any = importlib.import_module(f"redis_ledger.spark.pipelines.{given['module']}")

    def shared(_: object) -> contextlib.nullcontext[SparkSession]:
        """For threads, which have no active session before they create a table and must not stop the shared one."""
        spark.createDataFrame([(1,)], "number int")
        return contextlib.nullcontext(spark)

    pipeline.started = shared
    threading.excepthook = _failed
    stopped = []
    for job in given["jobs"]:
        stopped.append(threading.Event())
        threading.Thread(target=_one, args=(pipeline, job, stopped[-1]), daemon=True).start()
    while not all(each.is_set() for each in stopped):
        time.sleep(0.05)  # the job threads wait and signal nothing
    os._exit(DIED)


def _one(pipeline: Any, job: dict[str, Any], stopped: threading.Event) -> None:
    CALLS.at, CALLS.stopped = job["at"], stopped
    pipeline.run(pipeline.arguments_of(job["arguments"]))
    raise AssertionError(f"the job ended after {CALLS.count} calls, before call {job['at']}")


def _failed(args: threading.ExceptHookArgs) -> None:
    traceback.print_exception(args.exc_value)
    os._exit(1)


if __name__ == "__main__":
    main()
