"""Idempotent producers while Redis is full or down: retried batches keep their sequences and are stored once.

librdkafka, Java and franz-go repeat NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT and KAFKA_STORAGE_ERROR with the same
sequences.  OUT_OF_ORDER_SEQUENCE_NUMBER makes them begin anew under another epoch, also with batches whose answer was
lost.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redis_ledger.broker.topics.state_expiry import PRODUCER_SILENT_MS, StateExpiry
from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.errors import StorageFull, StoreUnavailable
from redis_ledger.kafka.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.ledger.append_request import Accepted, AppendRequest
from redis_ledger.ledger.partition import Partition
from redis_ledger.store.store import Store
from redis_ledger.txn.coordinator import Participant
from tests.support.broker import behind_a_proxy, eventually, one, values_of
from tests.support.kafka_batches import batch, fetch, fetched, produce, produced
from tests.support.kafka_client import KafkaClient, listening
from tests.support.proxy import proxy
from tests.support.redis_servers import redis_server
from tests.support.stores import open_store

REQUEST_TIMED_OUT, COORDINATOR_NOT_AVAILABLE, NOT_ENOUGH_REPLICAS = 7, 15, 19
OUT_OF_ORDER, STORAGE_ERROR, UNKNOWN_PRODUCER_ID = 45, 56, 59


async def kinds(futures: list[asyncio.Future[Accepted]]) -> list[str]:
    """The outcome of each: "taken", or the name of its error."""
    outcomes = await asyncio.wait_for(asyncio.gather(*futures, return_exceptions=True), 20)
    return ["taken" if isinstance(each, Accepted) else type(each).__name__ for each in outcomes]


async def test_a_new_producer_whose_first_batch_found_redis_full_loses_nothing(prefix):
    with redis_server() as full:
        async with one(full.url, prefix) as broker:
            await broker.topics.create("t")
            partition = await broker.catalog.partition("t", 0)
            pid, epoch = await broker.producers.allocate()

            def send(value: str, sequence: int) -> asyncio.Future[Accepted]:
                data = batch(value, producer=(pid, epoch, sequence))
                return partition.append(AppendRequest(data, 1, 0, producer_id=pid, epoch=epoch, sequence=sequence))

            full.ask("CONFIG", "SET", "maxmemory", "1mb")
            with pytest.raises(StorageFull):
                await send("a", 0)
            full.ask("CONFIG", "SET", "maxmemory", "0")
            # When the batch behind it arrives at a Redis with room
            with pytest.raises(StorageFull, match="waits for sequence 0"):
                await send("b", 1)
            # Then both can be sent again, and both are written
            assert [(await send(value, n)).duplicate for n, value in enumerate("ab")] == [False, False]
            assert await values_of(broker, "t") == ["a", "b"]


async def test_batches_behind_one_whose_reply_was_lost_are_not_answered_with_a_gap(redis, prefix):
    """The batch may be written or not; either way none is written twice, and none is lost."""
    async with proxy("127.0.0.1", redis.port) as relay:
        store = await open_store(relay.url, prefix=prefix, retry_ms=300)
        partition = Partition(store, "t", 0, "t-1", Config(redis_retry_ms=300), ManualClock())
        await partition.create()

        def send(*sequences: int) -> list[asyncio.Future[Accepted]]:
            return [
                partition.append(AppendRequest(b"%d" % n, 1, 0, producer_id=7, epoch=0, sequence=n)) for n in sequences
            ]

        # Given a batch that reaches Redis, whose reply is lost, and a Redis that is away afterwards
        assert relay._server is not None
        relay._server.close()
        relay.cuts = 1
        assert await kinds(send(0)) == ["OutcomeUnknown"]
        assert await kinds(send(1, 2)) == ["StoreUnavailable"] * 2
        await relay.accept_again()
        await eventually_up(store)
        # When another one is on its way, it waits for those that were refused
        assert await kinds(send(3)) == ["StoreUnavailable"]
        # Then all of them come again under the same sequences
        again = await asyncio.gather(*send(0, 1, 2, 3))
        assert [each.duplicate for each in again] == [True, False, False, False]
        read = await partition.reader.read(0, committed=True, bytes_max=1 << 20)
        assert [bytes(each) for each in read.payloads] == [b"0", b"1", b"2", b"3"]
        await store.close()


async def eventually_up(store: Store) -> None:
    async def is_up() -> bool:
        try:
            return bool(await store.command("PING") == b"PONG")
        except StoreUnavailable:
            return False

    assert await eventually(is_up, True, 10)


async def test_a_kafka_producer_is_answered_with_codes_it_repeats_under_the_same_sequence(redis, prefix):
    # The reply that is lost has to be the send's: nothing else asks Redis.
    async with behind_a_proxy(redis, prefix, redis_retry_ms=300) as (broker, relay):
        await broker.topics.create("t")
        pid, epoch = await broker.producers.allocate()
        async with listening(broker) as address, KafkaClient(address) as client:

            async def send(sequence: int) -> int:
                data = batch(f"{sequence}", producer=(pid, epoch, sequence))
                return produced(await client.ask(produce("t", data), 9)).error_code

            assert await send(0) == 0
            # Given a Redis that cannot be reached: the batch is not written
            await relay.refuse()
            assert await send(1) == NOT_ENOUGH_REPLICAS
            await relay.accept_again()
            await eventually_up(broker.store)
            assert await send(2) == NOT_ENOUGH_REPLICAS
            assert [await send(n) for n in (1, 2)] == [0, 0]
            # And a lost reply: it may be written
            assert relay._server is not None
            relay._server.close()
            relay.cuts = 1
            assert await send(3) == REQUEST_TIMED_OUT
            await relay.accept_again()
            await eventually_up(broker.store)
            # A batch that nothing explains is a gap, as ever
            assert [await send(n) for n in (3, 4, 9)] == [0, 0, OUT_OF_ORDER]
        assert await values_of(broker, "t") == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("version", [5, 9, 12])
async def test_new_producer_without_its_row_gets_unknown_producer_id_with_the_log_start(redis_url, prefix, version):
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t")
        partition = await broker.catalog.partition("t", 0)
        pid, epoch = await broker.producers.allocate()
        async with listening(broker) as address, KafkaClient(address) as client:

            async def send(sequence: int) -> tuple[int, int]:
                data = batch(f"{pid}-{sequence}", producer=(pid, epoch, sequence))
                slot = produced(await client.ask(produce("t", data), version))
                return slot.error_code, slot.log_start_offset

            assert [await send(n) for n in range(3)] == [(0, -1)] * 3
            # Given a Redis that has lost the row of a producer of today, and records that were trimmed
            await partition.trim(retention_ms=-1, retention_bytes=-1, below_offset=2)
            await broker.store.command("HDEL", partition.keys.producers, pid, key=partition.keys.state)
            # Then the client learns both, asks for another producer id and begins at 0
            assert await send(3) == (UNKNOWN_PRODUCER_ID, 2)
            forgotten = pid
            pid, epoch = await broker.producers.init(None, 0, pid, epoch)
            assert [await send(n) for n in range(2)] == [(0, -1)] * 2
        assert await values_of(broker, "t") == [f"{forgotten}-2", f"{pid}-0", f"{pid}-1"]


async def test_a_producer_goes_on_after_a_day_of_silence_and_in_a_topic_that_was_created_again(redis_url, prefix):
    clock = ManualClock(1_790_000_000_000)
    async with one(redis_url, prefix, clock=clock) as broker:
        await broker.topics.create("t")
        pid, epoch = await broker.producers.allocate()
        transactional = await broker.producers.init("pay", 30_000)
        clock.advance(10)
        async with listening(broker) as address, KafkaClient(address) as client:

            async def send(sequence: int) -> int:
                data = batch(f"{sequence}", producer=(pid, epoch, sequence))
                return produced(await client.ask(produce("t", data), 9)).error_code

            async def commit(sequence: int) -> int:
                """A transaction of a client of before KIP-890: its sequences go on over transactions."""
                await broker.producers.add("pay", *transactional, [Participant("t", partition.topic_id, 0)])
                data = batch(f"t{sequence}", producer=(*transactional, sequence), transactional=True)
                code = produced(await client.ask(produce("t", data, transactional_id="pay"), 9)).error_code
                await broker.producers.end("pay", *transactional, commit=True, bump=False)
                return code

            partition = await broker.catalog.partition("t", 0)
            assert [await send(0), await commit(0)] == [0, 0]
            # Given that the producers are silent for a day, and that the partition has forgotten them
            clock.advance(2 * PRODUCER_SILENT_MS)
            await StateExpiry(broker.store, broker.config, clock).look(partition)
            assert (
                await broker.store.command("HLEN", partition.keys.producers, key=partition.keys.state) == 1
            )  # the sentinel
            # Then their next batches are taken as they come, and are recognised when they are repeated
            assert [await send(n) for n in (1, 2, 2, 4)] == [0, 0, 0, OUT_OF_ORDER]
            assert [await commit(n) for n in (1, 2)] == [0, 0]
            # And the same holds for producers that are younger, in a topic that was deleted and created again
            pid, epoch = await broker.producers.allocate()
            clock.advance(10)
            assert [await send(n) for n in (0, 1)] == [0, 0]
            await broker.topics.delete("t")
            await broker.topics.create("t")
            assert [await send(n) for n in (2, 3, 3)] == [0, 0, 0]
            partition = await broker.catalog.partition("t", 0)
            assert await commit(3) == 0
        assert await values_of(broker, "t") == ["2", "3", "t3"]


async def test_while_redis_is_away_clients_get_codes_that_they_repeat(redis, prefix):
    async with proxy("127.0.0.1", redis.port) as relay, one(relay.url, prefix, redis_retry_ms=300) as broker:
        await broker.topics.create("t")
        async with listening(broker) as address, KafkaClient(address) as client:
            assert produced(await client.ask(produce("t", batch("a")), 9)).error_code == 0
            pid, epoch = await broker.producers.init("pay", 30_000)
            await relay.refuse()
            assert (await client.ask(InitProducerIdRequest("pay", 30_000), 4)).error_code == COORDINATOR_NOT_AVAILABLE
            asked: Any = AddPartitionsToTxnRequest([], "pay", pid, epoch, [AddPartitionsToTxnTopic("t", [0])])
            (added,) = (await client.ask(asked, 3)).results_by_topic_v3_and_below
            assert [each.partition_error_code for each in added.results_by_partition] == [COORDINATOR_NOT_AVAILABLE]
            asked = AddOffsetsToTxnRequest("pay", pid, epoch, "g")
            assert (await client.ask(asked, 3)).error_code == COORDINATOR_NOT_AVAILABLE
            asked = EndTxnRequest("pay", pid, epoch, True)
            assert (await client.ask(asked, 3)).error_code == COORDINATOR_NOT_AVAILABLE
            assert fetched(await client.ask(fetch("t"), 12)).error_code == STORAGE_ERROR
