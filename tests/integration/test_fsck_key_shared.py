"""fsck on a key_shared subscription: its queues are compared with what is unacknowledged, and repaired."""

from __future__ import annotations

import pytest

from redis_ledger.broker.types import NewRecord
from redis_ledger.fsck import cursor_reader, service
from redis_ledger.fsck.service import Fsck
from redis_ledger.store import reading
from redis_ledger.store.keys import PartitionKeys
from tests.support.broker import one

KEYS = ("a", "b", "c", "d")


@pytest.fixture
def redis_url(own_redis_url: str) -> str:
    return own_redis_url


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(service, "BETWEEN_S", 0.02)


class Scene:
    """Records that are leased, waiting, held by a transaction, and acknowledged."""

    def __init__(self, broker, prefix):
        self.broker, self.k = broker, PartitionKeys(prefix, "t", 0)
        self.sub = self.k.sub("s")

    async def build(self):
        b = self.broker
        await b.topics.create("t", 1)
        await b.subscriptions.create("t", "s", "key_shared")
        for name in ("c1", "c2"):
            await b.subscriptions.receive("t", "s", name)
        await b.records.produce("t", [NewRecord(key.encode(), b"") for key in KEYS * 3])
        got = await b.subscriptions.receive("t", "s", "c1")
        self.txn = (await b.transactions.begin()).id
        await b.subscriptions.ack("t", "s", "c1", [got[0].id], transaction=self.txn)
        await b.subscriptions.ack("t", "s", "c1", [got[1].id])
        return self

    async def command(self, *args):
        return await self.broker.store.command(*args, key=self.k.state)

    async def fields(self, letter):
        rows = await self.command("HKEYS", self.sub.leases)
        return sorted(name for name in rows if name[:1] == letter)

    async def check(self, *, repair=False):
        fsck = Fsck(self.broker.store, self.broker.config, self.broker.clock)
        return (await fsck.run("t", repair=repair)).left

    async def drain(self):
        """Every record that is left is delivered."""
        await self.broker.transactions.commit(self.txn)
        count = 0
        for _ in range(10):
            for name in ("c1", "c2"):
                got = await self.broker.subscriptions.receive("t", "s", name)
                count += len(got)
                await self.broker.subscriptions.ack("t", "s", name, [each.id for each in got])
        stats = (await self.broker.subscriptions.stats("t", "s")).cursors[0]
        assert stats.backlog - stats.leased == 0
        return count


@pytest.fixture
async def scene(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        yield await Scene(broker, prefix).build()


async def _lost_queue(s):
    await s.command("HDEL", s.sub.leases, (await s.fields(b"s"))[-1])


async def _lost_place(s):
    await s.command("HDEL", s.sub.leases, "m0")


async def _foreign_queue(s):
    await s.command("HSET", s.sub.leases, "s17", "nonsense")


async def _foreign_place(s):
    await s.command("HSET", s.sub.leases, "m99", b"\0\1\0")


async def _cut_queue(s):
    name = (await s.fields(b"s"))[0]
    await s.command("HSET", s.sub.leases, name, (await s.command("HGET", s.sub.leases, name))[:-1])


async def _another_slot(s):
    text = bytearray(await s.command("HGET", s.sub.leases, "m0"))
    text[-1] ^= 1
    await s.command("HSET", s.sub.leases, "m0", bytes(text))


async def _due_elsewhere(s):
    await s.command("ZADD", s.sub.due, 7, (await s.fields(b"s"))[0][1:])


async def _not_due(s):
    await s.command("ZREMRANGEBYSCORE", s.sub.due, 1, "+inf")


async def test_a_sound_subscription_has_no_finding(scene):
    assert await scene.check() == []
    assert await scene.drain() > 0


@pytest.mark.parametrize("is_paged", [False, True])
@pytest.mark.parametrize(
    "damage",
    [
        _lost_queue,
        _lost_place,
        _foreign_queue,
        _foreign_place,
        _cut_queue,
        _another_slot,
        _due_elsewhere,
        _not_due,
    ],
)
async def test_each_damage_is_found_and_repaired(scene, damage, is_paged, monkeypatch):
    if is_paged:
        monkeypatch.setattr(cursor_reader, "SMALL", 0)
        monkeypatch.setattr(reading, "PAGE", 2)
    await damage(scene)
    kinds = {each.kind for each in await scene.check()}
    # The counts that a lost queue had are put right first
    assert kinds - ({"cursor_count"} if damage in (_lost_queue, _cut_queue) else set()) <= {
        "lease_index" if damage in (_due_elsewhere, _not_due) else "slot_queue"
    }
    assert kinds
    assert await scene.check(repair=True) == []
    assert await scene.check() == []
    await scene.drain()


@pytest.mark.parametrize("name", ["leases", "spans", "due", "acks"])
async def test_a_deleted_key_is_repaired_and_everything_is_delivered(scene, name):
    await scene.command("DEL", getattr(scene.sub, name))
    assert await scene.check() != []
    assert await scene.check(repair=True) == []
    await scene.drain()
