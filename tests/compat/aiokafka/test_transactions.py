"""Transactions of aiokafka.  It speaks the oldest transaction protocol of the clients here."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import IllegalOperation, InvalidTransactionTimeout, ProducerFenced


async def test_a_committed_transaction_is_read_whole(topic, producer, name, everything):
    first, second = await topic(2), await topic()
    async with producer(transactional_id=name("tx")) as one, one.transaction():
        for number in range(30):
            called, partition = [(first, 0), (first, 1), (second, 0)][number % 3]
            await one.send(called, b"%d" % number, partition=partition)
    read = await everything(first, 0) + await everything(first, 1) + await everything(second)
    assert sorted(map(int, read)) == list(range(30))


async def test_an_aborted_transaction_is_seen_only_by_those_who_read_everything(topic, producer, name, everything):
    called = await topic()
    async with producer(transactional_id=name("tx")) as one:
        await one.begin_transaction()
        await one.send_and_wait(called, b"aborted")
        await one.abort_transaction()
        async with one.transaction():
            await one.send_and_wait(called, b"kept")
        with contextlib.suppress(ZeroDivisionError):
            async with one.transaction():
                await one.send_and_wait(called, b"failed")
                raise ZeroDivisionError
    assert await everything(called) == [b"kept"]
    assert await everything(called, isolation="read_uncommitted") == [b"aborted", b"kept", b"failed"]


async def test_thirty_transactions_in_a_row_commit_and_abort_in_turn(topic, producer, name, everything):
    called = await topic()
    async with producer(transactional_id=name("tx")) as one:
        for number in range(30):
            await one.begin_transaction()
            await one.send(called, b"%d" % number)
            await (one.abort_transaction() if number % 3 == 2 else one.commit_transaction())
    assert await everything(called) == [b"%d" % number for number in range(30) if number % 3 != 2]


async def test_an_open_transaction_holds_back_what_lies_behind_it(topic, producer, consumer, name):
    called = await topic()
    place = TopicPartition(called, 0)
    async with (
        producer(transactional_id=name("tx")) as one,
        producer() as plain,
        consumer(called, isolation_level="read_committed") as reader,
        asyncio.timeout(30),
    ):
        await plain.send_and_wait(called, b"before")
        await one.begin_transaction()
        await one.send_and_wait(called, b"in doubt")
        await plain.send_and_wait(called, b"behind")
        assert (await reader.getone()).value == b"before"
        assert await reader.getmany(timeout_ms=700) == {}
        assert (reader.last_stable_offset(place), reader.highwater(place)) == (1, 3)
        await one.commit_transaction()
        assert [(await reader.getone()).value for _ in range(2)] == [b"in doubt", b"behind"]


async def test_a_second_instance_fences_the_first(topic, producer, name, everything):
    called, same = await topic(), name("tx")
    first = producer(transactional_id=same)
    await first.start()
    await first.begin_transaction()
    await first.send_and_wait(called, b"of the first")
    async with producer(transactional_id=same) as second, second.transaction():
        await second.send_and_wait(called, b"of the second")
    with pytest.raises(ProducerFenced):
        await first.commit_transaction()
    await first.stop()
    assert await everything(called) == [b"of the second"]


async def test_records_are_consumed_transformed_and_produced_exactly_once(topic, producer, consumer, name, everything):
    source, target, group = await topic(), await topic(), name("g")
    place = TopicPartition(source, 0)
    async with producer() as plain:
        await asyncio.gather(*[await plain.send(source, b"%d" % number) for number in range(100)])
    async with (
        producer(transactional_id=name("tx")) as one,
        consumer(source, group_id=group, isolation_level="read_committed") as worker,
        asyncio.timeout(60),
    ):
        for attempt in range(11):
            messages = [await worker.getone() for _ in range(10)]
            await one.begin_transaction()
            for message in messages:
                await one.send(target, message.value + b"!")
            await one.send_offsets_to_transaction({place: messages[-1].offset + 1}, group)
            if attempt == 4:
                # This one is given up: its records are read once more.
                await one.abort_transaction()
                await worker.seek_to_committed()
            else:
                await one.commit_transaction()
        assert await worker.committed(place) == 100
    assert await everything(target) == [b"%d!" % number for number in range(100)]


async def test_client_rejects_invalid_transaction_calls(topic, producer, name):
    async with producer(transactional_id=name("tx")) as one:
        with pytest.raises(IllegalOperation):
            await one.send(await topic(), b"outside")


async def test_a_timeout_above_the_brokers_limit_is_refused(producer, name):
    one = producer(transactional_id=name("tx"), transaction_timeout_ms=2_000_000_000)
    with pytest.raises(InvalidTransactionTimeout):
        await one.start()
    await one.stop()
