"""Delayed delivery for senders and readers: time, recipients, number and order."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import DelayTooLong
from redis_ledger.records.read import decode
from tests.support.broker import eventually, one, values_of, vanish
from tests.support.kafka_batches import fetch, fetched, values
from tests.support.kafka_client import KafkaClient, listening
from tests.support.rest import client_of
from tests.support.scheduled import BUCKETS, HOUR_MS, LATE_MS_MAX, PATIENCE_S, ScheduledTopic, Witness, scheduling


async def begun(topic):
    return (await topic.broker.transactions.begin()).id


# -- DD-01: a time, or a delay -----------------------------------------------------------------------------------------


async def test_delayed_record_is_delivered_once_after_its_full_delay(topic):
    """DD-01: 0.7 s instead of 5 s; the delay counts from before the call, on Redis's clock, and is kept strictly."""
    witness = Witness(topic)
    await topic.broker.subscriptions.create("t", "s")
    await witness.look()
    before_ms = witness.samples[0][0]
    (appended,) = await topic.broker.records.produce("t", [NewRecord(None, b"later", deliver_after_ms=700)])
    (placed,) = appended.scheduled
    assert appended.base_offset == -1
    assert placed.deliver_at_ms >= before_ms + 700
    await witness.watch(1)
    assert witness.early([placed.deliver_at_ms]) == []
    assert witness.latest_ms([placed.deliver_at_ms]) < LATE_MS_MAX
    assert await topic.received_all("s", 1) == ["later"]
    assert await topic.values() == ["later"]


@pytest.mark.parametrize("when", ["deliver_after", "deliver_at"])
async def test_rest_takes_a_time_and_a_delay_and_tells_when_the_record_is_due(topic, when):
    """DD-01: the same by REST, for records that are sent beside one that is not delayed."""
    async with client_of(topic.broker) as client:
        due = topic.in_ms(3_000)
        sent = [{"value": "now"}, {"value": "later", when: due if when == "deliver_at" else "PT3S"}]
        answer = await client.post("/v1/topics/t/records", json={"records": sent})
        assert answer.status_code in (200, 201), answer.text
        placed = [each for result in answer.json()["results"] for each in result.get("scheduled", ())]
        witness = Witness(topic)
        await witness.watch(2)
    assert len(placed) == 1
    assert placed[0]["deliver_at_ms"] >= due
    assert witness.early([0, placed[0]["deliver_at_ms"]]) == []
    assert await topic.values() == ['"now"', '"later"']


async def test_in_a_transaction_a_delay_is_kept_too_and_an_abort_takes_the_record_away(topic):
    """DD-01: inside a transaction, next to a record that is not delayed."""
    dues = {}
    for word in ("abort", "commit"):
        txn = await begun(topic)
        records = [NewRecord(None, f"{word} later".encode(), deliver_after_ms=500), NewRecord(None, word.encode())]
        appended = await topic.broker.records.produce("t", records, transaction=txn)
        dues[word] = appended[-1].scheduled[0].deliver_at_ms
        await getattr(topic.broker.transactions, word)(txn)
    witness = Witness(topic)
    await witness.watch(5)  # each has its record and its marker in the log; the fifth is the delayed one
    assert witness.early([0, 0, 0, 0, dues["commit"]]) == []
    assert await topic.release(dues["abort"] + HOUR_MS) == []
    assert await topic.values() == ["commit", "commit later"]


# -- DD-02: to whom ----------------------------------------------------------------------------------------------------


async def test_every_kind_of_reader_gets_a_delayed_record_when_it_is_due_and_not_before(topic):
    """DD-02: one topic and readers of every kind, a failover subscription's among them; none gets it at once."""
    broker = topic.broker
    for name, kind in (("exclusive", "exclusive"), ("shared", "shared")):
        await broker.subscriptions.create("t", name, kind)
    async with listening(broker) as address, KafkaClient(address) as kafka, client_of(broker) as client:

        async def seen():
            rest = await client.get("/v1/topics/t/partitions/0/records", params={"offset": "earliest"})
            return {
                "committed": await values_of(broker, "t"),
                "uncommitted": await values_of(broker, "t", isolation="read_uncommitted"),
                "kafka": values(fetched(await kafka.ask(fetch("t", partitions=(0,)), 12))),
                "exclusive": await topic.received("exclusive"),
                "shared": await topic.received("shared"),
                "rest": [record["text"] for record in rest.json()["records"]],
            }

        due = topic.in_ms(HOUR_MS)
        await topic.schedule({"later": due, "now": 0, "sooner": due - 1})
        by_reader = await seen()
        assert by_reader == {reader: ["now"] for reader in by_reader}
        assert await topic.release(due) == ["sooner", "later"]
        now = await seen()
        for name in ("exclusive", "shared"):  # these do not read again what they have acknowledged
            now[name].insert(0, "now")
        assert now == {reader: ["now", "sooner", "later"] for reader in by_reader}


# -- DD-05, DD-06: switch and limit ------------------------------------------------------------------------------------


async def test_a_server_that_does_not_delay_delivers_everything_at_once(redis_url, prefix):
    """DD-05: the server's switch; the topic's own has the last word."""
    async with scheduling(redis_url, prefix, delayed_delivery_enabled=False) as topic:
        await topic.schedule({"a": topic.in_ms(HOUR_MS)})
        assert await topic.values() == ["a"]
        await topic.broker.topics.grow("t", settings={"delayed_delivery": 1})
        assert len(await topic.schedule({"b": topic.in_ms(HOUR_MS)})) == 1
        assert (await topic.values(), await topic.waiting()) == (["a"], 1)


async def test_a_topic_is_switched_off_while_records_wait_and_only_new_ones_are_delivered_at_once(redis_url, prefix):
    """DD-05: ten wait; the change is made by one broker and holds for the other without a restart."""
    async with scheduling(redis_url, prefix) as topic, one(redis_url, prefix, name="b2", **BUCKETS) as second:
        other = ScheduledTopic(second, "t")
        due = topic.in_ms(HOUR_MS)
        waiting = await topic.fill(10, due, name="old")
        await other.fill(1, due + HOUR_MS, name="far")
        async with client_of(topic.broker) as client:
            answer = await client.patch("/v1/topics/t", json={"settings": {"delayed_delivery": False}})
            assert answer.status_code == 200, answer.text
        assert await topic.schedule({"new": due}) == {}

        async def other_delivers_at_once():
            return await other.schedule({"too": other.in_ms(10 * HOUR_MS)}) == {}

        assert await eventually(other_delivers_at_once, True, PATIENCE_S)
        seen = await topic.values()
        assert (seen[0], seen[-1]) == ("new", "too")
        assert await topic.release(due + 1_000) == waiting


async def test_a_longer_delay_than_the_topic_allows_is_refused_and_the_limit_changes_live(topic):
    """DD-05, DD-06: a limit of its own, then none; a year is then taken."""
    year = 365 * 24 * HOUR_MS
    await topic.broker.topics.grow("t", settings={"delayed_delivery_max_delay_ms": 60_000})
    with pytest.raises(DelayTooLong):
        await topic.schedule({"a": topic.in_ms(year)})
    await topic.broker.topics.grow("t", settings={"delayed_delivery_max_delay_ms": 0})
    assert set(await topic.schedule({"a": topic.in_ms(year)})) == {"a"}


async def test_a_delay_above_the_servers_limit_is_refused_naming_it_and_writes_nothing(redis_url, prefix):
    """DD-06: a limit of 30 s, a delay of 31 s; alone, beside a record that is not delayed, in a transaction, by REST,
    and when a record that waits is moved."""
    async with scheduling(redis_url, prefix, delayed_delivery_max_delay_ms=30_000) as topic:
        produce, said = topic.broker.records.produce, "exceeds the maximum allowed delivery delay of 30000 ms"
        too_long = NewRecord(None, b"x", deliver_after_ms=31_000)
        txn = await begun(topic)
        for given, transaction in (([too_long], None), ([NewRecord(None, b"y"), too_long], None), ([too_long], txn)):
            with pytest.raises(DelayTooLong, match=said):
                await produce("t", given, transaction=transaction)
        async with client_of(topic.broker) as client:
            for body in ({"value": 1, "deliver_after": 31_000}, {"value": 1, "deliver_at": topic.in_ms(60_000)}):
                refused = await client.post("/v1/topics/t/scheduled", json=body)
                assert refused.status_code == 400
                assert said in refused.text
        ((_, _, _, _, (placed,)),) = await produce("t", [NewRecord(None, b"fits", deliver_after_ms=30_000)])
        with pytest.raises(DelayTooLong, match=said):
            await topic.broker.delayed.reschedule("t", placed.id, deliver_after_ms=31_000)
        await topic.broker.transactions.commit(txn)
        assert (await topic.values(), await topic.listed_values()) == ([], ["fits"])


# -- DD-07: order ------------------------------------------------------------------------------------------------------


async def test_undelayed_records_overtake_delayed_ones_which_come_in_due_order(topic):
    """DD-07: ten of each, interleaved, the delayed ones with falling due times and two of one time."""
    start, expected = topic.in_ms(HOUR_MS), []
    for n in range(10):
        due = start + 10 * (9 - n - (n == 3))  # 3 and 4 are due together, and 3 was first
        expected.append((due, n))
        await topic.schedule({f"later {n}": due, f"now {n}": 0})
    assert await topic.values() == [f"now {n}" for n in range(10)]
    assert await topic.release(start - 1) == []
    assert await topic.release(start + 1_000) == [f"later {n}" for _, n in sorted(expected)]


async def test_due_records_fire_in_chunks_and_in_order_across_buckets(topic):
    """DD-07: twenty in a sealed bucket, its segments not loaded, and ten in the open one, all interleaved by time."""
    due = topic.in_ms(HOUR_MS)
    sealed = await topic.fill(20, due, step_ms=10, name="sealed")
    await topic.sealed(1)
    opened = await topic.fill(10, due + 5, step_ms=20, name="open")
    order = sorted(
        [(due + 10 * n, v) for n, v in enumerate(sealed)] + [(due + 5 + 20 * n, v) for n, v in enumerate(opened)]
    )
    index, offsets = await topic.index(), [0]
    while offsets[-1] < 30:
        fired = await index.scripts.fire(3, due + HOUR_MS)
        if not fired.taken:
            await index.load(fired.horizon)
        offsets.append(await topic.end())
    assert {b - a for a, b in pairwise(offsets)} <= {0, 1, 2, 3}
    assert await topic.values() == [value for _, value in order]


# -- DD-08: failures at release ----------------------------------------------------------------------------------------


async def test_fired_records_that_are_nacked_or_lost_are_redelivered_at_once(topic):
    """DD-08: a consumer gives back what it got, another vanishes with it; neither waits for the delay again."""
    await topic.broker.subscriptions.create("t", "s")
    await topic.fill(10, topic.in_ms(HOUR_MS))
    values = await topic.release(topic.in_ms(2 * HOUR_MS))
    receive = topic.broker.subscriptions.receive
    first = await receive("t", "s", "gives back")
    assert [m.value.decode() for m in first] == values
    assert await topic.broker.subscriptions.nack("t", "s", "gives back", [m.id for m in first]) == 10
    second = await receive("t", "s", "vanishes", ack_timeout_ms=300)
    assert sorted(m.value.decode() for m in second) == sorted(values)
    assert sorted(await topic.received_all("s", 10)) == sorted(values)
    assert await topic.waiting() == 0


# -- DD-17: transactions -----------------------------------------------------------------------------------------------


async def test_in_a_transaction_the_delay_counts_from_receipt_and_both_it_and_the_commit_are_waited_for(topic):
    """DD-17: 0.7 s instead of 7 s; committed at once, and long after it was due.  No kind of reader is earlier."""
    soon, late = await begun(topic), await begun(topic)
    produce = topic.broker.records.produce
    ((_, _, _, _, (placed,)),) = await produce("t", [NewRecord(None, b"soon", deliver_after_ms=700)], transaction=soon)
    await produce("t", [NewRecord(None, b"late", deliver_after_ms=300)], transaction=late)
    await topic.broker.transactions.commit(soon)
    witness = Witness(topic)
    await witness.watch(1)
    assert witness.early([placed.deliver_at_ms]) == []
    # Its time has passed by now, and so has that of the one whose transaction is open still.
    assert await topic.release(topic.in_ms(0)) == []
    fetched = await topic.broker.records.fetch("t", 0, 0, isolation="read_uncommitted")
    assert [r.value for batch in fetched.batches for r in decode(batch.data)] == [b"soon"]
    await topic.broker.transactions.commit(late)
    assert await topic.seen(2) == ["soon", "late"]


async def test_a_broker_that_dies_after_the_decision_leaves_the_scheduled_record_to_the_others(redis_url, prefix):
    """DD-17, DD-08: the commit is decided, the record is due, and who committed is gone before it is released."""
    async with scheduling(redis_url, prefix) as topic, one(redis_url, prefix, name="b2", **BUCKETS) as second:
        txn = await begun(topic)
        await topic.schedule({"a": topic.in_ms(200)}, transaction=txn)
        ended = asyncio.ensure_future(topic.broker.transactions.commit(txn))
        await asyncio.sleep(0)
        await vanish(topic.broker)
        await asyncio.gather(ended, return_exceptions=True)
        await second.transactions.commit(txn)
        assert await ScheduledTopic(second, "t").seen(1) == ["a"]
