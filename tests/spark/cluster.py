"""A standalone cluster of Spark on this machine: a master, and workers that act as two machines.

    master 127.0.0.1:port ◀── worker 127.0.0.1 ── executor ── Python       they see nothing of this checkout except
                          ◀── worker 127.0.0.2 ── executor ── Python       the files of the job
                          ◀── spark-submit --py-files redis-ledger.zip job.py

Two machines are needed: Spark does not start a second attempt of a task on the machine of the first one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

from redis_ledger.app.embedded_redis.probe import command_line
from tests.support.free_ports import free_port
from tests.support.processes import ROOT, eventually
from tests.support.reaper import ends_with_us

START_S_MAX = 120.0
MASTER = "127.0.0.1"
WORKERS = ("127.0.0.1", "127.0.0.2")


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"spark://{MASTER}:{free_port()}"
        self._started: list[subprocess.Popen[bytes]] = []
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        self._start("master.Master", MASTER, "--host", MASTER, "--port", self.url.rpartition(":")[2])
        self._await("master.Master", MASTER, "New state: ALIVE")
        for host in WORKERS:
            work = ("--work-dir", str(self.work(host)), "--cores", "1", "--memory", "1g")
            self._start("worker.Worker", host, "--host", host, *work, self.url)
        for host in WORKERS:
            self._await("worker.Worker", host, "Successfully registered with master")

    def work(self, host: str) -> Path:
        """The folder of a worker with the executors of each application."""
        return self.folder / f"work-{host}"

    def _start(self, what: str, host: str, *arguments: str) -> None:
        command = [tool("spark-class"), f"org.apache.spark.deploy.{what}", "--webui-port", "0", *arguments]
        with self._log(what, host).open("wb") as log:
            environ = {**environment(), "SPARK_LOCAL_IP": host}
            started = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, env=environ)
        ends_with_us(started)
        self._started.append(started)

    def _log(self, what: str, host: str) -> Path:
        return self.folder / f"{what}-{host}.log"

    def _await(self, what: str, host: str, text: str) -> None:
        eventually(lambda: text in self._log(what, host).read_text(), START_S_MAX)

    def submit(self, program: Path, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        """settings: of Spark, `_` for `.` in their names."""
        given = {"spark_driver_host": MASTER, "spark_ui_enabled": "false", "spark_executor_memory": "512m", **settings}
        command = [tool("spark-submit"), "--master", self.url, "--py-files", str(packed(self.folder))]
        command += [word for name, value in given.items() for word in ("--conf", f"{name.replace('_', '.')}={value}")]
        environ = environment() | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": MASTER}
        submitted = subprocess.Popen(
            [*command, str(program), *arguments],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ,
        )  # fmt: skip
        ends_with_us(submitted)
        return submitted

    def kill_executor(self, host: str) -> None:
        """Returns when the executor has ended."""
        (executor,) = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self._runs(pid, host)]
        os.kill(executor, signal.SIGKILL)
        eventually(lambda: not command_line(executor))

    def _runs(self, pid: int, host: str) -> bool:
        """Whether this is an executor of this cluster: they run in the folder of their worker."""
        if "CoarseGrainedExecutorBackend" not in command_line(pid):
            return False
        with contextlib.suppress(OSError):  # it has ended in between
            return Path(f"/proc/{pid}/cwd").readlink().is_relative_to(self.work(host).resolve())
        return False

    def close(self) -> None:
        for each in reversed(self._started):
            each.terminate()
        for each in self._started:
            each.wait(START_S_MAX)


def tool(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def environment() -> dict[str, str]:
    """Without the variables that make this checkout importable; Spark's scripts find Spark by the first Python."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK_"))}
    return kept | {"PATH": f"{Path(sys.executable).parent}:{kept['PATH']}"}


def packed(folder: Path) -> Path:
    """The library, and the jobs of these tests, as one file for --py-files."""
    made = folder / "redis-ledger.zip"
    if not made.exists():
        with zipfile.ZipFile(made, "w") as archive:
            for path in [*ROOT.glob("redis_ledger/**/*.py"), *ROOT.glob("tests/spark/*.py")]:
                archive.write(path, path.relative_to(ROOT))
            for package in ("tests", "tests/spark"):  # a zip has no packages without this file
                archive.writestr(f"{package}/__init__.py", "")
    return made
