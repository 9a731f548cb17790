"""The same jobs on a cluster of processes, with concurrent attempts of a task and machines that fail.

plain       no fault; spark-submit ships the job, and the executors have nothing else
overtaken   spark.speculation: task 0 hangs, and another attempt on the other machine completes
executor    the process that runs a task is killed after it has written everything
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.spark.cluster import MASTER, WORKERS, Cluster
from tests.spark.world import Job, World
from tests.support.doc_pages import program
from tests.support.processes import ROOT, eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="one machine acts as two: 127.0.0.1 and 127.0.0.2"),
]
RUN_S_MAX = 900.0  # on a busy machine
MODES = ("batch", "stream")
POINTS = {"plain": "", "overtaken": "overtaken", "executor": "wrote"}
CASES = [(fault, mode) for fault in POINTS for mode in MODES]
SPECULATION = {
    "spark_speculation": "true", "spark_speculation_interval": "100ms", "spark_speculation_quantile": "0.4",
    "spark_speculation_multiplier": "1.1",
}  # fmt: skip


class Ran(NamedTuple):
    """output: of the submitted program."""

    cluster: Cluster
    jobs: dict[tuple[str, str], Job]
    output: str


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("world"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def ran(world: World, cluster: Cluster) -> Ran:
    """Runs all jobs, in sequence in one application."""
    jobs = {(fault, mode): world.job(mode, POINTS[fault]) for fault, mode in CASES}
    given = json.dumps([asdict(job.stopping) for job in jobs.values()])
    submitted = cluster.submit(ROOT / "tests" / "spark" / "clustered.py", given, **SPECULATION)

    def are_held(job: Job) -> bool:
        return len(job.point.notes()) == 2 or submitted.poll() is not None

    try:
        for mode in MODES:
            job = jobs["executor", mode]
            eventually(partial(are_held, job), RUN_S_MAX)
            assert submitted.poll() is None, submitted.communicate()[0][-4000:]
            cluster.kill_executor(WORKERS[1])
            job.point.go()
        output = submitted.communicate(timeout=RUN_S_MAX)[0]
    finally:
        submitted.kill()
    assert submitted.returncode == 0, output[-4000:]
    return Ran(cluster, jobs, output)


@pytest.mark.timeout(2 * RUN_S_MAX)
@pytest.mark.parametrize(("fault", "mode"), CASES)
def test_every_record_is_written_once_under_faults_of_the_cluster(ran: Ran, fault: str, mode: str) -> None:
    job = ran.jobs[fault, mode]
    job.check_done()
    began = {path.name for path in Path(job.point.folder).glob("began-*-of-1")} if POINTS[fault] else set()
    if fault == "overtaken":
        # The first attempt had written everything and hung to the end, while another one ran
        assert job.point.notes() == ["at-0.0"]
        assert not (job.point.folder / "go").exists()
        assert began >= {"began-0.0-of-1", "began-0.1-of-1", "began-1.0-of-1"}
    if fault == "executor":
        # Both first attempts had written everything; those on the lost machine were started again
        assert set(job.point.notes()) >= {"at-0.0", "at-1.0"}
        assert began - {"began-0.0-of-1", "began-1.0-of-1"}


def test_tasks_run_on_both_machines_with_the_files_of_the_job(ran: Ran) -> None:
    ended = [json.loads(line) for line in ran.output.splitlines() if line.startswith('{"done"')]
    assert {each["master"] for each in ended} == {ran.cluster.url}
    assert [each["done"] for each in ended] == [job.plain.sink for job in ran.jobs.values()]
    assert MASTER in WORKERS
    for host in WORKERS:
        application = min(ran.cluster.work(host).glob("app-*"))
        # An executor that replaced another one may have had no tasks
        assert list(application.glob("*/redis-ledger.zip"))


@pytest.mark.timeout(2 * RUN_S_MAX)
def test_the_program_of_the_page_runs_on_a_cluster(world: World, cluster: Cluster, tmp_path: Path) -> None:
    # Given six orders
    with world.client() as client:
        for topic in ("orders", "paid"):
            client.topics.create(topic, partitions=2)
        with client.producer("orders") as producer:
            for number in range(6):
                producer.send(f"order {number}", key=f"{number}", partition=number % 2)
    code, expected = program(ROOT / "docs" / "howto" / "spark-on-clusters.md", world.urls[0])
    (tmp_path / "orders.py").write_text(code)
    # When the page's program is submitted
    submitted = cluster.submit(tmp_path / "orders.py", ",".join(world.urls), str(tmp_path / "checkpoint"))
    try:
        output = submitted.communicate(timeout=RUN_S_MAX)[0]
    finally:
        submitted.kill()
    # Then it prints the output on the page
    assert submitted.returncode == 0, output[-4000:]
    assert expected == ["6"]
    assert [line for line in output.splitlines() if line.isdigit()] == expected
    # And every order is paid once, and acknowledged in the same transaction
    with world.client() as client:
        paid = sorted(message.text() for partition in range(2) for message in client.read("paid", partition))
        assert paid == [f"paid order {number}" for number in range(6)]
        assert client.subscriptions.stats("orders", "billing").backlog == 0
