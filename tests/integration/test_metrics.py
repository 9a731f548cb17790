"""The metrics of topics, partitions, transactions, groups, subscriptions, Redis and both ports.

A topic has the prefix for its name here, so that its series are its own: the tests of a process share a registry.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from redis_ledger.broker import metrics_collector
from redis_ledger.broker.types import NewRecord
from redis_ledger.config import Config
from redis_ledger.errors import StoreUnavailable
from redis_ledger.telemetry import exposition, metrics
from tests.support.broker import one
from tests.support.kafka_batches import batch, fetch, produce
from tests.support.kafka_client import BrokerClient, listening
from tests.support.kafka_offsets import commit
from tests.support.rest import client_of


class Ahead:
    """A clock that can be set forward."""

    def __init__(self) -> None:
        self.by_ms = 0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.by_ms


@pytest.fixture
async def broker(redis_url, prefix, monkeypatch):
    monkeypatch.setattr(metrics_collector, "FRESH_S", 0.0)  # every scrape reads anew
    metrics.topics.forget(list(metrics.topics))  # of earlier tests
    async with one(redis_url, prefix, clock=Ahead()) as broker:
        await broker.topics.create(prefix, partitions=2)
        yield broker


async def scrape(broker) -> dict[tuple[str, ...], float]:
    """Name without redis_ledger_, and label values → value."""
    async with client_of(broker) as client:
        answer = await client.get("/metrics")
    assert answer.status_code == 200
    return {
        (sample.name.removeprefix("redis_ledger_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def records(*values: str) -> list[NewRecord]:
    return [NewRecord(None, value.encode()) for value in values]


async def test_a_partition_shows_its_offsets_and_what_an_open_transaction_holds_back_and_since_when(broker, prefix):
    # Given a plain record, two in a transaction that stays open, and a plain one behind them
    await broker.records.produce(prefix, records("a"), partition=1)
    txn = (await broker.transactions.begin(600_000)).id
    await broker.records.produce(prefix, records("b", "c"), partition=1, transaction=txn)
    await broker.records.produce(prefix, records("d"), partition=1)
    # When it is looked at half a minute later
    broker.clock.by_ms = 30_000
    shown = await scrape(broker)
    # Then committed readers may go as far as the transaction, and it is about half a minute old
    of = {name: shown[f"partition_{name}", prefix, "1"] for name in ("start_offset", "stable_offset", "end_offset")}
    assert of == {"start_offset": 0, "stable_offset": 1, "end_offset": 4}
    assert shown["partition_stable_lag_records", prefix, "1"] == 3
    assert 30 <= shown["partition_stable_lag_seconds", prefix, "1"] < 40
    coordinator = str(txn.coordinator)
    assert 30 <= shown["transaction_oldest_seconds", coordinator] < 40
    assert shown["transactions_live", coordinator] == 1
    assert shown["partition_stable_lag_seconds", prefix, "0"] == 0
    # And nothing is held back once it has ended
    ended = shown["transactions_ended_total", coordinator, "aborted"]
    await broker.transactions.abort(txn)
    shown = await scrape(broker)
    assert shown["partition_stable_lag_records", prefix, "1"] == 0
    assert shown["partition_stable_lag_seconds", prefix, "1"] == 0
    assert shown["transactions_ended_total", coordinator, "aborted"] == ended + 1


async def test_traffic_is_counted_by_topic_at_both_ports(broker, prefix):
    sent = batch("a", "b", "c")
    async with listening(broker) as address, BrokerClient(broker, address) as kafka, client_of(broker) as rest:
        await kafka.ask(produce(prefix, sent), 9)
        answer = await rest.post(f"/v1/topics/{prefix}/records", json={"records": [{"text": "d"}], "partition": 0})
        assert answer.status_code == 200
        stored = len(sent)
        size_in = (await scrape(broker))["topic_in_bytes_total", prefix] - stored
        assert (await scrape(broker))["topic_in_records_total", prefix] == 4
        await kafka.ask(fetch(prefix), 11)
        shown = await scrape(broker)
        assert shown["topic_out_records_total", prefix] == 4
        assert shown["topic_out_bytes_total", prefix] == stored + size_in
        answer = await rest.get(f"/v1/topics/{prefix}/partitions/0/records?offset=0&max_records=2")
        assert len(answer.json()["records"]) == 2
        assert (await scrape(broker))["topic_out_records_total", prefix] == 6


async def test_a_batch_that_is_sent_twice_counts_once(broker, prefix):
    async with listening(broker) as address, BrokerClient(broker, address) as kafka:
        producer_id, _ = await broker.producers.allocate()
        for _ in range(2):
            await kafka.ask(produce(prefix, batch("a", producer=(producer_id, 0, 0))), 9)
    assert (await scrape(broker))["topic_in_records_total", prefix] == 1


async def test_a_subscription_and_a_group_show_what_they_still_have_to_get_over_all_partitions(broker, prefix):
    await broker.subscriptions.create(prefix, "billing / eu")
    for partition in (0, 1):
        await broker.records.produce(prefix, records(*"abcde"), partition=partition)
    got = await broker.subscriptions.receive(prefix, "billing / eu", max_records=4)
    await broker.subscriptions.ack(prefix, "billing / eu", "default", [got[0].id])
    async with listening(broker) as address, BrokerClient(broker, address) as kafka:
        assert await commit(kafka, (prefix, 0, 3), group="readers") == [0]
    shown = await scrape(broker)
    assert shown["subscription_lag_records", prefix, "billing / eu"] == 9
    assert shown["subscription_unacked_records", prefix, "billing / eu"] == len(got) - 1
    assert shown["group_lag_records", prefix, "readers"] == 2  # in partition 1 it has committed nothing
    assert ("subscription_lag_records", prefix, "readers") not in shown
    # And what is delivered once more counts as such
    await broker.subscriptions.nack(prefix, "billing / eu", "default", None)
    again = await broker.subscriptions.receive(prefix, "billing / eu", max_records=1)
    assert (await scrape(broker))["topic_redelivered_records_total", prefix] == len(again) == 1


async def test_series_are_bounded_and_omissions_are_reported(redis_url, prefix, monkeypatch):
    monkeypatch.setattr(metrics_collector, "FRESH_S", 0.0)
    monkeypatch.setattr(metrics.topics, "most", metrics.topics.most)  # which the broker sets
    metrics.topics.forget(list(metrics.topics))
    caps: dict[str, Any] = {"metrics_topics_max": 2, "metrics_partitions_max": 3, "metrics_cursors_max": 1}
    async with one(redis_url, prefix, **caps) as broker:
        before = (await scrape(broker)).get(("topic_in_records_total", "other"), 0)  # of other tests
        for name, partitions in (("a", 1), ("b", 4), ("c", 2), ("d", 2)):
            await broker.topics.create(f"{prefix}{name}", partitions=partitions)
            await broker.records.produce(f"{prefix}{name}", records("x"))
        for name in ("s1", "s2"):
            await broker.subscriptions.create(f"{prefix}a", name)
        shown = await scrape(broker)
    assert {at[1] for at in shown if at[0] == "topic_in_records_total"} == {f"{prefix}a", f"{prefix}b", "other"}
    assert shown["topic_in_records_total", "other"] - before == 2
    # a topic is shown whole or not at all, so the one of four partitions gives way
    assert [at[1:] for at in shown if at[0] == "partition_end_offset"] == [(f"{prefix}a", "0")]
    assert (shown["topics",], shown["partitions",], shown["partitions_unshown",]) == (4, 9, 8)
    assert len([at for at in shown if at[0] == "subscription_lag_records"]) == 1
    assert shown["cursors_unshown",] == 1


async def test_a_group_or_subscription_is_counted_over_all_partitions_or_not_at_all(broker, prefix, monkeypatch):
    for name in ("s1", "s2"):
        await broker.subscriptions.create(prefix, name)
    await broker.records.produce(prefix, records("x", "y"), partition=0)
    await broker.records.produce(prefix, records("z"), partition=1)
    monkeypatch.setattr(broker.metrics_collector, "_config", Config(metrics_cursors_max=3))
    shown = await scrape(broker)
    lags = {at[2]: value for at, value in shown.items() if at[0] == "subscription_lag_records"}
    assert list(lags.values()) == [3]
    assert shown["cursors_unshown",] == 2


async def test_a_topic_that_gets_the_room_of_one_that_is_gone_is_counted_by_its_name_from_then_on(broker, prefix):
    # Given room for one topic, and a second one in use
    metrics.topics.most, late = 1, f"{prefix}-late"
    await broker.topics.create(late, partitions=1)
    await broker.records.produce(prefix, records("a"), partition=0)
    await broker.records.produce(late, records("b"), partition=0)
    others = (await scrape(broker))["topic_in_records_total", "other"]
    assert others >= 1
    # When the first goes
    await broker.topics.delete(prefix)
    await scrape(broker)
    await broker.records.produce(late, records("c", "d"), partition=0)
    shown = await scrape(broker)
    metrics.topics.most = Config().metrics_topics_max
    # Then what comes from now on is counted by the second's name, and a counter never goes back
    assert shown["topic_in_records_total", late] == 2
    assert shown["topic_in_records_total", "other"] == others


async def test_a_topic_that_is_deleted_has_no_series_any_more(broker, prefix):
    await broker.records.produce(prefix, records("a"))
    assert ("topic_in_records_total", prefix) in await scrape(broker)
    await broker.topics.delete(prefix)
    assert [at for at in await scrape(broker) if prefix in at] == []


async def test_redis_and_the_way_to_it_are_shown(broker, prefix):
    before = await scrape(broker)
    await asyncio.gather(*(broker.records.produce(prefix, records("a")) for _ in range(50)))
    shown = await scrape(broker)
    (node,) = {at[1] for at in shown if at[0] == "redis_memory_used_bytes"}
    assert shown["redis_memory_used_bytes", node] > 100_000
    assert shown["redis_memory_fragmentation_ratio", node] > 0
    assert shown["redis_append_only", node] in (0, 1)
    assert shown["redis_calls_total",] > before["redis_calls_total",]
    assert shown["redis_round_trips_total",] > before["redis_round_trips_total",]
    assert shown["redis_round_trip_seconds_count",] > before["redis_round_trip_seconds_count",]
    assert shown["redis_round_trip_seconds_count",] <= shown["redis_round_trips_total",]
    assert shown["coordinator_waiting_operations",] == 0
    assert shown["brokers_live",] == 1


async def test_kafka_requests_are_counted_by_api_and_error(broker, prefix):
    def count(shown: dict[tuple[str, ...], float], outcome: str) -> float:
        return shown.get(("kafka_requests_total", "Produce", outcome), 0.0)

    async with listening(broker) as address, BrokerClient(broker, address) as kafka:
        before = await scrape(broker)
        await kafka.ask(produce(prefix, batch("a")), 9)
        await kafka.ask(produce(prefix, batch("a"), partition=7), 9)
        shown = await scrape(broker)
    assert count(shown, "ok") == count(before, "ok") + 1
    assert count(shown, "unknown_topic_or_partition") == count(before, "unknown_topic_or_partition") + 1
    assert shown["kafka_brokers_live",] == 1


async def test_every_series_that_is_shown_is_one_that_is_declared(broker, prefix):
    await broker.records.produce(prefix, records("a"))
    known = set[str]()
    for each in exposition.declared():
        suffixes = ("_bucket", "_count", "_sum") if each.kind == "histogram" else ("",)
        known |= {each.name.removeprefix("redis_ledger_") + suffix for suffix in suffixes}
    assert {at[0] for at in await scrape(broker)} - known == set()


async def test_when_redis_does_not_answer_metrics_stay_as_they_were_and_say_of_when_they_are(
    broker, prefix, monkeypatch
):
    await broker.records.produce(prefix, records("a"), partition=0)
    shown = await scrape(broker)

    def away(*_, **__):
        raise StoreUnavailable("Redis is away.")

    with monkeypatch.context() as patched:
        patched.setattr(broker.catalog, "list", away)
        later = await scrape(broker)
        assert later["partition_end_offset", prefix, "0"] == shown["partition_end_offset", prefix, "0"] == 1
        assert later["overview_timestamp_seconds",] == shown["overview_timestamp_seconds",]
        # And what is old is not shown: a lag that stands still tells nothing, and another broker may know better
        patched.setattr(metrics_collector, "STALE_S", -1.0)
        later = await scrape(broker)
        old = ("topics", "partition_", "transactions_live", "transaction_oldest", "redis_memory")
        assert [name for name, *_ in later if name.startswith(old)] == []
        assert later["overview_timestamp_seconds",] == shown["overview_timestamp_seconds",]
    assert (await scrape(broker))["partition_end_offset", prefix, "0"] == 1


async def test_a_scrape_soon_after_another_asks_redis_nothing(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.metrics_collector.show()
        asked = broker.metrics_collector._task
        await broker.metrics_collector.show()
        assert broker.metrics_collector._task is asked
