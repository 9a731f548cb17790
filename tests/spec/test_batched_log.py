"""The batched transaction log: its settings, its confirmations, and refused operations within a batch."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from redis_ledger.app.process.settings import BadSetting, config_from, without_effect
from redis_ledger.config import Config
from redis_ledger.errors import LedgerError, TransactionNotFound
from redis_ledger.ids import MessageId, TxnId
from redis_ledger.telemetry import exposition
from redis_ledger.txn import log as txn_log
from redis_ledger.txn.coordinator import Participant
from tests.support.broker import one, receive_values, records, two
from tests.support.proxy import proxy

PREFIX = "REDIS_LEDGER_TRANSACTION_LOG_BATCHED_WRITE_"


async def entries(broker):
    """Coordinator 0's log, entry by entry: the serials of its records."""
    keys = broker.coordinators.of(TxnId(0, 0)).keys
    found = await broker.store.command("XRANGE", keys.log, "-", "+", key=keys.state)
    return [[record.serial for record in txn_log.decode(fields[1])] for _, fields in found]


def shown():
    """Batches as this process shows them: name without redis_ledger_batched_log_, and label values → value."""
    text = b"".join(exposition.parts()).decode()
    return {
        (sample.name.removeprefix("redis_ledger_batched_log_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if "batched_log" in sample.name
    }


def moved(before):
    """What has changed since, without buckets."""
    now = {at: value - before.get(at, 0) for at, value in shown().items() if not at[0].endswith("_bucket")}
    return {at: value for at, value in now.items() if value}


def calls():
    """How many calls of coordinators this process has made, and how many operations they carried."""
    found = shown()
    return tuple(int(found.get((f"records_{what}", "transaction_log"), 0)) for what in ("count", "sum"))


async def test_a_refused_step_fails_alone_among_those_of_its_call(redis_url, prefix):
    """BW-14: nine of ten are carried out, in one entry."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        await broker.maintenance.close()
        await broker.topics.create("t")
        participant = Participant("t", (await broker.catalog.get("t")).id, 0)
        before = broker.coordinators.of(TxnId(0, 0))._calls
        begins = [broker.coordinators.begin(60_000) for _ in range(9)]
        unknown = broker.coordinators.add(TxnId(0, 999), [participant])
        answers = await asyncio.gather(*begins[:4], unknown, *begins[4:], return_exceptions=True)
        assert isinstance(answers[4], TransactionNotFound)
        begun = [answer[0] for answer in answers if isinstance(answer, tuple)]
        first = begun[0].serial
        assert begun == [TxnId(0, first + n) for n in range(9)]
        assert broker.coordinators.of(TxnId(0, 0))._calls == before + 1
        assert await entries(broker) == [[str(first + n) for n in range(9)]]


@pytest.mark.parametrize(
    ("name", "default", "taken", "refused"),
    [
        ("enabled", True, ("off", False), "sometimes"),
        ("max_records", 64, ("512", 512), "-1"),
        ("max_size", 4_194_304, ("1048576", 1_048_576), "-1"),
        ("max_delay_ms", 1, ("0", 0), "-1"),
    ],
)
def test_the_four_settings_of_the_log_have_defaults_and_refuse_nonsense(name, default, taken, refused):
    """BW-15"""
    field = f"transaction_log_batched_write_{name}"
    assert getattr(Config(), field) == default
    text, value = taken
    assert getattr(config_from({PREFIX + name.upper(): text}), field) == value
    with pytest.raises(BadSetting, match=PREFIX + name.upper()):
        config_from({PREFIX + name.upper(): refused})


@pytest.mark.parametrize(
    ("alias", "setting"),
    [
        ("transactionLogBatchedWrite", "transaction_log_batched_write"),
        ("transactionPendingAckBatchedWrite", "transaction_pending_ack_batched_write"),
        ("pendingAckBatchedWrite", "transaction_pending_ack_batched_write"),
    ],
)
def test_names_of_pulsar_and_pip_160_are_accepted(alias, setting):
    """BW-15"""
    environ = {"Enabled": "false", "MaxRecords": "512", "MaxSize": "4194304", "MaxDelayInMillis": "2"}
    given = {f"REDIS_LEDGER_{alias}{name}": value for name, value in environ.items()}
    config = config_from(given)
    assert getattr(config, f"{setting}_enabled") is False
    assert getattr(config, f"{setting}_max_records") == 512
    assert getattr(config, f"{setting}_max_size") == 4_194_304
    has_delay = setting == "transaction_log_batched_write"
    assert config.transaction_log_batched_write_max_delay_ms == (2 if has_delay else 1)
    assert len(without_effect(given)) == (0 if has_delay else 1)


async def test_settings_of_the_log_are_in_force(redis_url, prefix):
    """BW-15: with at most 5 records a call, 20 begins are four entries."""
    async with one(redis_url, prefix, coordinators=1, transaction_log_batched_write_max_records=5) as broker:
        await broker.maintenance.close()
        await asyncio.gather(*(broker.transactions.begin() for _ in range(20)))
        assert [len(entry) for entry in await entries(broker)] == [5, 5, 5, 5]


async def test_one_histogram_counts_the_calls_of_every_broker_batched_or_not(redis_url, prefix):
    """BW-17: without batching every call has one operation; opening a log again registers nothing again."""
    for enabled, brokers in ((False, 1), (True, 2), (True, 1)):
        async with two(redis_url, prefix, coordinators=1, transaction_log_batched_write_enabled=enabled) as pair:
            for broker in pair:
                await broker.maintenance.close()
            before = calls()
            for broker in pair[:brokers]:
                await asyncio.gather(*(broker.transactions.begin() for _ in range(100)))
            made, carried = (after - earlier for after, earlier in zip(calls(), before, strict=True))
        assert carried == 100 * brokers
        assert made == 100 if not enabled else made < 20


async def test_each_trigger_moves_its_counter_and_the_histograms_add_up_to_what_was_written(redis_url, prefix):
    """BW-16: a begin without an owner counts 19 bytes; a large one is sent alone, and is in no histogram."""
    settings: dict[str, Any] = {"coordinators": 1, "transaction_log_batched_write_max_records": 4}
    async with one(redis_url, prefix, **settings, transaction_log_batched_write_max_size=100) as broker:
        await broker.maintenance.close()
        coordinator = broker.coordinators.of(TxnId(0, 0))

        async def batches(*owners):
            before = shown()
            await asyncio.gather(*(broker.coordinators.begin(60_000, owner) for owner in owners))
            return moved(before)

        def of(records, size, /, **triggers):
            flushes = {("flushes_total", "transaction_log", name): count for name, count in triggers.items()}
            sums = {("records_sum", "transaction_log"): records, ("bytes_sum", "transaction_log"): size}
            number, names = sum(triggers.values()), ("records", "bytes", "oldest_seconds")
            return flushes | sums | {(f"{name}_count", "transaction_log"): number for name in names}

        async def without_age(found):
            return {at: value for at, value in (await found).items() if at[0] != "oldest_seconds_sum"}

        assert await without_age(batches("")) == of(1, 19, idle=1)
        assert await without_age(batches(*[""] * 4)) == of(4, 76, records=1)
        assert await without_age(batches("x" * 31, "x" * 31, "")) == of(3, 49 + 49 + 19, bytes=1, idle=1)
        assert await without_age(batches("", "x" * 200)) == of(1, 19, large=1)
        assert await without_age(batches("x" * 200)) == {}
        before = shown()
        txn, _ = await broker.coordinators.begin(60_000)
        await broker.coordinators.decide(txn, commit=True)
        await broker.coordinators.done(txn)
        found = moved(before)
        assert (
            found["flushes_total", "transaction_log", "idle"],
            found["flushes_total", "transaction_log", "delay"],
        ) == (2, 1)
        assert 0.001 <= found["oldest_seconds_sum", "transaction_log"] < 5  # the delay of the last one
        assert coordinator.is_idle


async def test_batches_of_pending_acknowledgements_are_measured_too(redis_url, prefix):
    """BW-16: four transactions acknowledge at once."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s")
        await broker.records.produce("t", records(*"abcd"))
        ids = list(await receive_values(broker, "t", "s", max_records=4))
        txns = [(await broker.transactions.begin()).id for _ in ids]
        before = shown()
        ack = broker.subscriptions.ack
        await asyncio.gather(*(ack("t", "s", "c1", [i], transaction=txn) for i, txn in zip(ids, txns, strict=True)))
        found = moved(before)
        assert found["records_sum", "pending_acks"] == 4
        assert found["bytes_sum", "pending_acks"] == 4 * (64 + 24)
        assert found["flushes_total", "pending_acks", "idle"] == found["records_count", "pending_acks"] < 4
        for txn in txns:
            await broker.transactions.abort(txn)


async def test_no_step_is_answered_before_redis_has_its_batch(redis, redis_url, prefix):
    """BW-19: operations in flight when the connection broke were not confirmed, and nothing of them is stored."""
    async with proxy("127.0.0.1", redis.port) as relay:
        async with one(relay.url, prefix, coordinators=1, redis_retry_ms=200, redis_timeout_ms=1_000) as broker:
            await broker.maintenance.close()
            confirmed = (await broker.transactions.begin()).id
            relay.hold()
            seen = len(relay.requests)
            begins = [asyncio.create_task(broker.transactions.begin()) for _ in range(5)]
            while len(relay.requests) == seen:  # the batch has left the broker
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.05)
            assert not any(task.done() for task in begins)
            await relay.refuse()
            answers = await asyncio.gather(*begins, return_exceptions=True)
            assert all(isinstance(answer, LedgerError) for answer in answers)
    async with one(redis_url, prefix, coordinators=1) as after:
        assert [txn.id for txn in await after.transactions.list()] == [confirmed]
        assert await entries(after) == [[str(confirmed.serial)]]


async def test_a_position_is_an_offset_whatever_batch_it_came_in(redis_url, prefix):
    """BW-21: equal, found and sorted by partition and offset, which a batch index needs no name beside."""
    by_position = {MessageId(0, 7): "first"}
    assert by_position[MessageId.parse("0:7")] == "first"
    assert MessageId(0, 8) not in by_position
    assert sorted([MessageId(1, 0), MessageId(0, 10), MessageId(0, 9)]) == [(0, 9), (0, 10), (1, 0)]
    # Whether records were written in one batch or apart, and whether they are received in one call or apart
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t")
        for values in ("abc", "d", "ef"):
            await broker.records.produce("t", records(*values))
        for name, at_once in (("s1", 6), ("s2", 2)):
            await broker.subscriptions.create("t", name)
            found: dict[MessageId, str] = {}
            while len(found) < 6:
                found |= await receive_values(broker, "t", name, max_records=at_once)
            assert found == {MessageId.parse(f"0:{n}"): value for n, value in enumerate("abcdef")}


@pytest.mark.parametrize("commit", [True, False])
async def test_pending_acks_leave_nothing_behind_their_transactions(redis_url, prefix, commit):
    """BW-22, AK-23: 1 000 acknowledgements in 100 transactions; what they occupied is free when they have ended."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s")
        await broker.records.produce("t", records(*[str(n) for n in range(1_000)]))
        ids = list(await receive_values(broker, "t", "s", max_records=1_000))
        keys = (await broker.catalog.partition("t", 0)).keys
        pending = keys.sub("s").pending

        async def held():
            return await broker.store.command("HLEN", pending, key=keys.state)

        empty = await held()
        txns = [(await broker.transactions.begin()).id for _ in range(100)]
        for n, txn in enumerate(txns):
            await broker.subscriptions.ack("t", "s", "c1", ids[n::100], transaction=txn)
        assert await held() >= empty + 100
        end = broker.transactions.commit if commit else broker.transactions.abort
        await asyncio.gather(*(end(txn) for txn in txns))
        assert await held() == empty
        (cursor,) = (await broker.subscriptions.stats("t", "s")).cursors
        assert (cursor.mark_delete, cursor.pending) == (1_000 if commit else 0, 0)
