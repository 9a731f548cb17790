"""Environment of the matrix jobs: two brokers on one durable server, and what is visible there.

in ── a job ──→ out        seen: the records of a committed reader     lag: of the job's subscription, in records
                           there: the records in the log, decided or not
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from pathlib import Path

from redis_ledger import Client
from redis_ledger.errors import UnknownSubscription
from tests.spark.driver import BATCHES, SUBSCRIPTION, Copy
from tests.spark.failing import Point
from tests.support.processes import Serve, eventually, kill_server
from tests.support.reaper import server_pid

RECORDS = 20 * BATCHES
IN_PARTITIONS, OUT_PARTITIONS = 2, 3
LONG = 400_000  # of a value, so that a batch of a stream does not fit into one response


class World:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._brokers: list[Serve] = []
        for _ in range(2):
            self._start()

    def _start(self) -> None:
        self._brokers.append(Serve("--data-dir", self.folder / "data", "--durability", "disk"))
        assert self._brokers[-1].ready

    @property
    def urls(self) -> list[str]:
        return [broker.urls[0] for broker in self._brokers]

    def kill_broker(self) -> None:
        """Kills the broker at the first address."""
        first = self._brokers.pop(0)
        first.kill()
        assert first.process.returncode == -9

    def replace_broker(self) -> None:
        if len(self._brokers) < 2:
            self._start()

    def kill_redis(self) -> None:
        """Kills Redis; a broker restarts it with its data."""
        killed = kill_server(self.folder / "data")
        eventually(lambda: server_pid(self.folder / "data") != killed)

    def close(self) -> None:
        for broker in self._brokers:
            broker.clean_up()

    def client(self) -> Client:
        return Client(self.urls)

    def job(self, mode: str, point: str = "", *, is_long: bool = False) -> Job:
        """Creates a topic of 60 records, an empty one, and a job between them."""
        name = f"{mode}-{point or 'plain'}-{secrets.token_hex(3)}"
        values = [f"{number:02}".ljust(LONG if is_long else 1, ".") for number in range(RECORDS)]
        with self.client() as client:
            client.topics.create(f"{name}-in", partitions=IN_PARTITIONS)
            client.topics.create(f"{name}-out", partitions=OUT_PARTITIONS)
            for first in range(0, RECORDS, 2 * IN_PARTITIONS):
                with client.producer(f"{name}-in", linger_ms=1_000) as producer:
                    for place, value in enumerate(values[first : first + 2 * IN_PARTITIONS]):
                        producer.send(value, partition=place % IN_PARTITIONS)
        home = self.folder / name
        home.mkdir()
        ends = {f"{name}-in": {str(p): RECORDS // IN_PARTITIONS for p in range(IN_PARTITIONS)}}
        where = f"{point} {home}" if point else ""
        return Job(self, Copy(mode, f"{name}-in", f"{name}-out", "", json.dumps(ends), str(home), where), values)


class Job:
    """One job, and its visible effects."""

    def __init__(self, world: World, copy: Copy, values: list[str]) -> None:
        self.world, self._copy, self._values = world, copy, Counter(values)

    @property
    def stopping(self) -> Copy:
        """The job with the current brokers."""
        return Copy(**{**vars(self._copy), "bootstrap": ",".join(self.world.urls)})

    @property
    def plain(self) -> Copy:
        return Copy(**{**vars(self.stopping), "point": ""})

    @property
    def point(self) -> Point:
        return Point(self._copy.point)

    @property
    def commits(self) -> Path:
        """The folder in which Spark records completed batches."""
        return Path(self._copy.checkpoint) / "commits"

    def seen(self) -> Counter[str]:
        return self._read("read_committed")

    def there(self) -> int:
        return self._read("read_uncommitted").total()

    def _read(self, isolation: str) -> Counter[str]:
        with self.world.client() as client:
            found: Counter[str] = Counter()
            for partition in range(OUT_PARTITIONS):
                found.update(m.text() for m in client.read(self._copy.sink, partition, isolation=isolation))  # type: ignore[arg-type]
            return found

    def lag(self) -> int:
        with self.world.client() as client:
            try:
                found = client.subscriptions.stats(self._copy.source, SUBSCRIPTION)
            except UnknownSubscription:
                return RECORDS
            assert found.kind == "kafka"
            return found.backlog

    def is_settled(self) -> bool:
        """Whether the job has no open transaction."""
        with self.world.client() as client:
            states = client.topics.describe(self._copy.sink).partition_states
            return all(state.open_transactions == 0 for state in states)

    def check_visible(self, records: int) -> None:
        """Checks that this many records are visible, each once, and that the lag has the others."""
        seen = self.seen()
        assert (seen.total(), max(seen.values(), default=1)) == (records, 1)
        assert seen <= self._values
        assert self.lag() == RECORDS - records

    def check_done(self) -> None:
        """Checks that all records are visible once, the lag is 0, and no transaction is open."""
        assert self.seen() == self._values
        assert self.lag() == 0
        eventually(self.is_settled)
