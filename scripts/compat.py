"""Runs the suites of tests/compat, real Kafka clients and tools, against brokers of its own.

    .venv/bin/python scripts/compat.py                        every suite with one broker, then with three
    .venv/bin/python scripts/compat.py --quick                the tests marked quick, all suites on one server
    .venv/bin/python scripts/compat.py --clients franz-go --brokers 1,2,3 --times 3
    .venv/bin/python scripts/compat.py --kafka 127.0.0.1:9092 against what runs there; starts nothing
    .venv/bin/python scripts/compat.py prepare                builds the suites and runs none of them

A suite is a folder with a run.sh: `run.sh prepare` builds it, from the network if nothing is cached, and without an
argument it runs, with a closing line "client: 3 passed, 0 failed, 1 skipped".  A suite that cannot be built fails; with
--quick, those that need a toolchain besides Python are left out, with the reason (scripts/left_out.py).  `prepare` only
prints that reason, since the run after it notes it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import left_out  # noqa: E402  a script has its own folder on sys.path, not the root

SUITES = ROOT / "tests" / "compat"
# In this order: the quickest to find something first.
CLIENTS = ("aiokafka", "kafka-python", "librdkafka", "java", "franz-go")
NEEDS_A_TOOLCHAIN = ("java", "franz-go")
BROKERS = (1, 3)
# The other steps of `make test` hold one broker.  Several brokers can break transactions, groups and coordinators.
QUICK_BROKERS = (3,)
# With --quick these run side by side on one server, each client of a lane after the other: they mostly wait, for groups
# to rebalance and for a broker that restarts.
LANES = (("aiokafka", "kafka-python", "java", "franz-go"), ("librdkafka",))
# The Python clients share an environment, so each lane builds something else.
BUILDS = (("aiokafka", "kafka-python", "librdkafka"), ("java",), ("franz-go",))
READY_S_MAX = 180.0  # on a busy machine; a broker that ends is noticed at once
DRAIN_S_MAX = 60.0
PREPARE_S_MAX, PREPARE_QUICK_S_MAX = 900.0, 300.0
RUN_S_MAX, QUICK_S_MAX = 600.0, 240.0
RECORDS = 10_000
COMPLAINTS_SHOWN = 20
LOOK_S = 0.5
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
OK, FAILED, LEFT_OUT = "ok", "FAILED", "left out"
interrupted = threading.Event()


class SuiteOptions(NamedTuple):
    """Options of a run.  records: of kgo's ETL tests."""

    quick: bool
    records: int


class Address(NamedTuple):
    """Addresses of the brokers: host:port, and the REST URL ("": unknown, tests that need it are skipped).  secured: a
    broker with authentication and the token of its administrator; without it, tests that need it are skipped."""

    kafka: str
    http: str
    secured: str = ""
    token: str = ""


class SuiteResult(NamedTuple):
    """suite: the client, and the number of brokers if there are several.  summary: its counts, or the reason for
    none."""

    suite: str
    verdict: str
    seconds: float
    summary: str


def suite_name(client: str, brokers: int) -> str:
    return client if brokers == 1 else f"{client} on {brokers} brokers"


# -- the broker --------------------------------------------------------------------------------------------------------


class CannotServe(Exception):
    """The broker did not start; the message has the path of its log."""


@contextlib.contextmanager
def served(brokers: int, logs: Path, token: str = "") -> Iterator[tuple[Address, subprocess.Popen[str]]]:
    """The addresses of a fresh `redis-ledger serve`, and its process; stopped at the end.  Raises CannotServe.

    token: of its administrator; then clients must authenticate."""
    data = logs / ("data-secured" if token else "data")
    command = [
        sys.executable,
        "-m",
        "redis_ledger.app.cli.main",
        "serve",
        "--data-dir",
        str(data),
        "--durability",
        "process",
    ]
    command += ["--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0", "--brokers", str(brokers)]
    command += ["--offload-home", str(data / "offload")]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("REDIS_LEDGER_")}
    if token:
        secret = logs / "token"
        secret.write_text(token)
        command += ["--set", "auth_required=true"]
        environ["REDIS_LEDGER_BOOTSTRAP_TOKEN_FILE"] = str(secret)
    said = logs / "server.log"
    with said.open("a") as log:
        process = subprocess.Popen(
            # It exits at the end of stdin, also if this process is killed.
            [*command, "--exit-with-stdin"],
            cwd=ROOT, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    try:
        yield address_of(ready_line(process), said), process
    finally:
        process.terminate()
        try:
            process.wait(DRAIN_S_MAX)
        except subprocess.TimeoutExpired:
            print(f"the server (pid {process.pid}) did not drain within {DRAIN_S_MAX:.0f} s and is killed", flush=True)
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        shutil.rmtree(data, ignore_errors=True)


def ready_line(process: subprocess.Popen[str]) -> str:
    """The first line of its output; empty if it prints nothing in time."""
    pipe = process.stdout
    assert pipe is not None
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.append(pipe.readline()), daemon=True)
    reader.start()
    reader.join(READY_S_MAX)
    return lines[0] if lines else ""


def address_of(ready: str, said: Path) -> Address:
    found = re.search(r"^ready http=([^\s,]+)\S* kafka=(\S+)", ready)
    if found is None:
        last = said.read_text(errors="replace").strip().splitlines()[-1:] or [f"no line within {READY_S_MAX:.0f} s"]
        raise CannotServe(f"The broker did not start: {last[0]} ({said})")
    if found[2] == "off":
        raise CannotServe("The broker says kafka=off: it has no Kafka listener.")
    return Address(found[2], found[1])


# -- the suites --------------------------------------------------------------------------------------------------------


def step(client: str, argument: str | None, environ: Mapping[str, str], log: Path, seconds_max: float) -> int | None:
    """The exit code of a client's run.sh, or None if it did not end in time."""
    environ = {**os.environ, "PYTHON": sys.executable, **environ, "DEADLINE_S": str(int(seconds_max * 0.95))}
    return call([str(SUITES / client / "run.sh"), *([argument] if argument else [])], environ, log, seconds_max)


def build(client: str, *, quick: bool, log: Path) -> tuple[str, str]:
    """OK and "", or another verdict and the reason."""
    seconds_max = PREPARE_QUICK_S_MAX if quick else PREPARE_S_MAX
    code = step(client, "prepare", {}, log, seconds_max)
    if code == 0:
        return OK, ""
    why = f"not finished after {seconds_max:.0f} s" if code is None else reason_of(log.read_text(errors="replace"))
    if quick and client in NEEDS_A_TOOLCHAIN:
        return LEFT_OUT, f"it cannot be built: {why}"
    return FAILED, f"it cannot be built: {why} ({log})"


def run_suite(client: str, brokers: int, options: SuiteOptions, address: Address, logs: Path) -> SuiteResult:
    began = time.monotonic()
    log = logs / f"{client}.log"
    verdict, summary = build(client, quick=options.quick, log=log)
    if verdict == OK:
        environ = {"KAFKA": address.kafka, "OUT": str(logs / client), "HTTP": address.http}
        environ |= {"QUICK": "1" if options.quick else "", "RECORDS": str(options.records)}
        environ |= {"SECURED": address.secured, "SECURED_TOKEN": address.token}
        seconds_max = QUICK_S_MAX if options.quick else RUN_S_MAX + options.records / 500
        code = step(client, None, environ, log, seconds_max)
        pattern = rf"^{re.escape(client)}: (\d+ passed, \d+ failed.*)$"
        counts = re.findall(pattern, log.read_text(errors="replace"), re.MULTILINE)
        summary = counts[-1] if counts else "it printed no result"
        if code is None:
            summary = f"not finished after {seconds_max:.0f} s"
        verdict = OK if code == 0 and counts else FAILED
    return SuiteResult(suite_name(client, brokers), verdict, time.monotonic() - began, summary)


def reason_of(printed: str) -> str:
    """The reason of a failed build: Maven's first error, else the last line."""
    lines = [line.strip() for line in COLOUR.sub("", printed).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("[ERROR]")]
    return errors[0] if errors else lines[-1] if lines else "it printed nothing"


def call(command: list[str], environ: dict[str, str], log: Path, seconds_max: float) -> int | None:
    """Runs in its own process group, which is ended at the time limit or if this run is interrupted (returns None)."""
    with log.open("a") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    until_s = time.monotonic() + seconds_max
    try:
        while not interrupted.is_set() and time.monotonic() < until_s:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(LOOK_S)
        return None
    finally:
        # Also if it exited: child processes may be left in its group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def show(outcome: SuiteResult, log: Path) -> None:
    lines = [f"{outcome.verdict:8} {outcome.suite:24} {outcome.seconds:6.1f} s  {outcome.summary}"]
    if outcome.verdict == FAILED and log.exists():
        complaints = [
            line
            for line in log.read_text(errors="replace").splitlines()
            if re.match(r"(NOT RUN|SKIPPED|FAILED) {2}", line)
        ]
        lines += [f"         {line}" for line in complaints[:COMPLAINTS_SHOWN]]
        if len(complaints) > COMPLAINTS_SHOWN:
            lines.append(f"         and {len(complaints) - COMPLAINTS_SHOWN} more: {log}")
    print("\n".join(lines), flush=True)  # at once: another lane prints too


def run_lane(
    clients: Sequence[str],
    brokers: int,
    options: SuiteOptions,
    address: Address,
    logs: Path,
    server: subprocess.Popen[str] | None,
) -> list[SuiteResult]:
    """One client after the other.  server: its process, if it was started here."""
    outcomes = []
    for client in clients:
        if interrupted.is_set():
            break
        if server is not None and server.poll() is not None:
            ended = f"the server has ended: {logs / 'server.log'}"
            outcomes.append(SuiteResult(suite_name(client, brokers), FAILED, 0.0, ended))
        else:
            outcomes.append(run_suite(client, brokers, options, address, logs))
        show(outcomes[-1], logs / f"{client}.log")
    return outcomes


def side_by_side(
    act: Callable[[Sequence[str]], list[SuiteResult]], lanes: Sequence[Sequence[str]]
) -> list[SuiteResult]:
    with ThreadPoolExecutor(len(lanes)) as threads:
        try:
            started = [threads.submit(act, lane) for lane in lanes]
            return [outcome for each in started for outcome in each.result()]
        except BaseException:
            interrupted.set()  # the other lanes end what they run
            raise


def lanes_of(clients: Sequence[str], lanes: Sequence[Sequence[str]]) -> list[list[str]]:
    """The lanes that have one of these clients, and nothing else in them."""
    return [chosen for lane in lanes if (chosen := [each for each in lane if each in clients])]


def run_on(brokers: int, clients: Sequence[str], options: SuiteOptions, logs: Path) -> list[SuiteResult]:
    """On a server of its own with so many brokers; without --quick there is another one, which authenticates."""
    logs.mkdir(parents=True)
    token = "" if options.quick else secrets.token_hex(32)
    lanes = lanes_of(clients, LANES) if options.quick else [list(clients)]
    try:
        with contextlib.ExitStack() as servers:
            address, server = servers.enter_context(served(brokers, logs))
            if token:
                secured, _ = servers.enter_context(served(1, logs, token))
                address = address._replace(secured=secured.kafka, token=token)
            return side_by_side(lambda lane: run_lane(lane, brokers, options, address, logs, server), lanes)
    except CannotServe as error:
        print(f"FAILED   {error}", flush=True)
        return [SuiteResult(suite_name(client, brokers), FAILED, 0.0, str(error)) for client in clients]


def prepare(clients: Sequence[str], *, quick: bool, logs: Path) -> int:
    """Builds the suites, side by side if they share nothing; the exit code."""

    def act(lane: Sequence[str]) -> list[SuiteResult]:
        outcomes = []
        for client in lane:
            began, log = time.monotonic(), logs / f"{client}.log"
            verdict, why = build(client, quick=quick, log=log)
            outcomes.append(SuiteResult(client, verdict, time.monotonic() - began, why or "built"))
            show(outcomes[-1], log)
        return outcomes

    return 1 if any(each.verdict == FAILED for each in side_by_side(act, lanes_of(clients, BUILDS))) else 0


def conclude(outcomes: Sequence[SuiteResult]) -> int:
    """Prints what failed and what was left out; the exit code."""
    for each in outcomes:
        if each.verdict == LEFT_OUT:
            left_out.note(each.suite, each.summary)
    failed = [each.suite for each in outcomes if each.verdict == FAILED]
    ran = sum(each.verdict != LEFT_OUT for each in outcomes)
    if failed:
        print(f"\n{len(failed)} of {ran} suites failed: {', '.join(failed)}")
        return 1
    print(f"\nall {ran} suites passed" if ran else "\nno suite ran")
    return 0 if ran else left_out.EXIT_CODE


def numbers(text: str) -> list[int]:
    found = [int(each) for each in text.split(",")]
    if min(found) < 1:
        raise ValueError
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Real Kafka clients against redis-ledger.")
    parser.add_argument("mode", nargs="?", choices=["run", "prepare"], default="run", help="prepare: only build suites")
    parser.add_argument("--quick", action="store_true", help="the tests marked quick: about a minute")
    parser.add_argument(
        "--brokers", type=numbers, default=[], metavar="N,M",
        help="broker processes, for one server after the other (default: 1,3; with --quick 3)",
    )  # fmt: skip
    parser.add_argument("--clients", default=",".join(CLIENTS), metavar="A,B", help=f"of {', '.join(CLIENTS)}")
    parser.add_argument("--kafka", metavar="HOST:PORT", help="run against what listens there; starts no server")
    parser.add_argument("--http", metavar="URL", default="", help="REST of the same, for what goes through both doors")
    parser.add_argument("--records", type=int, default=RECORDS, metavar="N", help="records of kgo's ETL tests")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="everything so many times in a row")
    asked = parser.parse_args()
    clients = [each for each in asked.clients.split(",") if each]
    if unknown := sorted(set(clients) - set(CLIENTS)):
        parser.error(f"there is no suite {', '.join(unknown)}; choose of {', '.join(CLIENTS)}")
    if asked.kafka and asked.brokers:
        parser.error("--brokers is for the servers that are started here; --kafka starts none")
    options = SuiteOptions(asked.quick, asked.records)
    # An interrupted run stops its server as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    folder = Path(tempfile.mkdtemp(prefix="redis-ledger-compat-"))
    print(f"logs: {folder}", flush=True)
    if asked.mode == "prepare":
        return prepare(clients, quick=asked.quick, logs=folder)
    outcomes: list[SuiteResult] = []
    for number in range(1, asked.times + 1):
        logs = folder / str(number)
        if asked.kafka:
            logs.mkdir()
            outcomes += run_lane(clients, 1, options, Address(asked.kafka, asked.http), logs, None)
            continue
        for brokers in asked.brokers or (QUICK_BROKERS if asked.quick else BROKERS):
            outcomes += run_on(brokers, clients, options, logs / str(brokers))
    return conclude(outcomes)


if __name__ == "__main__":
    sys.exit(main())
