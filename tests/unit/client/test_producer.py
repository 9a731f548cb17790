from __future__ import annotations

import asyncio

import pytest

from redis_ledger import AsyncClient, Client, errors
from redis_ledger.records.partitioner import partition_for
from tests.support.stub_broker import StubBroker, lost


def values(stub: StubBroker) -> list[bytes]:
    return [record.value for _, _, record in stub.records]


async def test_records_sent_together_share_a_batch_and_know_where_they_went():
    stub = StubBroker()
    async with AsyncClient("http://b", http=stub) as client:
        producer = client.producer("orders")
        sendings = [await producer.send(str(n)) for n in range(100)]
        positions = [await sending for sending in sendings]
    assert [position.offset for position in positions] == list(range(100))
    assert values(stub) == [b"%d" % n for n in range(100)]
    assert len(stub.batches) < 10


async def test_keys_choose_partitions_as_kafka_does():
    stub = StubBroker(partitions=4)
    async with AsyncClient("http://b", http=stub) as client, client.producer("orders") as producer:
        for n in range(40):
            await producer.send("v", key=f"k{n}")
    assert {(record.key, partition) for _, partition, record in stub.records} == {
        (b"k%d" % n, partition_for(b"k%d" % n, 4)) for n in range(40)
    }


async def test_a_batch_whose_answer_was_lost_is_in_the_log_once():
    stub = StubBroker()
    stub.fail("POST", "/records", lost)
    async with AsyncClient("http://b", http=stub) as client:
        producer = client.producer("orders", linger_ms=0)
        position = await (await producer.send("once")).result()
    assert values(stub) == [b"once"]
    assert position == (0, 0)
    assert stub.count("POST", "/records") == 2


async def test_partition_gets_a_new_producer_id_after_a_batch_of_unknown_outcome():
    # Given a producer whose first batch gets no answer until the time is up
    stub = StubBroker()
    async with AsyncClient("http://b", http=stub, timeout_ms=250) as client:
        for _ in range(500):
            stub.fail("POST", "/records", lost)
        producer = client.producer("orders", linger_ms=0)
        with pytest.raises(errors.OutcomeUnknown):
            await (await producer.send("unknown")).result()
        stub.faults.clear()
        # When it sends again
        await (await producer.send("after")).result()
        # Then that batch is under another id, from sequence 0
        assert stub.producers == 2
    assert values(stub)[-1] == b"after"


async def test_a_refused_batch_fails_its_records_and_leaves_its_sequence_to_the_next():
    stub = StubBroker()
    async with AsyncClient("http://b", http=stub) as client:
        producer = client.producer("orders", linger_ms=0)
        stub.fail("POST", "/records", errors.RequestTooLarge("Too large."))
        with pytest.raises(errors.RequestTooLarge):
            await (await producer.send("big")).result()
        assert (await (await producer.send("small")).result()).offset == 0
    assert values(stub) == [b"small"]


async def test_unawaited_error_is_raised_by_close():
    stub = StubBroker()
    stub.fail("POST", "/records", errors.UnknownTopic("No such topic."))
    client = AsyncClient("http://b", http=stub)
    producer = client.producer("orders", linger_ms=10_000)
    await producer.send("lost otherwise")
    with pytest.raises(errors.UnknownTopic):
        await client.close()


async def test_a_full_buffer_makes_send_wait_and_hurries_what_lingers():
    stub = StubBroker()
    async with AsyncClient("http://b", http=stub) as client:
        producer = client.producer("orders", linger_ms=60_000, buffer_bytes=1_000)
        for _ in range(20):
            await producer.send(b"x" * 300)
    assert len(stub.records) == 20
    assert len(stub.batches) > 2


async def test_a_producer_that_was_idle_for_so_long_that_it_was_forgotten_continues_under_a_fresh_id():
    stub = StubBroker()
    async with AsyncClient("http://b", http=stub) as client:
        producer = client.producer("orders", linger_ms=0)
        await (await producer.send("before")).result()
        stub.fail("POST", "/records", errors.UnknownProducer())
        assert (await (await producer.send("after")).result()).offset == 1
    assert values(stub) == [b"before", b"after"]
    assert stub.producers == 2


async def test_a_batch_that_may_be_written_is_not_repeated_under_a_new_id():
    stub = StubBroker()
    async with AsyncClient("http://b", http=stub) as client:
        producer = client.producer("orders", linger_ms=0)
        await (await producer.send("before")).result()
        # When the first attempt is carried out, its answer is lost, and the broker has forgotten the id since
        stub.fail("POST", "/records", lost)
        stub.fail("POST", "/records", errors.UnknownProducer())
        with pytest.raises(errors.OutcomeUnknown):
            await (await producer.send("once")).result()
        assert values(stub) == [b"before", b"once"]
        # Then the next one has a new id
        assert (await (await producer.send("after")).result()).offset == 2
    assert stub.producers == 2


async def test_a_first_batch_that_is_refused_as_unknown_fails():
    stub = StubBroker()
    stub.fail("POST", "/records", errors.UnknownProducer())
    async with AsyncClient("http://b", http=stub) as client:
        producer = client.producer("orders", linger_ms=0)
        with pytest.raises(errors.UnknownProducer):
            await (await producer.send("never")).result()
    assert stub.producers == 1


async def test_a_duplicate_too_old_to_be_placed_counts_as_written():
    stub = StubBroker()
    stub.fail("POST", "/records", errors.DuplicateSequence())
    async with AsyncClient("http://b", http=stub) as client, client.producer("orders") as producer:
        assert (await (await producer.send("x")).result()).offset == -1


def test_the_twin_for_threads_sends_from_many_threads_in_order_and_once():
    import threading

    stub = StubBroker(partitions=3)
    with Client("http://b", http=stub) as client, client.producer("orders", linger_ms=1) as producer:

        def run(name: int) -> None:
            for n in range(200):
                producer.send(f"{name}:{n}", key=f"{name}")

        threads = [threading.Thread(target=run, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        producer.flush()
        for name in range(4):
            mine = [record.value for _, _, record in stub.records if record.key == b"%d" % name]
            assert mine == [b"%d:%d" % (name, n) for n in range(200)]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
async def test_every_compression_arrives(compression):
    stub = StubBroker()
    async with AsyncClient("http://b", http=stub) as client:
        async with client.producer("orders", compression=compression) as producer:
            await producer.send("x" * 1_000, headers=[("h", "1"), ("h", b"2")], timestamp_ms=17)
    [(_, _, record)] = stub.records
    assert (record.value, record.headers, record.timestamp_ms) == (b"x" * 1_000, [("h", b"1"), ("h", b"2")], 17)


def test_a_compression_that_does_not_exist_is_refused_at_once():
    with Client("http://b", http=StubBroker()) as client, pytest.raises(errors.InvalidRequest, match="none, gzip"):
        client.producer("orders", compression="brotli")  # type: ignore[arg-type]  # the point of the test


@pytest.mark.parametrize(
    "wrong", [{"headers": {"h": 1}}, {"headers": [(b"h", b"1")]}, {"value": object()}, {"key": 7}, {"timestamp_ms": -5}]
)
async def test_a_record_that_cannot_be_written_is_refused_by_send_and_harms_no_other(wrong):
    stub = StubBroker()
    async with AsyncClient("http://b", http=stub) as client, client.producer("orders", linger_ms=50) as producer:
        await producer.send("before", key="k")
        with pytest.raises((TypeError, errors.InvalidRequest)):
            await producer.send(**{"value": "x", **wrong})
        await producer.send("after", key="k")
    assert values(stub) == [b"before", b"after"]


async def test_an_error_is_raised_once_by_result_or_by_flush():
    stub = StubBroker()
    async with AsyncClient("http://b", http=stub) as client:
        producer = client.producer("orders", linger_ms=0)
        stub.fail("POST", "/records", errors.RequestTooLarge("First."))
        first = await producer.send("a")
        while not first.is_done():
            await asyncio.sleep(0.001)
        stub.fail("POST", "/records", errors.RequestTooLarge("Second."))
        second = await producer.send("b")
        while not second.is_done():
            await asyncio.sleep(0.001)
        with pytest.raises(errors.RequestTooLarge, match="First"):
            await first.result()
        # Only what no result has raised is left for flush, and after it there is nothing left for leaving.
        with pytest.raises(errors.RequestTooLarge, match="Second"):
            await producer.flush()
        await producer.flush()


async def test_an_exception_in_the_block_is_not_replaced_by_one_of_closing():
    stub = StubBroker()
    stub.fail("POST", "/records", errors.RequestTooLarge("Too large."))

    async def leave() -> None:
        async with AsyncClient("http://b", http=stub) as client:
            await client.producer("orders", linger_ms=60_000).send("a")
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as raised:
        await leave()
    assert raised.value.__notes__ == ["Closing failed as well: Too large."]


async def test_a_record_with_an_idempotency_key_is_a_request_that_another_process_makes_alike():
    bodies = []
    for _ in range(2):  # with random partitions and producer ids of its own each time
        stub = StubBroker(partitions=3)
        async with AsyncClient("http://b", http=stub) as client, client.producer("orders") as producer:
            await producer.send("before", partition=0)
            sending = await producer.send({"order": 7}, headers={"h": "v"}, partition=0, idempotency_key="order-7")
            await producer.send("after", partition=0)
        assert await sending.result() == (0, 1)
        bodies.append(stub.bodies[-1])
        assert [key for key in stub.keys if key == "order-7"] == ["order-7"]
        assert stub.producers == 1
    assert bodies[0] == bodies[1]
    assert bodies[0] == {"partition": 0, "records": [{"text": '{"order":7}', "headers_base64": {"h": "dg=="}}]}


async def test_a_record_of_a_transaction_has_no_idempotency_key_of_its_own():
    stub = StubBroker()
    async with AsyncClient("http://b", http=stub) as client:
        txn = client.transaction()
        with pytest.raises(errors.InvalidRequest, match="execute"):
            await client.producer("orders").send("a", txn=txn, idempotency_key="k")
    assert stub.calls == []


async def test_a_result_is_waited_for_no_longer_than_asked_and_may_be_asked_for_again():
    stub = StubBroker()
    async with AsyncClient("http://b", http=stub) as client:
        producer = client.producer("orders", linger_ms=60_000)
        sending = await producer.send("late")
        with pytest.raises(errors.OutcomeUnknown, match="after 5 ms"):
            await sending.result(timeout_ms=5)
        await producer.flush()
        assert (await sending.result(timeout_ms=5)).offset == 0


def test_a_result_of_the_twin_for_threads_is_waited_for_no_longer_than_asked():
    with Client("http://b", http=StubBroker()) as client:
        producer = client.producer("orders", linger_ms=60_000)
        sending = producer.send("late")
        with pytest.raises(errors.OutcomeUnknown, match="after 5 ms"):
            sending.result(timeout_ms=5)
        producer.flush()
        assert sending.result(timeout_ms=5).offset == 0


async def test_a_record_that_an_interrupted_close_has_left_unsent_has_a_result():
    stub = StubBroker()
    client = AsyncClient("http://b", http=stub)
    producer = client.producer("orders", linger_ms=60_000, max_in_flight=1)
    begun, answered = asyncio.Event(), asyncio.Event()

    async def waits(*_: object) -> int:
        begun.set()
        await answered.wait()
        return 0

    producer._sender._send = waits  # type: ignore[method-assign,assignment]
    first = await producer.send("on its way", partition=0)
    closing = asyncio.create_task(producer.close())
    await begun.wait()
    second = await producer.send("unsent", partition=0)
    closing.cancel()
    answered.set()
    with pytest.raises(asyncio.CancelledError):
        await closing
    with pytest.raises(errors.ClientClosed):
        await second.result(timeout_ms=5_000)
    assert (await first.result()).offset == 0
    await client.close()
