"""The client programs, run against one server: Kafka's performance tools, the Java transactions, librdkafka.

Each is a process of its own that connects, works and ends.  Its output becomes metrics, together with the resources of
its server.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from bench.kafka_peer import resources
from bench.kafka_peer.servers import Server, environment
from bench.kafka_peer.toolbox import Toolbox
from bench.lab import Metrics
from bench.processes import ROOT, BenchFailed

CLIENT_S_MAX = 120.0
TOOLS = "org.apache.kafka.tools"
PRODUCED = re.compile(
    r"^(?P<records>\d+) records sent, (?P<per_s>[\d.]+) records/sec .* (?P<p50>\d+) ms 50th, .* (?P<p99>\d+) ms 99th,"
)
PRODUCER = ("acks=all", "batch.size=65536", "linger.ms=5")


@dataclass(frozen=True)
class Client:
    """All client programs, for one server."""

    toolbox: Toolbox
    server: Server

    # -- Kafka's performance tools -------------------------------------------------------------------------------------

    def produce(self, topic: str, records: int, record_bytes: int) -> Metrics:
        command = [*self.toolbox.tool(f"{TOOLS}.ProducerPerformance"), "--bootstrap-server", self.server.bootstrap]
        command += ["--topic", topic, "--num-records", str(records), "--record-size", str(record_bytes)]
        output = self._run([*command, "--throughput", "-1", "--command-property", *PRODUCER])
        # The last such line is the summary; those before are for five seconds each.
        found = [match for line in output.splitlines() if (match := PRODUCED.match(line))]
        if not found or int(found[-1]["records"]) != records:
            raise self._failed("ProducerPerformance did not send all records", output)
        last = found[-1]
        return {"records_per_s": float(last["per_s"]), "p50_ms": float(last["p50"]), "p99_ms": float(last["p99"])}

    def consume(self, topic: str, records: int) -> Metrics:
        """records_per_s counts from the start, including the join of the group; fetch_records_per_s excludes it."""
        command = [*self.toolbox.tool(f"{TOOLS}.ConsumerPerformance"), "--bootstrap-server", self.server.bootstrap]
        command += ["--topic", topic, "--num-records", str(records), "--timeout", "30000", "--hide-header"]
        output = self._run(command)
        # start, end, MB, MB/s, records, records/s, rebalance ms, fetch ms, fetch MB/s, fetch records/s
        columns = next((parts for line in output.splitlines() if len(parts := line.split(", ")) == 10), None)
        if columns is None or int(columns[4]) < records:
            raise self._failed("ConsumerPerformance did not get all records", output)
        return {"records_per_s": float(columns[5]), "fetch_records_per_s": float(columns[9])}

    # -- drivers of our own --------------------------------------------------------------------------------------------

    def java(self, work: str, *arguments: object) -> Metrics:
        return self._driven([*self.toolbox.java_driver(), work, self.server.bootstrap, *map(str, arguments)])

    def librdkafka(self, work: str, *topics: str, **options: float) -> Metrics:
        return self._driven(self._librdkafka_command(work, topics, options))

    def create(self, *topics: str, partitions: int = 1) -> None:
        self.librdkafka("create", *topics, partitions=partitions)

    def delete(self, *topics: str) -> None:
        self.librdkafka("delete", *topics)

    def first_ack(self, topic: str, then: Callable[[], float]) -> float:
        """Starts to produce to a stopped server, calls `then`, which restarts it and returns the time of the start, and
        returns the seconds from then until a record is acknowledged."""
        asking = self._librdkafka_command("ack", (topic,), {})
        pipe = subprocess.PIPE
        with subprocess.Popen(asking, stdout=pipe, stderr=pipe, text=True, cwd=ROOT, env=environment()) as process:
            try:
                assert process.stdout is not None
                process.stdout.readline()
                began_s = then()
                output, complaints = process.communicate(timeout=CLIENT_S_MAX)
            except subprocess.TimeoutExpired as error:
                raise self._failed(f"nothing was acknowledged in {CLIENT_S_MAX:.0f} s", "") from error
            finally:
                process.kill()
        if process.returncode:
            raise self._failed("librdkafka failed", complaints)
        acknowledged_s: float = json.loads(output)["acknowledged_s"]
        return acknowledged_s - began_s

    def _librdkafka_command(self, work: str, topics: tuple[str, ...], options: dict[str, float]) -> list[str]:
        named = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        return [*self.toolbox.librdkafka_driver(), work, self.server.bootstrap, *topics, *named]

    def _driven(self, command: list[str]) -> Metrics:
        output: Metrics = json.loads(self._run(command).strip().splitlines()[-1])
        return output

    def _run(self, command: list[str]) -> str:
        self.server.expect_alive()
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False, timeout=CLIENT_S_MAX
            )
        except subprocess.TimeoutExpired as error:
            raise self._failed(f"{short_command(command)} did not end in {CLIENT_S_MAX:.0f} s", "") from error
        if done.returncode:
            raise self._failed(f"{short_command(command)} failed", done.stdout + done.stderr)
        return done.stdout

    def _failed(self, reason: str, output: str) -> BenchFailed:
        """Includes the last output of the client, and the server's state."""
        last = "\n".join(output.strip().splitlines()[-6:])
        return BenchFailed("\n".join(filter(None, (f"{self.server.label}: {reason}", last, self.server.last_words()))))

    # -- resources -----------------------------------------------------------------------------------------------------

    def costed(self, load: Callable[[], Metrics]) -> Metrics:
        """Returns the metrics of the load, the CPU seconds of client, broker and Redis until the server is idle again,
        and their memory."""
        before, clients_before_s = resources.used_by(self.server), resources.used_by_clients()
        memory = resources.Memory(self.server)
        with memory.watched():
            metrics = load()
            client_s = resources.used_by_clients() - clients_before_s
            resources.await_quiet(self.server)
        after = resources.used_by(self.server)
        if before is None or after is None:
            return metrics
        spent = {"broker_cpu_s": after.broker_s - before.broker_s, "redis_cpu_s": after.store_s - before.store_s}
        cpu = {**spent, "cpu_s": after.total_s - before.total_s, "client_cpu_s": client_s}
        return {**metrics, **cpu, **memory.peaks()}


def short_command(command: list[str]) -> str:
    """Returns the command without the interpreter, its options and its paths."""
    return " ".join(word for word in command[1:] if not word.startswith(("-", "/")) and ":/" not in word)
