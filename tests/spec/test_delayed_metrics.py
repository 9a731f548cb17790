"""The metrics of delayed delivery, at /metrics and over REST.

A topic has the prefix for its name here, so that its series are its own: the tests of a process share a registry.
"""

from __future__ import annotations

import asyncio
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from redis_ledger.broker import metrics_collector
from redis_ledger.broker.delayed import metrics as gauges
from redis_ledger.broker.delayed.index_reader import DelayIndexReader
from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import StoreUnavailable
from redis_ledger.telemetry import metrics
from scripts import pulsar_metrics
from tests.support.broker import eventually, values_of
from tests.support.crashing_store import Trouble, index_on
from tests.support.rest import client_of
from tests.support.scheduled import HOUR_MS, PATIENCE_S, ScheduledTopic, scheduling

BUCKET = "redis_ledger_delayed_message_index_bucket"
BOUNDS = ["50.0", "100.0", "500.0", "1000.0", "5000.0", "30000.0", "60000.0", "+Inf"]


@pytest.fixture
async def topic(redis_url, prefix, monkeypatch):
    metrics.topics.forget(list(metrics.topics))  # of earlier tests: only so many have series of their own
    for each in (gauges, metrics_collector):
        monkeypatch.setattr(each, "FRESH_S", 0.0)  # every scrape reads anew
    monkeypatch.setattr(gauges, "REST_TIMES", 0)
    async with scheduling(redis_url, prefix, topic=prefix, delayed_delivery_min_index_count_per_bucket=50) as topic:
        yield topic


async def scrape(topic: ScheduledTopic) -> dict[tuple[str, ...], float]:
    """Name and label values but the topic's, of this topic's series → value."""
    async with client_of(topic.broker) as client:
        answer = await client.get("/metrics")
    assert answer.status_code == 200
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()) if value != topic.name)): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if sample.labels.get("topic") == topic.name
    }


async def gauge(topic: ScheduledTopic, name: str) -> float:
    return (await scrape(topic))[f"redis_ledger_{name}",]


async def test_a_topic_shows_its_buckets_and_what_was_done_to_them_once_for_all_subscriptions(topic):
    """DD-61: 101 messages, 50 to a bucket, two subscriptions: 3 buckets, for there is one index and not one for each;
    two creations at least."""
    due, broker = topic.in_ms(HOUR_MS), topic.broker
    for name in ("a", "b"):
        await broker.subscriptions.create(topic.name, name)
    for number in range(2):
        await topic.fill(50, due + 1_000 * number, name=f"{number}.")
        await topic.sealed(number + 1)
    await topic.fill(1, due + 2_000)
    shown = await scrape(topic)
    assert shown[f"{BUCKET}_total",] == 3
    assert shown[f"{BUCKET}_op_count_total", "succeed", "create"] == 2
    assert shown[f"{BUCKET}_op_count_total", "all", "create"] == 2
    assert shown["redis_ledger_delayed_message_index_loaded",] == 1
    assert shown["redis_ledger_delayed_message_index_mutable",] == 1
    snapshot_bytes = [bucket.size for bucket in await topic.buckets()]
    assert shown[f"{BUCKET}_snapshot_size_bytes",] == sum(snapshot_bytes) > 0
    assert shown["redis_ledger_delayed_records",] == shown["redis_ledger_subscription_delayed",] == 101
    assert shown["redis_ledger_subscription_back_log_no_delayed",] == 0
    # When a segment is loaded for what is due, and another one after it
    assert len(await topic.release(due + 50)) == 6
    shown = await scrape(topic)
    assert shown["redis_ledger_delayed_message_index_loaded",] == 1 + 4
    assert shown["redis_ledger_delayed_message_index_mutable",] == 1
    assert shown["redis_ledger_subscription_delayed",] == 95
    assert shown["redis_ledger_subscription_back_log_no_delayed",] == 2 * 6
    assert shown[f"{BUCKET}_op_count_total", "succeed", "load"] == 2
    # And when the rest is, so that buckets go
    await topic.release(due + HOUR_MS)
    shown = await scrape(topic)
    assert shown[f"{BUCKET}_total",] == 1
    assert shown[f"{BUCKET}_op_count_total", "succeed", "load"] == 20
    assert shown[f"{BUCKET}_op_count_total", "succeed", "delete"] == 2
    assert (f"{BUCKET}_op_count_total", "failed", "load") not in shown
    assert shown[f"{BUCKET}_snapshot_size_bytes",] == shown["redis_ledger_subscription_delayed",] == 0


async def test_merges_and_failures_are_counted_and_latencies_have_pulsars_bounds(topic):
    """DD-61: state succeed, failed and all; type create, load, delete and merge; count and sum of each type."""
    partition = await topic.broker.catalog.partition(topic.name, 0)
    await topic.fill_buckets(2, topic.in_ms(HOUR_MS), size=50)
    trouble = Trouble(topic.broker.store)
    index = index_on(topic.broker.store, topic, partition.keys, partition.topic_id, delayed_delivery_max_num_buckets=1)
    trouble.fails["delay/replace"] = 1
    with pytest.raises(Exception, match="is made to fail"):
        await index.merge()
    assert await index.merge()
    shown = await scrape(topic)
    counted = {state: shown[f"{BUCKET}_op_count_total", state, "merge"] for state in ("succeed", "failed", "all")}
    assert counted == {"succeed": 1, "failed": 1, "all": 2}
    assert shown[f"{BUCKET}_op_count_total", "succeed", "delete"] == 2
    latency = f"{BUCKET}_op_latency_ms"
    assert [key[1] for key in shown if key[0] == f"{latency}_bucket" and key[2] == "merge"] == BOUNDS
    assert shown[f"{latency}_count", "merge"] == shown[f"{latency}_bucket", "+Inf", "merge"] == 2
    assert shown[f"{latency}_count", "create"] == 2
    assert 0 < shown[f"{latency}_sum", "merge"] < 60_000


async def test_every_scrape_is_of_now_and_one_that_redis_does_not_answer_says_of_when_it_is(topic, monkeypatch):
    """DD-61: what was scheduled since the last one is in it; a Redis that hangs does not make the scrape hang."""
    monkeypatch.setattr(gauges, "WAIT_S", 60.0)  # a busy machine is no Redis that hangs
    due, began = topic.in_ms(HOUR_MS), time.time()
    ids = await topic.schedule({"a": due, "b": due + 1})
    assert await gauge(topic, "subscription_delayed") == 2
    await topic.broker.delayed.cancel(topic.name, [ids["a"]])
    shown = await scrape(topic)
    assert shown["redis_ledger_subscription_delayed",] == 1
    shown_at = shown["redis_ledger_delayed_shown_timestamp_seconds",]
    assert began <= shown_at <= time.time()
    trouble = Trouble(topic.broker.store)
    trouble.hang(f"{{{topic.name}:0}}:")
    monkeypatch.setattr(gauges, "WAIT_S", 0.2)
    await topic.broker.delayed.cancel(topic.name, [])
    stale = await scrape(topic)
    assert trouble.hung.is_set()
    assert stale["redis_ledger_subscription_delayed",] == 1
    assert stale["redis_ledger_delayed_shown_timestamp_seconds",] == shown_at
    trouble.go_on()
    assert await gauge(topic, "delayed_shown_timestamp_seconds") >= shown_at


async def test_the_size_of_the_index_is_what_redis_says_of_its_keys(topic):
    """DD-61: within a fifth of the sum over every key there is; payload is not in it."""
    await topic.fill_buckets(3, topic.in_ms(HOUR_MS), size=500)
    await topic.fill(40, topic.in_ms(HOUR_MS))
    keys = [f"{topic.broker.config.prefix}:{key}" for key in await topic.delay_keys()]
    slot = (await topic.index()).scripts.keys.state
    sizes = [await topic.broker.store.command("MEMORY", "USAGE", key, "SAMPLES", 0, key=slot) for key in keys]
    assert await gauge(topic, "delayed_message_index_size_bytes") == pytest.approx(sum(sizes), rel=0.2)


async def test_a_backlog_never_counts_what_is_not_due(topic):
    """DD-61: in the gauge and by REST, where the records a subscription is still to get stand beside it."""
    broker, due = topic.broker, topic.in_ms(HOUR_MS)
    for name in ("a", "b"):
        await broker.subscriptions.create(topic.name, name)
    await broker.records.produce(topic.name, [NewRecord(None, b"1"), NewRecord(None, b"2"), NewRecord(None, b"3")])
    await topic.schedule({"x": due, "y": due + 10})
    assert await topic.received("a") == ["1", "2", "3"]

    async def shown() -> list[tuple[int, int]]:
        async with client_of(broker) as client:
            answers = [await client.get(f"/v1/topics/{topic.name}/subscriptions/{name}") for name in ("a", "b")]
        return [(answer.json()["backlog"], answer.json()["delayed"]) for answer in answers]

    assert await shown() == [(0, 2), (3, 2)]
    assert await gauge(topic, "subscription_back_log_no_delayed") == 3
    assert await topic.release(due) == ["x"]
    assert await shown() == [(1, 1), (4, 1)]
    assert await gauge(topic, "subscription_back_log_no_delayed") == 5
    assert await gauge(topic, "subscription_delayed") == 1


async def test_every_name_of_pulsars_has_a_metric_to_be_derived_from(topic):
    """DD-61: those of its releases and those of the first version, as docs/reference/metrics.md lists them."""
    partition = await topic.broker.catalog.partition(topic.name, 0)
    due = topic.in_ms(HOUR_MS)
    await topic.fill_buckets(2, due, size=50)
    index = index_on(topic.broker.store, topic, partition.keys, partition.topic_id, delayed_delivery_max_num_buckets=1)
    assert await index.merge()
    await topic.release(due + 1)
    shown = await scrape(topic)
    for pulsar, here in pulsar_metrics.DELAYED.items():
        name, _, filters = here.partition("{")
        wanted = {word.split("=")[1].strip('"}') for word in filters.split(",") if word}
        assert any(key[0] == name and wanted <= set(key[1:]) for key in shown), pulsar


async def test_a_topic_that_is_gone_leaves_no_series_behind(topic):
    """DD-61: neither gauges nor counters, so that series do not pile up."""
    await topic.fill_buckets(1, topic.in_ms(HOUR_MS), size=50)
    assert await scrape(topic) != {}
    await topic.broker.topics.delete(topic.name)
    await topic.broker.delayed.maintain()
    assert await scrape(topic) == {}


async def test_a_topic_that_came_and_went_between_two_scrapes_leaves_no_series_behind(topic):
    """DD-61: its fired records were counted, though no client read the metrics."""
    await topic.schedule({"a": topic.in_ms(100)})
    assert await eventually(lambda: values_of(topic.broker, topic.name), ["a"], PATIENCE_S) == ["a"]
    await topic.broker.topics.delete(topic.name)
    await topic.broker.delayed.maintain()
    assert await scrape(topic) == {}


async def test_first_due_time_and_lateness_are_exported(topic):
    """DD-61: of what is not visible yet; every record that fired counts."""
    due = topic.in_ms(3_000)
    await topic.schedule({"a": due, "b": due, "c": due + HOUR_MS})
    assert round(await gauge(topic, "delayed_first_due_timestamp_seconds") * 1000) == due
    assert await eventually(lambda: values_of(topic.broker, topic.name), ["a", "b"], PATIENCE_S) == ["a", "b"]
    shown = await scrape(topic)
    assert round(shown["redis_ledger_delayed_first_due_timestamp_seconds",] * 1000) == due + HOUR_MS
    assert shown["redis_ledger_delayed_lateness_seconds_count",] == shown["redis_ledger_delayed_fired_total",] == 2
    assert 0 <= shown["redis_ledger_delayed_lateness_seconds_sum",] < PATIENCE_S
    await topic.broker.delayed.clear(topic.name)
    assert await gauge(topic, "delayed_first_due_timestamp_seconds") == 0


async def test_a_look_that_takes_long_is_not_taken_at_every_scrape(topic, monkeypatch):
    """DD-61: a thousand partitions need tens of thousands of reads."""
    shown, looks = topic.broker.delayed.metrics, list[str]()

    async def slowly(name: str) -> list[DelayIndexReader]:
        looks.append(name)
        await asyncio.sleep(0.1)  # as a busy Redis makes one wait
        raise StoreUnavailable("Redis is busy.")

    await topic.schedule({"a": topic.in_ms(HOUR_MS)})
    monkeypatch.setattr(gauges, "REST_TIMES", 20)
    monkeypatch.setattr(shown, "_parts", slowly)
    shown._asked_at -= 60.0  # the broker may have looked just now
    for _ in range(5):
        await topic.broker.delayed.update_metrics()
    assert looks == [topic.name]
    shown._asked_at -= 60.0  # a while later
    await topic.broker.delayed.update_metrics()
    assert looks == [topic.name] * 2


async def test_gauges_that_are_old_are_not_shown_and_counters_stay(topic, monkeypatch):
    """DD-61: a broker without Redis must not hide newer values of another broker."""
    await topic.fill_buckets(1, topic.in_ms(HOUR_MS), size=50)
    before = await scrape(topic)

    async def away(topic: str) -> list[DelayIndexReader]:
        raise StoreUnavailable("Redis is away.")

    with monkeypatch.context() as patched:
        patched.setattr(topic.broker.delayed.metrics, "_parts", away)
        assert (await scrape(topic))["redis_ledger_delayed_records",] == 50
        patched.setattr(gauges, "STALE_S", -1.0)
        shown = await scrape(topic)
    gone = {name for name, *_ in before} - {name for name, *_ in shown}
    assert {"redis_ledger_delayed_records", "redis_ledger_delayed_first_due_timestamp_seconds"} <= gone
    assert [name for name in gone if name.endswith(("_count", "_count_total", "_bucket"))] == []
    assert await gauge(topic, "delayed_records") == 50


# -- DD-62: the latest -------------------------------------------------------------------------------------------------


async def test_the_latest_scheduled_time_is_that_of_what_is_pending_also_after_a_restart(
    redis_url, prefix, monkeypatch
):
    """DD-62: by REST and as a gauge, also after restarts; it is in a sealed bucket, is cancelled, moved, and fired."""
    monkeypatch.setattr(gauges, "FRESH_S", 0.0)
    monkeypatch.setattr(gauges, "REST_TIMES", 0)

    async def latest(topic: ScheduledTopic) -> int:
        async with client_of(topic.broker) as client:
            total = (await client.get(f"/v1/topics/{topic.name}/scheduled:stats")).json()["total"]["last_due_ms"]
        seconds = await gauge(topic, "delayed_last_due_timestamp_seconds")
        assert round(seconds * 1000) == max(total, 0)
        return int(total)

    async with scheduling(redis_url, prefix, topic=prefix) as topic:
        due = topic.in_ms(HOUR_MS)
        await topic.fill_buckets(1, due + 5_000)
        await topic.fill(3, due)
        assert await latest(topic) == due + 5_190
    async with scheduling(redis_url, prefix, topic=prefix) as topic:
        assert await latest(topic) == due + 5_190
        *_, before, last = await topic.listed()
        await topic.broker.delayed.cancel(topic.name, [last.id])
        assert await latest(topic) == due + 5_180
        await topic.broker.delayed.reschedule(topic.name, before.id, deliver_at_ms=due + 1)
        assert await latest(topic) == due + 5_170
        await topic.broker.delayed.reschedule(topic.name, before.id, deliver_at_ms=due + 9_000)
        assert await latest(topic) == due + 9_000
    async with scheduling(redis_url, prefix, topic=prefix) as topic:
        assert await latest(topic) == due + 9_000
        await topic.release(due + HOUR_MS)
        assert await latest(topic) == -1
