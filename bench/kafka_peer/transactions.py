"""How many transactions a second, and how long does each take from begin to the end of commit, in a closed loop?

    txn_1_java            one record of 100 bytes a transaction, one producer
    txn_1_librdkafka      the same
    txn_16_librdkafka     16 producers at a time, over 6 partitions
    ctp_librdkafka        consume 10, produce 10, send the offsets, commit
    ctp_java              the same

Kafka answers EndTxn before the markers are written, and a client that begins its next transaction before that waits for
a timer of its own; rates depend on that as much as on speed, and the p50 beside them shows which it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.kafka_peer.clients import Client
from bench.kafka_peer.report import Report
from bench.kafka_peer.session import PARTITIONS, Session
from bench.lab import Metrics, Pace

INPUT_RECORDS = 200_000
INPUT = "input"

Load = Callable[[Client, str, Pace], Metrics]


@dataclass(frozen=True)
class Transactions:
    """One case.  has_input: it consumes records written before the first round."""

    name: str
    load: Load
    goal: float
    p99_goal: float | None = None
    has_input: bool = False

    @property
    def cases(self) -> tuple[str, ...]:
        return (self.name,)

    def measure(self, session: Session, report: Report) -> None:
        if self.has_input:
            for client in session.clients.values():
                client.create(INPUT)
                client.librdkafka("fill", INPUT, records=int(INPUT_RECORDS * session.pace.scale))

        def run(client: Client, name: str) -> dict[str, Metrics]:
            client.create(name, partitions=PARTITIONS)
            return {self.name: per_commit(client.costed(lambda: self.load(client, name, session.pace)))}

        taken = session.rounds(run)
        if self.has_input:
            for client in session.clients.values():
                client.delete(INPUT)
        report.ratio(taken, self.name, "commits_per_s", "commits/s", self.goal, "ratio")
        report.ratio(taken, self.name, "p50_ms", "ms")
        report.ratio(taken, self.name, "p99_ms", "ms", self.p99_goal, None if self.p99_goal is None else "p99_ratio")
        report.ratio(taken, self.name, "cpu_ms_per_commit", "ms")


def per_commit(metrics: Metrics) -> Metrics:
    """commits: all of them, including the warm-up, like the CPU seconds."""
    if "cpu_s" not in metrics:
        return metrics
    return {**metrics, "cpu_ms_per_commit": 1000 * metrics["cpu_s"] / metrics["commits"]}


def java_one(client: Client, topic: str, pace: Pace) -> Metrics:
    return client.java("txn", f"bench-{topic}", topic, pace.warm_up_s, pace.run_s)


def java_ctp(client: Client, topic: str, pace: Pace) -> Metrics:
    return client.java("ctp", f"bench-{topic}", INPUT, topic, pace.warm_up_s, pace.run_s)


def librdkafka(producers: int) -> Load:
    def load(client: Client, topic: str, pace: Pace) -> Metrics:
        return client.librdkafka(
            "txn", topic, producers=producers, partitions=PARTITIONS, warm_up_s=pace.warm_up_s, run_s=pace.run_s
        )

    return load


def librdkafka_ctp(client: Client, topic: str, pace: Pace) -> Metrics:
    return client.librdkafka("ctp", INPUT, topic, warm_up_s=pace.warm_up_s, run_s=pace.run_s)


ALL = (
    Transactions("txn_1_java", java_one, goal=2.5),
    Transactions("txn_1_librdkafka", librdkafka(1), goal=1.2),
    Transactions("txn_16_librdkafka", librdkafka(16), goal=1.2, p99_goal=0.5),
    Transactions("ctp_librdkafka", librdkafka_ctp, goal=20, has_input=True),
    Transactions("ctp_java", java_ctp, goal=5, has_input=True),
)
