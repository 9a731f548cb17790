"""An offload that is killed at any point is completed by the next run: no loss, no duplicate, no orphan file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from redis_ledger import Client
from redis_ledger.broker.topics.offload import Offload
from redis_ledger.offload import plan
from redis_ledger.offload.manifest import is_chain
from tests.spark.offload_child import OffloadChild, offload_child
from tests.support.threaded_broker import threaded_broker

RECORDS = 9  # of a topic, not counting the aborted one
VALUE = "v" * 200
ARROWS = {"describe", "plan", "create_dir", "open_output_stream", "move", "publish"}
OF_KIND = {"moving": {*ARROWS, "abandon", "delete_file"}, "deleted": {*ARROWS, "forget", "delete_file"}}


class World(NamedTuple):
    url: str
    home: Path
    client: Client
    child: OffloadChild
    broker: Any


@pytest.fixture(scope="module")
def world(redis_url, tmp_path_factory) -> Iterator[World]:
    """A broker with small ledgers, so that each ledger is a stretch; and a log start that moves during a plan."""
    home = tmp_path_factory.mktemp("offload")
    patch = pytest.MonkeyPatch()
    patch.setattr(plan, "STRETCH_BYTES", 1)
    patch.setattr(Offload, "plan", moving(Offload.plan))
    settings: dict[str, Any] = {"ledger_bytes_max": 1_000, "offload_home": str(home)}
    with threaded_broker(redis_url, home.name, **settings) as broker, Client(broker.urls[0]) as client:
        with offload_child() as child:
            yield World(broker.urls[0], home, client, child, broker)
    patch.undo()


def moving(real: Any) -> Any:
    """Moves the log start: for a topic "moving-..." into its first plan, once that is stored; for a topic "deleted-..."
    beyond its first segment, once that is published."""

    async def planned(self: Any, topic: str, number: int, **more: Any) -> Any:
        made = await real(self, topic, number, **more)
        below = 0
        if topic.startswith("moving") and made is not None and made.stretches[0].first == 0:
            below = 2
        if topic.startswith("deleted") and made is None:
            (state,) = await self.states(topic)
            below = state.manifest.segments[0].end
        if below:
            partition = await self._catalog.partition(topic, number)
            await partition.trim(retention_ms=-1, retention_bytes=-1, below_offset=below)
        return made

    return planned


def filled(world: World, topic: str) -> list[tuple[int, str]]:
    """Writes sealed ledgers of a few records each, one record aborted; returns the others with their offsets."""
    world.client.topics.create(topic, partitions=1)
    written = []
    with world.client.producer(topic, linger_ms=0) as producer:
        for number in range(RECORDS):
            value = f"{number} {VALUE}"
            written.append((producer.send(value, partition=0).result().offset, value))
            if number == 3:
                aborted = world.client.transaction()
                aborted.send(topic, "aborted", partition=0).result()
                aborted.abort()
    return written


def check(world: World, topic: str, written: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Checks all reads; returns the expected records."""
    found = world.client.offload.describe(topic).partitions[0]
    # Everything is offloaded, and the manifest is a chain
    assert found.plan is None
    assert found.offloaded_offset == found.stable_offset == found.segments[-1].end
    assert is_chain(found.segments, found.segments[0].first)
    assert found.start_offset > 0
    expected = [each for each in written if each[0] >= found.start_offset]
    # The SDK, through the broker, and DuckDB, through the manifest beside the files, read every record once
    assert [(message.offset, message.text()) for message in world.client.read(topic, 0, "earliest")] == expected
    folder = world.home / topic
    query = f"select list(file) from (select unnest(segments).file as file from '{folder}/*/*/manifest.json')"
    ((listed,),) = duckdb.execute(query).fetchall()
    paths = [str(world.home / file) for file in listed if file]
    table = duckdb.execute(f'select "offset", value from read_parquet({paths}) where "offset" >= {found.start_offset}')
    assert sorted((offset, value.decode()) for offset, value in table.fetchall()) == expected
    # And there is no other file
    there = {str(path.relative_to(world.home)) for path in folder.rglob("*") if path.is_file()}
    assert {name for name in there if not name.endswith("manifest.json")} == set(listed) - {""}
    return expected


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", OF_KIND)
def test_an_offload_killed_at_any_point_is_completed_by_the_next(world, spark, kind, when):
    # Given the points of a run that is not killed
    name = f"{kind}-{when}"
    everything = {f"{name}-0": filled(world, f"{name}-0")}
    points = world.child.run(world.url, f"{name}-0").points
    assert OF_KIND[kind] <= set(points)
    died_at = []
    for number in range(1, len(points) + 1):
        # When other runs are killed at each of them, and repeated
        topic = f"{name}-{number}"
        everything[topic] = filled(world, topic)
        killed = world.child.run(world.url, topic, number, when)
        died_at.append(killed.points[-1])
        assert killed.died
        again = world.child.run(world.url, topic)
        # Then they complete
        assert (again.died, again.error) == (False, ""), (number, points[number - 1])
    assert died_at == points
    # And all readers return what was written, and there are no orphan files
    expected = {topic: check(world, topic, written) for topic, written in everything.items()}
    assert seen_by_spark(world, spark, name) == expected


def seen_by_spark(world: World, spark: Any, name: str) -> dict[str, list[tuple[int, str]]]:
    options = {"bootstrap": world.url, "topicsPattern": f"{name}-.*"}
    frame = spark.read.format("redis-ledger").options(**options).load()
    seen: dict[str, list[tuple[int, str]]] = {}
    for row in frame.selectExpr("topic", "offset", "cast(value as string) v").orderBy("topic", "offset").collect():
        seen.setdefault(row.topic, []).append((row.offset, row.v))
    return seen
