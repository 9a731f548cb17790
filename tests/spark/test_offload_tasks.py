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


def piece(orders, home: Path, file: str = "a/b/0-306-p.parquet") -> segment_tasks.SegmentTask:
    partition = TopicPartition(orders.name, 0)
    return segment_tasks.SegmentTask(
        str(home), "id-1", partition, Stretch(0, 306, file), Connection((orders.url,), None, 60_000)
    )


def left_in(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())


def test_two_concurrent_attempts_write_one_file_and_return_the_same(orders, tmp_path):
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(segment_tasks.write, [piece(orders, tmp_path)] * 2)
    assert first.segment == second.segment
    assert (first.segment.records, left_in(tmp_path)) == (300, ["a/b/0-306-p.parquet"])


def test_the_bytes_of_a_file_do_not_depend_on_fetching(orders, tmp_path, monkeypatch):
    # Given a file of records that were fetched at once
    segment_tasks.write(piece(orders, tmp_path, "once"))
    # When the same stretch is fetched in small responses
    monkeypatch.setattr(segment_tasks, "FETCH_BYTES", 1)
    segment_tasks.write(piece(orders, tmp_path, "twice"))
    # Then the files are equal, so a late attempt may replace the first one
    assert (tmp_path / "once").read_bytes() == (tmp_path / "twice").read_bytes()


def test_a_stretch_that_is_partly_deleted_is_not_written(orders, tmp_path, delete_records):
    delete_records(orders.name, 102)
    with pytest.raises(OffsetOutOfRange):
        segment_tasks.write(piece(orders, tmp_path))
    assert left_in(tmp_path) == []


@pytest.fixture
def bomb(broker, url, client, name, tmp_path) -> segment_tasks.SegmentTask:
    """Three records of which the second has a million headers, 2 MB of them."""
    client.topics.create(name)

    async def send() -> None:
        host, port = broker.field("kafka").rsplit(":", 1)
        async with KafkaClient((host, int(port))) as kafka:
            for data in (batch("before"), header_bomb(1_000_000), batch("behind")):
                assert produced(await kafka.ask(produce(name, data), 9)).error_code == 0

    asyncio.run(send())
    reached = Connection((url,), None, 60_000)
    return segment_tasks.SegmentTask(
        str(tmp_path), "id-1", TopicPartition(name, 0), Stretch(0, 3, "a/b/0-3-p.parquet"), reached
    )


def offsets_in(piece: segment_tasks.SegmentTask, written: segment_tasks.WrittenSegment) -> list[int]:
    groups = read_groups(open_home(piece.home), written.segment, 0, 3)
    return [offset for rows in groups for offset in rows.column("offset").to_pylist()]


def test_a_batch_that_brokers_do_not_decode_is_written(bomb):
    written = segment_tasks.write(bomb)
    assert (offsets_in(bomb, written), written.skipped) == ([0, 1, 2], ())


def test_a_batch_over_the_bound_fails_the_task_unless_it_may_be_skipped(bomb, tmp_path):
    # Given a bound that the large batch exceeds
    few = bomb._replace(decoded_bytes_max=1 << 20)
    # When it is not to be skipped, then the error names partition, offsets and options, and there is no file
    with pytest.raises(TooLargeToDecode) as caught:
        segment_tasks.write(few)
    detail = caught.value.detail
    assert detail.startswith(f"{bomb.partition}: the batch with offsets 1 to 1 is too large to decode.")
    assert "Raise --batch-decoded-bytes-max above 1048576" in detail
    assert "--skip-too-large" in detail
    assert left_in(tmp_path) == []
    # When it is to be skipped, then the others are written, and the result names the skipped batch
    written = segment_tasks.write(few._replace(skip_too_large=True))
    (line,) = written.skipped
    assert line.startswith(f"{bomb.partition}: the batch with offsets 1 to 1 is too large to decode.")
    assert offsets_in(bomb, written) == [0, 2]


def test_a_file_that_leaves_out_a_batch_is_resumed_only_by_a_run_that_skips(bomb):
    # Given the file of a run that skipped a batch, and was killed before it published
    skips = bomb._replace(decoded_bytes_max=1 << 20, skip_too_large=True)
    first = segment_tasks.write(skips)
    # When the next run skips too, then it uses the file
    assert segment_tasks.write(skips) == segment_tasks.WrittenSegment(first.segment, True)
    # When it does not, then it stops, or writes the file again
    with pytest.raises(TooLargeToDecode):
        segment_tasks.write(skips._replace(skip_too_large=False))
    assert offsets_in(bomb, segment_tasks.write(bomb)) == [0, 1, 2]


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
    # Then another attempt succeeded, and a complete file of the first one was kept
    assert (tmp_path / "died").exists()
    assert ("0 to 306 (existed): 300 records" in capsys.readouterr().err) is (point == "written")
    (segment,) = client.offload.describe(orders.name).partitions[0].segments
    copy = f"{segment.file.rpartition('/')[0]}/manifest.json"
    assert [f"{orders.name}/{name}" for name in left_in(offload_home / orders.name)] == [segment.file, copy]
    assert orders.values() == before


def test_a_failing_task_is_reported_in_one_sentence_and_the_plan_is_kept(
    orders, url, client, offload_home, monkeypatch, capsys
):
    # Given an object store that a task cannot write to
    (offload_home / orders.name).write_text("in the way of a folder")
    # When the topic is offloaded
    assert offload.main(["--bootstrap", url, "--topic", orders.name, "--seal"]) == 1
    output = capsys.readouterr().err
    # Then that is reported, nothing is published, and the next run continues
    assert output.count("\n") == 1
    assert output.startswith("offload: A task failed: ")
    assert "Not a directory" in output
    planned = client.offload.describe(orders.name).partitions[0]
    assert (planned.segments, planned.plan is not None) == ([], True)
    (offload_home / orders.name).unlink()
    assert offload.main(["--bootstrap", url, "--topic", orders.name]) == 0
    (segment,) = client.offload.describe(orders.name).partitions[0].segments
    assert segment.file == planned.plan.stretches[0].file


def test_an_executor_that_dies_is_replaced(orders, url, client, tmp_path):
    # Given two executors in separate processes, one of which dies during its task
    command = [sys.executable, "-m", "tests.spark.offload_driver", str(tmp_path / "died")]
    arguments = ["--bootstrap", url, "--topic", orders.name, "--seal", "--master", "local-cluster[2,1,1024]"]
    # When the topic is offloaded
    ran = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    # Then the other one has run its task
    assert (ran.returncode, (tmp_path / "died").exists()) == (0, True), ran.stderr
    assert "0 to 306: 300 records" in ran.stderr
    (segment,) = client.offload.describe(orders.name).partitions[0].segments
    assert segment.records == 300


def test_a_spark_that_is_killed_with_all_its_tasks_is_run_again(orders, url, client, offload_home, tmp_path):
    # Given a driver whose Spark is killed during a task: with local[1] executor and driver are one process
    before = orders.values()
    command = [sys.executable, "-m", "tests.spark.offload_driver", str(tmp_path / "died")]
    arguments = ["--bootstrap", url, "--topic", orders.name, "--seal", "--master", "local[1]"]
    killed = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (killed.returncode != 0, (tmp_path / "died").exists()) == (True, True), killed.stderr
    (planned,) = client.offload.describe(orders.name).partitions
    assert planned.plan is not None
    # When it is run again
    assert offload.main(["--bootstrap", url, "--topic", orders.name, "--seal"]) == 0
    # Then it resumes the stored plan, and no file of the first run is left
    (segment,) = client.offload.describe(orders.name).partitions[0].segments
    assert segment.file == planned.plan.stretches[0].file
    copy = f"{segment.file.rpartition('/')[0]}/manifest.json"
    assert [f"{orders.name}/{name}" for name in left_in(offload_home / orders.name)] == [segment.file, copy]
    assert orders.values() == before


def test_a_deleted_topic_is_reported_in_one_sentence(orders, url, client, offload_home, monkeypatch, capsys):
    # Given a topic that is deleted after its files were written
    class Once(offloading.Offload):
        def _written(self, name, plan):
            segments = super()._written(name, plan)
            client.topics.delete(orders.name)
            return segments

    monkeypatch.setattr(offloading, "Offload", Once)
    # When it is offloaded
    assert offload.main(["--bootstrap", url, "--topic", orders.name, "--seal"]) == 1
    # Then that is reported, and the file is deleted
    output = capsys.readouterr().err.splitlines()
    assert output[-1] == f"offload: The topic {orders.name} was deleted while it was being offloaded."
    assert left_in(offload_home / orders.name) == []
