"""Runs the suites of tests/compat, real Kafka clients and tools, against a broker of its own.

    .venv/bin/python scripts/compat.py                        all suites, everything on their lists
    .venv/bin/python scripts/compat.py --quick                the tests marked quick, in less than three minutes
    .venv/bin/python scripts/compat.py --clients franz-go --brokers 2 --times 3
    .venv/bin/python scripts/compat.py --kafka 127.0.0.1:9092 against what runs there; starts nothing

A suite is a folder with a run.sh: `run.sh prepare` builds it, `run.sh ready` builds it if that needs no network, and
without an argument it runs, with a closing line "client: 3 passed, 0 failed, 1 skipped".  --quick leaves out franz-go
and java where they cannot be built offline, and says so; that is no failure.  A suite that was wanted and cannot
start is.
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
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SUITES = ROOT / "tests" / "compat"
# In this order: the quickest to find something first.
CLIENTS = ("aiokafka", "kafka-python", "librdkafka", "java", "franz-go")
NEEDS_A_TOOLCHAIN = ("java", "franz-go")
READY_S_MAX = 60.0
DRAIN_S_MAX = 60.0
OFFLINE_S_MAX, PREPARE_S_MAX = 90.0, 900.0
RUN_S_MAX, QUICK_S_MAX = 600.0, 120.0
RECORDS = 10_000
COMPLAINTS_SHOWN = 20
CANNOT_START = 3  # what a run.sh ends with when a toolchain is missing


class Wanted(NamedTuple):
    """What was asked for.  records: of kgo's ETL tests."""

    clients: list[str]
    quick: bool
    records: int


class Address(NamedTuple):
    """Where the brokers are: host:port, and the URL of REST ("": not known, what needs it is skipped).  secured: a
    broker that asks who calls, and the token of its administrator; without one what needs it is skipped."""

    kafka: str
    http: str
    secured: str = ""
    token: str = ""


class Outcome(NamedTuple):
    """verdict: ok, FAILED or left out;  told: the suite's counts, or why there are none."""

    client: str
    verdict: str
    seconds: float
    told: str

    @property
    def is_failure(self) -> bool:
        return self.verdict == "FAILED"


# -- the broker --------------------------------------------------------------------------------------------------------


class CannotServe(Exception):
    """The broker did not start; the text says where its own words are."""


@contextlib.contextmanager
def served(brokers: int, logs: Path, token: str = "") -> Iterator[tuple[Address, subprocess.Popen[str]]]:
    """The addresses of a fresh `redis-ledger serve`, and its process; stopped at the end.  Raises CannotServe.

    token: of its administrator; then it asks everybody who they are."""
    data = logs / ("data-secured" if token else "data")
    command = [sys.executable, "-m", "app.cli.main", "serve", "--data-dir", str(data), "--durability", "process"]
    command += ["--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0", "--brokers", str(brokers)]
    command += ["--cold-home", str(data / "cold")]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("REDIS_LEDGER_")}
    if token:
        secret = logs / "token"
        secret.write_text(token)
        command += ["--set", "auth_required=true"]
        environ["REDIS_LEDGER_BOOTSTRAP_TOKEN_FILE"] = str(secret)
    said = logs / "server.log"
    with said.open("a") as log:
        process = subprocess.Popen(
            # Its stdin is ours to close: if we are killed, it ends too.
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
        shutil.rmtree(data, ignore_errors=True)


def ready_line(process: subprocess.Popen[str]) -> str:
    """What it prints first; empty if it prints nothing in time."""
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
        raise CannotServe(f"The broker did not start; see {said}")
    if found[2] == "off":
        raise CannotServe("The broker says kafka=off: it has no Kafka listener.")
    return Address(found[2], found[1])


# -- the suites --------------------------------------------------------------------------------------------------------


def run_suite(client: str, wanted: Wanted, address: Address, logs: Path) -> Outcome:
    began = time.monotonic()
    log = logs / f"{client}.log"
    environ = {**os.environ, "PYTHON": sys.executable, "KAFKA": address.kafka, "OUT": str(logs / client)}
    environ |= {"QUICK": "1" if wanted.quick else "", "RECORDS": str(wanted.records), "HTTP": address.http}
    environ |= {"SECURED": address.secured, "SECURED_TOKEN": address.token}

    def step(argument: str | None, seconds_max: float) -> int | None:
        """The exit code of run.sh, or None if it did not end in time."""
        environ["DEADLINE_S"] = str(int(seconds_max * 0.95))
        arguments = [str(SUITES / client / "run.sh"), *([argument] if argument else [])]
        return call(arguments, environ, log, seconds_max)

    def outcome(verdict: str, told: str) -> Outcome:
        return Outcome(client, verdict, time.monotonic() - began, told)

    if wanted.quick and client in NEEDS_A_TOOLCHAIN:
        if step("ready", OFFLINE_S_MAX) != 0:
            return outcome("left out", f"it cannot be built offline; tests/compat/{client}/run.sh prepare does it")
    elif (code := step("prepare", PREPARE_S_MAX)) != 0:
        why = "its toolchain is missing" if code == CANNOT_START else "it could not be built"
        return outcome("FAILED", f"it cannot start, {why}: {log}")
    seconds_max = QUICK_S_MAX if wanted.quick else RUN_S_MAX + wanted.records / 500
    code = step(None, seconds_max)
    counts = re.findall(
        rf"^{re.escape(client)}: (\d+ passed, \d+ failed.*)$", log.read_text(errors="replace"), re.MULTILINE
    )
    told = counts[-1] if counts else "it told no result"
    if code is None:
        told = f"not finished after {seconds_max:.0f} s"
    return outcome("ok" if code == 0 and counts else "FAILED", told)


def call(command: list[str], environ: dict[str, str], log: Path, seconds_max: float) -> int | None:
    """Runs in a process group of its own, which is ended as a whole when time is up (then: None)."""
    with log.open("a") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    try:
        return process.wait(seconds_max)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # Also when it ended by itself: what it may have left behind is in its group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def show(outcome: Outcome, logs: Path) -> None:
    print(f"{outcome.verdict:8} {outcome.client:13} {outcome.seconds:6.1f} s  {outcome.told}", flush=True)
    log = logs / f"{outcome.client}.log"
    if outcome.is_failure and log.exists():
        complaints = [
            line
            for line in log.read_text(errors="replace").splitlines()
            if re.match(r"(NOT RUN|SKIPPED|FAILED) {2}", line)
        ]
        for line in complaints[:COMPLAINTS_SHOWN]:
            print(f"         {line}")
        if len(complaints) > COMPLAINTS_SHOWN:
            print(f"         and {len(complaints) - COMPLAINTS_SHOWN} more: {log}")


def run_all(wanted: Wanted, address: Address, logs: Path, server: subprocess.Popen[str] | None) -> list[Outcome]:
    outcomes = []
    for client in wanted.clients:
        if server is not None and server.poll() is not None:
            outcomes.append(Outcome(client, "FAILED", 0.0, f"the server has ended: {logs / 'server.log'}"))
        else:
            outcomes.append(run_suite(client, wanted, address, logs))
        show(outcomes[-1], logs)
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description="Real Kafka clients against redis-ledger.")
    parser.add_argument("--quick", action="store_true", help="the tests marked quick: less than three minutes")
    parser.add_argument("--brokers", type=int, default=1, metavar="N", help="broker processes of the server it starts")
    parser.add_argument("--clients", default=",".join(CLIENTS), metavar="A,B", help=f"of {', '.join(CLIENTS)}")
    parser.add_argument("--kafka", metavar="HOST:PORT", help="run against what listens there; starts no server")
    parser.add_argument("--http", metavar="URL", default="", help="REST of the same, for what goes through both doors")
    parser.add_argument("--records", type=int, default=RECORDS, metavar="N", help="records of kgo's ETL tests")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="everything so many times in a row")
    asked = parser.parse_args()
    clients = [each for each in asked.clients.split(",") if each]
    if unknown := sorted(set(clients) - set(CLIENTS)):
        parser.error(f"there is no suite {', '.join(unknown)}; choose of {', '.join(CLIENTS)}")
    wanted = Wanted(clients, asked.quick, asked.records)
    # An interrupted run stops its server as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    folder = Path(tempfile.mkdtemp(prefix="redis-ledger-compat-"))
    print(f"logs: {folder}", flush=True)
    outcomes: list[Outcome] = []
    for number in range(1, asked.times + 1):
        logs = folder / str(number) if asked.times > 1 else folder
        logs.mkdir(exist_ok=True)
        try:
            with contextlib.ExitStack() as stack:
                server = None
                address = Address(asked.kafka or "", asked.http)
                if not address.kafka:
                    address, server = stack.enter_context(served(asked.brokers, logs))
                    token = secrets.token_hex(32)
                    secured, _ = stack.enter_context(served(1, logs, token))
                    address = address._replace(secured=secured.kafka, token=token)
                outcomes += run_all(wanted, address, logs, server)
        except CannotServe as error:
            print(f"FAILED   {error}")
            return 1
    failed = [each.client for each in outcomes if each.is_failure]
    print(f"\n{len(failed)} of {len(outcomes)} suites failed: {', '.join(failed)}" if failed else "\nall suites passed")
    if left_out := [each.client for each in outcomes if each.verdict == "left out"]:
        print(f"left out: {', '.join(left_out)}")
    return 1 if failed or len(left_out) == len(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
