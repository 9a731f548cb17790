"""Stops and restarts brokers that share a Redis and keep their addresses:  python -m tests.support.rolling_restart [2]

    → 127.0.0.1:9092,127.0.0.1:9093      their Kafka addresses, once they know of each other
    ← stop 0                             SIGTERM
    → 0                                  its exit code
    ← kill 0                             kill -9
    → killed
    ← start 0
    → ready                              and they know of each other again

When stdin ends, the brokers and their Redis end.  For Kafka clients whose environment is not this project's: they run
it as a process of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient

from tests.support.processes import Serve

PATIENCE_S = 40.0


class Brokers:
    def __init__(self, data_dir: Path, count: int) -> None:
        self._data_dir = data_dir
        self._brokers = [self._serve() for _ in range(count)]

    def _serve(self, http: str = "127.0.0.1:0", kafka: str = "127.0.0.1:0") -> Serve:
        return Serve("--data-dir", self._data_dir, "--durability", "process", "--kafka", kafka, http=http)

    @property
    def kafka(self) -> str:
        return ",".join(broker.field("kafka") for broker in self._brokers)

    def stop(self, number: int) -> int:
        """Its exit code."""
        return self._brokers[number].terminate()

    def kill(self, number: int) -> None:
        self._brokers[number].kill()

    def start(self, number: int) -> None:
        """At the addresses that it had."""
        before = self._brokers[number]
        self._brokers[number] = self._serve(before.urls[0].removeprefix("http://"), before.field("kafka"))
        self.know_each_other()

    def know_each_other(self) -> None:
        asyncio.run(know_each_other(*self._brokers))

    def clean_up(self) -> None:
        for broker in self._brokers:
            broker.clean_up()


async def know_each_other(*brokers: Serve) -> None:
    """A client asks for metadata once: brokers hear of each other within a second, and it should be after that."""
    until = time.monotonic() + PATIENCE_S
    for broker in brokers:
        client = AIOKafkaAdminClient(bootstrap_servers=broker.field("kafka"))
        await client.start()
        while len((await client.describe_cluster())["brokers"]) < len(brokers):
            assert time.monotonic() < until, "brokers do not hear of each other"
            await asyncio.sleep(0.05)
        await client.close()


@contextlib.contextmanager
def rolling(count: int) -> Iterator[Brokers]:
    with tempfile.TemporaryDirectory(prefix="redis-ledger-rolling-", ignore_cleanup_errors=True) as folder:
        brokers = Brokers(Path(folder) / "data", count)
        try:
            brokers.know_each_other()
            yield brokers
        finally:
            brokers.clean_up()


def main() -> int:
    with rolling(int(sys.argv[1]) if len(sys.argv) > 1 else 2) as brokers:
        print(brokers.kafka, flush=True)
        for line in sys.stdin:
            order, number = line.split()
            if order == "stop":
                print(brokers.stop(int(number)), flush=True)
            elif order == "kill":
                brokers.kill(int(number))
                print("killed", flush=True)
            else:
                brokers.start(int(number))
                print("ready", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
