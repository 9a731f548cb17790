# mypy: disable-error-code="import-not-found"
"""Topics with the sidecar buffer: records of a transaction get offsets at its commit.  Apache Kafka has none."""

from __future__ import annotations

import os

import pytest
from aiokafka import TopicPartition

BUFFER = {"transaction.buffer": "sidecar"}


@pytest.fixture(autouse=True)
def only_here():
    if not os.environ.get("HTTP"):
        pytest.skip("HTTP is not the address of the broker's REST port, so it may not be redis-ledger")


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
async def test_an_open_transaction_delays_no_reader_and_appears_whole_at_its_commit(
    topic, producer, name, everything, isolation
):
    called = await topic(**BUFFER)
    async with producer() as plain, producer(transactional_id=name("tx")) as one:
        await one.begin_transaction()
        assert [(await one.send_and_wait(called, value)).offset for value in (b"a", b"b")] == [-1, -1]
        await plain.send_and_wait(called, b"plain")
        assert await everything(called, isolation=isolation) == [b"plain"]
        await one.commit_transaction()
        assert await everything(called, isolation=isolation) == [b"plain", b"a", b"b"]
        await one.begin_transaction()
        await one.send_and_wait(called, b"aborted")
        await one.abort_transaction()
        assert await everything(called, isolation=isolation) == [b"plain", b"a", b"b"]


async def test_offsets_are_committed_with_the_records(topic, producer, consumer, name, everything):
    source, target, group = await topic(**BUFFER), await topic(**BUFFER), name("g")
    async with producer() as plain:
        for number in range(20):
            await plain.send_and_wait(source, b"%d" % number)
    place = TopicPartition(source, 0)
    async with consumer(source, group_id=group) as worker, producer(transactional_id=name("tx")) as one:
        for _ in range(20):
            message = await worker.getone()
            async with one.transaction():
                await one.send(target, message.value + b"!")
                await one.send_offsets_to_transaction({place: message.offset + 1}, group)
        assert await worker.committed(place) == 20
    assert await everything(target) == [b"%d!" % number for number in range(20)]
