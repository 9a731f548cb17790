"""Concurrent compactions: another run, another job, and a recreated topic of the same name.

Brokers and files are real; what Spark does is done in this process (tests/spark/test_compact.py has it do it).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from redis_ledger import Client
from redis_ledger.errors import UnknownTopic
from redis_ledger.offload.manifest import Segment, Stretch
from redis_ledger.offload.segment import SegmentWriter, check_file, open_home, read_groups, to_rows
from redis_ledger.spark.pipelines import compact
from redis_ledger.spark.pipelines.progress import Progress
from tests.spark.offloaded import named, offload, offloaded
from tests.support import compaction_in_process
from tests.support.threaded_broker import threaded_broker

TOPIC = "orders"
NOW_MS = time.time_ns() // 1_000_000


class World:
    def __init__(self, client: Client, url: str, home: Path) -> None:
        self.client, self.url, self.home = client, url, home

    def job(self) -> compact.Job:
        given = compact.arguments_of(
            ["--bootstrap", self.url, "--topic", TOPIC, "--segment-mb", "1", "--keep-replaced", "0ms"]
        )
        return compact.Job(self.client, TOPIC, given, NOW_MS, Progress("compact"))

    def segment(self, *keys: str) -> None:
        """Of these keys; two of its records are too large to be merged with others."""
        with self.client.producer(TOPIC) as producer:
            for key in keys:
                producer.send(os.urandom(600_000), key=key)
        offload(self.client, TOPIC)

    def keys(self) -> list[list[str]]:
        """The keys of each segment in the manifest; asserts that the files are intact."""
        found = []
        for segment in offloaded(self.client, TOPIC).segments:
            check_file(open_home(str(self.home)), segment)
            found.append([row.key.decode() for row in self.rows(segment) if row.key is not None])
        return found

    def rows(self, segment: Segment) -> list[Any]:
        groups = read_groups(open_home(str(self.home)), segment, segment.first, segment.end)
        return [row for group in groups for row in to_rows(group)]

    def files(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.home)): path.read_bytes() for path in self.home.rglob("*") if path.is_file()}

    def parquet(self) -> set[str]:
        return {file for file in self.files() if file.endswith(".parquet")}

    def move(self, segment: Segment) -> None:
        """A concurrent job: replaces the segment by the same rows under another name."""
        manifest = self.client.offload.describe(TOPIC)
        other = Stretch(segment.first, segment.end, segment.file.replace(".parquet", "moved.parquet"))
        home = open_home(str(self.home))
        with SegmentWriter(home, other, manifest.topic_id) as writer:
            for group in read_groups(home, segment, segment.first, segment.end):
                writer.add(group)
            moved = writer.finish()
        version = manifest.partitions[0].version
        self.client.offload.swap(TOPIC, 0, version, [segment.first], [moved], topic_id=manifest.topic_id)
        home.delete(segment.file)


@pytest.fixture
def world(redis_url: str, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Two segments that stay apart, of which each loses a record."""
    compaction_in_process.replace(monkeypatch)
    home = tmp_path / "history"
    with threaded_broker(redis_url, prefix, offload_home=str(home), retention_ms=-1) as brokers:
        with Client(brokers.urls) as client:
            client.topics.create(TOPIC)
            world = World(client, brokers.urls[0], home)
            world.segment("x", "y", "both", "both")
            world.segment("z", "both", "both")
            yield world


@pytest.fixture
def before_swap(world, monkeypatch) -> Callable[[int, Callable[[], None]], None]:
    """Something that happens when a job is about to ask for its n-th swap, once it knows that it is the latest run."""

    def arrange(at: int, what: Callable[[], None]) -> None:
        swap, asked = world.client.offload.swap, 0

        def meanwhile(*given: Any, **more: Any) -> Any:
            nonlocal asked
            asked += 1
            if asked == at:
                what()
            return swap(*given, **more)

        monkeypatch.setattr(world.client.offload, "swap", meanwhile)

    return arrange


def test_the_last_record_of_each_key_stays(world):
    world.job().compact(None, 0)
    assert world.keys() == [["x", "y"], ["z", "both"]]
    assert world.parquet() == named(world.client, TOPIC)


def test_a_run_whose_segments_were_changed_begins_anew_and_writes_to_no_file_that_is_in_place(world, before_swap):
    # Given a run that has put its first segment in place when another job changes the second one, and a record comes
    # for whose sake the first has to be written once more
    inherited: list[Segment] = []

    def change() -> None:
        first, second = offloaded(world.client, TOPIC).segments
        inherited.append(first)
        world.segment("x", "w")
        world.move(second)

    before_swap(2, change)
    job = world.job()
    number = job._run
    # When it goes on
    job.compact(None, 0)
    # Then the work is done, each file is what the manifest says, and the first has another name than it had
    assert world.keys() == [["y"], ["z", "both"], ["x", "w"]]
    assert world.parquet() == named(world.client, TOPIC)
    assert f"-compacted{number}.parquet" in inherited[0].file
    first, second, _ = offloaded(world.client, TOPIC).segments
    assert f"-compacted{job._run}.parquet" in first.file
    assert f"-compacted{job._run}.parquet" in second.file
    assert job._run > number


def test_a_run_that_another_one_overtakes_in_the_midst_of_a_swap_leaves_the_rest_to_it(world, before_swap):
    # Given a run that is about to swap when a later one begins and does it all
    before_swap(1, lambda: world.job().compact(None, 0))
    first = world.job()
    number = first._run
    # Then it is refused, and stops: it takes no number above that of the other one
    with pytest.raises(compact.Superseded, match="Another compaction of orders has begun"):
        first.compact(None, 0)
    assert first._run == number
    assert all(f"-compacted{number}." not in segment.file for segment in offloaded(world.client, TOPIC).segments)
    assert world.keys() == [["x", "y"], ["z", "both"]]
    assert world.parquet() == named(world.client, TOPIC)


# -- a topic that is made again ----------------------------------------------------------------------------------------


def made_again(world: World) -> dict[str, bytes]:
    """With as many segments and offsets as before; the files that the old one has left."""
    left = world.files()
    world.client.topics.delete(TOPIC)
    world.client.topics.create(TOPIC)
    world.segment("a", "a", "a", "a")
    world.segment("b", "b", "b")
    return left


def test_topic_recreated_before_a_swap_is_unchanged(world, before_swap):
    # Given a compaction that leaves nothing of the last segment, and a topic that is made again meanwhile
    with world.client.producer(TOPIC) as producer:
        producer.send(None, key="gone", timestamp_ms=1)
    offload(world.client, TOPIC)
    old = world.files()

    def again() -> None:
        made_again(world)
        with world.client.producer(TOPIC) as producer:
            producer.send("kept", key="c")
        offload(world.client, TOPIC)
        assert offloaded(world.client, TOPIC).version == 3

    before_swap(1, again)
    # When it requests its swaps, then they fail, it has deleted what it wrote, and no record of the other is gone
    with pytest.raises(UnknownTopic, match="was deleted and created again"):
        world.job().compact(None, 0)
    assert world.keys() == [["a"] * 4, ["b"] * 3, ["c"]]
    assert world.parquet() == named(world.client, TOPIC) | {file for file in old if file.endswith(".parquet")}


def test_recreated_topic_uses_another_folder(world, monkeypatch):
    # Given a topic that is made again when all its segments have been swapped
    replace, left = compact.Job._replace, dict[str, bytes]()

    def swapped(job: compact.Job, found: compact.Counted) -> None:
        replace(job, found)
        left.update(made_again(world))

    monkeypatch.setattr(compact.Job, "_replace", swapped)
    # When the job continues, then it fails, and the files of the first are as it left them
    with pytest.raises(UnknownTopic, match="was deleted while it was being compacted"):
        world.job().compact(None, 0)
    assert {file: content for file, content in world.files().items() if file in left} == left
    assert world.parquet() == named(world.client, TOPIC) | {file for file in left if file.endswith(".parquet")}
    assert not [file for file in world.files() if file.endswith(".json")]
