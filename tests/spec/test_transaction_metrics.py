"""The metrics of transactions: of coordinators, and of ends on partitions and subscriptions."""

from __future__ import annotations

import asyncio
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from redis_ledger.broker import metrics_collector
from redis_ledger.clock import ManualClock
from redis_ledger.errors import StoreUnavailable
from redis_ledger.telemetry import exposition, metrics
from scripts import pulsar_metrics
from tests.support.broker import eventually, one, receive_values, records
from tests.support.rest import client_of

LIFE_MS = 70_000  # of the transaction that times out


async def scrape(broker):
    """Name without redis_ledger_, and label values → value."""
    async with client_of(broker) as http:
        answer = await http.get("/metrics")
    assert answer.status_code == 200
    return {
        (sample.name.removeprefix("redis_ledger_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def total(shown, name, *labels):
    """The sum over coordinators."""
    return sum(value for at, value in shown.items() if at[0] == name and set(labels) <= set(at))


class Since:
    """What metrics of this process have risen by, since other tests counted there too."""

    def __init__(self, shown):
        self._before = shown

    def of(self, shown, name, *labels):
        return shown.get((name, *labels), 0) - self._before.get((name, *labels), 0)


@pytest.fixture(params=[True, False], ids=["in one call", "in several calls"])
async def broker(request, redis_url, prefix, monkeypatch):
    monkeypatch.setattr(metrics_collector, "FRESH_S", 0.0)  # every scrape reads anew
    metrics.topics.forget(list(metrics.topics))
    clock = ManualClock(time.time_ns() // 1_000_000)
    async with one(redis_url, prefix, clock=clock, one_call_transactions=request.param) as broker:
        await broker.maintenance.close()
        await broker.topics.create(prefix, 2)
        yield broker


@pytest.fixture
async def apart(redis_url, prefix, monkeypatch):
    """A broker that ends transactions on their partitions in calls of their own."""
    monkeypatch.setattr(metrics_collector, "FRESH_S", 0.0)
    metrics.topics.forget(list(metrics.topics))
    async with one(redis_url, prefix, one_call_transactions=False) as broker:
        await broker.maintenance.close()
        await broker.topics.create(prefix)
        yield broker


async def run(broker, topic):
    """Six transactions: three are committed, two aborted, and one times out, each with a record of the topic."""
    txns = [(await broker.transactions.begin(60_000)).id for _ in range(6)]
    for txn in txns:
        await broker.records.produce(topic, records("x", partition=txn.serial % 2), transaction=txn)
    for txn in txns[:3]:
        await broker.transactions.commit(txn)
    for txn in txns[3:5]:
        await broker.transactions.abort(txn)
    broker.clock.advance(LIFE_MS)
    decision = await broker.coordinators.expire(txns[5])
    await broker.transactions.finish(decision)

    async def is_completed():
        return total(await scrape(broker), "transactions_live")

    assert await eventually(is_completed, 0) == 0


async def test_a_coordinator_counts_transactions_and_log_writes_and_measures_them(broker, prefix):
    """OB-20: three commits, two aborts and a timeout."""
    since = Since(await scrape(broker))
    await run(broker, prefix)
    shown = await scrape(broker)
    assert total(shown, "transactions_begun_total") == 6
    assert total(shown, "transactions_ended_total", "committed") == 3
    assert total(shown, "transactions_ended_total", "aborted") == 3
    assert total(shown, "transactions_timed_out_total") == 1
    assert (total(shown, "transaction_oldest_seconds"), total(shown, "coordinator_log_entries")) == (0, 0)
    assert 12 <= total(shown, "coordinator_log_appends_total") <= 24  # begin and add, and what is not ended in its call
    # And each coordinator has its own series
    each = {at[1]: value for at, value in shown.items() if at[0] == "transactions_begun_total"}
    assert each == {"0": 3, "1": 3}
    # And the latencies of this broker are those of six begins, registrations and ends, one of them of a minute and more
    took = {name: since.of(shown, "coordinator_operation_seconds_count", name) for name in ("begin", "add", "end")}
    assert took == {"begin": 6, "add": 6, "end": 5}
    lives = {name: since.of(shown, "transaction_seconds_count", name) for name in ("committed", "aborted")}
    assert lives == {"committed": 3, "aborted": 3}
    long = since.of(shown, "transaction_seconds_bucket", "aborted", "+Inf") - since.of(
        shown, "transaction_seconds_bucket", "aborted", "60.0"
    )
    assert long == 1
    assert since.of(shown, "transaction_seconds_sum", "aborted") == pytest.approx(LIFE_MS / 1000, abs=1)


async def test_open_transactions_and_the_age_of_the_oldest_are_shown_by_coordinator(broker, prefix):
    """OB-20"""
    for txn in [(await broker.transactions.begin(60_000)).id for _ in range(3)]:
        await broker.records.produce(prefix, records("x"), transaction=txn)
    broker.clock.advance(30_000)
    shown = await scrape(broker)
    assert [shown["transactions_live", each] for each in "01"] == [2, 1]
    assert [shown["transaction_oldest_seconds", each] for each in "01"] == [30, 30]
    assert total(shown, "coordinator_log_entries") > 0
    assert shown["topic_transactions_live", prefix] == 3


async def test_a_topics_transactions_are_counted_and_their_ends_measured(broker, prefix):
    """OB-21: the same six."""
    since = Since(await scrape(broker))
    await run(broker, prefix)
    shown = await scrape(broker)
    assert shown["topic_transactions_ended_total", prefix, "committed"] == 3
    assert shown["topic_transactions_ended_total", prefix, "aborted"] == 3
    assert shown["topic_transactions_live", prefix] == 0
    for outcome in ("committed", "aborted"):
        assert since.of(shown, "transaction_partition_end_seconds_count", outcome) == 3
        assert since.of(shown, "transaction_partition_ends_failed_total", outcome) == 0
        assert shown["transaction_partition_ends_pending", outcome] == 0


async def test_an_end_that_fails_is_counted_and_pending_ends_return_to_zero(apart, prefix, monkeypatch):
    """OB-21, OB-22: the first call for the end fails, and the second one is not answered at once."""
    broker, call = apart, apart.store.call
    await broker.subscriptions.create(prefix, "s")
    await broker.records.produce(prefix, records("in"))
    (message,) = await receive_values(broker, prefix, "s", max_records=1)
    txn = (await broker.transactions.begin()).id
    await broker.subscriptions.ack(prefix, "s", "c1", [message], transaction=txn)
    held, released = asyncio.Event(), asyncio.Event()
    failures = iter([StoreUnavailable("Redis is away.")])

    async def hold(*args, **more):
        held.set()
        await released.wait()
        return await call(*args, **more)

    def instead(script, *args, **more):
        if script.name != "txn/end":
            return call(script, *args, **more)
        if (error := next(failures, None)) is None:
            return asyncio.ensure_future(hold(script, *args, **more))
        raise error

    monkeypatch.setattr(broker.store, "call", instead)
    since = Since(await scrape(broker))
    commit = asyncio.create_task(broker.transactions.commit(txn))
    await held.wait()
    shown = await scrape(broker)
    assert (
        shown["transaction_partition_ends_pending", "committed"],
        shown["transaction_partition_ends_pending", "aborted"],
    ) == (1, 0)
    assert since.of(shown, "transaction_partition_ends_failed_total", "committed") == 1
    assert since.of(shown, "transaction_subscription_ends_failed_total", "committed") == 1
    released.set()
    await commit
    shown = await scrape(broker)
    assert shown["transaction_partition_ends_pending", "committed"] == 0
    assert since.of(shown, "transaction_partition_ends_failed_total", "committed") == 1
    assert since.of(shown, "transaction_partition_end_seconds_count", "committed") == 1
    assert since.of(shown, "transaction_subscription_end_seconds_count", "committed") == 1


async def test_each_end_on_a_subscription_moves_the_counter_of_its_outcome(broker, prefix):
    """OB-22: one commit on two subscriptions, and two aborts on one."""
    for name in ("s1", "s2"):
        await broker.subscriptions.create(prefix, name)
    await broker.records.produce(prefix, records("a", "b", "c", partition=0))
    first = list(await receive_values(broker, prefix, "s1", max_records=3))
    second = list(await receive_values(broker, prefix, "s2", max_records=3))
    txns = [(await broker.transactions.begin()).id for _ in range(3)]
    for id, txn in zip(first, txns, strict=True):
        await broker.subscriptions.ack(prefix, "s1", "c1", [id], transaction=txn)
    await broker.subscriptions.ack(prefix, "s2", "c1", second[:2], transaction=txns[0])
    before = await scrape(broker)
    since = Since(before)
    held = {name: before["subscription_pending_ack_records", prefix, name] for name in ("s1", "s2")}
    assert held == {"s1": 3, "s2": 2}
    moves, shown = [], before
    for txn, end in zip(txns, (broker.transactions.commit, *[broker.transactions.abort] * 2), strict=True):
        await end(txn)
        shown = await scrape(broker)
        moves.append(
            [since.of(shown, "transaction_subscription_end_seconds_count", name) for name in ("committed", "aborted")]
        )
    assert moves == [[2, 0], [2, 1], [2, 2]]
    assert 0 < since.of(shown, "transaction_subscription_end_seconds_sum", "committed") < 60
    held = {name: shown["subscription_pending_ack_records", prefix, name] for name in ("s1", "s2")}
    assert held == {"s1": 0, "s2": 0}


async def test_counters_of_transactions_stay_at_a_scrape_and_go_with_their_topic(broker, prefix):
    """OB-24"""
    await run(broker, prefix)

    async def counters():
        suffixes = ("_total", "_count", "_sum", "_bucket")
        shown = await scrape(broker)
        names = ("transaction", "coordinator_", "topic_transactions", "batched")
        return {at: n for at, n in shown.items() if at[0].startswith(names) and at[0].endswith(suffixes)}

    before = await counters()
    assert before["topic_transactions_ended_total", prefix, "committed"] == 3
    assert await counters() == before
    await broker.topics.delete(prefix)
    assert [at for at in await scrape(broker) if prefix in at] == []


def test_every_name_of_pulsars_stands_for_a_metric_that_is_declared():
    """OB-20, OB-21, OB-22, BW-16: as docs/reference/metrics.md lists them."""
    labels_of = {
        each.name + suffix: set(each.labels)
        for each in exposition.declared()
        for suffix in (("_bucket", "_count", "_sum") if each.kind == "histogram" else ("",))
    }
    for pulsar, here in pulsar_metrics.TRANSACTIONS.items():
        name, _, filters = here.partition("{")
        assert name in labels_of, pulsar
        assert {word.split("=")[0] for word in filters.rstrip("}").split(",") if word} <= labels_of[name], pulsar
