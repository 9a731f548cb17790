"""Administration of delayed delivery: clear snapshots, use Pulsar names, list and cancel records."""

from __future__ import annotations

import pytest

from redis_ledger.app.process.settings import BadSetting, config_from
from redis_ledger.errors import AlreadyCancelled, AlreadyDelivered, UnknownScheduled
from redis_ledger.ids import ScheduledId
from tests.support.rest import client_of
from tests.support.scheduled import HOUR_MS, ScheduledTopic, scheduling

# -- DD-60: clearing snapshots -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["none", "snapshots deleted"])
async def test_snapshots_are_rebuilt_from_the_records_and_all_arrive_in_time(redis_url, prefix, damage):
    """DD-60: cleared with 1 000 pending, some of them loaded, cancelled, or in no bucket yet; cleared records are
    indexed again at once, so that none is lost."""
    async with scheduling(redis_url, prefix, delayed_delivery_min_index_count_per_bucket=200) as topic:
        due = topic.in_ms(HOUR_MS)
        values = await topic.fill_buckets(5, due, size=200)
        values += await topic.fill(10, due + 20_000)
        assert await topic.release(due + 100) == values[:11]
        cancelled = (await topic.listed())[500]
        await topic.broker.delayed.cancel("t", [cancelled.id])
        values.remove((cancelled.value or b"").decode())
        before, waiting = await topic.snapshots(), await topic.waiting()
        assert waiting == 998
        if damage != "none":
            index = await topic.index()
            keys = [index.scripts.delay.snapshot(snapshot) for snapshot in before]
            await topic.broker.store.command("DEL", *keys, key=index.scripts.keys.state)
        async with client_of(topic.broker) as client:
            answer = await client.post("/v1/topics/t/scheduled:rebuild", json={})
        assert (answer.status_code, answer.json()) == (200, {"entries": 998})
        after = await topic.snapshots()
        assert len(after) == 5
        assert after & before == set()
        assert after == await topic.listed_snapshots()
        assert await topic.waiting() == 998
        assert await topic.listed_values() == values[11:]
        assert await topic.release(due + 109) == []
        assert await topic.release(due + 5_000) == values[11:501]
        assert await topic.release(due + HOUR_MS) == values[501:]
        assert await topic.values() == values


# -- DD-63: settings ---------------------------------------------------------------------------------------------------

RELEASED = {
    "delayedDeliveryMinIndexCountPerBucket": "5",
    "delayedDeliveryMaxTimeStepPerBucketSnapshotSegmentSeconds": "10",
    "delayedDeliveryMaxIndexesPerBucketSnapshotSegment": "-1",
    "delayedDeliveryMaxNumBuckets": "-1",
    "delayedDeliveryTickTimeMillis": "1",
    "isDelayedDeliveryDeliverAtTimeStrict": "true",
    "delayedDeliveryTrackerFactoryClassName": "org.apache.pulsar.broker.delayed.BucketDelayedDeliveryTrackerFactory",
}
FIRST_VERSION = {
    "enbaleBucketDelayedDeliveryTracker": "true",
    "enbaleShareDelayedMessageIndex": "true",
    "delayedDeliveryLedgerStepPerBucket": "1",
    "delayedDeliveryTimeStepPerBucketSnapshotSeconds": "10",
    "delayedDeliveryMaxNumBuckets": "20",
}


@pytest.mark.parametrize("names", [RELEASED, FIRST_VERSION], ids=["released", "first version"])
async def test_settings_of_both_pulsar_generations_take_effect(redis_url, prefix, names):
    """DD-63: Pulsar's setting names take effect: the broker seals and cuts buckets by them."""
    config = config_from({f"REDIS_LEDGER_{name}": value for name, value in names.items()})
    fields = [
        "delayed_delivery_min_index_count_per_bucket", "delayed_delivery_ledger_step_per_bucket",
        "delayed_delivery_max_time_step_per_segment_s", "delayed_delivery_max_indexes_per_segment",
        "delayed_delivery_max_num_buckets", "delayed_delivery_tick_time_ms",
    ]  # fmt: skip
    settings = {name: getattr(config, name) for name in fields} | {"delayed_delivery_min_indexes_per_segment": 1}
    async with scheduling(redis_url, prefix, topic_settings={"ledger_bytes_max": 1 << 20}, **settings) as topic:
        due = topic.in_ms(HOUR_MS)
        if names is RELEASED:
            values = await topic.fill(5, due, step_ms=4_000)
        else:
            # By its first version a bucket is a number of ledgers; this one is full, so that the next is begun.
            big = "x" * (1 << 20)
            values = await topic.fill(5, due, step_ms=4_000, name=big)
        (bucket,) = await topic.sealed(1)
        assert [len(segment) for segment in await topic.segments(bucket)] == [3, 2]
        assert await topic.release(due + HOUR_MS) == values


@pytest.mark.parametrize(
    "given",
    [
        {"delayedDeliveryTickTimeMillis": "5", "DELAYED_DELIVERY_TICK_TIME_MS": "6"},
        {
            "delayedDeliveryTimeStepPerBucketSnapshotSeconds": "5",
            "delayedDeliveryMaxTimeStepPerBucketSnapshotSegmentSeconds": "6",
        },
        {"isDelayedDeliveryDeliverAtTimeStrict": "false"},
        {"delayedDeliverySharedIndexEnabled": "false"},
    ],
)
def test_names_that_contradict_each_other_or_what_there_is_are_refused(given):
    """DD-63, DD-58: the index is always shared and delivery always strict."""
    with pytest.raises(BadSetting):
        config_from({f"REDIS_LEDGER_{name}": value for name, value in given.items()})


# -- DD-64: looking and cancelling -------------------------------------------------------------------------------------


async def test_scheduled_records_are_listed_by_time_and_all_but_a_cancelled_one_arrive(topic):
    """DD-64: over REST, some of them in a sealed bucket."""
    due = topic.in_ms(HOUR_MS)
    others = await topic.fill_buckets(1, due + 1_000)
    ids = await topic.schedule({f"r{n}": due + 10 * n for n in range(10)})
    async with client_of(topic.broker) as client:

        async def listed(**range_: int) -> list[str]:
            answer = await client.get("/v1/topics/t/scheduled", params=range_)
            assert answer.status_code == 200
            return [each["text"] for each in answer.json()["scheduled"]]

        assert await listed() == [*ids, *others]
        assert await listed(**{"from": due + 20, "to": due + 50}) == ["r2", "r3", "r4"]
        assert await listed(**{"from": due + 1_180, "to": due + 2_000}) == others[18:]
        assert (await client.delete(f"/v1/topics/t/scheduled/{ids['r3']}")).status_code == 204
        assert await listed(**{"from": due, "to": due + 50}) == ["r0", "r1", "r2", "r4"]
    expected = [name for name in ids if name != "r3"]
    assert await topic.release(due + 100) == expected
    assert await topic.release(due + HOUR_MS) == others
    assert await topic.values() == [*expected, *others]


async def test_cancel_or_delivery_wins_and_cancel_returns_which(topic):
    """DD-64: by id, once; a second time is no error, an unknown id and one that has fired are."""
    due = topic.in_ms(HOUR_MS)
    ids = await topic.schedule({"a": due, "b": due + 1})
    assert await topic.release(due) == ["a"]
    unknown = ScheduledId(0, 99, 0)
    outcomes = await topic.broker.delayed.cancel("t", [ids["a"], ids["b"], unknown])
    assert [type(each) for each in outcomes] == [AlreadyDelivered, type(None), UnknownScheduled]
    assert await topic.broker.delayed.cancel("t", [ids["b"]]) == [None]
    for name, error in (("a", AlreadyDelivered), ("b", AlreadyCancelled)):
        with pytest.raises(error):
            await topic.broker.delayed.get("t", ids[name])
    assert await released_in_all(topic, due) == ["a"]


async def released_in_all(topic: ScheduledTopic, due_ms: int) -> list[str]:
    await topic.release(due_ms + HOUR_MS)
    return await topic.values()
