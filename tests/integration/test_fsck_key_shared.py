"""fsck on a key_shared subscription: the index of keys is compared with what is unacknowledged, and repaired."""

from __future__ import annotations

import pytest

from redis_ledger.broker.types import NewRecord
from redis_ledger.fsck import cursor_reader, reading, service
from redis_ledger.fsck.service import Fsck
from redis_ledger.store.keys import PartitionKeys
from tests.support.broker import one

KEYS = ("a", "b", "c", "d")


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


async def _lost_key(s):
    await s.command("HDEL", s.sub.leases, (await s.fields(b"o"))[-1])


async def _lost_list(s):
    await s.command("HDEL", s.sub.leases, (await s.fields(b"k"))[0])


async def _foreign_key(s):
    await s.command("HSET", s.sub.leases, "o99", "00000000")


async def _foreign_list(s):
    await s.command("HSET", s.sub.leases, "k00000000", ",5,")


async def _another_order(s):
    name = max([(len(await s.command("HGET", s.sub.leases, each)), each) for each in await s.fields(b"k")])[1]
    text = (await s.command("HGET", s.sub.leases, name)).strip(b",").split(b",")
    await s.command("HSET", s.sub.leases, name, b",%s," % b",".join(reversed(text)))


async def _due_elsewhere(s):
    waiting = (await s.command("ZRANGEBYSCORE", s.sub.due, "-inf", "(-1"))[0]
    await s.command("ZADD", s.sub.due, 7, waiting)


async def test_a_sound_subscription_has_no_finding(scene):
    assert await scene.check() == []
    assert await scene.drain() > 0


@pytest.mark.parametrize("is_paged", [False, True])
@pytest.mark.parametrize("damage", [_lost_key, _lost_list, _foreign_key, _foreign_list, _another_order, _due_elsewhere])
async def test_each_damage_is_found_and_repaired(scene, damage, is_paged, monkeypatch):
    if is_paged:
        monkeypatch.setattr(cursor_reader, "SMALL", 0)
        monkeypatch.setattr(reading, "PAGE", 2)
    await damage(scene)
    kinds = {each.kind for each in await scene.check()}
    # What waits is in the order of its slot, so a lost key is in another place there
    assert kinds - ({"lease_index"} if damage is _lost_key else set()) == {
        "lease_index" if damage is _due_elsewhere else "key_index"
    }
    assert await scene.check(repair=True) == []
    assert await scene.check() == []
    await scene.drain()


@pytest.mark.parametrize("name", ["leases", "spans", "due", "acks"])
async def test_a_deleted_key_is_repaired_and_everything_is_delivered(scene, name):
    await scene.command("DEL", getattr(scene.sub, name))
    assert await scene.check() != []
    assert await scene.check(repair=True) == []
    await scene.drain()
