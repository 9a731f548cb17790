"""How long is a server unavailable after failures?

    open_txn_stall   a transaction with a timeout of 10 s is left open while another producer commits ten times a second
                     to the same partition: the time without a record for a read_committed reader, less the timeout
    kill_restart     server and Redis get kill -9 at the same moment and are started again on the same data: the time
                         from the start command until a retrying client has a produce with acks=all acknowledged

Both also check correctness: the open transaction's owner is fenced and its record is never delivered; everything
acknowledged before the kills is readable after them.
"""

from __future__ import annotations

import time

from bench.kafka_peer.clients import Client
from bench.kafka_peer.report import Report
from bench.kafka_peer.session import PARTITIONS, Session
from bench.lab import Metrics
from bench.processes import BenchFailed

STALL, TIMEOUT_S, STALL_GOAL_S, STALL_ROUNDS = "open_txn_stall", 10, 1, 2
RESTART, RESTART_GOAL_S = "kill_restart", 2
RECORDS, TXN_S = 2_000_000, 3


class OpenTransaction:
    cases = (STALL,)

    def measure(self, session: Session, report: Report) -> None:
        def run(client: Client, name: str) -> dict[str, Metrics]:
            client.create(name)
            seen = client.librdkafka("stall", name, timeout_ms=1000 * TIMEOUT_S)
            if not seen["was_fenced"] or seen["stalled_s"] < TIMEOUT_S - 1:
                raise BenchFailed(f"{client.server.label} did not hold up readers until the timeout: {seen}")
            return {STALL: {"seconds_over_timeout": seen["stalled_s"] - TIMEOUT_S}}

        taken = session.rounds(run, count=STALL_ROUNDS, has_trial=False)
        report.alone(taken, STALL, "seconds_over_timeout", "s", STALL_GOAL_S)


class Restart:
    cases = (RESTART,)

    def measure(self, session: Session, report: Report) -> None:
        records = int(RECORDS * session.pace.scale)
        for client in session.clients.values():
            client.create("kept", partitions=PARTITIONS)
            client.produce("kept", records, 100)
            client.create("ended", partitions=PARTITIONS)
            client.librdkafka("txn", "ended", producers=16, partitions=PARTITIONS, warm_up_s=0, run_s=TXN_S)
            client.create("asked")

        def run(client: Client, name: str) -> dict[str, Metrics]:
            client.server.kill()
            seconds = client.first_ack("asked", lambda: launched(client))
            client.server.await_ready()
            return {RESTART: {"seconds_to_first_ack": seconds}}

        taken = session.rounds(run, has_trial=False)
        for client in session.clients.values():
            client.consume("kept", records)  # fails if a record is missing
        report.alone(taken, RESTART, "seconds_to_first_ack", "s", RESTART_GOAL_S)


def launched(client: Client) -> float:
    began_s = time.monotonic()
    client.server.launch()
    return began_s
