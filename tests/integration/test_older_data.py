"""Data of an older release can be read, continued and ended; data of a newer release is refused.

tests/data/format-1.aof.gz is the append-only file of a Redis that a broker of commit 93e1798 wrote to: plain
records, a committed and an aborted transaction, one that was left open, a Kafka producer with a transactional id and
compression, offsets of two groups, a subscription with messages acknowledged out of order, scheduled records, a user.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.structs import TopicPartition

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.cluster.storage_format import FORMAT, OLDEST
from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import AuthenticationFailed, UnreadableFormat
from redis_ledger.fsck.service import Fsck
from redis_ledger.ids import TxnId
from redis_ledger.records.read import decode
from tests.support.broker import one
from tests.support.kafka_client import listening
from tests.support.redis_servers import Server, redis_server

DATA = Path(__file__).parent.parent / "data" / "format-1.aof.gz"
# The data grows old in the repository: nothing of it may expire.
FOR_EVER: dict[str, Any] = {
    "coordinators": 2, "retention_ms": -1, "transactional_id_expiration_ms": 2**52, "offsets_retention_ms": 2**52,
    "ended_status_retention_ms": 2**52,
}  # fmt: skip
LEFT_OPEN = TxnId(0, 3)
ACKNOWLEDGED = {(0, 0), (0, 2), (0, 4), (1, 1), (1, 3)}


@pytest.fixture
def old() -> Iterator[Server]:
    with redis_server() as server:
        text = gzip.decompress(DATA.read_bytes())
        commands = text.count(b"\n*") + text.startswith(b"*")
        assert commands > 50, "the file is empty"
        server.ask_all(*_commands(text))
        yield server


def _commands(text: bytes) -> list[tuple[bytes, ...]]:
    """The commands of an append-only file."""
    found: list[tuple[bytes, ...]] = []
    at = 0

    def line() -> bytes:
        nonlocal at
        end = text.index(b"\r\n", at)
        taken, at = text[at:end], end + 2
        return taken

    while at < len(text):
        words = []
        for _ in range(int(line()[1:])):
            size = int(line()[1:])
            words.append(text[at : at + size])
            at += size + 2
        found.append(tuple(words))
    return found


async def values(broker: Broker, topic: str, partition: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    offset = 0
    while True:
        fetched = await broker.records.fetch(topic, partition, offset)
        if not fetched.batches:
            return found
        for batch in fetched.batches:
            if not batch.is_control:
                found += [record.value for record in decode(batch.data)]
        offset = fetched.next_offset


def expected(partition: int) -> list[bytes]:
    plain = [b"plain-%d" % n for n in range(20) if n % 2 == partition]
    committed = [b"committed-%d" % n for n in range(4) if n % 2 == partition]
    kafka = [b"kafka-%d" % n for n in range(4) if n % 2 == partition]
    return [*plain, *committed, *kafka]


async def test_records_are_read_as_they_were_decided(old):
    async with one(old.url, "rl", **FOR_EVER) as broker:
        assert (
            await broker.transactions.abort(LEFT_OPEN)
        ).status == "aborted"  # whether its deadline came first or not
        assert await values(broker, "orders", 0) == expected(0)
        in_time = await values(broker, "orders", 1)
        assert [value for value in in_time if value != b"due long ago"] == expected(1)
        assert in_time.count(b"due long ago") == 1


async def test_writes_continue_after_them(old):
    async with one(old.url, "rl", **FOR_EVER) as broker:
        _, before = await broker.topics.describe("orders")
        [where] = await broker.records.produce("orders", [NewRecord(None, b"new", partition=0)])
        assert where.base_offset >= before[0].end_offset
        txn = (await broker.transactions.begin()).id
        await broker.records.produce("orders", [NewRecord(None, b"new too", partition=0)], transaction=txn)
        await broker.transactions.commit(txn)
        assert (await values(broker, "orders", 0))[-2:] == [b"new", b"new too"]


async def test_a_subscription_delivers_what_it_had_not_acknowledged(old):
    async with one(old.url, "rl", **FOR_EVER) as broker:
        await broker.transactions.abort(LEFT_OPEN)
        got: set[tuple[int, int]] = set()
        while found := await broker.subscriptions.receive("orders", "billing", "c2", max_records=100):
            got |= {(each.id.partition, each.id.offset) for each in found}
            await broker.subscriptions.ack("orders", "billing", "c2", [each.id for each in found])
        assert got.isdisjoint(ACKNOWLEDGED)
        ten = {(partition, offset) for partition in range(2) for offset in range(10)}
        assert ten - ACKNOWLEDGED <= got


async def test_kafka_clients_find_their_groups_and_their_transactional_id(old):
    async with one(old.url, "rl", **FOR_EVER) as broker, listening(broker) as address:
        await broker.transactions.abort(LEFT_OPEN)
        hosts = f"{address[0]}:{address[1]}"
        admin = AIOKafkaAdminClient(bootstrap_servers=hosts)
        await admin.start()
        offsets = {name: await admin.list_consumer_group_offsets(name) for name in ("old-group", "reader")}
        await admin.close()
        assert offsets["old-group"][TopicPartition("orders", 0)].offset == 5
        assert offsets["reader"][TopicPartition("orders", 1)].offset == 7
        producer = AIOKafkaProducer(bootstrap_servers=hosts, transactional_id="old-app")
        await producer.start()
        async with producer.transaction():
            await producer.send("orders", b"from the old app", partition=1)
        await producer.stop()
        consumer = AIOKafkaConsumer(bootstrap_servers=hosts, isolation_level="read_committed", enable_auto_commit=False)
        await consumer.start()
        place = TopicPartition("orders", 1)
        consumer.assign([place])
        consumer.seek(place, 0)
        read: list[bytes] = []
        while b"from the old app" not in read:
            for records in (await consumer.getmany(timeout_ms=1_000)).values():
                read += [each.value for each in records]
        await consumer.stop()
        assert [value for value in read if value != b"due long ago"][:-1] == expected(1)


async def test_scheduled_records_and_credentials_survive(old):
    async with one(old.url, "rl", **FOR_EVER) as broker:
        waiting, _ = await broker.delayed.list("orders")
        assert [(each.key, each.value) for each in waiting if each.deliver_at_ms == 4_102_444_800_000] == [
            (b"later", b"due in 2100")
        ]
        await broker.scram_credentials.check_password("ada", "password of ada")
        with pytest.raises(AuthenticationFailed):
            await broker.scram_credentials.check_password("ada", "another")


async def test_older_data_is_given_its_format_and_a_newer_one_is_refused(old):
    assert old.ask("HGET", "rl:{catalog}:state", "format") is None, "it is from before there was one"
    async with one(old.url, "rl", **FOR_EVER):
        assert old.ask("HGET", "rl:{catalog}:state", "format") == b"%d" % OLDEST
    for strange in (FORMAT + 1, "x"):
        old.ask("HSET", "rl:{catalog}:state", "format", strange)
        with pytest.raises(UnreadableFormat, match="Run the release that wrote it"):
            async with one(old.url, "rl", **FOR_EVER):
                pass
        assert old.ask("HGET", "rl:{catalog}:state", "format") == str(strange).encode()


async def test_fsck_finds_nothing_in_older_data(old: Server):
    async with one(old.url, "rl", **FOR_EVER) as broker:
        report = await Fsck(broker.store, broker.config, broker.clock).run()
        assert [(each.kind, each.key, each.detail) for each in report.left] == []
