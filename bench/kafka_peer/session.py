"""Both servers at once, and the rounds in which they take turns: ours, Kafka, ours at `disk`, ours, Kafka, ...

The others are idle in a turn; the JVM stays warm, and turns are short enough that both servers see the same machine.
Every figure is the median of its rounds, and a ratio that of two medians.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.figures import number
from bench.kafka_peer.clients import Client
from bench.kafka_peer.servers import Server, folder, running
from bench.kafka_peer.toolbox import Toolbox
from bench.lab import Metrics, Pace

OURS, PEER, DISK = "ours", "peer", "ours, disk"  # roles
PARTITIONS = 6
WARM_UP_RECORDS = 300_000

Say = Callable[[str], None]
Run = Callable[[Client, str], dict[str, Metrics]]  # the metrics of one round, by case; the text makes names unique
Taken = dict[str, dict[str, Metrics]]  # by case and role, medians
Maker = Callable[[Path], Server]  # on an empty data directory


@dataclass
class Session:
    """The servers of a few cases, warm, and on new data directories.  clients: by role."""

    clients: dict[str, Client]
    pace: Pace
    say: Say
    _names: Iterator[int] = field(default_factory=lambda: iter(range(1_000_000)))

    def rounds(self, run: Run, *, without: str = "", count: int | None = None, has_trial: bool = True) -> Taken:
        """without: the role that has no turns.  has_trial: the first round does not count, since a JVM may need twice
        the CPU for a new load."""
        every: dict[str, dict[str, list[Metrics]]] = {}
        count = min(self.pace.runs, count or self.pace.runs)
        for index in range(0 if has_trial else 1, count + 1):
            for role, client in self.clients.items():
                if role == without:
                    continue
                for case, metrics in run(client, f"t{next(self._names)}").items():
                    if index:
                        every.setdefault(case, {}).setdefault(role, []).append(metrics)
                    values = ", ".join(f"{name} {number(value)}" for name, value in metrics.items())
                    self.say(f"{case} {f'{index}/{count}' if index else 'trial'} {client.server.label}: {values}")
        return {case: {role: medians(runs) for role, runs in taken.items()} for case, taken in every.items()}

    def warm_up(self) -> None:
        """Runs until the JVM has compiled its code, and the internal topics exist."""
        records = int(WARM_UP_RECORDS * self.pace.scale) or 1
        for client in self.clients.values():
            self.say(f"warming up {client.server.label}")
            client.create("warm", partitions=PARTITIONS)
            for record_bytes in (1024, 100):
                client.produce("warm", records, record_bytes)
            client.consume("warm", 2 * records)
            client.librdkafka(
                "txn", "warm", producers=16, partitions=PARTITIONS, warm_up_s=0, run_s=2 * self.pace.warm_up_s
            )
            client.delete("warm")


def medians(runs: list[Metrics]) -> Metrics:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


@contextlib.contextmanager
def session(toolbox: Toolbox, pace: Pace, say: Say, makers: Mapping[str, Maker]) -> Iterator[Session]:
    """makers: makes the server of each role."""
    with folder() as home, contextlib.ExitStack() as stack:
        servers = {}
        for number, (role, make) in enumerate(makers.items()):
            (home / str(number)).mkdir()
            servers[role] = make(home / str(number))
            say(f"starting {servers[role].label}")
            stack.enter_context(running(servers[role]))
        yield Session({role: Client(toolbox, each) for role, each in servers.items()}, pace, say)
