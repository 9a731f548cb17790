"""Tasks of an offload that fail, are lost or run twice leave one file."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from redis_ledger.errors import OffsetOutOfRange, TooLargeToDecode
from redis_ledger.ids import TopicPartition
from redis_ledger.offload.manifest import Stretch
from redis_ledger.offload.segment import open_home, read_groups
from redis_ledger.spark import offloading, segment_tasks
from redis_ledger.spark.pipelines import offload
from redis_ledger.spark.read_options import Connection
from tests.spark.dying_tasks import Dying
from tests.support.bombs import header_bomb
from tests.support.kafka_batches import batch, produce, produced
from tests.support.kafka_client import KafkaClient
from tests.support.processes import ROOT


@pytest.fixture
def orders(topic):
    """Three hundred records, in batches of a hundred; some of them aborted."""
    orders = topic()
    for hundred in range(3):
        orders.send(*(str(hundred * 100 + one) for one in range(100)), headers=[("h", b"1")])
        aborted = orders.client.transaction()
        aborted.send(orders.name, "aborted", partition=0).result()
        aborted.abort()
    return orders


def piece(orders, home: Path, file: str = "a/b/0-306-p.parquet") -> segment_tasks.Piece:
    partition = TopicPartition(orders.name, 0)
    return segment_tasks.Piece(
        str(home), "id-1", partition, Stretch(0, 306, file), Connection((orders.url,), None, 60_000)
    )


def left_in(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())


def test_two_attempts_of_a_task_at_once_write_one_file_and_say_the_same(orders, tmp_path):
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(segment_tasks.write, [piece(orders, tmp_path)] * 2)
    assert first.segment == second.segment
    assert (first.segment.records, left_in(tmp_path)) == (300, ["a/b/0-306-p.parquet"])


def test_a_stretch_is_written_the_same_to_the_byte_however_it_is_fetched(orders, tmp_path, monkeypatch):
    # Given a file of what was fetched at once
    segment_tasks.write(piece(orders, tmp_path, "once"))
    # When the same stretch is fetched in small answers
    monkeypatch.setattr(segment_tasks, "FETCH_BYTES", 1)
    segment_tasks.write(piece(orders, tmp_path, "twice"))
    # Then an attempt that is late may take the place of the first one and nobody notices
    assert (tmp_path / "once").read_bytes() == (tmp_path / "twice").read_bytes()


def test_of_a_stretch_that_is_deleted_in_part_nothing_is_written(orders, tmp_path, delete_records):
    delete_records(orders.name, 102)
    with pytest.raises(OffsetOutOfRange):
        segment_tasks.write(piece(orders, tmp_path))
    assert left_in(tmp_path) == []


def test_a_batch_that_is_too_large_to_decode_is_left_out_and_named_or_fails_the_task(
    broker, url, client, name, tmp_path
):
    # Given a header bomb between two records
    client.topics.create(name)

    async def send() -> None:
        host, port = broker.field("kafka").rsplit(":", 1)
        async with KafkaClient((host, int(port))) as kafka:
            for data in (batch("before"), header_bomb(1_000_000), batch("behind")):
                assert produced(await kafka.ask(produce(name, data), 9)).error_code == 0

    asyncio.run(send())
    partition, reached = TopicPartition(name, 0), Connection((url,), None, 60_000)
    wanted = segment_tasks.Piece(str(tmp_path), "id-1", partition, Stretch(0, 3, "a/b/0-3-p.parquet"), reached)
    # When it is not to be skipped
    with pytest.raises(TooLargeToDecode):
        segment_tasks.write(wanted._replace(skip_too_large=False))
    assert left_in(tmp_path) == []
    # Then by default the others are written, and the task says what is missing
    written = segment_tasks.write(wanted)
    assert written.segment.records == 2
    (said,) = written.skipped
    assert said.startswith(f"{name}:0: the batch with offsets 1 to 1 is too large to decode.")
    (rows,) = read_groups(open_home(str(tmp_path)), written.segment, 0, 3)
    assert rows.column("offset").to_pylist() == [0, 2]


@pytest.mark.parametrize("point", ["midway", "written"])
def test_a_task_whose_process_dies_is_repeated_and_leaves_one_file(
    orders, url, client, offload_home, tmp_path, monkeypatch, capsys, point
):
    # Given a task that dies at its first attempt
    dying = Dying(point, str(tmp_path / "died"))
    monkeypatch.setattr(offloading, "write", dying.write)
    before = orders.values()
    # When the topic is offloaded
    assert offload.main(["--bootstrap", url, "--topic", orders.name, "--seal"]) == 0
    # Then another attempt took over, and what the first one had written whole was kept
    assert (tmp_path / "died").exists()
    assert ("0 to 306 (was there): 300 records" in capsys.readouterr().err) is (point == "written")
    (segment,) = client.offload.describe(orders.name).partitions[0].segments
    copy = f"{segment.file.rpartition('/')[0]}/manifest.json"
    assert [f"{orders.name}/{name}" for name in left_in(offload_home / orders.name)] == [segment.file, copy]
    assert orders.values() == before


def test_a_task_that_fails_for_good_is_told_in_one_sentence_and_the_plan_waits(
    orders, url, client, offload_home, monkeypatch, capsys
):
    # Given a home that a task cannot write to
    (offload_home / orders.name).write_text("in the way of a folder")
    # When the topic is offloaded
    assert offload.main(["--bootstrap", url, "--topic", orders.name, "--seal"]) == 1
    told = capsys.readouterr().err
    # Then that is told, nothing was published, and the next run goes on
    assert told.count("\n") == 1
    assert told.startswith("offload: A task failed: ")
    assert "Not a directory" in told
    planned = client.offload.describe(orders.name).partitions[0]
    assert (planned.segments, planned.plan is not None) == ([], True)
    (offload_home / orders.name).unlink()
    assert offload.main(["--bootstrap", url, "--topic", orders.name]) == 0
    (segment,) = client.offload.describe(orders.name).partitions[0].segments
    assert segment.file == planned.plan.stretches[0].file


def test_an_executor_that_dies_is_replaced(orders, url, client, tmp_path):
    # Given two executors in processes of their own, one of which dies in the middle of its task
    command = [sys.executable, "-m", "tests.spark.offload_driver", str(tmp_path / "died")]
    arguments = ["--bootstrap", url, "--topic", orders.name, "--seal", "--master", "local-cluster[2,1,1024]"]
    # When the topic is offloaded
    ran = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    # Then its task was done by the other one
    assert (ran.returncode, (tmp_path / "died").exists()) == (0, True), ran.stderr
    assert "0 to 306: 300 records" in ran.stderr
    (segment,) = client.offload.describe(orders.name).partitions[0].segments
    assert segment.records == 300


def test_a_spark_that_is_killed_with_all_its_tasks_is_run_again(orders, url, client, offload_home, tmp_path):
    # Given a driver whose Spark is killed in the middle of a task: with local[1] executor and driver are one process
    before = orders.values()
    command = [sys.executable, "-m", "tests.spark.offload_driver", str(tmp_path / "died")]
    arguments = ["--bootstrap", url, "--topic", orders.name, "--seal", "--master", "local[1]"]
    killed = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (killed.returncode != 0, (tmp_path / "died").exists()) == (True, True), killed.stderr
    (planned,) = client.offload.describe(orders.name).partitions
    assert planned.plan is not None
    # When it is run again
    assert offload.main(["--bootstrap", url, "--topic", orders.name, "--seal"]) == 0
    # Then it goes on with the plan that is there, and nothing is left of the first one
    (segment,) = client.offload.describe(orders.name).partitions[0].segments
    assert segment.file == planned.plan.stretches[0].file
    copy = f"{segment.file.rpartition('/')[0]}/manifest.json"
    assert [f"{orders.name}/{name}" for name in left_in(offload_home / orders.name)] == [segment.file, copy]
    assert orders.values() == before


def test_a_topic_that_is_deleted_meanwhile_is_told_in_one_sentence(
    orders, url, client, offload_home, monkeypatch, capsys
):
    # Given a topic that is deleted when its files have been written
    class Once(offloading.Offload):
        def _written(self, name, plan):
            segments = super()._written(name, plan)
            client.topics.delete(orders.name)
            return segments

    monkeypatch.setattr(offloading, "Offload", Once)
    # When it is offloaded
    assert offload.main(["--bootstrap", url, "--topic", orders.name, "--seal"]) == 1
    # Then that is told, and the file is gone
    told = capsys.readouterr().err.splitlines()
    assert told[-1] == f"offload: The topic {orders.name} was deleted while it was being offloaded."
    assert left_in(offload_home / orders.name) == []
