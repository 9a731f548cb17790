"""The largest inputs of lua/cursor/ and of txn/end that the API accepts."""

from __future__ import annotations

import asyncio
import random

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.broker.types import ExecuteAcks, NewRecord
from redis_ledger.ids import MessageId, TxnId
from redis_ledger.ledger.append_request import AppendRequest
from redis_ledger.ledger.partition import Partition
from redis_ledger.records.build import encode
from redis_ledger.txn.coordinator import Participant

REQUEST = 10_000  # records_per_request_max
NOW_MS = 1_700_000_000_000
ONE = encode([(None, b"v" * 20, [], NOW_MS)], producer_id=-1, epoch=-1, sequence=-1, transactional=False)
TIMEOUT_MS = 600_000


async def filled(broker: Broker, batches: int, topic: str = "t") -> Partition:
    """Returns a partition of a new topic with so many batches of one record."""
    await broker.topics.create(topic, 1)
    partition = await broker.catalog.partition(topic, 0)
    for _ in range(0, batches, 2_000):
        await asyncio.gather(*(partition.append(AppendRequest(ONE, 1, NOW_MS)) for _ in range(min(2_000, batches))))
    return partition


async def received(broker: Broker, count: int, name: str = "s", consumer: str = "c1") -> list[MessageId]:
    ids: list[MessageId] = []
    while len(ids) < count:
        some = await broker.subscriptions.receive("t", name, consumer, max_records=min(REQUEST, count - len(ids)))
        assert some
        ids += [each.id for each in some]
    return ids


async def single_acks(broker: Broker) -> None:
    """Every other message, in requests of the largest size: each offset is its own range."""
    partition = await filled(broker, 2 * REQUEST)
    await broker.subscriptions.create("t", "s", "shared")
    ids = await received(broker, 2 * REQUEST)
    assert await broker.subscriptions.ack("t", "s", "c1", ids[::2]) == REQUEST
    assert partition.number == 0
    await broker.subscriptions.nack("t", "s", "c1", None)


async def exclusive(broker: Broker) -> None:
    """Many leases, another owner, a cumulative acknowledgement over them, then a seek back and the deletion."""
    partition = await filled(broker, 2 * REQUEST)
    await broker.subscriptions.create("t", "s", "exclusive")
    ids = await received(broker, 2 * REQUEST)
    await broker.subscriptions.ack("t", "s", "c1", ids[1:REQUEST:2])
    over = ("owner_until", 0, "consumer_until", 0)  # the first owner has not called for long
    await broker.store.command("HSET", partition.keys.sub("s").cursor, *over, key=partition.keys.state)
    await broker.subscriptions.receive("t", "s", "c2", max_records=1)
    got = await received(broker, REQUEST + REQUEST // 2, consumer="c2")
    await broker.subscriptions.ack_cumulative("t", "s", "c2", got[-1])
    await broker.subscriptions.stats("t", "s")
    await broker.subscriptions.seek("t", "s", to="earliest")
    await broker.subscriptions.delete("t", "s")


async def failover(broker: Broker) -> None:
    """As many consumers as a subscription may have, and one that closes with many leases."""
    partition = await filled(broker, REQUEST)
    await broker.subscriptions.create("t", "s", "failover")
    await received(broker, REQUEST)
    for n in range(2, 101):
        assert await broker.subscriptions.receive("t", "s", f"c{n}") == []
    await broker.subscriptions.close_consumer("t", "s", "c1")
    assert await broker.subscriptions.receive("t", "s", "c100") == []
    assert len(await received(broker, REQUEST, consumer="c2")) == REQUEST
    assert partition.number == 0


async def single_nacks(broker: Broker) -> None:
    await filled(broker, 2 * REQUEST)
    await broker.subscriptions.create("t", "s", "shared")
    ids = await received(broker, 2 * REQUEST)
    await broker.subscriptions.nack("t", "s", "c1", ids[::2])
    await received(broker, REQUEST, consumer="c2")
    await broker.subscriptions.nack("t", "s", "c2", None)


async def held_by_one(broker: Broker, commit: bool) -> None:
    """One transaction acknowledges out of order, in requests of the largest size and one by one."""
    partition = await filled(broker, 4 * REQUEST)
    await broker.subscriptions.create("t", "s", "shared")
    ids = await received(broker, 4 * REQUEST)
    txn = (await broker.transactions.begin(TIMEOUT_MS)).id
    await broker.subscriptions.ack("t", "s", "c1", ids[: 2 * REQUEST : 2], transaction=txn)
    rest = ids[2 * REQUEST :: 2]
    random.Random(1).shuffle(rest)
    for at in range(0, 2_000, 10):
        await broker.subscriptions.ack("t", "s", "c1", rest[at : at + 10], transaction=txn)
    await broker.subscriptions.ack("t", "s", "c1", rest[:10], transaction=txn)
    assert partition.number == 0
    await (broker.transactions.commit if commit else broker.transactions.abort)(txn)


async def held_and_committed(broker: Broker) -> None:
    await held_by_one(broker, True)


async def held_and_aborted(broker: Broker) -> None:
    await held_by_one(broker, False)


async def held_and_trimmed(broker: Broker) -> None:
    """Retention passes leases, acknowledgements and pending acknowledgements."""
    partition = await filled(broker, 2 * REQUEST)
    await broker.subscriptions.create("t", "s", "shared")
    ids = await received(broker, 2 * REQUEST)
    txn = (await broker.transactions.begin(TIMEOUT_MS)).id
    await broker.subscriptions.ack("t", "s", "c1", ids[:REQUEST:2], transaction=txn)
    await broker.subscriptions.ack("t", "s", "c1", ids[REQUEST::2])
    await broker.topics.delete_records("t", 0, 2 * REQUEST - 10)
    await broker.subscriptions.stats("t", "s")
    await broker.transactions.commit(txn)
    assert partition.number == 0


async def held_by_many(broker: Broker) -> None:
    """Thousands of transactions hold one message each and end one by one; then some hold one together."""
    await filled(broker, REQUEST)
    await broker.subscriptions.create("t", "s", "shared")
    ids = await received(broker, 6_000)
    txns = [(await broker.transactions.begin(TIMEOUT_MS)).id for _ in range(5_000)]
    ack = broker.subscriptions.ack
    await asyncio.gather(*(ack("t", "s", "c1", [at], transaction=txn) for at, txn in zip(ids, txns, strict=False)))
    for at in range(5_000, 5_020):
        await broker.execute.run([ExecuteAcks("t", "s", "c1", [ids[at]])], [])
    more = [(await broker.transactions.begin(TIMEOUT_MS)).id for _ in range(16)]
    wide = [ids[5_100 + n : 6_000 : 16] for n in range(16)]
    await asyncio.gather(*(ack("t", "s", "c1", at, transaction=txn) for at, txn in zip(wide, more, strict=True)))
    for txn in (*more, *txns[:100]):
        await broker.transactions.commit(txn)


async def held_cumulatively(broker: Broker) -> None:
    await filled(broker, 2 * REQUEST)
    await broker.subscriptions.create("t", "s", "exclusive")
    ids = await received(broker, 2 * REQUEST)
    await broker.subscriptions.ack("t", "s", "c1", ids[1:REQUEST:2])
    txn = (await broker.transactions.begin(TIMEOUT_MS)).id
    await broker.subscriptions.ack_cumulative("t", "s", "c1", ids[-1], transaction=txn)
    await broker.subscriptions.ack_cumulative("t", "s", "c1", ids[-1], transaction=txn)
    await broker.transactions.commit(txn)


async def aborted(broker: Broker) -> None:
    """Aborts after one old transaction, and a subscription that reads over them after its end."""
    partition = await filled(broker, 1)
    old = (await broker.transactions.begin(TIMEOUT_MS)).id
    await broker.records.produce("t", [NewRecord(None, b"v")], transaction=old)
    for _ in range(10):
        txns = [(await broker.transactions.begin(TIMEOUT_MS)).id for _ in range(400)]
        await asyncio.gather(*(broker.records.produce("t", [NewRecord(None, b"v")], transaction=t) for t in txns))
        await asyncio.gather(*(broker.transactions.abort(t) for t in txns))
    await broker.transactions.commit(old)
    await broker.subscriptions.create("t", "s", "shared")
    for _ in range(12):
        await broker.subscriptions.receive("t", "s", max_records=100)
    await broker.subscriptions.create("t", "s2", "shared")
    await broker.subscriptions.stats("t", "s2")
    await partition.trim(retention_ms=-1, retention_bytes=0)


async def group_offsets(broker: Broker) -> None:
    """Commits of a group, also in transactions: many are pending at once."""
    await filled(broker, 1)
    entry = OffsetEntry("t", 0, 1, -1, "m" * 4_096)
    await broker.offsets.commit("g", [entry], fence=-1)
    partition = await broker.catalog.partition("t", 0)
    txns = [(await broker.transactions.begin(TIMEOUT_MS)).id for _ in range(5_000)]
    await asyncio.gather(*(_pend(broker, partition, entry, txn) for txn in txns))
    await broker.offsets.fetch("g", [("t", 0)])
    for txn in txns[:50]:
        await broker.transactions.commit(txn)
    await broker.offsets.delete("g", [("t", 0)])


async def _pend(broker: Broker, partition: Partition, entry: OffsetEntry, txn: TxnId) -> None:
    await broker.coordinators.add(txn, [Participant("t", partition.topic_id, 0, "g")])
    await broker.offsets.commit("g", [entry], fence=-1, transaction=txn)


async def key_shared(broker: Broker) -> None:
    """A hundred consumers, one of which has many records of all slots, returns some and is described."""
    await filled(broker, 4 * REQUEST)
    await broker.subscriptions.create("t", "s", "key_shared")
    ids = await received(broker, 4 * REQUEST)
    for n in range(2, 101):
        await broker.subscriptions.receive("t", "s", f"c{n}", max_records=1)
    await broker.subscriptions.nack("t", "s", "c1", ids[:REQUEST:2])
    shares = await broker.subscriptions.key_shares("t", "s")
    assert (len(shares), sum(each.returned for each in shares)) == (100, REQUEST // 2)
    await broker.subscriptions.ack("t", "s", "c1", ids[1:REQUEST:2])
    assert await broker.subscriptions.receive("t", "s", "c2", max_records=REQUEST)


INPUTS = (
    single_acks, exclusive, failover, key_shared, single_nacks, held_and_committed, held_and_aborted, held_and_trimmed,
    held_by_many, held_cumulatively, aborted, group_offsets,
)  # fmt: skip
