from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc, redis_ledger.spark.task_commit
from redis_ledger.spark.workers import LOOKED_AT_MAX, freeze_loaded_objects
freeze_loaded_objects()
first = len(gc.get_objects())
loaded = [[] for _ in range(2 * LOOKED_AT_MAX)]
freeze_loaded_objects()
print(gc.get_freeze_count() > 0, first <= LOOKED_AT_MAX, len(gc.get_objects()) <= LOOKED_AT_MAX)
"""


def run(**environ: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_worker_looks_for_garbage_only_among_what_came_since():
    assert run(SPARK_REUSE_WORKER="1") == "True True True"


def test_a_process_that_is_no_worker_keeps_its_collector_as_it_was():
    assert run() == "False False False"
