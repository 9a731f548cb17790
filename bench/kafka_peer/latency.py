"""How long does a record take from produce to consume, at 1 000 records of 100 bytes a second?

An open loop: a record is due whatever the server does, and its latency counts from the due time until the consumer has
it.  One librdkafka producer and one consumer in one process, one partition, acks=all, linger 0.
"""

from __future__ import annotations

from bench.kafka_peer.clients import Client
from bench.kafka_peer.report import Report
from bench.kafka_peer.session import DISK, Session
from bench.lab import Metrics

CASE, PER_S = "e2e_1000_per_s", 1_000
LONGER = 3  # than other runs: a p99 of more than 10 000 records
GOAL = 1.0


class EndToEnd:
    cases = (CASE,)

    def measure(self, session: Session, report: Report) -> None:
        pace = session.pace

        def run(client: Client, name: str) -> dict[str, Metrics]:
            client.create(name)
            load = {"per_s": PER_S, "warm_up_s": pace.warm_up_s, "run_s": LONGER * pace.run_s}
            return {CASE: client.costed(lambda: client.librdkafka("e2e", name, **load))}

        taken = session.rounds(run, without=DISK)
        report.ratio(taken, CASE, "p50_ms", "ms", GOAL, "p50_ratio")
        report.ratio(taken, CASE, "p99_ms", "ms", GOAL, "p99_ratio")
        report.ratio(taken, CASE, "p99_9_ms", "ms")
