"""The SDK and the commands against real brokers: HTTP, scripts, Redis."""

from __future__ import annotations

import asyncio
import itertools
import json

import httpx
import pytest
from typer.testing import CliRunner

from redis_ledger import AsyncClient, Client, Record, errors
from redis_ledger.app.cli import main
from redis_ledger.client import TxnState
from redis_ledger.records.partitioner import partition_for
from tests.support.proxy import proxy
from tests.support.redis_servers import redis_server
from tests.support.threaded_broker import LosesFirstAnswers, ThreadedBroker, threaded_broker


@pytest.fixture
async def client(brokers):
    async with AsyncClient(brokers.urls) as client:
        yield client


async def values(client: AsyncClient, topic: str, partition: int = 0, **how) -> list[bytes | None]:
    return [message.value async for message in client.read(topic, partition, **how)]


async def test_bytes_come_back_as_they_were_sent_by_reading_and_by_receiving(client):
    sent = [b"\xff\x00", b' {"a":  1}\n', b"null", b"1.0", b"", None, "grüß".encode(), b'{"n":1e5}', b"[" * 500]
    async with client.producer("raw") as producer:
        for value in sent:
            await producer.send(value, key=b"\xfe", headers={"h": b"\xff", "t": "text"}, partition=0)
    assert await values(client, "raw") == sent
    async with client.consumer("raw", "s") as consumer:
        received = await consumer.receive(100)
    assert [message.value for message in received] == sent
    assert {(message.key, message.headers["h"], message.headers["t"]) for message in received} == {
        (b"\xfe", b"\xff", b"text")
    }


async def test_all_headers_of_a_name_are_kept_in_order(client, brokers: ThreadedBroker):
    sent = [("a", None), ("b", b"x"), ("a", b""), ("a", b"1"), ("a", b"\xff")]
    async with client.producer("headers") as producer:
        await producer.send("batch", headers=sent, partition=0)
        await producer.send("json", headers=sent, partition=0, idempotency_key="once")
        async with client.transaction() as txn:
            await txn.send("headers", "step", headers=sent, partition=0)
        later = await producer.send("later", headers=sent, partition=0, deliver_after=3_600_000)
    # They are the same by reading, receiving and listing, and over HTTP
    read = [message async for message in client.read("headers", 0)]
    async with client.consumer("headers", "s") as consumer:
        received = await consumer.receive(10)
    (waiting,) = [each async for each in client.scheduled.list("headers")]
    assert waiting.id == (await later).scheduled
    assert sorted(each.value or b"" for each in (*read, *received)) == [b"batch"] * 2 + [b"json"] * 2 + [b"step"] * 2
    for each in (*read, *received, waiting):
        assert list(each.all_headers) == sent
        assert each.headers == dict(sent)
    async with httpx.AsyncClient(base_url=brokers.urls[0]) as plain:
        record = (await plain.get("/v1/topics/headers/partitions/0/records?offset=0")).json()["records"][0]
    assert "headers" not in record
    assert record["headers_base64"] == [["a", None], ["b", "eA=="], ["a", ""], ["a", "MQ=="], ["a", "/w=="]]


async def test_a_step_whose_every_answer_is_lost_once_takes_effect_once(brokers: ThreadedBroker):
    """CL-13, CL-02"""
    # Given a client that loses the first answer to every kind of change
    losing = LosesFirstAnswers()
    async with AsyncClient(brokers.urls, http=losing) as client:
        await client.topics.create("in", partitions=2)
        await client.topics.create("out")
        async with client.producer("in") as producer:
            for n in range(20):
                await producer.send(n, key=str(n))
        # When it consumes, transforms and produces in transactions, by one request and by a request for each step
        done, in_steps = 0, itertools.cycle((True, False))
        async with client.consumer("in", "job", prefetch=0, ack_timeout_ms=1_000) as consumer:
            while done < 20:
                async with client.transaction() as txn:
                    if next(in_steps):
                        await txn.begin()
                    for message in await consumer.receive(7):
                        await txn.send("out", message.json() * 10)
                        await txn.ack(consumer, message)
                        done += 1
        # Then each output is there once and each input is acknowledged
        assert sorted(int(value or b"") for value in await values(client, "out")) == [n * 10 for n in range(20)]
        assert (await client.subscriptions.stats("in", "job")).backlog == 0
    changes = {"POST /v1/transactions", "POST /v1/topics/out/records", "POST /v1/transactions:execute"}
    assert changes <= set(losing.lost)
    assert any(address.endswith(":commit") for address in losing.lost)


async def test_a_step_takes_effect_once_when_an_answer_breaks_off_after_any_number_of_bytes(brokers: ThreadedBroker):
    async with AsyncClient(brokers.urls) as direct:
        await direct.topics.create("out")
    async with proxy("127.0.0.1", httpx.URL(brokers.urls[0]).port or 0) as relay:
        async with AsyncClient(f"http://127.0.0.1:{relay.port}") as client:
            # Nothing arrives, or the answer breaks off in the status line, in the headers, or in the body.
            for n, (after, when) in enumerate(itertools.product((0, 1, 40, 120), ("begin", "send", "commit"))):
                relay.cut_after = after if when == "begin" else None
                async with client.transaction() as txn:
                    await txn.begin()
                    relay.cut_after = after if when == "send" else None
                    await (await txn.send("out", n)).result()
                    assert relay.cut_after is None
                    relay.cut_after = after if when == "commit" else None
                assert relay.cut_after is None
        assert relay.connections > 12
    async with AsyncClient(brokers.urls) as direct:
        assert [int(value or b"") for value in await values(direct, "out")] == list(range(12))


async def test_aborted_output_is_never_visible_and_its_input_is_redelivered(client):
    """AK-04, TB-06"""
    async with client.producer("in") as producer:
        await producer.send("a")
    async with client.consumer("in", "job") as consumer:
        [message] = await consumer.receive()
        txn = client.transaction()
        await (await txn.send("out", "never")).result()
        await txn.ack(consumer, message)
        await txn.abort()
        [again] = await consumer.receive(wait_ms=5_000)
    assert (again.id, again.redelivery_count) == (message.id, 1)
    assert await values(client, "out") == []


async def test_of_two_transactions_that_acknowledge_one_message_the_second_can_only_abort(client):
    """AK-05, CL-16"""
    await client.topics.create("out")
    async with client.producer("in") as producer:
        await producer.send("a")
    consumer = client.consumer("in", "job", prefetch=0)
    [message] = await consumer.receive()
    first, second = client.transaction(), client.transaction()
    await first.ack(consumer, message)
    await first.begin()
    await second.send("out", "second")
    await second.begin()
    with pytest.raises(errors.TransactionConflict):
        await second.ack(consumer, message)
    with pytest.raises(errors.TransactionAbortOnly):
        await second.commit()
    await first.commit()
    assert (second.state, first.state) == (TxnState.ABORTED, TxnState.COMMITTED)
    assert await values(client, "out") == []


async def test_an_oversized_send_aborts_and_leaves_no_trace(client):
    """CL-08, TB-34"""
    await client.topics.create("out")
    txn = client.transaction()
    await (await txn.send("out", "small")).result()
    await txn.send("out", b"x" * (9 << 20))
    with pytest.raises(errors.TransactionAbortOnly):
        await txn.commit()
    assert await values(client, "out") == []


async def test_transactions_are_committed_by_another_client_that_knows_their_ids(client, brokers):
    """CL-14"""
    ids = []
    for number in range(20):
        txn = client.transaction()
        for n in range(10):
            await (await txn.send("out", f"{number}:{n}")).result()
        ids.append(str(txn.id))
    async with AsyncClient(brokers.urls[1]) as other:
        for id in ids:
            await other.resume_transaction(id).commit()
    assert len(await values(client, "out")) == 200


async def test_work_continues_at_the_other_broker_when_one_stops(client, brokers):
    async with client.producer("t", linger_ms=0) as producer:
        for n in range(30):
            if n == 10:
                brokers.stop(0)
            await (await producer.send(n)).result()
    assert [int(value or b"") for value in await values(client, "t")] == list(range(30))


async def test_a_whole_step_in_one_request(client):
    async with client.producer("in") as producer:
        for n in range(5):
            await producer.send(n)
    consumer = client.consumer("in", "job", prefetch=0)
    messages = await consumer.receive(5)
    outputs = [Record({"n": message.json()}, key="k", headers={"h": b"\xff"}) for message in messages]
    executed = await client.execute(acks=[(consumer, messages)], records={"out": outputs, "audit": ["5 done"]})
    assert executed.status == "committed"
    assert {(result.topic, result.records) for result in executed.results} == {("out", 5), ("audit", 1)}
    assert await values(client, "out") == [b'{"n":%d}' % n for n in range(5)]
    assert (await client.subscriptions.stats("in", "job")).backlog == 0


async def test_an_exclusive_consumer_acknowledges_cumulatively_seeks_and_is_alone(client):
    async with client.producer("t") as producer:
        for n in range(10):
            await producer.send(n, partition=0)
    consumer = client.consumer("t", "e", kind="exclusive", prefetch=0, name="w1")
    messages = await consumer.receive(10)
    await consumer.ack_cumulative(messages[6])
    assert (await client.subscriptions.stats("t", "e")).backlog == 3
    with pytest.raises(errors.ConsumerBusy):
        await client.consumer("t", "e", kind="exclusive", prefetch=0, name="w2").receive()
    await consumer.seek(offsets={0: 2})
    assert [message.json() for message in await consumer.receive(100)] == list(range(2, 10))


async def test_prefetched_messages_of_a_closed_consumer_are_redelivered_at_once(client):
    async with client.producer("t") as producer:
        for n in range(10):
            await producer.send(n, partition=0)
    first = client.consumer("t", "s", prefetch=10)
    [one, *_] = await first.receive(1)
    await first.ack(one)
    await first.close()
    async with client.consumer("t", "s") as second:
        got = await second.receive(100, wait_ms=2_000)
    assert [message.json() for message in got] == list(range(1, 10))


async def test_an_undecided_record_is_seen_by_uncommitted_readers_only(client):
    """TB-32"""
    txn = client.transaction()
    await (await txn.send("t", "in doubt")).result()
    assert await values(client, "t") == []
    assert await values(client, "t", isolation="read_uncommitted") == [b"in doubt"]
    await txn.commit()
    assert await values(client, "t", offset=0) == [b"in doubt"]


async def test_reading_a_topic_reads_every_partition_the_earliest_message_first(client):
    await client.topics.create("t", partitions=3)
    async with client.producer("t") as producer:
        for n in range(60):
            await producer.send(n, partition=(n * 7) % 3, timestamp_ms=1_000 + n)
        for n in (7, 6, 5):  # within a partition the order of offsets counts, whatever the timestamps say
            await producer.send(f"late {n}", partition=1, timestamp_ms=n)
    everything = [message async for message in client.read("t", max_bytes=200)]
    texts = [message.text() for message in everything]
    assert [text for text in texts if text.isdigit()] == [str(n) for n in range(60)]
    assert [text for text in texts if not text.isdigit()] == ["late 7", "late 6", "late 5"]
    assert {message.partition for message in everything} == {0, 1, 2}
    one = [message async for message in client.read("t", 2)]
    assert {message.partition for message in one} == {2}
    assert len(one) == 20
    with pytest.raises(errors.InvalidRequest, match="name the partition"):
        client.read("t", offset=3)
    with pytest.raises(errors.UnknownTopic):
        await anext(client.read("absent"))


async def test_reading_on_gets_what_is_written_to_any_partition_and_ends_when_nothing_comes(client):
    await client.topics.create("t", partitions=3)
    async with client.producer("t", linger_ms=0) as producer:
        await (await producer.send("before", partition=0)).result()
        reading = client.read("t", offset="earliest", wait_ms=30_000)
        seen = [(await anext(reading)).text()]
        for partition in (2, 1, 0, 1):
            await producer.send(f"in {partition}", partition=partition)
            seen.append((await anext(reading)).text())
        assert seen == ["before", "in 2", "in 1", "in 0", "in 1"]
    assert [message async for message in client.read("t", offset="latest", wait_ms=60)] == []


async def test_a_thousand_calls_at_once_are_all_answered(client):
    await client.topics.create("t")
    found = await asyncio.gather(*(client.topics.describe("t") for _ in range(1_000)))
    assert {topic.name for topic in found} == {"t"}


async def test_a_record_sent_again_with_its_idempotency_key_is_written_once(client, brokers):
    await client.topics.create("t", partitions=3)
    positions = []
    for url in brokers.urls:  # two processes, as far as the brokers can see
        async with AsyncClient(url) as other, other.producer("t") as producer:
            sending = await producer.send({"order": 7}, headers={"h": "v"}, idempotency_key="order-7")
            positions.append(await sending.result())
            with pytest.raises(errors.IdempotencyKeyReused):
                await (await producer.send({"order": 8}, idempotency_key="order-7")).result()
    assert positions[0] == positions[1]
    [message] = [message async for message in client.read("t")]
    assert ((message.partition, message.offset), message.json()) == (positions[0], {"order": 7})
    assert message.headers == {"h": b"v"}


async def test_a_step_repeated_with_its_idempotency_key_is_carried_out_once(client, brokers):
    first = await client.execute(records={"out": ["done"]}, idempotency_key="step-1")
    async with AsyncClient(brokers.urls[1]) as other:
        assert await other.execute(records={"out": ["done"]}, idempotency_key="step-1") == first
    assert await values(client, "out") == [b"done"]


async def test_a_consumer_may_be_there_before_its_topic(client):
    async with client.consumer("new", "s") as consumer:
        assert await consumer.receive(wait_ms=10) == []
        async with client.producer("new") as producer:
            await producer.send("first")
        assert [message.text() for message in await consumer.receive(wait_ms=10_000)] == ["first"]


async def test_a_consumer_creates_no_topic_where_producing_creates_none(redis_url, prefix):
    with threaded_broker(redis_url, prefix, auto_create_topics=False) as brokers:
        async with AsyncClient(brokers.urls) as client:
            with pytest.raises(errors.UnknownTopic):
                await client.consumer("new", "s").receive()
            assert await client.topics.list() == []


def test_the_twin_for_threads_does_a_consume_transform_produce_job(brokers):
    """CL-02, CL-22"""
    with Client(brokers.urls) as client:
        client.topics.create("in", partitions=3)
        with client.producer("in") as producer:
            for n in range(300):
                producer.send(n, key=str(n))
        done = 0
        with client.consumer("in", "job", prefetch=50) as consumer:
            while done < 300:
                with client.transaction() as txn:
                    messages = consumer.receive(40)
                    for message in messages:
                        txn.send("out", message.json() * 2)
                    if messages:
                        txn.ack(consumer, messages)
                done += len(messages)
        outputs = sorted(message.json() for message in client.read("out"))
    assert outputs == [n * 2 for n in range(300)]


def test_the_commands_write_and_read_a_topic(brokers):
    def run(*words: str, given: str = "") -> str:
        result = CliRunner().invoke(main.app, [*words, "--url", ",".join(brokers.urls)], input=given)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    run("topics", "create", "lines", "--partitions", "2")
    run(
        "produce",
        "lines",
        "--key-separator",
        "=",
        "--transaction",
        "3",
        given="".join(f"{n}=v{n}\n" for n in range(10)),
    )
    plain = run("consume", "lines", "--key-separator", "=").splitlines()
    assert sorted(plain) == [f"{n}=v{n}" for n in range(10)]
    acked = run("consume", "lines", "--subscription", "s", "--json").splitlines()
    assert sorted(json.loads(line)["text"] for line in acked) == [f"v{n}" for n in range(10)]
    assert run("consume", "lines", "--subscription", "s") == ""
    # One with records for one partition only is an append, and no transaction.
    groups = ["012", "345", "678", "9"]
    wide = [group for group in groups if len({partition_for(key.encode(), 2) for key in group}) == 2]
    assert len(run("txns", "list", "--status", "committed", "--json").splitlines()) == len(wide) > 0
    states = json.loads(run("topics", "describe", "lines", "--json"))["partition_states"]
    assert sum(state["open_transactions"] for state in states) == 0


async def test_a_redis_that_lacks_replicas_for_a_moment_is_waited_for_and_one_that_is_unfit_is_not(prefix):
    with redis_server() as redis, threaded_broker(redis.url, prefix) as broker:
        async with AsyncClient(broker.urls) as client:
            await client.topics.create("orders")
            # Given a Redis whose replica is away
            redis.ask("CONFIG", "SET", "min-replicas-to-write", 1)
            begun = asyncio.create_task(client.transactions.begin())
            async with client.producer("orders") as producer:
                sent = await producer.send("one")
                await asyncio.sleep(0.5)  # time for several attempts
                assert not begun.done()
                # When it is back, then all goes on
                redis.ask("CONFIG", "SET", "min-replicas-to-write", 0)
                await begun
                await sent.result()
            assert await values(client, "orders") == [b"one"]
        # And what only an operator can mend is raised at once
        broker.brokers[0].store.admission.bar("The disk is full.")
        async with AsyncClient(broker.urls) as client:
            with pytest.raises(errors.RedisUnfit):
                await client.transactions.begin()
