"""`python -m bench.kafka_peer`: the same clients against redis-ledger and Apache Kafka in one run, in turns.

python -m bench.kafka_peer                          every case
python -m bench.kafka_peer --cases txn_1_java,e2e_1000_per_s
python -m bench.kafka_peer --quick                  short runs, as a check; nothing is written
python -m bench.kafka_peer --ours kafka             Kafka in both roles, to see the noise; nothing is written
python -m bench.kafka_peer --markdown               measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType
from typing import NamedTuple, NoReturn, Protocol

from rich.console import Console

from bench import figures
from bench.kafka_peer import latency, outages, transactions, volume
from bench.kafka_peer.report import Report
from bench.kafka_peer.session import Session, session
from bench.kafka_peer.toolbox import Toolbox, prepared
from bench.lab import Pace
from bench.processes import BenchFailed

FULL = Pace(warm_up_s=2.0, run_s=6.0, runs=3)
QUICK = Pace(warm_up_s=0.5, run_s=1.0, runs=1, scale=0.05)
RUN_S_MAX = 39 * 60


class OverTime(Exception):
    """The whole run exceeds its time limit."""


class Part(Protocol):
    """Cases that are measured together, because one load gives the figures of all of them."""

    @property
    def cases(self) -> tuple[str, ...]: ...

    def measure(self, session: Session, report: Report) -> None: ...


class Group(NamedTuple):
    """Parts that share their servers."""

    parts: Sequence[Part]
    has_disk: bool = True


GROUPS = (
    Group([volume.KIB, volume.SMALL, *transactions.ALL, latency.EndToEnd()]),
    Group([outages.OpenTransaction(), outages.Restart()], has_disk=False),
)
CASES = tuple(case for group in GROUPS for part in group.parts for case in part.cases)


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m bench.kafka_peer", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", metavar="a,b", default=",".join(CASES), help=f"of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="short runs; nothing is written")
    parser.add_argument(
        "--ours", choices=("redis-ledger", "kafka"), default="redis-ledger", help="the server in our role"
    )
    parser.add_argument("--markdown", action="store_true", help="put the latest figures into RESULTS.md")
    args = parser.parse_args()
    cases = args.cases.split(",")
    if unknown := [case for case in cases if case not in CASES]:
        parser.error(f"unknown case: {', '.join(unknown)}; choose from {', '.join(CASES)}")
    if args.markdown:
        return show_markdown()
    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(RUN_S_MAX)
    try:
        return Bench(Report(cases), QUICK if args.quick else FULL, args.ours).measure()
    except KeyboardInterrupt:
        say("interrupted; the servers are stopped")
        return 130


class Bench:
    def __init__(self, report: Report, pace: Pace, ours: str) -> None:
        self._report, self._pace, self._ours = report, pace, ours
        self._counts = pace is FULL and ours == "redis-ledger"
        self._failed: list[str] = []

    def measure(self) -> int:
        try:
            toolbox = prepared(say)
            for group in GROUPS:
                if parts := [part for part in group.parts if set(part.cases) & set(self._report.cases)]:
                    self._measure(toolbox, parts, has_disk=group.has_disk)
        except (BenchFailed, OverTime) as error:
            self._give_up(["kafka_peer"], error)
        self._show()
        return 1 if self._failed else 0

    def _measure(self, toolbox: Toolbox, parts: Sequence[Part], *, has_disk: bool) -> None:
        waiting = list(parts)
        while waiting:
            try:
                with session(toolbox, self._pace, say, has_disk=has_disk, ours=self._ours) as servers:
                    servers.warm_up()
                    while waiting:
                        waiting[0].measure(servers, self._report)
                        waiting.pop(0)
                        if self._counts:
                            self._report.write()  # now, so that later failures do not lose it
            except BenchFailed as error:
                # The next part may succeed, on new servers.
                self._give_up(waiting.pop(0).cases, error)

    def _give_up(self, cases: Sequence[str], error: Exception) -> None:
        say(f"{', '.join(cases)}: {error}")
        self._failed += [case for case in cases if case in (*self._report.cases, "kafka_peer")]

    def _show(self) -> None:
        # Without a terminal, rich would limit the table to 80 columns.
        console = Console(width=None if sys.stdout.isatty() else 120)
        console.print(self._report.table())
        if not self._counts:
            console.print("These are not measurements, and nothing was written.")
        if missed := self._report.missed():
            console.print(f"Goals missed: {', '.join(missed)}")
        if self._failed:
            console.print(f"Not measured: {', '.join(self._failed)}")


def show_markdown() -> int:
    if not figures.LATEST.exists():
        say("There are no figures yet; run python -m bench.kafka_peer first.")
        return 1
    print(figures.write_page())
    return 0


BEGAN_S = time.monotonic()


def say(text: str) -> None:
    minutes, seconds = divmod(int(time.monotonic() - BEGAN_S), 60)
    print(f"{minutes:2}:{seconds:02} {text}", file=sys.stderr, flush=True)


def ended(signum: int, frame: FrameType | None) -> NoReturn:
    """Raises like Ctrl-C, so that the servers are stopped on the way out."""
    raise KeyboardInterrupt


def too_long(signum: int, frame: FrameType | None) -> NoReturn:
    raise OverTime(f"stopped after {RUN_S_MAX // 60} minutes; earlier figures are kept")


if __name__ == "__main__":
    sys.exit(main())
