"""Topics that are partly offloaded, without a job; and helpers to inspect them.

brokers   on one data directory and one object store; a fresh one has empty caches, so it reads Parquet files
offload   offloads all decided records; one call after each round makes one segment each
read      the records that a committed reader gets
files     of a topic in the object store; named: those in the manifest
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from redis_ledger import Client
from redis_ledger.client.models import OffloadedPartition
from redis_ledger.offload.manifest import Segment, Stretch
from redis_ledger.offload.segment import Row, SegmentWriter, open_home, to_record_batch
from tests.support.processes import Serve


class Brokers:
    def __init__(self, folder: Path) -> None:
        self.home, self._data = folder / "offload", folder / "data"
        self._started: list[Serve] = []
        self.url = self.fresh().urls[0]

    def fresh(self) -> Serve:
        """Replaces the previous fresh broker, if there is one."""
        while len(self._started) > 1:
            self._started.pop().clean_up()
        serve = Serve("--data-dir", self._data, "--durability", "process", "--offload-home", self.home)
        self._started.append(serve)
        assert serve.ready
        return serve

    def files(self, topic: str) -> set[str]:
        return {str(path.relative_to(self.home)) for path in (self.home / topic).rglob("*.parquet")}

    def close(self) -> None:
        for each in self._started:
            each.clean_up()


class Kept(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int


def read(client: Client, topic: str, partition: int = 0, first: int = 0) -> list[Kept]:
    return [Kept(m.offset, m.key, m.value, m.timestamp_ms) for m in client.read(topic, partition, first)]


def offload(client: Client, topic: str, partition: int = 0) -> None:
    plan = client.offload.plan(topic, partition, seal=True)
    assert plan is not None
    home, topic_id = client.offload.describe(topic).home, client.topics.describe(topic).id
    found = read(client, topic, partition, plan.stretches[0].first)
    segments = [_written(home, topic_id, topic, partition, stretch, found) for stretch in plan.stretches]
    client.offload.publish(topic, partition, plan, segments)


def _written(home: str, id: str, topic: str, partition: int, stretch: Stretch, found: list[Kept]) -> Segment:
    rows = [Row(m.offset, m.timestamp_ms, m.key, m.value) for m in found if stretch.first <= m.offset < stretch.end]
    with SegmentWriter(open_home(home), stretch, id) as writer:
        if rows:
            writer.add(to_record_batch(topic, partition, rows))
        return writer.finish()


def offloaded(client: Client, topic: str, partition: int = 0) -> OffloadedPartition:
    return client.offload.describe(topic).partitions[partition]


def named(client: Client, topic: str) -> set[str]:
    found = client.offload.describe(topic).partitions
    return {segment.file for partition in found for segment in partition.segments if segment.file}
