"""Replay of a range of a topic into another one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redis_ledger import Client
from redis_ledger.records.partitioner import partition_for
from redis_ledger.spark.pipelines import replay
from tests.spark import dying
from tests.spark.offloaded import Brokers, offload
from tests.support.processes import ROOT

T0 = 1_767_268_800_000  # 2026-01-01 12:00 UTC
START = "2026-01-01T12:00:00Z"
PARTITIONS = 3


def fill(client: Client, topic: str, count: int = 100, partitions: int = PARTITIONS) -> None:
    """Record n at T0 + n seconds, with a header, a key of ten, every seventh a tombstone."""
    client.topics.create(topic, partitions=partitions)
    with client.producer(topic) as producer:
        for n in range(count):
            value = None if n % 7 == 0 else f"{n}"
            producer.send(value, key=f"k{n % 10}", headers=[("n", f"{n}")], timestamp_ms=T0 + 1_000 * n)


def contents(client: Client, topic: str, partitions: int = PARTITIONS) -> list[list[tuple[Any, ...]]]:
    """By partition, in order."""
    return [
        [(m.key, m.value, tuple(m.headers.items()), m.timestamp_ms) for m in client.read(topic, number)]
        for number in range(partitions)
    ]


def numbered(record: tuple[Any, ...]) -> int:
    """Returns its header, which is unique."""
    return int(dict(record[2])["n"])


def within(found: list[list[tuple[Any, ...]]], first: int, end: int) -> list[list[tuple[Any, ...]]]:
    return [[each for each in some if T0 + 1_000 * first <= each[3] < T0 + 1_000 * end] for some in found]


@pytest.fixture
def run(url: str, capsys) -> Callable[..., tuple[int, str]]:
    """Returns the exit code, and stderr."""

    def call(*arguments: str) -> tuple[int, str]:
        code = replay.main(["--bootstrap", url, *arguments])
        return code, capsys.readouterr().err

    return call


def test_replay_copies_all_fields_in_order_and_once(spark, client, name, run):
    # Given a topic, and another with the same number of partitions
    target, arguments = f"{name}-to", ["--from", name, "--to", f"{name}-to", "--from-time", START]
    fill(client, name)
    client.topics.create(target, partitions=PARTITIONS)
    # When a range of time is replayed in steps
    code, output = run(*arguments, "--to-time", str(T0 + 80_000), "--step", "35")
    # Then its records are unchanged
    assert code == 0, output
    assert contents(client, target) == within(contents(client, name), 0, 80)
    assert "replay: step 3, 80 of 80 offsets: 10 records" in output
    # And once: the job is identified by its arguments
    code, output = run(*arguments, "--to-time", str(T0 + 80_000))
    assert (code, "nothing is left to replay" in output) == (0, True)
    # And a job of another name repeats it
    code, _ = run(*arguments, "--to-time", str(T0 + 80_000), "--name", "again")
    twice = [some + some for some in within(contents(client, name), 0, 80)]
    assert (code, contents(client, target)) == (0, twice)


def test_replay_to_fewer_partitions_uses_keys_and_may_use_the_time_of_writing(spark, client, name, run):
    target = f"{name}-to"
    fill(client, name)
    client.topics.create(target, partitions=2)
    code, output = run("--from", name, "--to", target, "--now", "--from-offsets", json.dumps({"0": 1, "1": 0, "2": 0}))
    assert code == 0, output
    source, found = contents(client, name), contents(client, target, 2)
    expected = [each[:3] for number, some in enumerate(source) for each in some[1 if number == 0 else 0 :]]
    assert sorted((each[:3] for some in found for each in some), key=numbered) == sorted(expected, key=numbered)
    for number, some in enumerate(found):
        assert {partition_for(key, 2) for key, *_ in some} == {number}
        assert min(each[3] for each in some) > T0 + 100_000
    # The order of a key's records is that of the source, since they were in one partition
    for key in {each[0] for some in source for each in some}:
        by_time = [each[2] for some in source for each in some if each[0] == key]
        assert [each[2] for some in found for each in some if each[0] == key] in (by_time, by_time[1:])


def test_a_partly_offloaded_range_is_replayed_in_order(spark, tmp_path):
    brokers = Brokers(tmp_path)
    try:
        with Client(brokers.url) as client:
            # Given a topic of which two rounds are offloaded and one is not
            client.topics.create("to", partitions=2)
            client.topics.create("from", partitions=2)
            for round_ in range(3):
                with client.producer("from") as producer:
                    for n in range(200):
                        producer.send(f"{round_}-{n}", partition=n % 2)
                for number in (0, 1) if round_ < 2 else ():
                    offload(client, "from", number)
            # When all of it is replayed in one step, by a broker with empty caches
            assert replay.main(["--bootstrap", brokers.fresh().urls[0], "--from", "from", "--to", "to"]) == 0
            # Then its order is unchanged
            for number in (0, 1):
                source = [m.text() for m in client.read("from", number)]
                assert [m.text() for m in client.read("to", number)] == source
                assert len(source) == 300
    finally:
        brokers.close()


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0
        self.slept_s: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_s += seconds


def test_pauses_between_steps_limit_the_rate(spark, client, name, url, capsys):
    # Given a hundred records, and a clock on which only sleeping takes time
    fill(client, name)
    client.topics.create(f"{name}-to", partitions=PARTITIONS)
    clock = Clock()
    given = replay.arguments_of(["--bootstrap", url, "--from", name, "--to", f"{name}-to", "--rate", "8"])
    # When they are replayed at eight a second
    replay.run(given, lambda: clock.now_s, clock.sleep)
    # Then steps of five seconds' worth follow each other after five seconds
    assert clock.slept_s == [5.0, 5.0]
    assert sum(map(len, contents(client, f"{name}-to"))) == 100


def test_aborted_and_later_records_are_not_in_the_range(spark, client, name, run):
    target = f"{name}-to"
    fill(client, name, 5, partitions=1)
    aborted = client.transaction()
    aborted.send(name, "aborted").result()
    aborted.abort()
    with client.transaction() as txn:
        txn.send(name, "committed")
    undecided = client.transaction()
    undecided.send(name, "undecided").result()
    client.topics.create(target, partitions=1)
    assert run("--from", name, "--to", target)[0] == 0
    undecided.commit()
    assert run("--from", name, "--to", target)[0] == 0
    assert [m.text() for m in client.read(target)] == ["", "1", "2", "3", "4", "committed"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "nowhere"], "Topic 'nowhere' does not exist"),
        (["--to", "SMALL", "--partition", "keep"], "has 3 partitions and SMALL 1, so records cannot keep theirs"),
        (["--to", "SMALL", "--to-offsets", '{"0": 999, "1": 0, "2": 0}'], "to 999 do not exist."),
        (["--to", "SMALL", "--from-offsets", '{"0": 1}'], "startingOffsets does not name"),
        (["--to", "SMALL", "--from-offsets", "{"], "startingOffsets is invalid"),
        (["--to", "SMALL", "--name", ""], "The name has 0 characters; expected 1 to 100."),
    ],
)
def test_an_invalid_replay_is_refused_with_one_sentence(client, name, run, arguments, message):
    fill(client, name, 10)
    client.topics.create(f"{name}-small")
    code, output = run("--from", name, *(each.replace("SMALL", f"{name}-small") for each in arguments))
    assert (code, output.count("\n")) == (1, 1)
    assert output.startswith("replay: ")
    assert message.replace("SMALL", f"{name}-small") in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from-time", "noon"], "'noon' is not a time"),
        (["--from-time", "2026-01-01T12:00Z", "--to-time", "2026-01-01T12:00Z"], "--to-time must be later"),
        (["--from-time", "5", "--from-offsets", "{}"], "not allowed with argument --from-time"),
        (["--rate", "0"], "'0' is not a whole number of at least 1"),
    ],
)
def test_invalid_arguments_are_refused_before_any_request(capsys, arguments, message):
    with pytest.raises(SystemExit) as ended:
        replay.main(["--from", "a", "--to", "b", *arguments])
    assert (ended.value.code, message in capsys.readouterr().err) == (2, True)


def test_a_job_without_its_position_fails_and_writes_nothing(spark, client, name, run):
    fill(client, name, 10)
    client.topics.create(f"{name}-to", partitions=PARTITIONS)
    assert run("--from", name, "--to", f"{name}-to", "--step", "5")[0] == 0
    for subscription in client.subscriptions.list(name):
        client.subscriptions.delete(name, subscription.name)
    code, output = run("--from", name, "--to", f"{name}-to")
    assert (code, "its position was deleted or has expired" in output) == (1, True)
    assert sum(map(len, contents(client, f"{name}-to"))) == 10


@pytest.mark.timeout(900)  # a separate process, and a job for each of its calls
def test_after_a_crash_at_any_call_the_next_driver_replays_every_record_once(
    spark, client, name, url, run, monkeypatch, tmp_path: Path
):
    # Given the number of calls of a job of two steps
    fill(client, name, 60)
    arguments = ["--bootstrap", url, "--from", name, "--step", "40", "--to"]
    client.topics.create(f"{name}-0", partitions=PARTITIONS)
    with monkeypatch.context() as patch:
        dying.CALLS.count = 0
        dying.watched(patch.setattr)
        assert replay.main([*arguments, f"{name}-0"]) == 0
        calls = dying.CALLS.count
    assert (
        calls == 8
    )  # begin, two offset commits and the commit of the range; two steps, each followed by an offset commit
    # And a job for each of them that dies before it
    targets = [f"{name}-{at}" for at in range(1, calls + 1)]
    jobs = []
    for at, target in enumerate(targets, 1):
        client.topics.create(target, partitions=PARTITIONS)
        jobs.append({"arguments": [*arguments, target], "at": at})
    given = json.dumps({"module": "replay", "jobs": jobs})
    died = subprocess.run(
        [sys.executable, "-m", "tests.spark.dying", given], cwd=ROOT, capture_output=True, check=False
    )
    assert died.returncode == dying.DIED, died.stderr.decode()[-2000:]
    # When more records have arrived, and each job is run again
    whole = contents(client, name)
    with client.producer(name) as producer:
        producer.send("later", key="k1")
    for at, target in enumerate(targets, 1):
        seen = sum(map(len, contents(client, target)))
        assert seen == (40 if at in (6, 7) else 60 if at == 8 else 0), at
        code, output = run("--from", name, "--step", "40", "--to", target)
        assert code == 0, output
        # Then every record of the range is there once; the first run to fix the range has fixed it
        found = contents(client, target)
        assert within(found, 0, 60) == whole, at
        assert sum(map(len, found)) == (61 if at <= 4 else 60), at
    assert client.transactions.list("open", owner="replay") == []
