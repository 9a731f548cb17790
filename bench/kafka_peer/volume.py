"""Throughput: ProducerPerformance and ConsumerPerformance, one client, 6 partitions, acks=all.

    produce_1k, consume_1k        1 M records of 1 KiB
    produce_100b, consume_100b    3 M records of 100 bytes

A consumer's rate counts from its start, including the join of its group; `fetch_records_per_s` excludes it.  Records
are consumed right after they were produced, and the topic is deleted before the turn of the other server.
`memory_mb` is the peak of broker and Redis, `rewrite_mb` what a rewrite of the append-only file added to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.kafka_peer.clients import Client
from bench.kafka_peer.report import Report
from bench.kafka_peer.session import PARTITIONS, Session
from bench.lab import Metrics

GIB = 2**30
MEMORY_GOAL_MB = 1_200


@dataclass(frozen=True)
class Volume:
    """name: suffix of both cases."""

    name: str
    records: int
    record_bytes: int
    produce_goal: float
    consume_goal: float
    cpu_goal: float | None

    @property
    def cases(self) -> tuple[str, str]:
        return f"produce_{self.name}", f"consume_{self.name}"

    def measure(self, session: Session, report: Report) -> None:
        produce, consume = self.cases
        records = int(self.records * session.pace.scale)
        gib = records * self.record_bytes / GIB

        def run(client: Client, name: str) -> dict[str, Metrics]:
            client.create(name, partitions=PARTITIONS)
            produced = client.costed(lambda: client.produce(name, records, self.record_bytes))
            found = {produce: per_gib(produced, gib)}
            if consume in report.cases:
                found[consume] = per_gib(client.costed(lambda: client.consume(name, records)), gib)
            client.delete(name)
            return found

        taken = session.rounds(run)
        report.ratio(taken, produce, "records_per_s", "records/s", self.produce_goal, "ratio")
        report.ratio(taken, produce, "p50_ms", "ms")
        report.ratio(taken, produce, "p99_ms", "ms")
        report.ratio(taken, produce, "cpu_s_per_gib", "CPU s per GiB", self.cpu_goal, "cpu_ratio")
        report.ratio(taken, consume, "records_per_s", "records/s", self.consume_goal, "ratio")
        report.ratio(taken, consume, "fetch_records_per_s", "records/s")
        report.ratio(taken, consume, "cpu_s_per_gib", "CPU s per GiB", None, "cpu_ratio")
        for case in self.cases:
            report.alone(taken, case, "memory_mb", "MB", MEMORY_GOAL_MB)
            report.alone(taken, case, "rewrite_mb", "MB", None)


def per_gib(metrics: Metrics, gib: float) -> Metrics:
    return {**metrics, "cpu_s_per_gib": metrics["cpu_s"] / gib} if "cpu_s" in metrics else metrics


KIB = Volume("1k", 1_000_000, 1_024, produce_goal=0.95, consume_goal=0.95, cpu_goal=1.4)
SMALL = Volume("100b", 3_000_000, 100, produce_goal=1.0, consume_goal=1.0, cpu_goal=None)
