"""Reads of offloaded records while their files are replaced, missing or damaged; and their cost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest
from pyarrow import parquet

from redis_ledger.errors import OffloadedDamaged, OffloadedUnavailable, OffsetOutOfRange, UnknownTopic
from redis_ledger.offload import reader
from redis_ledger.offload import segment as segments
from redis_ledger.offload.footer import BLANK, PREFIX, FooterSink, key_value_metadata
from redis_ledger.records.read import decode
from tests.support.broker import one, records, values_of
from tests.support.kafka_batches import fetch, fetched, values
from tests.support.kafka_client import BrokerClient, listening
from tests.support.offload_job import (
    CORRUPT_MESSAGE,
    STORAGE_ERROR,
    compact,
    end_of,
    files_of,
    fill,
    offload,
    seen,
    texts,
)
from tests.support.processes import ROOT
from tests.support.rest import client_of


@pytest.fixture
def kept(tmp_path):
    return {"offload_home": str(tmp_path / "offload"), "retention_ms": -1}


@pytest.fixture
async def broker(redis_url, prefix, kept):
    async with one(redis_url, prefix, **kept) as broker:
        await broker.topics.create("t")
        yield broker


async def payload_ledgers(broker):
    keys = (await broker.catalog.partition("t", 0)).keys
    return await broker.store.command("HKEYS", keys.ledgers, key=keys.state)


async def received(broker, name="s", **more):
    return await broker.subscriptions.receive("t", name, **more)


# -- files that are replaced, missing or damaged -----------------------------------------------------------------------


async def test_a_reader_continues_across_a_compaction(broker, redis_url, prefix, kept, monkeypatch):
    await fill(broker)
    await offload(broker, "t", 0, group_bytes=300, rows_max=3)
    everything = await seen(broker, "t", 0, 0)
    gone = {record[0] for record in everything[::3]}
    rest = [record for record in everything if record[0] not in gone]
    async with one(redis_url, prefix, offload_cache_bytes=1, **kept) as reading, one(redis_url, prefix, **kept) as idle:
        first = await reading.partition_fetch.fetch("t", 0, 0, isolation="read_committed", max_bytes=1, wait_ms=0)
        await idle.catalog.partition("t", 0)
        assert first.batches
        await compact(broker, "t", 0, lambda row: row.offset not in gone)
        # A reader with the old file open reads it to its end: no duplicate, and no loss of records that still exist.
        found = await seen(reading, "t", 0, first.next_offset)
        offsets = [record[0] for record in found]
        assert offsets == sorted(set(offsets))
        assert [record for record in found if record[0] not in gone] == [s for s in rest if s[0] >= first.next_offset]
        # A reader that reads the manifest again, or for the first time, uses the new file.
        assert await seen(idle, "t", 0, 0) == rest
        monkeypatch.setattr("redis_ledger.offload.reader.MANIFEST_S_MAX", 0.0)
        assert await seen(reading, "t", 0, 0) == rest


async def test_a_cached_manifest_is_compared_with_the_current_version(broker, redis_url, prefix, kept, monkeypatch):
    """All blocks of the old files are in memory, so that a missing file does not reveal the compaction."""
    await fill(broker)
    await offload(broker, "t", 0, group_bytes=300, rows_max=3)
    async with one(redis_url, prefix, **kept) as other:
        everything = await seen(other, "t", 0, 0)
        gone = {record[0] for record in everything[::3]}
        await compact(broker, "t", 0, lambda row: row.offset not in gone)
        assert await seen(other, "t", 0, 0) == everything
        monkeypatch.setattr(reader, "MANIFEST_S_MAX", 0.0)
        assert await seen(other, "t", 0, 0) == [record for record in everything if record[0] not in gone]


async def test_a_file_that_was_replaced_before_it_was_opened_is_looked_up_again(broker, redis_url, prefix, kept):
    await fill(broker)
    await offload(broker, "t", 0, group_bytes=300, rows_max=3)
    everything = await seen(broker, "t", 0, 0)
    async with one(redis_url, prefix, **kept) as other:
        partition = await other.catalog.partition("t", 0)
        assert other.offload_reader is not None
        await other.offload_reader._manifest(partition.reader, 1)  # which it caches
        await compact(broker, "t", 0, lambda row: row.offset != everything[3][0])
        assert await seen(other, "t", 0, 0) == everything[:3] + everything[4:]


async def test_a_broker_reads_segments_published_by_another(broker, redis_url, prefix, kept):
    async with one(redis_url, prefix, **kept) as other:
        for n in range(4):
            await fill(broker, first=n * 10, count=10)
            expected = await seen(other, "t", 0, 0)
            await offload(broker, "t", 0, group_bytes=400, rows_max=3)
            assert len(await payload_ledgers(broker)) == 1
            (await other.catalog.partition("t", 0)).tail.clear()
            assert await seen(other, "t", 0, 0) == expected
            assert await values_of(other, "t") == texts(expected)


@pytest.mark.parametrize("kept_s", [reader.MANIFEST_S_MAX, 0])
async def test_the_manifest_of_a_former_topic_of_this_name_is_not_used(
    broker, redis_url, prefix, kept, monkeypatch, kept_s
):
    # Given a reader of a topic that is deleted and created again, with offloaded records of its own
    monkeypatch.setattr(reader, "MANIFEST_S_MAX", kept_s)
    await fill(broker, count=4)
    end = await offload(broker, "t", 0)
    partition = await broker.catalog.partition("t", 0)
    if not kept_s:
        await broker.offload_reader.read(partition, 0, end, 1)
    async with one(redis_url, prefix, **kept) as other:
        await other.topics.delete("t")
        await other.topics.create("t")
        await fill(other, first=100, count=4)
        assert await offload(other, "t", 0) == end
    # When it continues with the cached state of the old topic, then it gets an error
    with pytest.raises(UnknownTopic):
        await broker.offload_reader.read(partition, 0, end, 1)


async def test_a_missing_object_store_is_a_retriable_error(broker, tmp_path):
    await broker.records.produce("t", records("a", "b"))
    await broker.subscriptions.create("t", "s")
    await offload(broker, "t", 0)
    broker.catalog.forget("t")
    (tmp_path / "offload").rename(tmp_path / "elsewhere")
    async with listening(broker) as address, BrokerClient(broker, address) as client:
        for _ in range(2):
            with pytest.raises(OffloadedUnavailable, match="mounted"):
                await values_of(broker, "t")
            with pytest.raises(OffloadedUnavailable):
                await received(broker)
            assert fetched(await client.ask(fetch("t"), 11)).error_code == STORAGE_ERROR
        async with client_of(broker) as api:
            answer = await api.get("/v1/topics/t/partitions/0/records?offset=0")
            assert (answer.status_code, answer.json()["code"]) == (503, "offloaded_unavailable")
        # Reads from Redis continue, and those from files as soon as the object store is back.
        await broker.records.produce("t", records("c"))
        assert values(fetched(await client.ask(fetch("t", 2), 11))) == ["c"]
        (tmp_path / "elsewhere").rename(tmp_path / "offload")
        assert values(fetched(await client.ask(fetch("t"), 11))) == ["a", "b"]
    await broker.subscriptions.nack("t", "s", "default", None)
    assert [m.value for m in await received(broker)] == [b"a", b"b", b"c"]


async def test_a_damaged_file_is_reported_and_never_skipped(broker, redis_url, prefix, kept, tmp_path):
    await fill(broker, count=20)
    await offload(broker, "t", 0, group_bytes=400, rows_max=3)
    everything = await seen(broker, "t", 0, 0)
    (file,) = files_of(broker)
    path = tmp_path / "offload" / file
    whole = path.read_bytes()
    half = len(whole) // 2
    path.write_bytes(whole[:4] + bytes(byte ^ 0x55 for byte in whole[4:half]) + whole[half:])

    async def read_through(broker):
        found, at = [], 0
        while at < await end_of(broker):
            fetched = await broker.partition_fetch.fetch("t", 0, at, isolation="read_committed", max_bytes=1, wait_ms=0)
            found += [record.offset for batch in fetched.batches for record in decode(batch.data)]
            at = fetched.next_offset
        return found

    async with one(redis_url, prefix, **kept) as other:
        with pytest.raises(OffloadedDamaged, match=r"\.parquet"):
            await read_through(other)
        async with listening(other) as address, BrokerClient(other, address) as client:
            codes = set()
            for record in everything:
                codes.add(fetched(await client.ask(fetch("t", record[0], bytes_max=1), 11)).error_code)
            assert CORRUPT_MESSAGE in codes
            # The file is read as soon as it is restored.
            path.write_bytes(whole)
            assert await read_through(other) == [record[0] for record in everything]


@pytest.mark.parametrize("change", ["renamed", "another type", "without statistics"])
async def test_a_file_with_other_columns_is_reported(broker, redis_url, prefix, kept, tmp_path, change):
    await broker.records.produce("t", records("a"))
    await offload(broker, "t", 0)
    (file,) = files_of(broker)
    path = tmp_path / "offload" / file
    table, facts = parquet.read_table(path), key_value_metadata(parquet.read_metadata(path))
    if change == "renamed":
        table = table.rename_columns(["name" if name == "value" else name for name in table.column_names])
    elif change == "another type":
        table = table.set_column(2, "offset", table.column("offset").cast("string"))
    path.unlink()
    with path.open("wb") as opened:
        sink = FooterSink(opened)
        writer = parquet.ParquetWriter(sink, table.schema, write_statistics=change != "without statistics")
        writer.write_table(table)
        sink.hold()
        writer.add_key_value_metadata({PREFIX + name: value for name, value in {**facts, "footer": BLANK}.items()})
        writer.close()
        sink.seal()
    async with one(redis_url, prefix, **kept) as other:
        with pytest.raises(OffloadedDamaged, match="columns"):
            await values_of(other, "t")


async def test_a_broker_without_an_object_store_names_the_setting(broker, redis_url, prefix):
    await broker.records.produce("t", records("a"))
    await offload(broker, "t", 0)
    await broker.records.produce("t", records("b"))
    async with one(redis_url, prefix) as other:
        with pytest.raises(OffloadedUnavailable, match="has no offload_home"):
            await values_of(other, "t")
        assert await values_of(other, "t", offset=1) == ["b"]


async def test_deleted_offloaded_records_are_out_of_range(broker, redis_url, prefix, kept):
    await broker.records.produce("t", records("a", "b"))
    await offload(broker, "t", 0)
    await broker.records.produce("t", records("c"))
    await offload(broker, "t", 0)
    await broker.topics.delete_records("t", 0, 2)
    await broker.offload.forget("t", 0)
    async with one(redis_url, prefix, **kept) as other:
        with pytest.raises(OffsetOutOfRange):
            await values_of(other, "t", offset=0)
        assert await values_of(other, "t") == ["c"]


# -- cost --------------------------------------------------------------------------------------------------------------


async def test_threads_read_files_and_each_row_group_once(broker, redis_url, prefix, kept, monkeypatch):
    await fill(broker)
    await offload(broker, "t", 0, group_bytes=300, rows_max=3)
    loads: list[int] = []
    threads: set[str] = set()
    read, opened = segments.SegmentFile.read, segments.SegmentFile.__init__

    def watched_read(self, number, columns=None):
        loads.append(number)
        threads.add(threading.current_thread().name)
        return read(self, number, columns)

    def watched_open(self, *args):
        threads.add(threading.current_thread().name)
        opened(self, *args)

    monkeypatch.setattr(segments.SegmentFile, "read", watched_read)
    monkeypatch.setattr(segments.SegmentFile, "__init__", watched_open)
    async with one(redis_url, prefix, **kept) as other:
        await asyncio.gather(*(seen(other, "t", 0, 0, max_bytes=200) for _ in range(3)))
        groups = len(set(loads))
        assert groups > 10
        assert len(loads) == groups
        assert all(name.startswith("offload") for name in threads)


async def test_the_next_row_group_is_loaded_ahead(broker, redis_url, prefix, kept):
    await fill(broker)
    await offload(broker, "t", 0, group_bytes=300, rows_max=3)
    async with one(redis_url, prefix, **kept) as other:
        partition = await other.catalog.partition("t", 0)
        await partition.reader.read(0, committed=True, bytes_max=1)
        reader = other.offload_reader
        assert reader is not None
        await asyncio.gather(*reader._loading.values())
        assert sorted(key.group for key in reader._blocks._held) == [0, 1]


def test_the_sdk_and_brokers_import_without_pyarrow():
    program = """
import sys
sys.modules["pyarrow"] = None
import redis_ledger.broker.broker, redis_ledger.client, redis_ledger.offload.reader
try:
    import redis_ledger.offload.segment
except ImportError as error:
    print(error)
"""
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "pip install '.[offload]'" in completed.stdout
