"""An offload that dies at a chosen point: before or after any call of the client, and any change of a file.

    points of a run   describe  plan  create  move  ...  publish  describe  put  delete      "before", 3: the third call
                         1        2      3      4                                             is not sent
                                                                                             "after", 3: it returned

It is started once and forks for every case.  The child runs tasks and partitions in its own process, one after the
other, so that the same run always has the same points.  Writing files does not need Spark.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from pyarrow import fs

from redis_ledger import Client
from redis_ledger.offload import object_store
from redis_ledger.spark import offloading
from redis_ledger.spark.pipelines.progress import Progress
from redis_ledger.spark.read_options import Connection
from tests.support.forked_cases import DIED, ROOT

CALLS = {"topics": ["describe"], "offload": ["describe", "plan", "publish", "abandon", "forget"]}
CHANGES = ("create_dir", "open_output_stream", "move", "delete_file")


@dataclass
class Case:
    """n 0: no crash."""

    url: str
    topic: str
    n: int
    when: str


@dataclass
class Report:
    """points: those passed, in order, including the one of the crash.  error: of the run, if it failed."""

    died: bool
    points: list[str] = field(default_factory=list)
    error: str = ""


class Counter:
    def __init__(self, case: Case, report_to: int) -> None:
        self.case, self.report_to = case, report_to
        self.points: list[str] = []

    def around(self, name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(step)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.points.append(name)
            number = len(self.points)
            if (number, self.case.when) == (self.case.n, "before"):
                self.end(died=True)
            try:
                return step(*args, **kwargs)
            finally:  # an error is a response, too
                if (number, self.case.when) == (self.case.n, "after"):
                    self.end(died=True)

        return counted

    def end(self, *, died: bool, error: str = "") -> None:
        os.write(self.report_to, json.dumps(asdict(Report(died, self.points, error))).encode())
        os._exit(DIED if died else 0)


class CountedFiles:
    """A local file system whose changes are counted."""

    def __init__(self, inner: fs.FileSystem, counter: Counter) -> None:
        self._inner, self._counter = inner, counter

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._counter.around(name, found) if name in CHANGES else found


def one_after_the_other(
    work: Callable[[Any], Any], pieces: Sequence[Any], report: Callable[[Any, Any], Any] | None = None
) -> list[Any]:
    return [work(piece) for piece in pieces]


def work(case: Case, report_to: int) -> None:
    counter = Counter(case, report_to)
    # pyarrow's own classes cannot be patched, so the module that opens object stores gets subclasses.
    counted = SimpleNamespace(
        FileSystem=SimpleNamespace(from_uri=lambda uri: (CountedFiles(fs.LocalFileSystem(), counter), uri)),
        LocalFileSystem=fs.LocalFileSystem, FileType=fs.FileType,
    )  # fmt: skip
    patch.object(object_store, "filesystems", counted).start()
    offloading.PARTITIONS_AT_ONCE = 1
    with Client(case.url) as client, open(os.devnull, "w") as nowhere:
        for area, names in CALLS.items():
            for name in names:
                step = getattr(getattr(client, area), name)
                setattr(getattr(client, area), name, counter.around(name, step))
        wish = offloading.OffloadOptions(seal=True, orphan_ms=0)
        reached = Connection((case.url,), None, 60_000)
        progress = Progress("offload", out=nowhere)
        job = offloading.Offload(client, reached, case.topic, wish, one_after_the_other, progress)
        errors = job.all()
    counter.end(died=False, error=" ".join(map(repr, errors)))


def main() -> None:
    for line in sys.stdin:
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                work(Case(**json.loads(line)), write_end)
            finally:
                os._exit(1)  # only if the work itself failed; its traceback is on stderr
        os.close(write_end)
        with os.fdopen(read_end, "rb") as pipe:
            text = pipe.read()
        os.waitpid(pid, 0)
        print(text.decode() or json.dumps(asdict(Report(False, error="it exited without a message"))), flush=True)


# -- the test's side -------------------------------------------------------------------------------------------------


class OffloadChild:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, url: str, topic: str, n: int = 0, when: str = "") -> Report:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(Case(url, topic, n, when))) + "\n")
        self._process.stdin.flush()
        return Report(**json.loads(self._process.stdout.readline()))


@contextmanager
def offload_child() -> Iterator[OffloadChild]:
    command = [sys.executable, "-m", __name__]
    with subprocess.Popen(command, cwd=Path(ROOT), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield OffloadChild(process)
        assert process.stdin is not None
        process.stdin.close()


if __name__ == "__main__":
    main()
