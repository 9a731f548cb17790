"""Recovery of delayed delivery: a new broker, damaged snapshots, failing steps, and cleanup."""

from __future__ import annotations

import pytest

from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import StoreUnavailable
from redis_ledger.telemetry import exposition
from tests.support.broker import eventually, values_of, vanish
from tests.support.busy_machine import wait_for
from tests.support.crashing_store import Trouble, index_on
from tests.support.scheduled import HOUR_MS, PATIENCE_S, ScheduledTopic, Witness, scheduling


def operations(state: str, kind: str, topic: str = "t") -> float:
    labels = {"topic": topic, "state": state, "type": kind}
    name = "redis_ledger_delayed_message_index_bucket_op_count_total"
    return exposition.REGISTRY.get_sample_value(name, labels) or 0.0


# -- DD-32: recovery ---------------------------------------------------------------------------------------------------


async def test_a_new_broker_finds_list_and_counters_and_releases_what_is_due_and_then_the_rest(redis_url, prefix):
    """DD-32: 100 messages, 10 ms apart, in five buckets; the broker is killed, and it is 300 ms later for the next."""
    async with scheduling(redis_url, prefix) as topic:
        due = topic.in_ms(HOUR_MS)
        values = await topic.fill_buckets(5, due)
        assert await topic.release(due - 10) == []
        before = await topic.stats()
        await vanish(topic.broker)
    async with scheduling(redis_url, prefix) as topic:
        # Given counters that are right at once
        assert await topic.stats() == before
        assert await topic.waiting() == 100
        # When 300 ms have passed
        assert await topic.release(due + 295) == values[:30]
        # Then the buckets that are over are gone, and of the others the first segment is at hand when it is needed
        assert await topic.waiting() == 70
        assert [bucket.loaded for bucket in await topic.buckets()] == [2, 0, 0, 0]
        assert await topic.listed_values() == values[30:]
        assert await topic.release(due + HOUR_MS) == values[30:]
        assert await topic.values() == values


async def test_a_thousand_records_survive_a_kill_and_none_of_them_is_early(redis_url, prefix):
    """DD-32, DD-34: in real time, with snapshots that are missing when the second broker comes."""
    dues: dict[str, int] = {}
    async with scheduling(redis_url, prefix, delayed_delivery_min_index_count_per_bucket=100) as topic:
        due = topic.in_ms(8_000)
        for number in range(10):
            some = {f"{number}.{n}": due + 10 * n + number for n in range(100)}  # the buckets' times interleave
            await topic.schedule(some)
            await topic.sealed(number + 1)
            dues |= some
        for bucket in (await topic.buckets())[3:6]:
            await topic.damage(bucket, 2, None)
        await vanish(topic.broker)
    in_order = sorted(dues, key=lambda value: dues[value])
    async with scheduling(redis_url, prefix) as topic:
        witness = Witness(topic)
        await witness.watch(1_000)
        assert await topic.seen(1_000) == in_order
        assert witness.early(sorted(dues.values())) == []
        assert await topic.waiting() == 0


# -- DD-33: loading blocks no other partition --------------------------------------------------------------------------


async def test_while_a_snapshot_cannot_be_read_other_partitions_and_topics_continue(redis_url, prefix):
    """DD-33: the reads of one partition's snapshots hang for as long as all other partitions need."""
    async with scheduling(redis_url, prefix, partitions=2) as slow:
        broker = slow.broker
        await broker.topics.create("other", 1)
        other = ScheduledTopic(broker, "other")
        for topic in (slow, other):
            await broker.subscriptions.create(topic.name, "s")
        values = await slow.fill_buckets(1, slow.in_ms(3_000))
        trouble = Trouble(broker.store)
        trouble.hang("{t:0}:delay:snap:")
        await wait_for(trouble.hung.wait(), PATIENCE_S)
        # When the others' records are due, while this partition's bucket cannot be loaded
        dues = {"a": slow.in_ms(300), "b": slow.in_ms(400)}
        await slow.schedule(dues, partition=1)
        await other.schedule(dues)
        await broker.records.produce("t", [NewRecord(None, b"plain")], partition=0)
        # Then theirs come, and so does what is not delayed
        assert await other.received_all("s", 2) == ["a", "b"]
        assert await slow.seen(2, partition=1) == ["a", "b"]
        assert await slow.values(0) == ["plain"]
        # And this one's as soon as it can be read
        trouble.go_on()
        assert await slow.seen(21) == ["plain", *values]


# -- DD-34: damage -----------------------------------------------------------------------------------------------------


async def test_damaged_snapshots_are_rebuilt_and_logged_and_no_record_is_early_or_lost(topic, capsys):
    """DD-34: metadata, a segment, and all of a snapshot; the bucket is indexed again from its ledger."""
    due = topic.in_ms(HOUR_MS)
    values = await topic.fill_buckets(4, due)
    first, second, third, _ = await topic.buckets()
    await topic.damage(first, 0)
    await topic.damage(second, 3)
    index = await topic.index()
    await topic.broker.store.command("DEL", index.scripts.delay.snapshot(third.snapshot), key=index.scripts.keys.state)
    failed = operations("failed", "load")
    assert await topic.release(due - 1) == []
    assert await topic.release(due + 300) == values[:31]
    assert await topic.listed_values() == values[31:]
    assert await topic.release(due + HOUR_MS) == values[31:]
    assert await topic.values() == values
    assert operations("failed", "load") > failed
    assert "rebuilding a damaged bucket of delayed records" in capsys.readouterr().err
    assert await topic.snapshots() == set()


async def test_lost_index_is_rebuilt_from_live_bits_and_delay_ledgers(topic):
    """DD-34: sorted sets, buckets and snapshots are gone; `rebuild` finds what is pending, cancelled records left out,
    and moved ones at their new times."""
    due = topic.in_ms(HOUR_MS)
    values = await topic.fill_buckets(2, due)
    rest = await topic.fill(5, due + 1_000)
    ids = {(each.value or b"").decode(): each.id for each in await topic.listed()}
    await topic.broker.delayed.cancel("t", [ids[values[3]], ids[rest[1]]])
    await topic.broker.delayed.reschedule("t", ids[values[5]], deliver_at_ms=due + 5_000)
    index = await topic.index()
    doomed = [
        index.scripts.delay.open,
        index.scripts.delay.queue,
        index.scripts.delay.buckets,
        index.scripts.delay.next,
    ]
    doomed += [index.scripts.delay.snapshot(bucket.snapshot) for bucket in await topic.buckets()]
    await topic.broker.store.command("DEL", *doomed, key=index.scripts.keys.state)
    assert await topic.listed_values() == []
    await topic.broker.delayed.rebuild("t")
    expected = [v for v in [*values, *rest, values[5]] if v not in (values[3], rest[1])]
    expected.remove(values[5])
    assert await topic.listed_values() == expected
    assert await topic.release(due + HOUR_MS) == expected


async def test_a_list_of_buckets_that_is_lost_is_noticed_when_the_first_of_them_is_due(topic):
    """DD-34: their entries return to the queue by themselves; no record is early or lost."""
    due, index = topic.in_ms(HOUR_MS), await topic.index()
    values = await topic.fill_buckets(3, due)
    await topic.broker.store.command("DEL", index.scripts.delay.buckets, key=index.scripts.keys.state)
    assert await topic.release(due - 1) == []
    assert await topic.release(due + 250) == values[:26]
    assert await topic.release(due + HOUR_MS) == values[26:]
    assert await index.sweep(whenever=True) == 3
    assert await topic.snapshots() == set()


# -- DD-35: failing steps ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", ["delay/rotate", "delay/write", "delay/seal"])
async def test_a_bucket_that_cannot_be_created_leaves_its_records_where_they_fire_from(topic, script):
    """DD-35: four failures, and a fifth attempt; meanwhile there is no bucket, and nothing is lost or late."""
    trouble, due = Trouble(topic.broker.store), topic.in_ms(HOUR_MS)
    trouble.fails[script] = 4
    failed = operations("failed", "create")
    values = await topic.fill(25, due)
    assert await eventually(lambda: _tidied(topic, trouble, 4), True, PATIENCE_S)
    assert await topic.buckets() == []
    assert await topic.waiting() == 25
    assert await topic.listed_values() == values
    assert script == "delay/rotate" or operations("failed", "create") >= failed + 4
    assert await topic.release(due + 45) == values[:5]
    await topic.broker.delayed.maintain()
    await topic.sealed(1)
    assert await topic.release(due + HOUR_MS) == values[5:]


async def _tidied(topic, trouble, failures):
    """Calls the maintenance that otherwise runs every ten seconds."""
    if trouble.failed >= failures:
        return True
    await topic.broker.delayed.maintain()
    return trouble.failed >= failures


async def test_a_segment_that_cannot_be_loaded_is_tried_again_until_it_can(topic):
    """DD-35: four failures in real time; the bucket stays as it was, and all comes in order."""
    values = await topic.fill_buckets(2, topic.in_ms(3_000))
    trouble = Trouble(topic.broker.store)
    trouble.fails["delay/load"] = 4
    failed = operations("failed", "load")
    assert await topic.seen(40) == values
    assert trouble.failed == 4
    assert operations("failed", "load") == failed + 4
    assert await topic.waiting() == 0


@pytest.mark.parametrize("script", ["delay/write", "delay/replace"])
async def test_a_merge_that_fails_leaves_its_sources_in_force(topic, script):
    """DD-35, DD-30: nothing is gone, and it is done when it is tried again."""
    due, partition = topic.in_ms(HOUR_MS), await topic.broker.catalog.partition("t", 0)
    values = await topic.fill_buckets(3, due)
    sources, store = await topic.buckets(), topic.broker.store
    index = index_on(store, topic, partition.keys, partition.topic_id, delayed_delivery_max_num_buckets=1)
    trouble = Trouble(store)
    trouble.fails[script] = 1
    with pytest.raises(StoreUnavailable):
        await index.merge()
    assert await topic.buckets() == sources
    assert await topic.listed_values() == values
    assert await index.merge()
    assert len(await topic.buckets()) == 1
    assert await topic.release(due + HOUR_MS) == values


async def test_a_snapshot_that_cannot_be_deleted_goes_with_the_next_sweep_and_changes_no_count(topic):
    """DD-35: its records are at hand already, and fire once."""
    due = topic.in_ms(HOUR_MS)
    values = await topic.fill_buckets(2, due)
    trouble = Trouble(topic.broker.store)
    trouble.fails["delay/drop_snapshot"] = 1
    with pytest.raises(StoreUnavailable):
        await topic.release(due + 190)
    assert await topic.waiting() == 25
    assert len(await topic.snapshots()) == 2
    assert len(await topic.buckets()) == 1
    assert await topic.release(due + 190) == values[15:20]
    assert await (await topic.index()).sweep(whenever=True) == 1
    assert await topic.snapshots() == await topic.listed_snapshots()
    assert await topic.release(due + HOUR_MS) == values[20:]


# -- DD-36: work that no request waits for -----------------------------------------------------------------------------


async def test_buckets_of_which_nothing_is_left_go_and_one_that_overlaps_is_kept(topic):
    """DD-36: of six buckets the first four are cancelled as a whole and most of the fifth; upkeep deletes the four,
    writes the fifth again, and what is left of it is released, cancelled ones never."""
    due = topic.in_ms(HOUR_MS)
    values = await topic.fill_buckets(6, due)
    before = await topic.buckets()
    assert await topic.release(due) == values[:1]  # a segment of the first bucket is loaded, and becomes stale
    listed = await topic.listed()
    await topic.broker.delayed.cancel("t", [each.id for each in listed[:93]])
    await topic.broker.delayed.maintain()
    after = await topic.buckets()
    assert [bucket.name for bucket in after] == [bucket.name for bucket in before[4:]]
    assert [bucket.entries for bucket in after] == [6, 20]
    assert await topic.snapshots() == await topic.listed_snapshots()
    stats = await topic.stats()
    assert (stats.records, stats.first_due_ms) == (26, due + 940)
    assert await topic.release(due + HOUR_MS) == values[94:]


async def test_records_cancelled_during_sealing_are_in_no_bucket(topic):
    """DD-36: the creation is waited for; a bucket of which nothing is left is not listed."""
    trouble, due = Trouble(topic.broker.store), topic.in_ms(HOUR_MS)
    trouble.fails["delay/seal"] = 1
    await topic.fill(20, due)
    assert await eventually(lambda: _tidied(topic, trouble, 1), True, PATIENCE_S)
    await topic.broker.delayed.cancel("t", [each.id for each in await topic.listed()])
    await topic.broker.delayed.maintain()
    assert await eventually(lambda: _is_idle(topic), True, PATIENCE_S)
    await (await topic.index()).sweep(whenever=True)
    assert await topic.buckets() == []
    assert await topic.snapshots() == set()
    assert await topic.release(due + HOUR_MS) == []


async def _is_idle(topic):
    """Nothing is being sealed, and there is nothing to seal."""
    state = await (await topic.index()).scripts.state()
    least = topic.broker.config.delayed_delivery_min_index_count_per_bucket
    return state.closing == "" and state.open_entries < least


async def test_retention_takes_the_log_and_with_it_the_ledgers_that_nothing_waits_in(topic):
    """DD-36: the log is trimmed behind two buckets of three; their payload goes, and what waits stays and fires."""
    due, partition = topic.in_ms(HOUR_MS), await topic.broker.catalog.partition("t", 0)
    values = await topic.fill_buckets(3, due)
    assert await topic.release(due + 295) == values[:30]
    start = (await partition.trim(retention_ms=-1, retention_bytes=0)).start_offset
    assert start == 30
    # The second bucket's ledger has been read from and holds what is still to come: it stays.
    assert await topic.keys("data:-*") == {f"{{t:0}}:data:-{n}" for n in (2, 3, 4)}
    assert await topic.waiting() == 30
    assert await topic.release(due + 395) == values[30:40]
    await partition.trim(retention_ms=-1, retention_bytes=0)
    assert await topic.keys("data:-*") == {f"{{t:0}}:data:-{n}" for n in (3, 4)}
    assert await topic.release(due + HOUR_MS) == values[40:]
    assert await values_of(topic.broker, "t") == values[40:]


# -- DD-39: other settings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), [(1_000_000, 50), (50, 1_000_000)])
async def test_a_broker_with_other_settings_delivers_what_waits_once_and_on_time(redis_url, prefix, first, second):
    """DD-39: all in the mutable bucket, then sealed ones, and the other way around, with 1 000 pending; there is one
    kind of index, so nothing is converted, and snapshots of the time before go with their buckets."""
    async with scheduling(redis_url, prefix, delayed_delivery_min_index_count_per_bucket=first) as topic:
        due = topic.in_ms(HOUR_MS)
        values = [v for n in range(5) for v in await topic.fill(100, due + 1_000 * n, name=f"{n}.")]
        assert await eventually(lambda: _is_idle(topic), True, PATIENCE_S)
        sealed = await topic.buckets()
        assert bool(sealed) == (first == 50)
    async with scheduling(redis_url, prefix, delayed_delivery_min_index_count_per_bucket=second) as topic:
        assert await topic.waiting() == 500
        values += [v for n in range(5, 10) for v in await topic.fill(100, due + 1_000 * n, name=f"{n}.")]
        assert await eventually(lambda: _is_idle(topic), True, PATIENCE_S)
        assert (len(await topic.buckets()) > len(sealed)) == (second == 50)
        assert await topic.waiting() == 1_000
        assert await topic.release(due - 1) == []
        assert await topic.release(due + 4_000) == values[:401]
        assert await topic.release(due + HOUR_MS) == values[401:]
        assert await topic.values() == values
        assert await topic.snapshots() == set()
