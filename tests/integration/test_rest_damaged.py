"""Values in Redis that have another form than the broker stores: requests name them, and advise fsck."""

from __future__ import annotations

import httpx
import pytest

from redis_ledger import AsyncClient, errors
from redis_ledger.app.http.application import create_app
from redis_ledger.broker.types import NewRecord
from redis_ledger.store.keys import CatalogKeys, PartitionKeys
from tests.support.rest import client_of

STATE = "/v1/topics/t/partitions/0/records/0/subscriptions/s"
KINDS = {"key_shared": "queue of hash slot", "shared": "lease of offset 0"}


async def leased(broker, keys, kind):
    """A record that is leased, in a value that is damaged."""
    await broker.subscriptions.create("t", "s", kind)
    await broker.subscriptions.receive("t", "s", "c")
    await broker.records.produce("t", [NewRecord(b"k", b"v", partition=0)])
    assert await broker.subscriptions.receive("t", "s", "c")
    leases = keys.sub("s").leases
    fields = await broker.store.command("HKEYS", leases, key=keys.state)
    (field,) = [each for each in fields if each and each[:1] != b"m"]
    await broker.store.command("HSET", leases, field, b"\xff", key=keys.state)


@pytest.fixture
def keys(prefix):
    return PartitionKeys(prefix, "t", 0)


def details(answer):
    body = answer.json()
    assert (answer.status_code, body["code"]) == (500, "stored_damaged"), body
    assert "redis-ledger fsck" in body["detail"]
    return body["detail"]


@pytest.mark.parametrize("kind", KINDS)
async def test_the_state_of_a_record_names_a_damaged_lease(broker, keys, kind):
    await leased(broker, keys, kind)
    transport = httpx.ASGITransport(app=create_app(broker))
    async with client_of(broker) as http, AsyncClient("http://broker", http=transport) as client:
        assert KINDS[kind] in details(await http.get(STATE))
        with pytest.raises(errors.StoredDamaged, match=KINDS[kind]):
            await client.subscriptions.record_state("t", "s", "0:0")


@pytest.mark.parametrize("kind", KINDS)
async def test_the_list_of_unacknowledged_messages_names_a_damaged_lease(broker, keys, kind):
    await leased(broker, keys, kind)
    with pytest.raises(errors.StoredDamaged, match=KINDS[kind]):
        await broker.unacked.worst("t", "s")
    async with client_of(broker) as http:
        answer = await http.get("/console/subscription?topic=t&name=s")
    assert (answer.status_code, "redis-ledger fsck" in answer.text) == (500, True)


async def test_a_damaged_topic_is_not_taken_for_a_wrong_request(broker, prefix):
    topics = CatalogKeys(prefix).topics
    await broker.store.command("HSET", topics, "broken", "{", key=topics)
    async with client_of(broker) as http:
        assert "entry b'{' of a topic" in details(await http.get("/v1/topics/broken"))
        await broker.store.command("HDEL", topics, "broken", key=topics)
        assert (await http.get("/v1/topics/broken")).status_code == 404


async def test_a_damaged_open_transaction_is_named(broker, keys):
    await broker.store.command("HSET", keys.open, "7", "1 2", key=keys.state)
    with pytest.raises(errors.StoredDamaged, match="row b'1 2' of an open transaction"):
        await broker.topics.open_transactions("t")
