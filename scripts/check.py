"""Runs checks and tools by name.  `make check`, `make quick`, `make test` and `make test-all` call it.

    .venv/bin/python scripts/check.py --list              lists every step
    .venv/bin/python scripts/check.py lint unit           runs these steps
    .venv/bin/python scripts/check.py test                runs all steps of `make test`
    .venv/bin/python scripts/check.py --minutes 30 ci-rest    runs those that fit into 30 minutes, in their order

The steps are in scripts/steps.py.  Each writes its output to build/check/NAME.log and has a limit of time.  A failed
step does not stop the following ones.  The end of a run is: the last lines of each failed step, then a table with a
line for each step, ok or FAILED, and a line "left out" with the reason for everything that did not run.  The exit code
is 1 if a step failed.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import left_out, steps  # noqa: E402  a script has its own folder on sys.path, not the root
from scripts.steps import BIN, LOGS, STEPS, Step  # noqa: E402

OK, FAILED, LEFT_OUT = "ok", "FAILED", "left out"
LAST_LINES = 50
INTERRUPTED_S_MAX = 30.0  # from SIGINT, by which pytest ends its tests and prints what has failed, to SIGKILL
LOOK_S = 0.1
SPARE = 1.25  # a step is started only if there is time for this many times what it takes


class StepResult(NamedTuple):
    """The result of a step.

    cpu_s    of its processes and their children
    notes    the parts that it left out, each with its reason
    details  lines about its parts
    """

    name: str
    verdict: str
    seconds: float
    cpu_s: float = 0.0
    notes: Sequence[str] = ()
    details: Sequence[str] = ()


class Ended(NamedTuple):
    """code: None if it was ended at its limit."""

    code: int | None
    cpu_s: float


# -- one step ----------------------------------------------------------------------------------------------------------


def judge(code: int | None, notes: Sequence[str]) -> str:
    """Returns the verdict for an exit code.  A step counts as left out only if it noted a reason."""
    if code == left_out.EXIT_CODE and notes:
        return LEFT_OUT
    return OK if code == 0 else FAILED


def limit_s(step: Step) -> float:
    return step.minutes * 60 * steps.LIMIT_TIMES + steps.LIMIT_S


def execute(command: Sequence[str], environ: dict[str, str], log: Path, seconds_max: float, *, show: bool) -> Ended:
    """Runs a command in a process group of its own.  Appends its output to the log and, if show, prints it."""
    began = time.monotonic()
    with log.open("ab") as output, log.open("rb") as written:
        written.seek(0, os.SEEK_END)

        def print_new() -> None:
            if show and (new := written.read()):
                sys.stdout.write(new.decode(errors="replace"))
                sys.stdout.flush()

        process = subprocess.Popen(
            command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output, process_group=0
        )
        try:
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                print_new()
                if pid:
                    process.returncode = os.waitstatus_to_exitcode(status)
                    return Ended(process.returncode, usage.ru_utime + usage.ru_stime)
                if time.monotonic() - began > seconds_max or interrupted.is_set():
                    return Ended(None, 0.0)
                time.sleep(LOOK_S)
        finally:
            if process.returncode is None:
                end(process)
                print_new()


interrupted = threading.Event()


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and its group."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(INTERRUPTED_S_MAX)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(step: Step, *, show: bool = True, seconds_left: float | None = None) -> StepResult:
    """Runs a step.  seconds_left: it is ended then, and counts as left out."""
    if step.left_out:
        return StepResult(step.name, LEFT_OUT, 0.0, notes=[f"{step.name}: {step.left_out}"])
    if seconds_left is not None and step.minutes * 60 * SPARE > seconds_left:
        why = f"it takes {step.minutes:.0f} minutes, and {max(0.0, seconds_left) / 60:.0f} were left"
        return StepResult(step.name, LEFT_OUT, 0.0, notes=[f"{step.name}: {why}"])
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{step.name}.log"
    log.write_bytes(b"")
    began, limit, cpu_s = time.monotonic(), limit_s(step), 0.0
    if is_cut_short := seconds_left is not None and seconds_left < limit:
        limit = seconds_left or 0.0
    with tempfile.NamedTemporaryFile("r", prefix="left-out-") as file:
        environ = {**os.environ, **step.env, left_out.VARIABLE: file.name}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)  # tests start hundreds of brokers, which would compile all modules
        code: int | None = 0
        for command in filter(None, (step.prepare, step.command)):
            if code == 0:
                ended = execute(command, environ, log, limit - (time.monotonic() - began), show=show)
                code, cpu_s = ended.code, cpu_s + ended.cpu_s
        notes = file.read().splitlines()
    seconds = time.monotonic() - began
    if code is None and is_cut_short:
        notes = [f"{step.name}: ended after {seconds:.0f} s, when the time was over", *notes]
        return StepResult(step.name, LEFT_OUT, seconds, notes=notes)
    if code is None:
        with log.open("a") as output:
            output.write(f"\nended after {seconds:.0f} s: the limit is {limit:.0f} s (scripts/steps.py)\n")
    return StepResult(step.name, judge(code, notes), seconds, cpu_s, notes, list(by_folder(step)))


def by_folder(step: Step) -> Iterator[str]:
    """Returns a line for each folder of tests in the report that the step has written."""
    report = next((Path(each.partition("=")[2]) for each in step.command if each.startswith("--junitxml=")), None)
    if report is None or not report.exists():
        return
    cases = defaultdict[str, list[ElementTree.Element]](list)
    for case in ElementTree.parse(report).iter("testcase"):
        _, _, names = case.get("classname", "").partition("tests.")
        cases[names.partition(".")[0] or "classes"].append(case)
    report.unlink()
    for folder, of_folder in cases.items():
        seconds = sum(float(case.get("time", "0")) for case in of_folder)
        failed = sum(any(each.tag in ("failure", "error") for each in case) for case in of_folder)
        yield f"{folder}: {len(of_folder)} tests in {seconds:.0f} s of a worker{f', {failed} failed' if failed else ''}"


# -- all steps ---------------------------------------------------------------------------------------------------------


class Schedule(NamedTuple):
    """Steps that run one after another, those that run beside them, and those that run after both."""

    first: list[Step]
    beside: list[Step]
    alone: list[Step]


def schedule(planned: Sequence[Step]) -> Schedule:
    beside = [step for step in planned if step.name in steps.ASIDE]
    alone = [step for step in planned if step.name in steps.ALONE]
    first = [step for step in planned if step not in beside and step not in alone]
    return Schedule(first, beside, alone) if first else Schedule(beside, [], alone)


def run_all(planned: Sequence[Step], minutes: float | None = None) -> list[StepResult]:
    """Runs the steps.  minutes: for all of them; one that does not fit is left out."""
    until = None if minutes is None else time.monotonic() + minutes * 60
    results = dict[str, StepResult]()
    order = schedule(planned)
    count = len(planned)

    def announce(text: str) -> None:
        print(f"\n=== {text}", flush=True)

    def go(step: Step, *, show: bool) -> None:
        if step.command and not step.left_out:
            shown = " ".join(step.command).replace(f"{BIN}/", "").replace(f"{ROOT}/", "")
            announce(f"{planned.index(step) + 1}/{count} {step.name}: {shown}{'' if show else '  (beside the others)'}")
        left = None if until is None else until - time.monotonic()
        results[step.name] = result = run(step, show=show, seconds_left=left)
        if not show and result.verdict != LEFT_OUT:
            announce(f"{step.name}: {result.verdict} after {result.seconds:.0f} s")

    with ThreadPoolExecutor(1) as thread:
        beside = [thread.submit(go, step, show=False) for step in order.beside]
        try:
            for step in order.first:
                go(step, show=True)
            for each in beside:
                each.result()
            for step in order.alone:
                go(step, show=True)
        except BaseException:
            interrupted.set()
            thread.shutdown(cancel_futures=True)
            raise
    return [results[step.name] for step in planned]


def last_lines(results: Sequence[StepResult]) -> Iterator[str]:
    """Returns the end of the output of each failed step."""
    for result in results:
        if result.verdict == FAILED and (log := LOGS / f"{result.name}.log").exists():
            lines = log.read_text(errors="replace").splitlines()
            yield f"\n=== {result.name} FAILED; the last of {len(lines)} lines of {log.relative_to(ROOT)}:"
            yield from lines[-LAST_LINES:]


def table(results: Sequence[StepResult]) -> Iterator[str]:
    """Returns the lines at the end of a run."""
    for result in results:
        if result.verdict != LEFT_OUT:
            yield f"{result.verdict:9} {result.seconds:7.1f} s {result.cpu_s:7.1f} CPU s  {result.name}"
        yield from (f"{'':31}  {detail}" for detail in result.details)
        yield from (f"{LEFT_OUT:31}  {note}" for note in result.notes)
    failed = [result.name for result in results if result.verdict == FAILED]
    ran = sum(result.verdict != LEFT_OUT for result in results)
    notes = sum(len(result.notes) for result in results)
    yield ""
    summary = f"{len(failed)} of {ran} steps failed: {', '.join(failed)}" if failed else f"all {ran} steps passed"
    yield f"{summary}; {notes} left out" if notes else summary


def not_run(names: Sequence[str]) -> Iterator[str]:
    """Returns lines about the steps that the plan `test` or `test-all` does not have."""
    if "test" in names:
        yield f"make test-all also runs {' '.join(steps.REST)}"
    if "ci-rest" in names:
        yield f"make test-all also runs {' '.join(steps.RANDOM)}, which draw new histories"
    if not {"test", "test-all", "ci-rest"}.isdisjoint(names):
        yield f"by name (scripts/check.py NAME): {' '.join(step.name for step in steps.BY_NAME)}"


def listing() -> Iterator[str]:
    """Returns a line for each plan and each step."""
    for plan, names in steps.PLANS.items():
        yield f"{plan:20} {' '.join(names)}"
    for title, group in (("steps", steps.CHECKS), ("steps by name", steps.BY_NAME), ("tools", steps.TOOLS)):
        yield f"\n{title:22} minutes on two idle cores"
        yield from (f"  {step.name:20} {step.minutes:5.1f}  {step.summary}" for step in group)


def main() -> int:
    parser = argparse.ArgumentParser(prog="check.py", description="Runs checks and tools by name.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a step or a plan")
    parser.add_argument("--list", action="store_true", help="lists them")
    parser.add_argument("--minutes", type=float, help="leaves out the steps that do not fit into so many minutes")
    given = parser.parse_args()
    names: list[str] = given.names
    if not names or given.list:
        print("\n".join(listing()))
        return 0
    if unknown := [name for name in names if name not in steps.PLANS.keys() | STEPS.keys()]:
        print(f"check: no such step: {', '.join(unknown)}; `scripts/check.py --list` lists them", file=sys.stderr)
        return 2
    chosen = dict.fromkeys(each for name in names for each in steps.PLANS.get(name, [name]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the running steps, too
    results = run_all([STEPS[name] for name in chosen], given.minutes)
    print()
    print("\n".join([*last_lines(results), "", *table(results), *not_run(names)]))
    return 1 if any(result.verdict == FAILED for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
