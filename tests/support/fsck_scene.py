"""A broker with something in every key: what fsck is tested on, and the check that clients go on afterwards."""

from __future__ import annotations

from typing import Any, NamedTuple

from redis_ledger.auth.acl import Caller
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.broker.types import NewRecord, ProducerSequence
from redis_ledger.clock import SystemClock
from redis_ledger.delay.recurrence import Recurrence
from redis_ledger.fsck.service import Fsck, Report
from redis_ledger.groups.member import Changes
from redis_ledger.groups.ownership import Ownership
from redis_ledger.ids import TxnId
from redis_ledger.ledger.transactional_writes import WrittenPartition
from redis_ledger.offload.manifest import Plan, Segment, Stretch
from redis_ledger.offload.scripts import OffloadScripts
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Store
from tests.support.broker import records, values_of

HOUR_MS = 3_600_000
SETTINGS: dict[str, Any] = {
    "coordinators": 1,
    "delayed_delivery_min_index_count_per_bucket": 1_000,  # buckets are sealed by the scene alone
    "delayed_delivery_max_indexes_per_segment": 4,
    "delayed_delivery_load_ahead_ms": 100,
    "retention_ms": -1,
}


class Scene(NamedTuple):
    broker: Broker
    url: str
    txn: TxnId  # open: it has written, acknowledged and scheduled
    producer_id: int  # has written three batches
    snapshot: str  # of the sealed bucket of delayed records

    @property
    def partition(self) -> PartitionKeys:
        return PartitionKeys(self.broker.store.prefix, "t", 0)

    async def command(self, *args: Any) -> Any:
        return await self.broker.store.command(*args, key=args[1])


async def build(broker: Broker, url: str) -> Scene:
    await broker.topics.create("t", 1)
    await broker.records.produce("t", records(*(f"v{i}" for i in range(20))))
    producer_id, epoch = await broker.producers.allocate()
    for sequence in range(3):
        producer = ProducerSequence(producer_id, epoch, sequence)
        await broker.records.produce("t", records(f"p{sequence}"), producer=producer)
    for commit in (True, False):
        txn = (await broker.transactions.begin()).id
        await broker.records.produce("t", records("x", "y"), transaction=txn)
        await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
    await _subscription(broker)
    txn = await _open(broker)
    await _delayed(broker)
    await _groups(broker)
    await _history(broker)
    await _metadata(broker)
    await broker.producers.init("job", 60_000)
    topic_id = (await broker.catalog.get("t")).id
    await broker.buffer_snapshots.take(WrittenPartition("t", 0, topic_id))
    await broker.records.produce("t", records("behind the snapshot"))
    (bucket,) = await (await broker.delayed.messages("t", 0)).index.storage.buckets()
    return Scene(broker, url, txn, producer_id, bucket.snapshot)


async def _subscription(broker: Broker) -> None:
    await broker.subscriptions.create("t", "s", "shared")
    got = await broker.subscriptions.receive("t", "s", "c1", max_records=10, ack_timeout_ms=HOUR_MS)
    await broker.subscriptions.ack("t", "s", "c1", [message.id for message in got[2::2]])


async def _open(broker: Broker) -> TxnId:
    """An open transaction that was begun with a nonce, and takes part in everything."""
    got = await broker.subscriptions.receive("t", "s", "c2", max_records=2, ack_timeout_ms=HOUR_MS)
    coordinator = next(iter(broker.coordinators))
    txn, _ = await broker.coordinators.begin(HOUR_MS, "ada", "nonce-1", at=coordinator)
    await broker.records.produce("t", records("open"), transaction=txn)
    await broker.subscriptions.ack("t", "s", "c2", [message.id for message in got], transaction=txn)
    await broker.records.produce("t", [NewRecord(None, b"held", deliver_after_ms=HOUR_MS)], transaction=txn)
    return txn


async def _delayed(broker: Broker) -> None:
    async def schedule(count: int, name: str) -> list[Any]:
        placed = list[Any]()
        for i in range(count):
            row = NewRecord(None, f"{name}{i}".encode(), deliver_after_ms=HOUR_MS + 1_000 * i)
            (appended,) = await broker.records.produce("t", [row])
            placed += appended.scheduled
        return placed

    await schedule(12, "sealed")
    index = (await broker.delayed.messages("t", 0)).index
    state = await index.scripts.state()
    assert state is not None
    await index.seal(state.ledger)
    (horizon,) = await index.scripts.command("ZRANGEBYSCORE", index.scripts.delay.next, 0, "+inf", "LIMIT", 0, 1)
    await index.load(horizon.decode())
    placed = await schedule(6, "waiting")
    await broker.delayed.reschedule("t", placed[0].id, deliver_after_ms=2 * HOUR_MS)
    await broker.recurring.schedule("t", NewRecord(None, b"again", deliver_after_ms=HOUR_MS), Recurrence("PT1H"))


async def _groups(broker: Broker) -> None:
    await broker.offsets.commit("g", [OffsetEntry("t", 0, 5)], fence=-1)
    ownership = Ownership(broker.store, broker.live_brokers, broker.clock)
    await ownership.claim("g", "classic")
    generation = await ownership.advance("g", "classic", 0, "consumer")
    await ownership.store("g", "classic", Changes(generation, b"", {"m1": b"x", "m2": b"y"}, 2, is_whole=True))
    await ownership.release("g")


async def _history(broker: Broker) -> None:
    """A topic whose first ten offsets are offloaded."""
    await broker.topics.create("h", 1)
    await broker.records.produce("h", records(*(f"h{i}" for i in range(20))))
    partition = await broker.catalog.partition("h", 0)
    scripts = OffloadScripts(broker.store, partition.keys, "h", partition.topic_id)
    plan = Plan("p1", [Stretch(0, 10, "h/x.parquet")])
    await scripts.plan(plan, 0)
    await scripts.publish(plan, [Segment(0, 10, "h/x.parquet", 10, 100, 1, 2, "0" * 16)])
    await scripts.plan(Plan("p2", [Stretch(10, 20, "h/y.parquet")]), 10)


async def _metadata(broker: Broker) -> None:
    await broker.scram_credentials.add("ada", "correct horse battery staple")
    await broker.security.create_token("User:ada")
    await broker.quotas.change("User:ada", {"bytes_in_per_s": 1 << 30})
    await broker.batched_writes.change("transaction_log", {"max_records": 32})
    await broker.dead_letters.set("t", "s", 100, "dead")
    await broker.redelivery.set("t", "s", 1_000, 2.0, 60_000)
    await broker.audit.note(Caller("User:ada", "localhost"), "test", "t")


async def checked(scene: Scene, **more: Any) -> Report:
    """As the command does: with a connection of its own.  Everything is read, unless `full` is False."""
    more.setdefault("full", True)
    store = await Store.open(scene.url, prefix=scene.broker.store.prefix)
    try:
        return await Fsck(store, scene.broker.config, SystemClock()).run(**more)
    finally:
        await store.close()


def sentences(report: Report) -> list[str]:
    return [f"{each.kind} | {each.where} | {each.item} | {each.detail}" for each in report.left]


async def goes_on(scene: Scene) -> None:
    """Produce, a transaction, fetch and receive work."""
    broker = scene.broker
    (appended,) = await broker.records.produce("t", records("after"))
    txn = (await broker.transactions.begin()).id
    await broker.records.produce("t", records("in a transaction"), transaction=txn)
    await broker.transactions.commit(txn)
    seen = await values_of(broker, "t", isolation="read_uncommitted", offset=appended.base_offset)
    assert seen[:2] == ["after", "in a transaction"]
    got = await broker.subscriptions.receive("t", "s", "c9", max_records=1_000)
    await broker.subscriptions.ack("t", "s", "c9", [message.id for message in got])
    await broker.records.produce("t", [NewRecord(None, b"later", deliver_after_ms=HOUR_MS)])
