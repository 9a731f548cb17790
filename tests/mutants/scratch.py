"""A scratch copy of the tree, in which mutants are planted and tests run.

The copy has the files of the tree and none of its caches.  Its folder is the first on the path of every Python process
that the tests start, so that nothing of the work tree is imported.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from tests.mutants.table import Mutant

# The environment, caches, build results: a run makes what it needs of these.
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "node_modules")
TEST_S_MAX = 60  # one test
RUN_S_MAX = 240  # the tests of one mutant


class TestRun(NamedTuple):
    """What pytest did.  code: its exit code; None if it was stopped.  passed: by "module::test", false for failed or
    skipped.  output: its last lines."""

    code: int | None
    passed: dict[str, bool]
    output: str

    @property
    def is_complete(self) -> bool:
        return self.code in (0, 1)

    def of(self, test: str) -> list[bool]:
        """Returns the outcomes of a node id: of all its parameters, unless it names one."""
        file, _, name = test.partition("::")
        wanted = f"{file.removesuffix('.py').replace('/', '.')}::{name}"
        return [passed for key, passed in self.passed.items() if key == wanted or key.startswith(f"{wanted}[")]


class Scratch:
    """One copy.  folder: is created."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._folder = folder
        shutil.copytree(root, folder, symlinks=True, ignore=LEFT_OUT)

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """Changes the file of the mutant for the duration of the block.  Raises DoesNotApply."""
        path = self._folder / mutant.file
        source = path.read_text()
        changed = mutant.planted_in(source)
        try:
            _write(path, changed)
            yield
        finally:
            _write(path, source)

    def run(self, tests: Sequence[str], *, limit_s: float = RUN_S_MAX, workers: int = 1) -> TestRun:
        """Runs the tests, in several processes if there are several workers."""
        report = self._folder / ".report.xml"
        report.unlink(missing_ok=True)
        spread = ["-n", str(workers), "--dist", "worksteal"] if workers > 1 else []
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1",
            f"--timeout={TEST_S_MAX}", f"--junitxml={report}", *spread, *tests,
        ]  # fmt: skip
        environ = {**os.environ, "PYTHONPATH": str(self._folder)}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        code, output = _run(command, self._folder, environ, limit_s)
        passed = _outcomes(report) if report.exists() else {}
        return TestRun(code, passed, "\n".join(output.splitlines()[-12:]))


def _write(path: Path, text: str) -> None:
    """Python compares a cached module by time in seconds and size, which may both be the same after a change."""
    path.write_text(text)
    if path.suffix == ".py":
        Path(cache_from_source(str(path))).unlink(missing_ok=True)


def _run(command: Sequence[str], folder: Path, environ: dict[str, str], limit_s: float) -> tuple[int | None, str]:
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit_s)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with the brokers that the tests have started
        output, _ = process.communicate()
        return None, output
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def _outcomes(report: Path) -> dict[str, bool]:
    cases = ElementTree.parse(report).iter("testcase")
    bad = ("failure", "error", "skipped")
    return {
        f"{case.get('classname')}::{case.get('name')}": all(case.find(tag) is None for tag in bad) for case in cases
    }
