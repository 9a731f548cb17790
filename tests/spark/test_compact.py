"""Compaction of offloaded records."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from redis_ledger import Client
from redis_ledger.errors import ManifestChanged
from redis_ledger.offload.manifest import Segment
from redis_ledger.offload.segment import check_file, open_home
from redis_ledger.spark.pipelines import compact, compact_spark
from redis_ledger.spark.pipelines.progress import Progress
from tests.spark import dying
from tests.spark.offloaded import Brokers, Kept, named, offload, offloaded, read
from tests.support.processes import ROOT

DAY_MS = 86_400_000
NOW_MS = time.time_ns() // 1_000_000


@pytest.fixture(scope="module")
def brokers(tmp_path_factory) -> Iterator[Brokers]:
    brokers = Brokers(tmp_path_factory.mktemp("offload"))
    yield brokers
    brokers.close()


@pytest.fixture
def url(brokers: Brokers) -> str:
    return brokers.url


@pytest.fixture
def run(url: str, capsys) -> Callable[..., tuple[int, str]]:
    """Returns the exit code, and stderr."""

    def call(*arguments: str) -> tuple[int, str]:
        code = compact.main(["--bootstrap", url, "--keep-replaced", "0ms", *arguments])
        return code, capsys.readouterr().err

    return call


def compacted(found: list[Kept], below: int, old_ms: int) -> list[Kept]:
    """The model."""
    last = {each.key: each.offset for each in found if each.offset < below}
    return [
        each
        for each in found
        if each.offset >= below
        or each.key is None
        or (last[each.key] == each.offset and not (each.value is None and each.timestamp_ms < old_ms))
    ]


def round_of(client: Client, topic: str, chance: random.Random, partitions: int) -> None:
    """Records of few keys, some without one, tombstones old and new, and a transaction that is aborted."""
    with client.producer(topic) as producer:
        for _ in range(120):
            key = None if chance.random() < 0.1 else f"k{chance.randrange(25)}"
            value = None if chance.random() < 0.3 else f"{chance.random()}"
            age_ms = chance.choice((0, 3 * DAY_MS))
            producer.send(value, key=key, partition=chance.randrange(partitions), timestamp_ms=NOW_MS - age_ms)
    aborted = client.transaction()
    for number in range(partitions):
        aborted.send(topic, "aborted", key="k1", partition=number).result()
    aborted.abort()


async def _by_kafka(address: str, topic: str, partitions: int) -> dict[tuple[int, bytes], bytes | None]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=address, isolation_level="read_committed", auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        places = [TopicPartition(topic, number) for number in range(partitions)]
        consumer.assign(places)
        ends, found = await consumer.end_offsets(places), {}
        while [place for place in places if await consumer.position(place) < ends[place]]:
            for place, records in (await consumer.getmany(timeout_ms=500)).items():
                for record in records:
                    if record.key is not None:
                        found[place.partition, record.key] = record.value
        return found
    finally:
        await consumer.stop()


def test_the_last_record_of_each_key_keeps_its_offset(spark, client, name, run, brokers):
    # Given three offloaded rounds, a range without any record, and records that are not offloaded
    chance = random.Random(7)
    client.topics.create(name, partitions=3)
    for _ in range(3):
        round_of(client, name, chance, 2)
        for number in (0, 1):
            offload(client, name, number)
    round_of(client, name, chance, 2)
    before = [read(client, name, number) for number in (0, 1)]
    ends = [offloaded(client, name, number).offloaded_offset for number in (0, 1)]
    old_ms = NOW_MS - DAY_MS
    expected = [compacted(found, end, old_ms) for found, end in zip(before, ends, strict=True)]
    assert all(len(some) < len(found) for some, found in zip(expected, before, strict=True))
    # When a dry run compacts it
    there = brokers.files(name)
    code, output = run("--topic", name, "--dry-run")
    # Then it reports the result, and nothing has changed
    assert (code, brokers.files(name)) == (0, there), output
    below = sum(each.offset < ends[0] for each in expected[0])
    assert f"compact: {name}:0: would keep {below} of " in output
    # When it is compacted
    code, output = run("--topic", name)
    # Then exactly the records of the model remain, at the same offsets, read by a broker with empty caches
    assert code == 0, output
    keyless = sum(each.offset < ends[0] and each.key is None for each in expected[0])
    assert f"compact: {name}:0: keeps {below} of " in output
    assert f", {keyless} without a key; 3 segments are rewritten as 1" in output
    assert [offloaded(client, name, number).offloaded_offset for number in (0, 1)] == ends
    fresh = brokers.fresh()
    with Client(fresh.urls[0]) as reader:
        assert [read(reader, name, number) for number in (0, 1)] == expected
        middle = expected[1][len(expected[1]) // 2].offset - 1
        assert read(reader, name, 1, middle) == [each for each in expected[1] if each.offset >= middle]
    # And the same by Spark, and by a Kafka client that keeps the last value of each key
    frame = spark.read.format("redis-ledger").option("bootstrap", fresh.urls[0]).option("topics", name).load()
    rows = sorted((row.partition, row.offset) for row in frame.select("partition", "offset").collect())
    assert rows == [(number, each.offset) for number in (0, 1) for each in expected[number]]
    last = {(number, each.key): each.value for number in (0, 1) for each in before[number] if each.key is not None}
    by_kafka = asyncio.run(_by_kafka(fresh.field("kafka"), name, 2))
    assert {place: value for place, value in by_kafka.items() if value is not None} == {
        place: value for place, value in last.items() if value is not None
    }
    # And exactly the files of the manifest exist, intact
    assert brokers.files(name) == named(client, name)
    for number in (0, 1):
        for segment in offloaded(client, name, number).segments:
            check_file(open_home(str(brokers.home)), segment)
    # When it is compacted again, then nothing is written
    there = brokers.files(name)
    code, output = run("--topic", name)
    assert (code, brokers.files(name)) == (0, there)
    assert f"compact: {name}:0: keeps {below} of {below} records" in output
    # When tombstones have become old, they are deleted, too
    assert run("--topic", name, "--delete-retention", "0ms")[0] == 0
    expected = [compacted(found, end, NOW_MS + DAY_MS) for found, end in zip(before, ends, strict=True)]
    with Client(brokers.fresh().urls[0]) as reader:
        assert [read(reader, name, number) for number in (0, 1)] == expected


def test_only_committed_records_are_compacted_despite_markers_and_open_transactions(spark, client, name, run, brokers):
    """TB-29: the latest committed value of a key stays; no marker does, and a marker at the end does not block."""
    # Given values of three keys, two of them in transactions, and another value of the first in an open transaction
    client.topics.create(name)

    def send(**values: str) -> None:
        with client.transaction() as txn:
            txn.begin()  # so that there is a marker
            for key, value in values.items():
                txn.send(name, value, key=key)

    with client.producer(name) as producer:
        producer.send("V1", key="K1")
    send(K2="V2", K3="V3")
    with client.producer(name) as producer:
        producer.send("V4", key="K1")
    send(K2="V5", K3="V6")
    end = client.topics.describe(name).partition_states[0].stable_offset
    undecided = client.transaction()
    undecided.send(name, "V7", key="K1").result()
    # When the decided records, which end in a marker, are offloaded and compacted
    offload(client, name)
    assert run("--topic", name)[0] == 0
    # Then exactly the last committed value of each key exists, at its offset
    (segment,) = offloaded(client, name).segments
    assert (segment.first, segment.end, segment.records) == (0, end, 3)
    with Client(brokers.fresh().urls[0]) as reader:
        latest = [(each.offset, each.key, each.value) for each in read(reader, name)]
    assert latest == [(4, b"K1", b"V4"), (5, b"K2", b"V5"), (6, b"K3", b"V6")]
    # And a stretch with only aborted records and a marker is compacted, too
    undecided.abort()
    offload(client, name)
    assert run("--topic", name)[0] == 0
    assert sum(segment.records for segment in offloaded(client, name).segments) == 3
    with Client(brokers.fresh().urls[0]) as reader:
        assert [each.value for each in read(reader, name)] == [b"V4", b"V5", b"V6"]


def test_a_segment_without_remaining_records_has_no_file(spark, client, name, run, brokers):
    client.topics.create(name)
    with client.producer(name) as producer:
        for value in ("a", "b", None):
            producer.send(value, key="k", timestamp_ms=NOW_MS - 2 * DAY_MS)
    offload(client, name)
    with client.producer(name) as producer:
        producer.send("hot", key="j")
    assert run("--topic", name)[0] == 0
    (segment,) = offloaded(client, name).segments
    assert (segment.first, segment.end, segment.file, segment.records) == (0, 3, "", 0)
    assert brokers.files(name) == set()
    with Client(brokers.fresh().urls[0]) as reader:
        assert [each.value for each in read(reader, name)] == [b"hot"]


# -- concurrent changes ------------------------------------------------------------------------------------------------


def large(client: Client, topic: str) -> list[Kept]:
    """Two segments that stay separate, each of which loses a record."""
    client.topics.create(topic)
    for _ in range(2):
        with client.producer(topic) as producer:
            for n in (0, *range(11)):
                producer.send(os.urandom(64 << 10), key=f"{n if n else 'both'}-{random.random() if n else 0}")
        offload(client, topic)
    return read(client, topic)


def job_of(client: Client, url: str, topic: str) -> compact.Job:
    given = compact.arguments_of(["--bootstrap", url, "--topic", topic, "--segment-mb", "1"])
    return compact.Job(client, topic, given, NOW_MS, Progress("compact"))


def test_segments_published_during_a_compaction_are_kept(spark, client, name, url, brokers, monkeypatch):
    # Given a compaction that is about to swap when another segment is published
    before = large(client, name)
    rewritten = compact_spark.rewritten

    def meanwhile(*given: Any) -> list[Segment]:
        done = rewritten(*given)
        monkeypatch.undo()
        with client.producer(name) as producer:
            producer.send("later", key="both-0")
        offload(client, name)
        return done

    monkeypatch.setattr(compact_spark, "rewritten", meanwhile)
    # When it continues
    job_of(client, url, name).compact(spark, 0)
    # Then it has completed, and the other segment exists
    segments = offloaded(client, name).segments
    assert [segment.records for segment in segments] == [10, 11, 1]
    assert "compacted" not in segments[2].file
    assert brokers.files(name) == named(client, name)
    with Client(brokers.fresh().urls[0]) as reader:
        assert read(reader, name)[:-1] == compacted(before, segments[2].first, 0)


def test_a_superseded_compaction_swaps_nothing_in(spark, client, name, url, brokers, monkeypatch):
    # Given a run that has written its files when another one begins, and deletes the files it finds
    before = large(client, name)
    first = job_of(client, url, name)
    rewritten = compact_spark.rewritten
    seen: list[set[str]] = []

    def overtaken(*given: Any) -> list[Segment]:
        done = rewritten(*given)
        monkeypatch.undo()
        seen.append(brokers.files(name))
        second.append(job_of(client, url, name))
        second[0]._clean(0)
        seen.append(brokers.files(name))
        return done

    second: list[compact.Job] = []
    monkeypatch.setattr(compact_spark, "rewritten", overtaken)
    # Then it stops
    with pytest.raises(compact.Superseded, match="Another compaction of"):
        first.compact(spark, 0)
    written, left = seen
    assert len(written - left) == 2
    assert left == named(client, name)
    # And it cannot swap in such a file, even with the state it had read
    described = client.offload.describe(name)
    (first_one, *_), version = described.partitions[0].segments, described.partitions[0].version - 1
    with pytest.raises(ManifestChanged):
        client.offload.swap(name, 0, version, [first_one.first], [first_one], topic_id=described.topic_id)
    # And the other run completes
    second[0].compact(spark, 0)
    with Client(brokers.fresh().urls[0]) as reader:
        assert read(reader, name) == compacted(before, offloaded(client, name).offloaded_offset, 0)


def test_only_files_of_killed_runs_are_deleted(spark, client, name, run, brokers):
    # Given files that the manifest does not name: of a replaced segment, of an earlier run, and of one that was writing
    client.topics.create(name)
    with client.producer(name) as producer:
        producer.send("a", key="k")
    offload(client, name)
    (segment,) = offloaded(client, name).segments
    folder = brokers.home / Path(segment.file).parent
    stretch = f"{0:020d}-{1:020d}"
    left = [f"{stretch}-0123456789abcdef.parquet", f"{stretch}-compacted17.parquet", f"_tmp-ab-{stretch}-compacted17"]
    others = ["README.md", f"_tmp-ab-{stretch}-0123456789abcdef", f"{stretch}-compacted{NOW_MS * 2}.parquet"]
    for each in (*left, *others):
        (folder / each).write_bytes(b"x")
    # When the next run begins, with nothing else to do
    assert run("--topic", name)[0] == 0
    # Then those are deleted; files that others may be writing, or have added, are not
    assert set(os.listdir(folder)) == {Path(segment.file).name, "manifest.json", *others}
    assert offloaded(client, name).segments == [segment]
    for each in others:
        (folder / each).unlink()


@pytest.mark.timeout(900)  # a separate process, and a job for each of its calls
def test_after_a_crash_at_any_call_the_next_compaction_completes(spark, client, name, url, run, brokers, monkeypatch):
    # Given the number of calls of a compaction of two segments
    common = ["--bootstrap", url, "--segment-mb", "1", "--keep-replaced", "0ms"]
    large(client, f"{name}-0")
    with monkeypatch.context() as patch:
        dying.CALLS.count = 0
        dying.watched(patch.setattr)
        assert compact.main([*common, "--topic", f"{name}-0"]) == 0
        calls = dying.CALLS.count
    assert calls == 6  # the run's number, writing, two swaps, and two files deleted
    # And a job for each of them that dies before it
    topics = [f"{name}-{at}" for at in range(1, calls + 1)]
    before = {topic: large(client, topic) for topic in topics}
    jobs = [{"arguments": [*common, "--topic", topic], "at": at} for at, topic in enumerate(topics, 1)]
    given = json.dumps({"module": "compact", "jobs": jobs})
    died = subprocess.run(
        [sys.executable, "-m", "tests.spark.dying", given], cwd=ROOT, capture_output=True, check=False
    )
    assert died.returncode == dying.DIED, died.stderr.decode()[-2000:]
    # Then each segment is either unchanged or compacted
    with Client(brokers.fresh().urls[0]) as reader:
        for at, topic in enumerate(topics, 1):
            records = [segment.records for segment in offloaded(client, topic).segments]
            assert records == ([12, 12] if at <= 3 else [10, 12] if at <= 4 else [10, 11]), at
            found, expected = read(reader, topic), compacted(before[topic], 24, 0)
            assert found == [
                each for each in before[topic] if each in expected or (records[each.offset >= 12] == 12)
            ], at
            assert named(client, topic) <= brokers.files(topic)
    # When they are run again
    for topic in topics:
        code, output = run("--topic", topic, "--segment-mb", "1")
        assert code == 0, output
    # Then it is completed, and there are no orphan files
    with Client(brokers.fresh().urls[0]) as reader:
        for topic in topics:
            assert read(reader, topic) == compacted(before[topic], 24, 0), topic
            assert brokers.files(topic) == named(client, topic), topic


# -- errors ------------------------------------------------------------------------------------------------------------


def test_topics_without_offloaded_records_are_left_alone(client, name, run):
    client.topics.create(name)
    code, output = run("--topic", name)
    assert (code, output) == (0, "compact: there was nothing to do: no records are offloaded.\n")
    code, output = run("--topic", f"{name}-not")
    assert (code, output) == (1, f"compact: There is no topic {name}-not.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topic", "a", "--delete-retention", "soon"], "'soon' is not a duration"),
        (["--topic", "a", "--segment-mb", "0"], "'0' is not an integer from 1 to 4096"),
        ([], "one of the arguments --topic --pattern is required"),
    ],
)
def test_invalid_arguments_are_refused_before_any_request(capsys, arguments, message):
    with pytest.raises(SystemExit) as ended:
        compact.main(arguments)
    assert (ended.value.code, message in capsys.readouterr().err) == (2, True)
