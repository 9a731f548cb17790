"""Metrics of two brokers on one Redis: equal for its state, separate for their own work.  The brokers are in two
processes, since the metrics of a process are shared."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from redis_ledger.telemetry import metrics
from tests.support.broker import eventually, one
from tests.support.kafka_client import listening
from tests.support.processes import Serve
from tests.support.rest import client_of

Shown = dict[tuple[str, ...], float]
# Of a process, or read at another moment.
OWN = (
    "overview_", "kafka_connections", "http_requests_running", "coordinator_waiting", "redis_memory",
    "partition_stable_lag_seconds", "transaction_oldest", "transaction_partition_ends_pending",
)  # fmt: skip


@pytest.fixture
async def pair(redis_url, prefix) -> AsyncIterator[list[httpx.AsyncClient]]:
    served = Serve("--set", f"prefix={prefix}", "--durability", "lossy", environ={"REDIS_LEDGER_REDIS_URL": redis_url})
    metrics.topics.forget(list(metrics.topics))  # of earlier tests
    try:
        async with one(redis_url, prefix) as broker, client_of(broker) as here, listening(broker):
            url = await asyncio.to_thread(lambda: served.urls[0])
            async with httpx.AsyncClient(base_url=url) as there:
                yield [here, there]
    finally:
        served.clean_up()


async def scrape(broker: httpx.AsyncClient) -> tuple[Shown, Shown]:
    """Gauges of what is in Redis, and counters: name without redis_ledger_, and label values → value."""
    gauges, counters = Shown(), Shown()
    for family in text_string_to_metric_families((await broker.get("/metrics")).text):
        for sample in family.samples:
            at = (sample.name.removeprefix("redis_ledger_"), *sample.labels.values())
            if family.type == "counter":
                counters[at] = sample.value
            elif family.type == "gauge" and not at[0].startswith(OWN):
                gauges[at] = sample.value
    return gauges, counters


async def test_brokers_show_the_same_redis_metrics_and_their_own_counters(pair):
    # Given records, one of an open transaction, a subscription that has got some, and both brokers in use
    first, second = pair

    async def post(broker: httpx.AsyncClient, path: str, **body: Any) -> Any:
        answer = await broker.post(f"/v1{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    await post(first, "/topics", name="orders", partitions=2)
    await post(first, "/topics/orders/subscriptions", name="billing")
    for partition in (0, 1):
        texts = [{"text": text} for text in "abc"]
        await post(first, "/topics/orders/records", records=texts, partition=partition)
    await post(second, "/topics/orders/subscriptions/billing:receive", max_records=4)
    txn = (await post(second, "/transactions"))["id"]
    await post(second, "/topics/orders/records", records=[{"text": "d"}], partition=1, transaction=txn)

    # When both are asked, until what they tell is no older than that
    async def alike() -> bool:
        (shown, _), (too, _) = await scrape(first), await scrape(second)
        here = {at: value for at, value in shown.items() if at in too}
        live = sum(value for at, value in too.items() if at[0] == "transactions_live")
        return here == too and too["brokers_live",] == 2 and live == 1

    assert await eventually(alike, True, within_s=20), [await scrape(each) for each in pair]
    (gauges, of_one), (_, of_two) = await scrape(first), await scrape(second)
    # Then it is what REST tells
    topic = (await second.get("/v1/topics/orders")).json()
    for each in topic["partition_states"]:
        at = "orders", str(each["partition"])
        offsets = [gauges[f"partition_{name}_offset", *at] for name in ("start", "stable", "end")]
        assert offsets == [each["start_offset"], each["stable_offset"], each["end_offset"]]
    assert gauges["partition_stable_lag_records", "orders", "1"] == 1
    subscription = (await first.get("/v1/topics/orders/subscriptions/billing")).json()
    assert gauges["subscription_lag_records", "orders", "billing"] == subscription["backlog"] == 6
    assert gauges["subscription_unacked_records", "orders", "billing"] == subscription["leased"] == 4
    # And each has counted what it did itself, so that the sum is right
    assert (of_one["topic_in_records_total", "orders"], of_two["topic_in_records_total", "orders"]) == (6, 1)
    assert (of_one["topic_out_records_total", "orders"], of_two["topic_out_records_total", "orders"]) == (0, 4)
