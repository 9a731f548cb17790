"""Snapshots of the transaction buffer: what they hold, and what a rebuild reads with them.

No broker needs one to serve; `fsck` begins there (docs/decisions/0032).
"""

from __future__ import annotations

import pytest
from crc32c import crc32c

from redis_ledger.broker.types import ProducerSequence
from redis_ledger.fsck import service
from redis_ledger.ledger.buffer_snapshot import FANOUT, SEALED_ROWS, VERSION, UnusableSnapshot
from redis_ledger.ledger.buffer_snapshot_taker import SnapshotTaker
from redis_ledger.ledger.entries import Aborted
from redis_ledger.ledger.log_trace import OpenTransaction
from redis_ledger.proto.buffer_snapshot_pb2 import BufferSnapshot
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.scripts import Script
from tests.support.broker import begun, one, records, values_of
from tests.support.buffer_snapshots import checked, ended, fill, find, head, load, place_of, stored, take

HISTORY = 100_000  # entries: 1 000 000 take ten times as long to write, and a rebuild reads as few of them


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(service, "BETWEEN_S", 0.02)


# -- content -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["redis_url", "cluster_url"])
async def test_a_snapshot_holds_position_open_and_aborted_transactions_and_windows(kind, prefix, request):
    """TB-15, TB-23, TB-25: there is one form of it, and it is read back as it was."""
    async with one(request.getfixturevalue(kind), prefix, coordinators=1) as broker:
        await broker.topics.create("t")
        assert await find(broker) is None
        producer_id, epoch = await broker.producers.allocate()
        await broker.records.produce("t", records("p"), producer=ProducerSequence(producer_id, epoch, 0))
        await ended(broker, commit=True)
        await take(broker)
        assert (await load(broker)).aborted == []
        aborted = await ended(broker, commit=False)
        open_ = await begun(broker, "open")
        await take(broker)
        held = await load(broker)
        assert (held.index.position, held.trace().stable()) == (6, 5)
        assert held.aborted == [Aborted(aborted.producer_id, 3, 4, 5)]
        assert held.index.open == {open_.producer_id: OpenTransaction(0, 5)}
        assert [each.producer_id for each in held.windows if not each.is_transactional] == [producer_id]
        assert (await checked(broker, full=True)).left == []


async def test_aborts_below_the_log_start_leave_the_next_snapshot(redis_url, prefix):
    """TB-21: a segment goes as a whole, or is written anew without what is below the start."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        await broker.topics.create("t")
        await fill(broker, 100, aborts=True)
        size = (await take(broker)).bytes
        markers = [row.last_offset for row in (await load(broker)).aborted]
        partition = await broker.catalog.partition("t", 0)
        await partition.trim(retention_ms=-1, retention_bytes=-1, below_offset=markers[60] - 1)
        await broker.records.produce("t", records("more"))
        assert len((await load(broker)).aborted) == 40
        assert (await take(broker)).bytes < size
        held = await load(broker)
        assert [each.rows for each in held.index.aborted] == [40]
        assert held.aborted[0].last_offset == markers[60]
        await partition.trim(retention_ms=-1, retention_bytes=-1, below_offset=markers[-1] + 1)
        await broker.records.produce("t", records("more"))
        await take(broker)
        assert (await load(broker)).index.aborted == []
        k = partition.keys
        assert await broker.store.command("HLEN", k.snapshot, key=k.state) == 2  # no segment is left behind


async def test_many_aborts_are_written_once_in_segments(redis_url, prefix):
    """TB-22: 100 000 aborts, a snapshot after each thousand; an id of a transaction has 16 bytes."""
    async with one(redis_url, prefix, coordinators=1, retention_ms=-1) as broker:
        await broker.maintenance.close()
        await broker.topics.create("t")
        sizes = []
        for _ in range(100):
            await fill(broker, 1_000, aborts=True)
            sizes.append((await take(broker)).bytes)
        assert sum(sizes) < 2 * 16 * 100_000
        held = await load(broker)
        assert len(held.aborted) == 100_000
        assert len(held.index.aborted) < 3 * FANOUT
        assert max(each.rows for each in held.index.aborted) <= SEALED_ROWS
        without_merge = sorted(sizes)[: 100 - 100 // FANOUT]
        assert without_merge[-1] < 1.3 * without_merge[0]  # they cost what is new
        await broker.records.produce("t", records("last"))
        assert (await checked(broker)).left == []


# -- rebuild -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "history"), [("redis_url", HISTORY), ("cluster_url", 2_000)])
async def test_a_rebuild_reads_the_log_behind_the_snapshot_and_gets_the_state_of_before(kind, history, prefix, request):
    """TB-17: a hundred entries behind the snapshot; open and aborted transactions and windows on both sides of it."""
    url = request.getfixturevalue(kind)
    async with one(url, prefix, coordinators=1, retention_ms=-1) as broker:
        await broker.maintenance.close()
        await broker.topics.create("t")
        producer_id, epoch = await broker.producers.allocate()

        async def written(sequence):
            producer = ProducerSequence(producer_id, epoch, sequence)
            await broker.records.produce("t", records("p"), producer=producer)

        for sequence in range(3):
            await written(sequence)
        await fill(broker, history)
        for _ in range(20):
            await ended(broker, commit=False)
        await begun(broker, "open")
        await take(broker)
        await written(3)
        for _ in range(10):
            await ended(broker, commit=False)
        await begun(broker, "open, too")
        for _ in range(78):
            await broker.records.produce("t", records("x"))
        before = await stored(broker)
        k = PartitionKeys(prefix, "t", 0)
        for key in (k.open, k.firsts, k.aborted, k.producers):
            await broker.store.command("DEL", key, key=k.state)
        await broker.store.command("HSET", k.state, "stable", 7, key=k.state)
        report = await checked(broker, repair=True)
        assert report.left == []
        assert await stored(broker) == before
        (use,) = report.snapshots
        assert use.position == history + 44
        assert use.entries <= 101
        assert (await load(broker)).trace().open.keys() < {int(pid) for pid in before["open"] if pid}


async def test_damage_of_an_index_does_not_get_into_the_snapshots_that_are_taken_after_it(redis_url, prefix):
    """TB-20: they are computed from the log, so a comparison with them still finds it."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        k = await one_with_snapshot(broker)
        before = await stored(broker)
        for key in (k.open, k.firsts, k.aborted):
            await broker.store.command("DEL", key, key=k.state)
        for _ in range(3):
            await ended(broker, commit=True)
            await take(broker)
        report = await checked(broker, repair=True)
        assert report.left == []
        assert {"aborted", "open_transaction"} <= {each.kind for each in report.repaired}
        after = await stored(broker)
        assert [after[name] for name in ("open", "firsts", "aborted")] == [
            before[name] for name in ("open", "firsts", "aborted")
        ]


async def test_a_long_log_is_taken_in_slices_and_each_is_a_snapshot(redis_url, prefix):
    """TB-16: a call reads a bounded number of entries."""
    async with one(redis_url, prefix, coordinators=1, retention_ms=-1) as broker:
        await broker.maintenance.close()
        await broker.topics.create("t")
        await fill(broker, 700, aborts=True)
        await begun(broker, "open")
        taker, positions = SnapshotTaker(broker.store, await place_of(broker)), []
        for entries in (500, 500, 401, 0):
            taken = await taker.take(1, entries_max=500)
            assert (taken.entries, taken.is_behind) == (entries, entries == 500)
            kinds = {each.kind for each in (await checked(broker, full=True)).left}
            assert kinds == set()  # payload of aborted batches may be missing
            positions.append((await head(broker))[1])
        assert positions == sorted(positions)
        assert positions[-1] == (await broker.topics.describe("t"))[1][0].end_offset


async def test_a_log_with_a_gap_gets_no_snapshot_behind_it(redis_url, prefix):
    """TB-20: a rebuild from there would not find the gap."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        await broker.topics.create("t")
        for _ in range(3):
            await ended(broker, commit=False)
        k = PartitionKeys(prefix, "t", 0)
        await broker.store.command("XDEL", k.log, "2-1", key=k.state)
        taken = await take(broker)
        assert (taken.entries, taken.position) == (2, 2)
        assert "log_gap" in [each.kind for each in (await checked(broker)).left]


async def refused(broker):
    """Why the snapshot is not used; what fsck finds; whether it has read the whole log."""
    with pytest.raises(UnusableSnapshot):
        await load(broker)
    report = await checked(broker)
    (use,) = report.snapshots
    _, state = await broker.topics.describe("t")
    assert use.position == -1
    assert use.entries > 0 or state[0].start_offset == state[0].end_offset
    return use.reason, [each.kind for each in report.left]


async def one_with_snapshot(broker):
    await broker.topics.create("t")
    await ended(broker, commit=False)
    await begun(broker, "open")
    await take(broker)
    return PartitionKeys(broker.store.prefix, "t", 0)


DAMAGES = {
    "no index": (("HDEL", "index"), "checksum"),
    "a segment is missing": (("HDEL", "s1"), "segment s1 is missing"),
    "a byte of a segment": (("HSET", "s1", "x"), "checksum"),
}


@pytest.mark.parametrize("name", DAMAGES)
async def test_a_damaged_snapshot_is_refused_and_the_whole_log_is_read(name, redis_url, prefix):
    """TB-20: nothing is rebuilt from it; the next snapshot begins anew."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        k = await one_with_snapshot(broker)
        (command, *args), words = DAMAGES[name]
        await broker.store.command(command, k.snapshot, *args, key=k.state)
        await broker.store.command("DEL", k.aborted, key=k.state)
        reason, kinds = await refused(broker)
        assert words in reason
        assert {"snapshot", "aborted"} <= set(kinds)
        report = await checked(broker, repair=True)
        assert report.left == []
        assert await head(broker) == ()
        await take(broker)
        assert (await checked(broker)).snapshots[0].position == 3


async def test_a_snapshot_of_another_leader_epoch_topic_or_log_is_refused(redis_url, prefix):
    """TB-20: after a takeover, a restored backup, a trim beyond it."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        k = await one_with_snapshot(broker)

        async def command(*args):
            return await broker.store.command(*args, key=k.state)

        kept = await command("DUMP", k.snapshot)
        await command("HSET", k.state, "epoch", 4)
        assert await refused(broker) == ("it is of leader epoch 0, and the partition of 4", [])
        await command("HSET", k.state, "epoch", 0)
        # a log that lost its newest entries
        *earlier, (id_, newest) = await command("XRANGE", k.log, "-", "+")
        await command("XDEL", k.log, id_)
        reason, kinds = await refused(broker)
        assert "the log ends before it" in reason
        assert "snapshot" in kinds
        # and got another since
        await command("DEL", k.log)  # only some servers let an id that was deleted be used again
        another = [b"999" if at == 19 else field for at, field in enumerate(newest)]
        for entry, fields in [*earlier, (id_, another)]:
            await command("XADD", k.log, entry, *fields)
        assert "is another one" in (await refused(broker))[0]
        # a new topic of the same name
        await broker.topics.delete("t")
        assert await command("EXISTS", k.snapshot) == 0
        await broker.topics.create("t")
        await command("RESTORE", k.snapshot, 0, kept)
        reason, kinds = await refused(broker)
        assert "it belongs to the topic id" in reason
        assert kinds == ["snapshot"]


async def test_a_partition_that_continues_under_a_higher_leader_epoch_gets_a_snapshot_of_its_whole_log(
    redis_url, prefix
):
    """TB-20: the gap in front of the new epoch is no damage, and its transactions are all there."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        k = await one_with_snapshot(broker)
        partition = await broker.catalog.partition("t", 0)
        args = (partition.topic_id, 0, 50, 10, 1_000, k.wake, 8)
        assert (await broker.store.call(Script.load("ledger/takeover"), (k.state, k.log), args))[1] == 1
        assert (await refused(broker))[0] == "it is of leader epoch 0, and the partition of 1"
        await ended(broker, commit=False)
        taken = await take(broker)
        assert (taken.entries, taken.refusal) == (6, "it is of leader epoch 0, and the partition of 1")
        held = await load(broker)
        assert (held.index.leader_epoch, held.index.position, len(held.aborted)) == (1, 63, 2)
        assert list(held.index.open.values()) == [OpenTransaction(0, 2)]
        for full in (True, False):
            assert (await checked(broker, full=full)).left == []


@pytest.mark.parametrize("what", ["a newer format", "another type"])
async def test_a_snapshot_of_a_newer_release_or_another_type_stays_as_it_is(what, redis_url, prefix):
    """TB-23: brokers of two releases do not replace each other's snapshots."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        k = await one_with_snapshot(broker)
        if what == "another type":
            await broker.store.command("SET", k.snapshot, "x", key=k.state)
        else:
            message = BufferSnapshot(version=VERSION + 1).SerializeToString()
            data = message + crc32c(message).to_bytes(4, "little")
            await broker.store.command("HSET", k.snapshot, "index", data, key=k.state)
        before = await broker.store.command("DUMP", k.snapshot, key=k.state)
        await ended(broker, commit=True)
        taken = await take(broker)
        assert (taken.bytes, taken.position) == (0, -1)
        assert await broker.store.command("DUMP", k.snapshot, key=k.state) == before
        reason, kinds = await refused(broker)
        assert reason == taken.refusal
        assert kinds == (["key_type"] if what == "another type" else [])


async def test_a_deleted_topic_leaves_no_snapshot_and_one_of_its_name_starts_clean(redis_url, prefix):
    """TB-24: also if one was left behind."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        k = await one_with_snapshot(broker)
        kept = await broker.store.command("DUMP", k.snapshot, key=k.state)
        await broker.topics.delete("t")
        assert await broker.store.command("EXISTS", k.snapshot, key=k.state) == 0
        await broker.topics.create("t")
        assert await find(broker) is None
        await broker.store.command("RESTORE", k.snapshot, 0, kept, key=k.state)
        await ended(broker, commit=True)
        taken = await take(broker)
        assert "it belongs to the topic id" in taken.refusal
        assert (await load(broker)).aborted == []
        assert await values_of(broker, "t") == ["x"]
        assert (await checked(broker, full=True)).left == []


async def test_a_topic_that_is_deleted_meanwhile_gets_no_snapshot(redis_url, prefix):
    """TB-24"""
    async with one(redis_url, prefix, coordinators=1) as broker:
        k = await one_with_snapshot(broker)
        place = next(iter(broker.catalog.transactional_writes.by_partition))
        await broker.topics.delete("t")
        taken = await broker.buffer_snapshots.take(place)
        assert (taken.bytes, taken.position) == (0, -1)
        assert await broker.store.command("EXISTS", k.snapshot, key=k.state) == 0
