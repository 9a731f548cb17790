"""Exactly once under failures: every record is copied once, and the subscription's lag matches the output.

    fault     point                                             the job afterwards
    driver    begun, wrote, written, noted, committed           is run again, by another driver
    drivers   written: another driver completes the job         continues and is refused; a batch job does nothing
    replay    done, but Spark's record of it is lost            is run again
    task      wrote: the first attempts fail                    continues
    broker    midway, written: it is killed; another is there   continues
    redis     reading, midway, written: killed and restarted    continues, or is run again

Each fault is tested for a batch job, which is step 7 of its name, and in the second of three batches of a stream.
failing.py defines the points.  Two concurrent attempts of a task are in test_matrix_cluster.py.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, NamedTuple

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tests.spark.driver import SETTINGS, prepared
from tests.spark.world import RECORDS, Job, World
from tests.support.processes import ROOT, eventually
from tests.support.reaper import ends_with_us

HELD_S_MAX = 600  # on a busy machine
RERUNS_MAX = 3
MODES = ("batch", "stream")
TASKS = ["at-0.0", "at-1.0"]
DRIVER = ["at-driver"]


class Row(NamedTuple):
    """who: the process that reaches the point.  visible: visible records at that time, for a batch job and a stream."""

    fault: str
    point: str
    who: list[str]
    visible: tuple[int, int]
    is_quick: bool = False


ROWS = [
    Row("driver", "begun", TASKS, (0, 20)),
    Row("driver", "wrote", TASKS, (0, 20)),
    Row("driver", "written", DRIVER, (0, 20)),
    Row("driver", "noted", DRIVER, (0, 20)),
    Row("driver", "committed", DRIVER, (60, 40)),
    Row("drivers", "written", DRIVER, (0, 20)),
    Row("replay", "", [], (60, 60), is_quick=True),
    Row("task", "failed", TASKS, (0, 20), is_quick=True),
    Row("broker", "midway", TASKS, (0, 20)),
    Row("broker", "written", DRIVER, (0, 20), is_quick=True),
    Row("redis", "reading", TASKS, (0, 20)),
    Row("redis", "midway", TASKS, (0, 20)),
    Row("redis", "written", DRIVER, (0, 20)),
]
CASES = [(row, mode) for row in ROWS for mode in MODES]


def cases(*faults: str) -> Any:
    chosen = [
        pytest.param(row, mode, id="-".join(filter(None, (mode, row.fault, row.point))),
                     marks=() if row.is_quick and mode == "stream" else pytest.mark.slow)
        for row, mode in CASES if row.fault in faults
    ]  # fmt: skip
    return pytest.mark.parametrize(("row", "mode"), chosen)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("world"))
    yield world
    world.close()


@pytest.fixture(scope="module", autouse=True)
def session(spark: Any) -> Iterator[Any]:
    before = {name: spark.conf.get(name) for name in SETTINGS}
    yield prepared(spark)
    for name, value in before.items():
        spark.conf.set(name, value)


# -- drivers, in a process of their own --------------------------------------------------------------------------------


class Died(NamedTuple):
    """A driver that was killed.  jobs: by point and mode.  ends: errors of jobs that ended before, likewise."""

    jobs: dict[tuple[str, str], Job]
    ends: dict[tuple[str, str], str]


@pytest.fixture(scope="module")
def died(world: World, session: Any, tmp_path_factory: pytest.TempPathFactory) -> Died:
    """Runs all jobs of the `driver` faults in one driver, which is killed when they have reached their points.  Before
    that, this process completes the jobs of the `drivers` fault and lets them continue."""
    home = tmp_path_factory.mktemp("driver")
    jobs = {
        (row.fault + row.point, mode): world.job(mode, row.point)
        for row in ROWS if row.fault.startswith("driver") for mode in MODES
    }  # fmt: skip
    rows = {row.fault + row.point: row for row in ROWS}
    given = json.dumps({"home": str(home), "jobs": [asdict(job.stopping) for job in jobs.values()]})
    command = [sys.executable, "-m", "tests.spark.driver", given]
    ends = {}
    with (home / "stderr").open("w+") as log, subprocess.Popen(command, cwd=ROOT, stderr=log) as child:
        ends_with_us(child)

        def are_held() -> bool:
            assert child.poll() is None, (home / "stderr").read_text()[-2000:]
            return all(job.point.notes() == rows[place].who for (place, _), job in jobs.items())

        try:
            eventually(are_held, HELD_S_MAX)
            for (place, mode), job in jobs.items():
                if place.startswith("drivers"):
                    job.check_visible(rows[place].visible[MODES.index(mode)])
                    job.plain.run(session)
                    job.check_done()
                    job.point.go()
                    end = home / f"{job.plain.sink}.end"
                    eventually(end.exists, HELD_S_MAX)
                    ends[place, mode] = end.read_text()
        finally:
            if (home / "pid").exists():
                os.kill(int((home / "pid").read_text()), signal.SIGKILL)
            child.kill()
    return Died(jobs, ends)


@cases("driver")
@pytest.mark.timeout(2 * HELD_S_MAX)
def test_after_a_killed_driver_the_next_one_completes_the_job(row: Row, mode: str, died: Died, session: Any):
    # Given a job that was at its point when its driver was killed
    job = died.jobs[row.fault + row.point, mode]
    assert job.point.notes() == row.who
    job.check_visible(row.visible[MODES.index(mode)])
    if row.point in ("wrote", "written"):
        assert job.there() > job.seen().total()
    # When another driver runs it, then every record is there once
    job.plain.run(session)
    job.check_done()


@cases("drivers")
@pytest.mark.timeout(2 * HELD_S_MAX)
def test_a_replaced_driver_commits_nothing_and_fails(row: Row, mode: str, died: Died, session: Any):
    # Given a driver that continued after another one had completed its job
    job = died.jobs[row.fault + row.point, mode]
    assert job.point.notes() == row.who
    # Then a stream has ended with the error; a batch job had nothing left to do
    error = died.ends[row.fault + row.point, mode]
    assert ("ProducerFenced" in error) if mode == "stream" else error == ""
    job.check_done()


# -- the driver of this process ----------------------------------------------------------------------------------------


@cases("replay")
def test_a_repeated_batch_writes_no_duplicates(row: Row, mode: str, world: World, session: Any):
    # Given a job that is done
    job = world.job(mode)
    job.plain.run(session)
    job.check_visible(row.visible[MODES.index(mode)])
    if mode == "stream":
        # and Spark has lost the record of its last batch
        assert sorted(path.name for path in job.commits.glob("[0-9]*")) == ["0", "1", "2"]
        (job.commits / "2").unlink()
        (job.commits / ".2.crc").unlink()
    # When it is run again
    job.plain.run(session)
    # Then it has repeated that batch, and there are no duplicates
    assert mode == "batch" or (job.commits / "2").exists()
    job.check_done()


@cases("task", "broker", "redis")
def test_a_job_continues_or_can_be_repeated_after_servers_or_tasks_die(row: Row, mode: str, world: World, session: Any):
    job = world.job(mode, row.point, is_long=row.point == "reading")
    world.replace_broker()
    with ThreadPoolExecutor(1) as thread:
        try:
            # Given a job that is at its point
            running = thread.submit(job.stopping.run, session)
            eventually(lambda: job.point.notes() == row.who or running.done(), HELD_S_MAX)
            if row.fault == "task":
                assert running.exception() is None
            else:
                assert not running.done(), running.exception()
                job.check_visible(row.visible[MODES.index(mode)])
            if row.point in ("midway", "written"):
                assert job.there() > job.seen().total()
            # When a process that it needs is killed
            if row.fault == "broker":
                world.kill_broker()
            elif row.fault == "redis":
                world.kill_redis()
        finally:
            job.point.go()
        failed: BaseException | None = running.exception()
    # Then it continues, or it fails and is run again
    for _ in range(RERUNS_MAX):
        if failed is None:
            break
        assert isinstance(failed, PySparkException | Py4JError), failed
        failed = attempted(job, session)
    assert failed is None
    job.check_done()
    # And the expected outcome holds
    assert job.point.notes() == row.who
    if row.fault == "task":
        assert {path.name for path in job.point.folder.glob("began-*-of-1")} >= {"began-0.1-of-1", "began-1.1-of-1"}
    if row.point == "reading":
        assert sorted(path.name for path in job.point.folder.glob("went-on-*")) == ["went-on-0.0", "went-on-1.0"]


def attempted(job: Job, session: Any) -> BaseException | None:
    try:
        job.plain.run(session)
    except (PySparkException, Py4JError) as error:
        reason: BaseException = error
        return reason
    return None


def test_the_matrix_has_every_fault_in_both_modes():
    assert len(CASES) == 2 * len({(row.fault, row.point) for row in ROWS}) == 26
    assert RECORDS == 60
