"""`redis-ledger mirror`: copies topics and groups of one cluster to another, once each, also with interruptions."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import random
import re
import signal
import sys
import time
from collections.abc import AsyncIterator
from functools import partial

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import GroupAuthorizationFailedError, KafkaError
from aiokafka.structs import TopicPartition

from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.tools.mirror import groups
from redis_ledger.app.tools.mirror.endpoint import connection
from redis_ledger.app.tools.mirror.run import Mirror, MirrorOptions, admin
from redis_ledger.broker.broker import Broker
from redis_ledger.errors import UnknownPartition, UnknownTopic
from redis_ledger.records.read import decode
from tests.support.bombs import value_bomb
from tests.support.broker import eventually, one, records, values_of
from tests.support.kafka_batches import produce, produced
from tests.support.kafka_client import KafkaClient, listening

PARTITIONS = 2


class Cluster:
    def __init__(self, broker: Broker, address: tuple[str, int]) -> None:
        self.broker, self.address = broker, address
        self.url = f"kafka://{address[0]}:{address[1]}"
        self.hosts = f"{address[0]}:{address[1]}"

    async def values(self, topic: str, partition: int, offset: int = 0) -> list[tuple[int, bytes]]:
        """Committed records from the offset on, as a Kafka consumer gets them."""
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.hosts, enable_auto_commit=False, isolation_level="read_committed"
        )
        await consumer.start()
        try:
            place = TopicPartition(topic, partition)
            consumer.assign([place])
            consumer.seek(place, offset)
            end = (await consumer.end_offsets([place]))[place]
            found: list[tuple[int, bytes]] = []
            while await consumer.position(place) < end:
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found += [(each.offset, each.value) for each in records]
            return found
        finally:
            await consumer.stop()

    async def commit(self, group: str, offsets: dict[TopicPartition, int]) -> None:
        consumer = AIOKafkaConsumer(bootstrap_servers=self.hosts, group_id=group, enable_auto_commit=False)
        await consumer.start()
        try:
            consumer.assign(list(offsets))
            await consumer.commit(offsets)
        finally:
            await consumer.stop()

    async def committed(self, group: str) -> dict[TopicPartition, int]:
        async with admin({"bootstrap_servers": self.hosts}) as client:
            return {p: o.offset for p, o in (await client.list_consumer_group_offsets(group)).items()}


@pytest.fixture
async def source(redis_url, prefix) -> AsyncIterator[Cluster]:
    async with one(redis_url, f"{prefix}s") as broker, listening(broker) as address:
        await broker.topics.create("orders", PARTITIONS)
        yield Cluster(broker, address)


@pytest.fixture
async def target(redis_url, prefix) -> AsyncIterator[Cluster]:
    async with one(redis_url, f"{prefix}t") as broker, listening(broker) as address:
        yield Cluster(broker, address)


def wanted(source: Cluster, target: Cluster, name: str = "m", topics: str = ".*") -> MirrorOptions:
    ends = (connection(source.url, "--from", None), connection(target.url, "--to", None))
    return MirrorOptions(name, *ends, re.compile(topics), once=True)


async def fill(cluster: Cluster, first: int, count: int, *, transactional: bool) -> None:
    """Transactions leave markers, and every third is aborted: gaps in what a committed reader sees."""
    more = {"transactional_id": "filler"} if transactional else {}
    producer = AIOKafkaProducer(bootstrap_servers=cluster.hosts, **more)
    await producer.start()
    try:
        for number in range(first, first + count):
            send = {
                "value": b"%d" % number,
                "key": b"k",
                "partition": number % PARTITIONS,
                "timestamp_ms": 1_000 + number,
            }
            if not transactional:
                await producer.send_and_wait("orders", headers=[("n", b"%d" % number)], **send)
                continue
            await producer.begin_transaction()
            await producer.send("orders", **send)
            if number % 3 == 0:
                await producer.abort_transaction()
            else:
                await producer.commit_transaction()
    finally:
        await producer.stop()


async def same(source: Cluster, target: Cluster) -> None:
    for partition in range(PARTITIONS):
        there, here = await source.values("orders", partition), await target.values("orders", partition)
        assert [value for _, value in here] == [value for _, value in there]


async def test_records_are_carried_with_all_that_belongs_to_them(source, target):
    await fill(source, 0, 10, transactional=False)
    progress = await Mirror(wanted(source, target)).run()
    assert progress.records == 10
    await same(source, target)
    fetched = await target.broker.records.fetch("orders", 1, 0)
    record = decode(fetched.batches[0].data)[0]
    assert (record.key, record.value, record.timestamp_ms) == (b"k", b"1", 1_001)
    assert list(record.headers) == [("n", b"1")]


async def test_import_continues_at_its_position_without_duplicates(source, target):
    await fill(source, 0, 9, transactional=True)
    first = await Mirror(wanted(source, target)).run()
    again = await Mirror(wanted(source, target)).run()
    await fill(source, 9, 9, transactional=True)
    last = await Mirror(wanted(source, target)).run()
    assert (first.records, again.records, last.records) == (6, 0, 6)
    await same(source, target)


async def test_groups_continue_at_their_next_record(source, target):
    await fill(source, 0, 20, transactional=True)
    places = {p: await source.values("orders", p) for p in range(PARTITIONS)}
    stopped = {TopicPartition("orders", p): rows[len(rows) // 2][0] for p, rows in places.items()}
    await source.commit("billing", stopped)
    progress = await Mirror(wanted(source, target)).run()
    ends = (wanted(source, target).source, wanted(source, target).target)
    assert await groups.carry(*ends, re.compile(".*"), progress.places) == {"billing": PARTITIONS}
    assert await groups.carry(*ends, re.compile(".*"), progress.places) == {}, "they are there"
    for place, offset in (await target.committed("billing")).items():
        rest = [value for _, value in await source.values("orders", place.partition, stopped[place])]
        assert [value for _, value in await target.values("orders", place.partition, offset)] == rest


async def test_a_group_that_is_used_on_the_target_is_left_alone(source, target):
    await fill(source, 0, 4, transactional=False)
    await source.commit("billing", {TopicPartition("orders", 0): 1})
    progress = await Mirror(wanted(source, target)).run()
    consumer = AIOKafkaConsumer("orders", bootstrap_servers=target.hosts, group_id="billing", enable_auto_commit=False)
    await consumer.start()
    try:
        await consumer.getmany(timeout_ms=500)
        ends = (wanted(source, target).source, wanted(source, target).target)
        assert await groups.carry(*ends, re.compile(".*"), progress.places) == {}
    finally:
        await consumer.stop()


async def test_places_are_known_to_a_mirror_that_begins_anew(source, target):
    await fill(source, 0, 9, transactional=True)
    first = await Mirror(wanted(source, target)).run()
    again = await Mirror(wanted(source, target)).run()
    assert {p: each.all() for p, each in again.places.items()} == {p: each.all() for p, each in first.places.items()}


async def test_the_older_of_two_mirrors_of_one_name_is_fenced(source, target):
    await fill(source, 0, 4, transactional=False)
    older = Mirror(MirrorOptions("m", wanted(source, target).source, wanted(source, target).target, re.compile(".*")))

    async def overtaken(_: object) -> None:
        await fill(source, 4, 2, transactional=False)
        await Mirror(wanted(source, target)).run()
        await fill(source, 6, 2, transactional=False)

    with pytest.raises(KafkaError, match=r"(?i)fenc|epoch"):
        await asyncio.wait_for(older.run(overtaken), 60)
    await Mirror(wanted(source, target)).run()
    await same(source, target)


async def test_topics_that_cannot_be_mirrored_are_reported(source, target):
    with pytest.raises(CommandError, match="no topic that matches"):
        await Mirror(wanted(source, target, topics="nothing.*")).run()
    with pytest.raises(CommandError, match="same cluster"):
        await Mirror(wanted(source, source)).run()


async def test_tombstones_and_records_of_nothing_are_carried_in_their_place(source, target):
    producer = AIOKafkaProducer(bootstrap_servers=source.hosts)
    await producer.start()
    try:
        nothing = producer.create_batch()
        nothing.append(timestamp=5, key=None, value=None, headers=[("h", b"1")])
        await producer.send_and_wait("orders", b"a", b"k", partition=0)
        await (await producer.send_batch(nothing, "orders", partition=0))
        await producer.send_and_wait("orders", None, b"k", partition=0)
    finally:
        await producer.stop()
    assert (await Mirror(wanted(source, target)).run()).records == 3
    fetched = await target.broker.records.fetch("orders", 0, 0)
    found = [each for batch in fetched.batches if not batch.is_control for each in decode(batch.data)]
    assert [(each.key, each.value) for each in found] == [(b"k", b"a"), (None, None), (b"k", None)]
    assert (found[1].timestamp_ms, list(found[1].headers)) == (5, [("h", b"1")])


async def test_topics_and_partitions_that_are_new_are_carried_while_it_runs(source, target, monkeypatch):
    monkeypatch.setattr("redis_ledger.app.tools.mirror.run.LOOK_EVERY_S", 0.1)
    await target.broker.topics.create("orders", 1)  # with fewer partitions, which it is given
    await fill(source, 0, 4, transactional=False)
    running = asyncio.create_task(Mirror(dataclasses.replace(wanted(source, target), once=False)).run())
    try:
        assert await eventually(lambda: ends(target), 4 + 2, 20) == 6, "four records, and a marker on each partition"
        await source.broker.topics.grow("orders", PARTITIONS + 1)
        await source.broker.topics.create("later")
        await source.broker.records.produce("orders", records("new"), partition=PARTITIONS)
        await source.broker.records.produce("later", records("too"))
        assert await eventually(partial(seen, target), ["new", "too"], 20) == ["new", "too"]
        await same(source, target)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_source_that_trickles_is_carried_in_few_transactions(source, target, monkeypatch):
    """Each leaves a stretch of offsets to be kept."""
    monkeypatch.setattr("redis_ledger.app.tools.mirror.run.GATHER_S", 1.0)
    mirror = Mirror(dataclasses.replace(wanted(source, target), once=False))
    running = asyncio.create_task(mirror.run())
    began = time.monotonic()
    try:
        for number in range(30):
            await source.broker.records.produce("orders", records(str(number)), partition=0)
            await asyncio.sleep(0.05)  # as a source that trickles does

        async def carried() -> int:
            return mirror.progress.records

        assert await eventually(carried, 30, 20) == 30
        assert mirror.progress.transactions <= time.monotonic() - began + 1
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def seen(cluster: Cluster) -> list[str]:
    try:
        found = [*await values_of(cluster.broker, "orders", PARTITIONS), *await values_of(cluster.broker, "later")]
        return [each for each in found if each != "[marker]"]
    except (UnknownTopic, UnknownPartition):
        return []


async def test_topic_recreated_at_the_source_is_not_mistaken_for_the_mirrored_one(source, target):
    await fill(source, 0, 10, transactional=False)
    await Mirror(wanted(source, target)).run()
    await source.broker.topics.delete("orders")
    await source.broker.topics.create("orders", PARTITIONS)
    await fill(source, 0, 2, transactional=False)
    with pytest.raises(CommandError, match="created again"):
        await Mirror(wanted(source, target)).run()


async def test_source_records_trimmed_before_mirroring_are_counted(source, target):
    await fill(source, 0, 4, transactional=False)
    await Mirror(wanted(source, target)).run()
    await fill(source, 4, 6, transactional=False)
    await source.broker.topics.delete_records("orders", 0, 4)
    progress = await Mirror(wanted(source, target)).run()
    assert (progress.records, progress.missed) == (4, 2)
    assert [value for _, value in await target.values("orders", 0)] == [b"0", b"2", b"8"]


async def test_a_group_of_a_partition_of_which_nothing_was_left_begins_with_what_comes(source, target):
    await fill(source, 0, 10, transactional=False)
    await source.commit("billing", {TopicPartition("orders", p): 5 for p in range(PARTITIONS)})
    for partition in range(PARTITIONS):
        await source.broker.topics.delete_records("orders", partition, None)
    progress = await Mirror(wanted(source, target)).run()
    ends = (wanted(source, target).source, wanted(source, target).target)
    await groups.carry(*ends, re.compile(".*"), progress.places)
    assert await target.committed("billing") == {TopicPartition("orders", p): 0 for p in range(PARTITIONS)}


async def test_a_group_that_cannot_be_carried_keeps_no_other_from_it(source, target, monkeypatch):
    await fill(source, 0, 4, transactional=False)
    for name in ("a", "b"):
        await source.commit(name, {TopicPartition("orders", 0): 1})
    progress = await Mirror(wanted(source, target)).run()
    ask = groups._offsets

    async def refused(client, group):
        if group == "a":
            raise GroupAuthorizationFailedError("a")
        return await ask(client, group)

    monkeypatch.setattr(groups, "_offsets", refused)
    ends = (wanted(source, target).source, wanted(source, target).target)
    outcome = await groups.carry(*ends, re.compile(".*"), progress.places)
    assert (type(outcome["a"]), outcome["b"]) == (GroupAuthorizationFailedError, 1)


@pytest.mark.full
async def test_the_command_is_killed_again_and_again_and_nothing_is_doubled_or_lost(source, target):
    """By SIGKILL, while records arrive; the last run carries what is left."""
    filling = asyncio.create_task(fill(source, 0, 1_500, transactional=False))
    command = (
        sys.executable,
        "-m",
        "redis_ledger.app.cli.main",
        "mirror",
        "--from",
        source.url,
        "--to",
        target.url,
        "--name",
        "k",
    )
    carried = [0]
    while len(carried) < 5:
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
        while (here := await ends(target)) <= carried[-1]:
            assert process.returncode is None, "it ended by itself"
            await asyncio.sleep(0.01)
        await asyncio.sleep(random.uniform(0, 0.2))
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        carried.append(here)
        if filling.done():
            filling = asyncio.create_task(fill(source, 1_500 * len(carried), 300, transactional=False))
    await filling
    process = await asyncio.create_subprocess_exec(
        *command, "--once", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, err.decode()
    assert out.startswith(b"copied ")
    await same(source, target)


async def ends(cluster: Cluster) -> int:
    """The number of records written to it, committed or not."""
    try:
        _, states = await cluster.broker.topics.describe("orders")
    except UnknownTopic:
        return 0
    return sum(each.end_offset for each in states)


async def command(*words: object) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "redis_ledger.app.cli.main", "mirror", *map(str, words),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("option", ["--from", "--to"])
async def test_an_unreachable_kafka_is_reported_in_one_sentence(target, option):
    ends = {"--from": target.url, "--to": target.url, option: "kafka://127.0.0.1:1"}
    code, out, err = await command(*[word for pair in ends.items() for word in pair])
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith(f"redis-ledger: {option} cannot be used: [Errno 111] Connect call failed")
    assert err.endswith(f"Correct {option} or its properties file.\n")


async def test_wrong_password_error_has_the_text_of_the_broker(redis_url, prefix, tmp_path):
    properties = tmp_path / "kafka.properties"
    properties.write_text("security.protocol=SASL_PLAINTEXT\nsasl.username=ada\nsasl.password=wrong\n")
    async with one(redis_url, prefix, auth_required=True) as broker, listening(broker) as (host, port):
        code, out, err = await command("--from", f"kafka://{host}:{port}", "--from-properties", properties)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert "--from cannot be used" in err
    assert "user name or password is wrong" in err


@pytest.mark.parametrize(
    ("value_bytes", "reason"), [(60 << 20, "unpack to more than 33554432"), (9 << 20, "has more than 8388608")]
)
async def test_a_batch_that_cannot_be_copied_is_named(source, target, value_bytes, reason):
    await fill(source, 0, 2, transactional=False)
    async with KafkaClient(source.address) as client:
        assert produced(await client.ask(produce("orders", value_bomb(value_bytes), partition=1), 9)).error_code == 0
    with pytest.raises(CommandError, match=f"offset 1 of orders:1 on the source .*{reason} bytes.*--topics"):
        await Mirror(wanted(source, target)).run()
