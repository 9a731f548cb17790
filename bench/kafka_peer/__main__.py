"""`python -m bench.kafka_peer`: the same clients against redis-ledger and Apache Kafka in one run, in turns.

python -m bench.kafka_peer                          every case
python -m bench.kafka_peer --cases txn_1_java,e2e_1000_per_s
python -m bench.kafka_peer --quick                  short runs, as a check; nothing is written
python -m bench.kafka_peer --ours kafka             Kafka in both roles, to see the noise; nothing is written
python -m bench.kafka_peer --before /tmp/before     another source tree in Kafka's role
python -m bench.kafka_peer --before /tmp/before --cluster           the same with two brokers and three primaries
python -m bench.kafka_peer --markdown               measures nothing: the latest figures into RESULTS.md, and to stdout
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NamedTuple, NoReturn, Protocol

from rich.console import Console

from bench import figures
from bench.kafka_peer import latency, outages, transactions, volume
from bench.kafka_peer.on_cluster import OnCluster
from bench.kafka_peer.report import Report
from bench.kafka_peer.servers import Kafka, Ours
from bench.kafka_peer.session import DISK, OURS, PEER, Maker, Session, session
from bench.kafka_peer.toolbox import Toolbox, prepared
from bench.lab import Pace
from bench.processes import ROOT, BenchFailed

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
    """Parts that share their servers.  has_outages: they kill them."""

    parts: Sequence[Part]
    has_outages: bool = False


GROUPS = (
    Group([volume.KIB, volume.SMALL, *transactions.ALL, latency.EndToEnd()]),
    Group([outages.OpenTransaction(), outages.Restart()], has_outages=True),
)
CASES = tuple(case for group in GROUPS for part in group.parts for case in part.cases)


class Roles(NamedTuple):
    """What is compared.  bench: of the figures; None: nothing is written.  peer: of the second role, in them.
    outages: whether its servers can be killed."""

    makers: Callable[[Toolbox, Group], dict[str, Maker]]
    bench: str | None = None
    peer: str = "kafka"
    outages: bool = True


def against_kafka(toolbox: Toolbox, group: Group) -> dict[str, Maker]:
    made: dict[str, Maker] = {
        OURS: partial(Ours, "ours", "process"),
        PEER: partial(Kafka, "Kafka", "process", toolbox=toolbox),
    }
    return made if group.has_outages else {**made, DISK: partial(Ours, "ours, disk", "disk")}


def kafka_twice(toolbox: Toolbox, group: Group) -> dict[str, Maker]:
    return {
        role: partial(Kafka, f"Kafka {number}", "process", toolbox=toolbox)
        for number, role in enumerate((OURS, PEER), 1)
    }


def against_tree(before: Path, *, cluster: bool) -> Callable[[Toolbox, Group], dict[str, Maker]]:
    def makers(toolbox: Toolbox, group: Group) -> dict[str, Maker]:
        named = ((OURS, "now", ROOT), (PEER, "before", before))
        if cluster:
            return {role: partial(OnCluster, label, root=root) for role, label, root in named}
        return {role: partial(Ours, label, "process", root=root) for role, label, root in named}

    return makers


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
    parser.add_argument("--before", type=Path, metavar="TREE", help="another source tree, in Kafka's role")
    parser.add_argument("--cluster", action="store_true", help="with --before: two brokers on a Redis Cluster")
    parser.add_argument("--markdown", action="store_true", help="put the latest figures into RESULTS.md")
    args = parser.parse_args()
    cases = args.cases.split(",")
    roles = Roles(against_kafka, "kafka_peer")
    if args.ours == "kafka":
        roles = Roles(kafka_twice)
    elif args.before is not None:
        makers = against_tree(args.before.resolve(), cluster=args.cluster)
        bench = "kafka_peer_cluster" if args.cluster else "kafka_peer_trees"
        roles = Roles(makers, bench, "before", outages=not args.cluster)
    if args.cluster and args.before is None:
        parser.error("--cluster compares two source trees: name the other one with --before")
    if unknown := [case for case in cases if case not in CASES]:
        parser.error(f"unknown case: {', '.join(unknown)}; choose from {', '.join(CASES)}")
    if args.markdown:
        return show_markdown()
    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(RUN_S_MAX)
    try:
        return Bench(cases, QUICK if args.quick else FULL, roles).measure()
    except KeyboardInterrupt:
        say("interrupted; the servers are stopped")
        return 130


class Bench:
    def __init__(self, cases: Sequence[str], pace: Pace, roles: Roles) -> None:
        self._report, self._pace, self._roles = Report(cases, roles.bench or "", roles.peer), pace, roles
        self._counts = pace is FULL and roles.bench is not None
        self._failed: list[str] = []

    def measure(self) -> int:
        try:
            toolbox = prepared(say)
            for group in GROUPS:
                if group.has_outages and not self._roles.outages:
                    continue
                if parts := [part for part in group.parts if set(part.cases) & set(self._report.cases)]:
                    self._measure(toolbox, group._replace(parts=parts))
        except (BenchFailed, OverTime) as error:
            self._give_up(["kafka_peer"], error)
        self._show()
        return 1 if self._failed else 0

    def _measure(self, toolbox: Toolbox, group: Group) -> None:
        waiting = list(group.parts)
        while waiting:
            try:
                with session(toolbox, self._pace, say, self._roles.makers(toolbox, group)) as servers:
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
