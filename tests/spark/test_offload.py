"""Offloading with a real Spark: reads return the same before and after, and Redis holds less."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
import redis

from redis_ledger.app.embedded_redis.server import EmbeddedServer
from redis_ledger.spark import offloaded_ranges
from redis_ledger.spark.pipelines import offload
from tests.spark.conftest import texts

T0 = 1_767_268_800_000  # 2026-01-01 12:00 UTC
FULL = {"includeHeaders": "true", "includePosition": "true"}


@pytest.fixture
def offloaded(spark, url) -> Callable[..., int]:
    """Runs the pipeline; returns its exit code."""

    def run(*arguments: str) -> int:
        return offload.main(["--bootstrap", url, *arguments])

    return run


@pytest.fixture
def held_bytes(broker) -> Callable[[str], int]:
    """Bytes of a topic in Redis."""
    server = redis.Redis(unix_socket_path=str(EmbeddedServer(broker.data_dir, "process", {}).socket))

    def held(topic: str) -> int:
        return sum(server.memory_usage(key, samples=0) or 0 for key in server.scan_iter(f"*{{{topic}:*}}*"))

    return held


def rows(frame) -> list[dict[str, Any]]:
    return sorted((row.asDict(recursive=True) for row in frame.collect()), key=lambda r: (r["partition"], r["offset"]))


def files(offload_home: Path, topic: str) -> list[str]:
    return sorted(str(path.relative_to(offload_home)) for path in (offload_home / topic).rglob("*") if path.is_file())


def named(client, topic: str) -> list[str]:
    """Files named by the manifest, and its copies."""
    segments = [
        segment for each in client.offload.describe(topic).partitions for segment in each.segments if segment.file
    ]
    copies = {f"{segment.file.rpartition('/')[0]}/manifest.json" for segment in segments}
    return sorted([*copies, *(segment.file for segment in segments)])


def filled(orders, client) -> None:
    """Two partitions: plain records of all shapes, a committed transaction, and an aborted one."""
    orders.send(b"\xff\x00", partition=0, key=b"k", headers=[("a", b"1"), ("a", b"2"), ("b", None)], timestamp_ms=T0)
    orders.send(None, partition=0, key=b"gone", timestamp_ms=T0 + 1)
    orders.send(*(f"p{number}" * 100 for number in range(300)), partition=1, timestamp_ms=T0 + 5)
    aborted = client.transaction()
    aborted.send(orders.name, "aborted", partition=0).result()
    aborted.abort()
    with client.transaction() as txn:
        txn.send(orders.name, "committed", partition=0)
        txn.send(orders.name, b"", partition=1)
    orders.send("last", partition=0, timestamp_ms=T0 + 60_000)


def test_reads_are_unchanged_by_offloading_and_redis_holds_less(
    topic, client, offloaded, offload_home, held_bytes, capsys
):
    # Given records of every shape, one of them aborted
    orders = topic(2)
    filled(orders, client)
    before, held = rows(orders.read(**FULL)), held_bytes(orders.name)
    # When all of it is offloaded
    assert offloaded("--topic", orders.name, "--seal") == 0
    # Then each file is reported, and Redis has dropped its payload
    output = capsys.readouterr().err
    assert f"offload: {orders.name}:1 0 to 302: 301 records, " in output
    assert "(2 of 2, " in output
    assert f"offload: {orders.name}:0 is published up to 7; Redis has dropped" in output
    assert held_bytes(orders.name) < held / 2
    # And a query returns every column of every record unchanged, and the SDK every value
    assert rows(orders.read(**FULL)) == before
    assert [row["offset"] for row in before if row["partition"] == 0] == [0, 1, 4, 6]
    assert [m.value for m in client.read(orders.name, 0)] == [b"\xff\x00", None, b"committed", b"last"]
    # And the folder has exactly the files of the manifest, and its copies
    assert files(offload_home, orders.name) == named(client, orders.name)
    copy = json.loads((offload_home / named(client, orders.name)[-1]).read_text())
    assert copy["segments"][0]["file"] == named(client, orders.name)[-2]
    # And offloading again has nothing to do
    assert offloaded("--topic", orders.name, "--seal") == 0
    assert capsys.readouterr().err == "offload: offloaded nothing.\n"


def test_a_query_reads_files_below_and_brokers_above_without_a_gap(topic, client, offloaded):
    # Given three files in one partition, and later records
    orders = topic()
    for hundred in range(4):
        orders.send(*(str(hundred * 100 + one) for one in range(100)), timestamp_ms=T0 + hundred * 60_000)
        if hundred < 3:
            assert offloaded("--topic", orders.name, "--seal") == 0
    assert len(client.offload.describe(orders.name).partitions[0].segments) == 3
    everything = [str(number) for number in range(400)]
    # Then small files make one task and large ones several, in addition to the broker's
    assert orders.values() == everything
    assert orders.read().rdd.getNumPartitions() == 2
    assert orders.read(taskBytes="1000", minPartitions="9").rdd.getNumPartitions() > 5
    assert orders.values(taskBytes="1000", minPartitions="9") == everything
    # And a range of offsets or times is exact, and files outside it are not read
    assert texts(orders.read().where("offset >= 150 and offset < 310")) == everything[150:310]
    minute = "timestamp >= timestamp'2026-01-01 12:01:00' and timestamp < timestamp'2026-01-01 12:02:00'"
    assert texts(orders.read().where(minute)) == everything[100:200]
    assert orders.read().where(minute).rdd.getNumPartitions() == 2
    assert orders.values(startingOffsets={orders.name: {"0": 299}}, endingOffsets={orders.name: {"0": 301}}) == [
        "299",
        "300",
    ]
    # And a user's schema returns only its columns
    reader = orders.spark.read.format("redis-ledger").options(**orders.options())
    frame = reader.schema("offset long, position string").load().where("offset in (0, 399) or offset = 250")
    assert sorted(tuple(row) for row in frame.collect()) == [(0, "0:0"), (250, "0:250"), (399, "0:399")]


def test_a_stream_continues_from_a_checkpoint_in_the_offloaded_range(topic, offloaded, tmp_path):
    # Given a stream that has read part of a topic, a few records at a time
    orders = topic()
    orders.send(*(str(number) for number in range(50)))

    def run() -> None:
        stream = orders.stream(maxOffsetsPerTrigger="20").selectExpr("cast(value as string) v", "offset")
        writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.option("path", str(tmp_path / "out")).trigger(availableNow=True).start().awaitTermination()

    run()
    # When more records arrive, all are offloaded before they are read, and more arrive
    orders.send(*(str(number) for number in range(50, 90)))
    assert offloaded("--topic", orders.name, "--seal") == 0
    orders.send(*(str(number) for number in range(90, 100)))
    run()
    # Then each record was read once
    seen = sorted(
        tuple(row) for row in orders.spark.read.parquet(str(tmp_path / "out")).select("offset", "v").collect()
    )
    assert seen == [(number, str(number)) for number in range(100)]


def test_other_programs_read_the_files_as_a_table(topic, client, offloaded, offload_home):
    # Given offloaded records
    orders = topic(2)
    filled(orders, client)
    assert offloaded("--topic", orders.name, "--seal") == 0
    folder = offload_home / orders.name
    # When DuckDB reads the folder, or the files of its manifests
    columns = 'select "partition", "offset", value, epoch_ms(timestamp), len(headers), transaction is null'
    by_folder = duckdb.execute(
        f'{columns} from \'{folder}/*/*/*.parquet\' where "partition" = 0 order by "offset"'
    ).fetchall()
    listed = duckdb.execute(f"select unnest(segments).file from '{folder}/*/*/manifest.json'").fetchall()
    paths = [str(offload_home / file) for (file,) in listed]
    # Then it has the records with the columns of the files
    assert by_folder == [
        (0, 0, b"\xff\x00", T0, 3, True),
        (0, 1, None, T0 + 1, None, True),
        (0, 4, b"committed", by_folder[2][3], None, False),
        (0, 6, b"last", T0 + 60_000, None, True),
    ]
    assert duckdb.execute(f"select count(*) from read_parquet({paths})").fetchall() == [(305,)]
    # And so does pyarrow
    table = pq.read_table(paths[0] if "partition=0" in paths[0] else paths[1], partitioning=None)
    assert table.column("key").to_pylist() == [b"k", b"gone", None, None]


def test_an_executor_that_cannot_reach_the_files_reads_from_a_broker(topic, client, offloaded, url):
    # Given offloaded records
    orders = topic()
    orders.send(*(str(number) for number in range(100)))
    assert offloaded("--topic", orders.name, "--seal") == 0
    (segment,) = client.offload.describe(orders.name).partitions[0].segments
    # When a task cannot reach the files

    from pyspark.sql.pandas.types import to_arrow_schema

    from redis_ledger.ids import TopicPartition
    from redis_ledger.spark.batch import tasks
    from redis_ledger.spark.plan import Offloaded, Range
    from redis_ledger.spark.read_options import parse_read_options

    options = parse_read_options(orders.options(), "batch")
    partition = TopicPartition(orders.name, 0)
    (task,) = tasks([Range(partition, 10, 90)], options, {partition: Offloaded("/nowhere/at/all", [segment])})
    batches = list(offloaded_ranges.read(to_arrow_schema(orders.read().schema, timezone="UTC"), task.value))
    # Then it reads its records from a broker
    assert [v for batch in batches for v in batch.column("offset").to_pylist()] == list(range(10, 90))


def test_only_old_and_sealed_records_are_offloaded(topic, client, offloaded):
    orders = topic()
    orders.send("new")
    assert offloaded("--topic", orders.name) == 0
    assert offloaded("--topic", orders.name, "--seal", "--older-than", "1h") == 0
    assert client.offload.describe(orders.name).partitions[0].segments == []


def test_records_after_an_open_transaction_are_not_offloaded(topic, client, offloaded):
    orders = topic()
    orders.send("a")
    undecided = client.transaction()
    undecided.send(orders.name, "undecided").result()
    orders.send("behind it")
    assert offloaded("--topic", orders.name, "--seal") == 0
    assert client.offload.describe(orders.name).partitions[0].offloaded_offset == 1
    undecided.commit()
    assert orders.values() == ["a", "undecided", "behind it"]
    assert offloaded("--topic", orders.name, "--seal") == 0
    assert orders.values() == ["a", "undecided", "behind it"]


def test_segments_below_the_log_start_are_deleted(topic, client, offloaded, offload_home, delete_records, capsys):
    # Given two files
    orders = topic()
    for value in ("a", "b"):
        orders.send(value)
        assert offloaded("--topic", orders.name, "--seal") == 0
    first, second = client.offload.describe(orders.name).partitions[0].segments
    # When the records of the first one are deleted
    delete_records(orders.name, 1)
    capsys.readouterr()
    assert offloaded("--topic", orders.name) == 0
    # Then the manifest and the folder have only the second one
    assert "deleted 1 files below the log start and 0 orphan files" in capsys.readouterr().err
    assert client.offload.describe(orders.name).partitions[0].segments == [second]
    assert files(offload_home, orders.name) == named(client, orders.name)
    assert json.loads((offload_home / named(client, orders.name)[-1]).read_text())["segments"][0]["first"] == 1
    assert not (offload_home / first.file).exists()
    assert orders.values() == ["b"]


def test_two_concurrent_offloads_are_harmless(topic, client, offloaded, offload_home):
    # Given four partitions
    orders = topic(4)
    for partition in range(4):
        orders.send(*(str(partition * 100 + one) for one in range(100)), partition=partition)
    # When two runs offload them at once
    with ThreadPoolExecutor(2) as threads:
        codes = list(threads.map(lambda _: offloaded("--topic", orders.name, "--seal"), range(2)))
    # Then both succeed, each record is there once, and there are no orphan files
    assert codes == [0, 0]
    assert sorted(map(int, orders.values())) == list(range(400))
    assert [len(each.segments) for each in client.offload.describe(orders.name).partitions] == [1, 1, 1, 1]
    assert files(offload_home, orders.name) == named(client, orders.name)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--topic", "no-such-topic"], "offload: There is no topic no-such-topic.\n"),
        (["--bootstrap", "ftp://x", "--topic", "a"], "offload: bootstrap: 'ftp://x' is not a broker address"),
    ],
)
def test_errors_are_reported_in_one_sentence(offloaded, capsys, arguments, sentence):
    assert offloaded(*arguments) == 1
    output = capsys.readouterr().err
    assert output.startswith(sentence)
    assert output.count("\n") == 1
