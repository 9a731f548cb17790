"""`redis-ledger backup` of a running Redis, and `redis-ledger restore` elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from redis_ledger.app.embedded_redis.backup_server import backup_server
from redis_ledger.backup import layout, taking
from redis_ledger.backup.restoring import Restoring
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.broker.types import NewRecord
from redis_ledger.clock import SystemClock
from redis_ledger.errors import TransactionTimedOut
from redis_ledger.ids import TxnId
from redis_ledger.ledger.leader_epochs import GAP
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from redis_ledger.store import replica_stream
from redis_ledger.store.address import Address
from redis_ledger.store.replica_stream import Position
from redis_ledger.store.store import Store
from tests.support.broker import eventually, one, records, values_of
from tests.support.cli import Ended, run
from tests.support.redis_servers import Server, redis_cluster, redis_server

PARTITIONS, HOUR_MS = 6, 3_600_000


@contextlib.contextmanager
def redis_of(kind: str) -> Iterator[str]:
    with redis_cluster() if kind == "cluster" else redis_server() as redis:
        yield redis.url


async def command(*words: object) -> Ended:
    return await asyncio.to_thread(run, *words)


def options(url: str, prefix: str) -> tuple[str, ...]:
    return "--redis", url, "--set", f"prefix={prefix}"


class Traffic:
    """Transactions that write to three partitions and acknowledge a message, one after the other, until it is stopped.

    committed: those that were confirmed."""

    def __init__(self, broker: Broker, name: str) -> None:
        self._broker, self._name = broker, name
        self.committed: list[str] = []
        self._task = asyncio.ensure_future(self._work())

    async def stop(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _work(self) -> None:
        number = 0
        while True:
            value = f"{self._name}-{number}"
            txn = (await self._broker.transactions.begin(4_000)).id
            for partition in {number % PARTITIONS, (number + 1) % PARTITIONS, (number + 3) % PARTITIONS}:
                await self._broker.records.produce("out", records(value, partition=partition), transaction=txn)
            got = await self._broker.subscriptions.receive("in", "job", self._name, max_records=1)
            await self._broker.subscriptions.ack("in", "job", self._name, [each.id for each in got], transaction=txn)
            await self._broker.transactions.commit(txn)
            self.committed.append(value)
            number += 1


async def written(broker: Broker, isolation: str = "read_committed") -> Counter[str]:
    """Values of topic out, without markers, and how often each is there."""
    found = Counter[str]()
    for partition in range(PARTITIONS):
        values = await values_of(broker, "out", partition, isolation=isolation)  # type: ignore[arg-type]
        found.update(each for each in values if each != "[marker]")
    return found


async def still_open(broker: Broker) -> int:
    return len(await broker.transactions.list("open"))


async def prepared(broker: Broker, buffer: str = "marker") -> tuple[TxnId, TxnId]:
    """Topics, positions, and two open transactions: one that lasts, and one whose deadline is near."""
    await broker.topics.create("in", PARTITIONS)
    for name in ("out", "open"):
        await broker.topics.create(name, PARTITIONS, settings={TXN_BUFFER: BUFFERS[buffer]})
    await broker.subscriptions.create("in", "job", "shared")
    for partition in range(PARTITIONS):
        await broker.records.produce("in", records(*map(str, range(400)), partition=partition))
    got = await broker.subscriptions.receive("in", "job", "early", max_records=12)
    await broker.subscriptions.ack("in", "job", "early", [each.id for each in got])
    await broker.offsets.commit("group", [OffsetEntry("in", 2, 7)], fence=-1)
    await broker.records.produce("in", [NewRecord(None, b"later", deliver_after_ms=HOUR_MS)])
    begun = list[TxnId]()
    for timeout_ms in (600_000, 3_000):
        txn = (await broker.transactions.begin(timeout_ms)).id
        for partition in range(PARTITIONS):
            await broker.records.produce("open", records(f"{timeout_ms}", partition=partition), transaction=txn)
        begun.append(txn)
    return begun[0], begun[1]


@pytest.mark.parametrize(
    ("source", "target", "buffer"),
    [
        pytest.param("one", "one", "marker", marks=pytest.mark.full),
        pytest.param("cluster", "cluster", "marker", marks=pytest.mark.full),
        pytest.param("cluster", "one", "marker", marks=pytest.mark.full),
        ("cluster", "one", "sidecar"),
    ],
)
async def test_a_backup_of_a_running_redis_goes_on_elsewhere(source, target, buffer, prefix, tmp_path):
    """SC-11, SC-12: in both transaction buffers."""
    folder = tmp_path / "backup"
    with redis_of(source) as url:
        async with one(url, prefix) as broker:
            lasting, short = await prepared(broker, buffer)
            producer_id, epoch = await broker.producers.init("job", 60_000)
            acked = {each.id for each in await broker.subscriptions.receive("in", "job", "x", max_records=6)}
            await broker.subscriptions.ack("in", "job", "x", list(acked))
            # Given transactions across slots that go on all the time
            traffic = [Traffic(broker, name) for name in "abc"]
            await asyncio.sleep(0.3)
            before = [value for each in traffic for value in each.committed]
            # When a backup is taken
            ended = await command("backup", folder, "--json", *options(url, prefix))
            after = sum(len(each.committed) for each in traffic)
            while sum(len(each.committed) for each in traffic) <= after:
                await asyncio.sleep(0.01)
            for each in traffic:
                await each.stop()
            assert broker.lost_writes.kinds == {}
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["nodes"] == (3 if source == "cluster" else 1)
    assert json.loads(ended.out)["paused_ms"] < 1_000 * taking.ATTEMPTS_MAX
    # and restored to another Redis
    with redis_of(target) as url:
        restored = await command("restore", folder, *options(url, prefix))
        assert restored.code == 0, restored.err
        assert "Restored" in restored.out
        checked = await command("fsck", "--full", *options(url, prefix))
        assert checked.code == 0, checked.out
        async with one(url, prefix) as broker:
            # Then open transactions are committed by their owner, or aborted at their deadline
            await broker.transactions.commit(lasting)

            async def status() -> str:
                return (await broker.transactions.get(short)).status

            assert await eventually(status, "aborted", within_s=10) == "aborted"
            with pytest.raises(TransactionTimedOut):
                await broker.transactions.commit(short)
            for partition in range(PARTITIONS):
                assert await values_of(broker, "open", partition) == ["600000"]
            # and none is torn, and none is lost that was confirmed before
            assert await eventually(lambda: still_open(broker), 0, within_s=20) == 0
            found = await written(broker)
            assert set(found.values()) == {3}
            assert set(before) <= set(found)
            # and positions are kept
            (stored,) = await broker.offsets.fetch("group", [("in", 2)])
            assert stored.offset == 7
            again = await broker.subscriptions.receive("in", "job", "y", max_records=1_000)
            assert not acked & {each.id for each in again}
            (waiting,), _ = await broker.delayed.list("in")
            assert waiting.value == b"later"
            # and producers go on
            assert await broker.producers.init("job", 60_000) == (producer_id, epoch + 1)
            traffic = [Traffic(broker, "later")]
            while not traffic[0].committed:
                await asyncio.sleep(0.01)
            await traffic[0].stop()
            assert (await written(broker))["later-0"] == 3
        assert (await command("fsck", "--full", *options(url, prefix))).code == 0


async def test_brokers_with_a_state_dir_continue_above_what_they_answered(prefix, tmp_path):
    with redis_server() as redis:
        async with one(redis.url, prefix, state_dir=str(tmp_path / "state")) as broker:
            await broker.topics.create("out", 1)
            await broker.records.produce("out", records("kept"))
            assert (await command("backup", tmp_path / "backup", *options(redis.url, prefix))).code == 0
            await broker.records.produce("out", records("lost", "lost"))
        redis.ask("FLUSHALL")
        assert (await command("restore", tmp_path / "backup", *options(redis.url, prefix))).code == 0
        async with one(redis.url, prefix, state_dir=str(tmp_path / "state")) as broker:
            (appended,) = await broker.records.produce("out", records("new"))
            assert appended.base_offset == 3 + GAP + 1
            assert broker.lost_writes.records == 2


@pytest.mark.full
async def test_copies_of_different_times_tear_transactions_and_fsck_names_them(prefix, tmp_path):
    """Nodes of two backups, put together: what `backup` prevents."""
    with redis_of("cluster") as url:
        async with one(url, prefix) as broker:
            await broker.topics.create("out", PARTITIONS)
            txn = (await broker.transactions.begin(600_000)).id
            for partition in range(PARTITIONS):
                await broker.records.produce("out", records("x", partition=partition), transaction=txn)
            assert (await command("backup", tmp_path / "1", *options(url, prefix))).code == 0
            await broker.transactions.commit(txn)
            assert (await command("backup", tmp_path / "2", *options(url, prefix))).code == 0
    found = dict[str, tuple[int, int]]()
    for late in range(3):
        with redis_of("one") as url:
            await _put_together(url, prefix, tmp_path, late)
            checked = await command("fsck", "--full", "--json", *options(url, prefix))
            async with one(url, prefix) as broker:
                seen = await eventually(lambda: visible(broker), PARTITIONS)
            await command("fsck", "--full", "--repair", *options(url, prefix))
            async with one(url, prefix) as broker:
                repaired = await eventually(lambda: visible(broker), PARTITIONS)
        kinds = {each["kind"] for each in json.loads(checked.out)["findings"]}
        assert kinds
        found[" ".join(sorted(kinds))] = seen, repaired
    # Then a coordinator that is ahead has the outcome, and --repair carries it to the other nodes;
    # one that is behind aborts what other nodes have committed, and fsck can only name it
    assert found.keys() == {"ended_open", "marker"}
    assert found["ended_open"][0] < PARTITIONS == found["ended_open"][1]
    assert found["marker"][0] == found["marker"][1] < PARTITIONS


async def visible(broker: Broker) -> int:
    return (await written(broker))["x"]


async def _put_together(url: str, prefix: str, folder: Path, late: int) -> None:
    store = await Store.open(url, prefix=prefix)
    store.admission.serve_any()
    restoring = Restoring(store, prefix)
    for number in range(3):
        place = layout.append_only(folder / ("2" if number == late else "1"), number)
        with backup_server(place) as socket:
            await restoring.copy(Address(path=str(socket)))
    await restoring.finish()
    await store.close()


async def test_a_cut_needs_two_readings_that_agree(redis: Server, prefix, tmp_path, monkeypatch):
    store = await Store.open(redis.url, prefix=prefix)
    read, readings = taking._positions, list[Position]()

    async def moving(store: Store) -> list[Position]:
        (at,) = await read(store)
        if len(readings) < 3:
            at = at._replace(offset=at.offset - 3 + len(readings))
        readings.append(at)
        return [at]

    monkeypatch.setattr(taking, "_positions", moving)
    cut = await taking._cut(store, 100)
    assert len(readings) == 6 or readings[2] == readings[3]
    assert cut.positions == readings[-1:]
    assert readings[-1] == readings[-2]
    await store.close()


async def test_what_cannot_be_restored_is_refused_and_changes_nothing(redis: Server, prefix, tmp_path):
    folder = tmp_path / "backup"
    async with one(redis.url, prefix) as broker:
        await broker.topics.create("out", 1)
        await broker.records.produce("out", records("a"))
        assert (await command("backup", folder, *options(redis.url, prefix))).code == 0
        # a folder that is used
        again = await command("backup", folder, *options(redis.url, prefix))
        assert (again.code, "is not empty" in again.err) == (2, True)
        # a Redis that has data
        full = await command("restore", folder, *options(redis.url, prefix))
        assert (full.code, "restore into an empty one" in full.err) == (2, True)
        assert await values_of(broker, "out") == ["a"]
    with redis_server() as empty:
        path = layout.append_only(folder, 0) / layout.BASE
        content = path.read_bytes()
        path.write_bytes(content[:-20] + b"x" + content[-19:])
        damaged = await command("restore", folder, *options(empty.url, prefix))
        assert (damaged.code, "is damaged" in damaged.err) == (2, True)
        (folder / layout.INDEX).unlink()
        incomplete = await command("restore", folder, *options(empty.url, prefix))
        assert (incomplete.code, "not completed" in incomplete.err) == (2, True)
        assert empty.ask("DBSIZE") == 0


@pytest.mark.full
async def test_a_folder_of_a_node_is_a_data_directory_of_redis(redis: Server, prefix, tmp_path):
    folder = tmp_path / "backup"
    async with one(redis.url, prefix) as broker:
        await broker.topics.create("out", 1)
        await broker.records.produce("out", records("a"))
        assert (await command("backup", folder, *options(redis.url, prefix))).code == 0
    with redis_server(dir=str(folder / "node-0"), appendonly="yes") as started:
        async with one(started.url, prefix) as broker:
            assert await values_of(broker, "out") == ["a"]
            assert (await broker.records.produce("out", records("b")))[0].base_offset == 1


async def test_a_backup_that_fails_leaves_no_pause_and_no_index(redis: Server, prefix, tmp_path, monkeypatch):
    async def broken(*_: object) -> None:
        raise layout.BackupError("A node of Redis is no primary any more: take the backup again.")

    monkeypatch.setattr(taking, "_positions", broken)
    ended = await command("backup", tmp_path / "b", "--pause-ms-max", 60_000, *options(redis.url, prefix))
    assert (ended.code, "take the backup again" in ended.err) == (2, True)
    assert not (tmp_path / "b" / layout.INDEX).exists()
    assert redis.ask("SET", f"{prefix}:x", "1") == b"OK"


@pytest.mark.full
async def test_a_backup_is_not_counted_as_a_copy(redis: Server, prefix, tmp_path, monkeypatch):
    """WAIT must not confirm a write because a backup has it."""
    cut, counted = taking._cut, list[object]()

    async def waiting(store: Store, pause_ms_max: int) -> taking.Cut:
        counted.append(redis.ask_all(("SET", f"{prefix}:x", "1"), ("WAIT", 1, 300))[1])
        return await cut(store, pause_ms_max)

    monkeypatch.setattr(taking, "_cut", waiting)
    store = await Store.open(redis.url, prefix=prefix)
    await taking.take(store, tmp_path / "b", SystemClock(), pause_ms_max=1_000, say=lambda sentence: None)
    await store.close()
    assert counted == [0]


async def test_a_primary_that_falls_silent_ends_the_backup(prefix, tmp_path, monkeypatch):
    monkeypatch.setattr(replica_stream, "SILENCE_S_MAX", 3.0)

    async def stuck(store: Store, pause_ms_max: int) -> taking.Cut:
        redis.freeze()
        await asyncio.sleep(60)
        raise AssertionError("the backup waits for ever")

    monkeypatch.setattr(taking, "_cut", stuck)
    with redis_server(repl_diskless_sync="no") as redis:
        try:
            ended = await command("backup", tmp_path / "b", *options(redis.url, prefix))
        finally:
            redis.thaw()
    assert (ended.code, "sent nothing for 3 s" in ended.err) == (2, True), ended.err
