"""The batched transaction log: its settings, its confirmations, and refused operations within a batch."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.app.process.settings import BadSetting, config_from
from redis_ledger.config import Config
from redis_ledger.errors import LedgerError, TransactionNotFound
from redis_ledger.ids import MessageId, TxnId
from redis_ledger.telemetry import metrics
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


def calls():
    """How many calls of coordinators this process has made, and how many operations they carried."""
    found = {sample.name: sample.value for sample in next(iter(metrics.coordinator_batch.collect())).samples}
    name = "redis_ledger_coordinator_batch_operations"
    return int(found[f"{name}_count"]), int(found[f"{name}_sum"])


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


async def test_no_step_is_answered_before_redis_has_its_batch(redis, redis_url, prefix):
    """BW-19: operations in flight when the connection broke were not confirmed, and nothing of them is stored."""
    async with proxy("127.0.0.1", redis.port) as relay:
        async with one(relay.url, prefix, coordinators=1, redis_retry_ms=200, redis_timeout_ms=400) as broker:
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


def test_a_position_is_an_offset_whatever_batch_it_came_in():
    """BW-21: equal, found and sorted by partition and offset, which a batch index needs no name beside."""
    by_position = {MessageId(0, 7): "first"}
    assert by_position[MessageId.parse("0:7")] == "first"
    assert sorted([MessageId(1, 0), MessageId(0, 10), MessageId(0, 9)]) == [(0, 9), (0, 10), (1, 0)]


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
