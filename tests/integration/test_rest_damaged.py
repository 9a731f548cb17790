"""Values in Redis that have another form than the broker stores: requests name them, and advise fsck."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from redis_ledger import AsyncClient, errors
from redis_ledger.app.http.application import create_app
from redis_ledger.broker.security.quotas import Quotas
from redis_ledger.broker.security.scram_credentials import ScramCredentials
from redis_ledger.broker.security.service import Security
from redis_ledger.broker.subscriptions.dead_letter_rules import DeadLetterRule
from redis_ledger.broker.subscriptions.redelivery_rules import RedeliveryRule
from redis_ledger.broker.subscriptions.subscription_rules import SubscriptionRules
from redis_ledger.broker.transactions.batched_writes import BatchedWrites
from redis_ledger.broker.types import NewRecord
from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.ids import TxnId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.store.keys import CatalogKeys, PartitionKeys
from tests.support.broker import eventually, one
from tests.support.rest import client_of

STATE = "/v1/topics/t/partitions/0/records/0/subscriptions/s"
KINDS = {"key_shared": "queue of hash slot", "shared": "lease of offset 0"}


async def leased(broker, keys, kind, value=b"\xff", letter=b""):
    """A record that is leased, in a value that is damaged.  letter: the first of the field's name, if it matters."""
    await broker.subscriptions.create("t", "s", kind)
    await broker.subscriptions.receive("t", "s", "c")
    await broker.records.produce("t", [NewRecord(b"k", b"v", partition=0)])
    assert await broker.subscriptions.receive("t", "s", "c")
    leases = keys.sub("s").leases
    fields = await broker.store.command("HKEYS", leases, key=keys.state)
    (field,) = [each for each in fields if each and (each[:1] == letter if letter else each[:1] != b"m")]
    await broker.store.command("HSET", leases, field, value, key=keys.state)


@pytest.fixture
def keys(prefix):
    return PartitionKeys(prefix, "t", 0)


def details(answer):
    body = answer.json()
    assert (answer.status_code, body["code"]) == (500, "stored_damaged"), body
    assert "redis-ledger fsck" in body["detail"]
    return body["detail"]


@pytest.mark.parametrize("value", [b"\xff", b""], ids=["other", "empty"])
@pytest.mark.parametrize("kind", KINDS)
async def test_the_state_of_a_record_names_a_damaged_lease(broker, keys, kind, value):
    await leased(broker, keys, kind, value)
    transport = httpx.ASGITransport(app=create_app(broker))
    async with client_of(broker) as http, AsyncClient("http://broker", http=transport) as client:
        assert KINDS[kind] in details(await http.get(STATE))
        with pytest.raises(errors.StoredDamaged, match=KINDS[kind]):
            await client.subscriptions.record_state("t", "s", "0:0")


@pytest.mark.parametrize("value", [b"\xff", b"\0", b"no slot of any offset"])
async def test_a_record_whose_queue_is_unknown_is_not_taken_for_one_that_a_transaction_holds(broker, keys, value):
    """AK-31"""
    await leased(broker, keys, "key_shared", value, b"m")
    async with client_of(broker) as http:
        assert "queue of offset 0" in details(await http.get(STATE))
        # Then what is acknowledged, and what is new, is still known
        await broker.records.produce("t", [NewRecord(b"k", b"v", partition=0)])
        new = await http.get(STATE.replace("records/0", "records/1"))
        assert (new.status_code, new.json()["state"]) == (200, "not_delivered")


@pytest.mark.parametrize("value", [b"\xff", b""], ids=["other", "empty"])
@pytest.mark.parametrize("kind", KINDS)
async def test_the_list_of_unacknowledged_messages_names_a_damaged_lease(broker, keys, kind, value):
    await leased(broker, keys, kind, value)
    with pytest.raises(errors.StoredDamaged, match=KINDS[kind]):
        await broker.unacked.worst("t", "s")
    async with client_of(broker) as http:
        answer = await http.get("/console/subscription?topic=t&name=s")
    assert (answer.status_code, "redis-ledger fsck" in answer.text) == (500, True)


async def test_a_damaged_topic_is_not_taken_for_a_wrong_request(broker, prefix):
    topics = CatalogKeys(prefix).topics
    await broker.store.command("HSET", topics, "broken", "{", key=topics)
    async with client_of(broker) as http:
        assert "The entry of a topic b'{'" in details(await http.get("/v1/topics/broken"))
        await broker.store.command("HDEL", topics, "broken", key=topics)
        assert (await http.get("/v1/topics/broken")).status_code == 404


def catalog_of(store) -> Catalog:
    """The catalog as one more broker has it."""
    return Catalog(store, Config(), ManualClock())


async def test_topics_go_on_beside_one_whose_entry_is_damaged(store):
    catalog = catalog_of(store)
    # Given two topics that a broker uses, and the damaged entry of one of them
    other, entries = catalog_of(store), CatalogKeys(store.prefix).topics
    broken, sound = [await catalog.create(name, 1, {}) for name in ("broken", "sound")]
    for name in ("broken", "sound"):
        await other.get(name)
    await other.refresh()
    await store.command("HSET", entries, "broken", b'{"name": 1}', key=entries)
    # When topics come and go, then lists and refreshes have all the others
    third = await catalog.create("third", 1, {})
    for each in (catalog, other):
        await each.refresh()
        assert [entry.name for entry in await each.list()] == ["sound", "third"]
        assert (await each.by_id(bytes.fromhex(third.id))).name == "third"
    await catalog.delete("third")
    await other.refresh()
    # And the damaged one is not taken for one that was deleted: who has it goes on with it
    assert await other.absent(["broken", "third"], [broken.id, "0" * 32]) == {"third"}
    assert (await other.by_id(bytes.fromhex(broken.id))).name == "broken"
    # Nor by a broker that has never read it
    assert await catalog_of(store).absent(["broken", "third"], [broken.id]) == {"third"}
    # Until it is read anew, which says what is wrong
    with pytest.raises(errors.StoredDamaged, match="redis-ledger fsck"):
        await catalog_of(store).get("broken")
    assert sound == await other.get("sound")


READ: dict[str, Callable[[Any, Config], Awaitable[Any]]] = {
    "quotas": lambda store, config: Quotas(store, config).refresh(),
    "tokens": lambda store, config: Security(store, config, ManualClock()).refresh(),
    "acls": lambda store, config: Security(store, config, ManualClock()).refresh(),
    "deadletters": lambda store, _: SubscriptionRules(store, "deadletters", DeadLetterRule).refresh(),
    "redelivery": lambda store, _: SubscriptionRules(store, "redelivery", RedeliveryRule).refresh(),
    "batchedwrites": lambda store, config: BatchedWrites(store, config).all(),
    "users": lambda store, _: ScramCredentials(store).all(),
}


@pytest.mark.parametrize("table", READ)
async def test_a_damaged_row_of_the_catalog_is_not_taken_for_a_wrong_request(store, prefix, table):
    # Given a row that cannot be read
    key = getattr(CatalogKeys(prefix), table)
    await store.command("HSET", key, '["secret"', '["secret"', key=key)
    catalog = CatalogKeys(prefix).state
    await store.command("HSET", catalog, "security" if table in ("tokens", "acls") else table, "1", key=catalog)
    # When it is read, then the error says what to do, and shows no secret
    with pytest.raises(errors.StoredDamaged, match="redis-ledger fsck") as raised:
        await READ[table](store, Config())
    assert ("secret" in raised.value.detail) == (table not in ("tokens", "users"))


async def test_a_damaged_open_transaction_is_named(broker, keys):
    await broker.store.command("HSET", keys.open, "7", "1 2", key=keys.state)
    with pytest.raises(errors.StoredDamaged, match="row b'1 2' of an open transaction"):
        await broker.topics.open_transactions("t")


async def test_a_transaction_with_acknowledgements_in_a_damaged_queue_delays_no_other(redis_url, prefix, keys):
    async with one(redis_url, prefix, one_call_transactions=False) as broker:
        await broker.topics.create("t", 1)
        first, stuck, *others = [(await broker.transactions.begin(together="a")).id for _ in range(5)]
        await broker.subscriptions.create("t", "s", "key_shared")
        await broker.subscriptions.receive("t", "s", "c")
        await broker.records.produce("t", [NewRecord(b"k", b"v", partition=0)] * 2)
        got = await broker.subscriptions.receive("t", "s", "c")
        await broker.subscriptions.ack("t", "s", "c", [got[1].id], transaction=first)
        await broker.transactions.commit(first)  # the broker now knows the kind of the subscription
        await broker.subscriptions.ack("t", "s", "c", [got[0].id], transaction=stuck)
        for txn in others:
            await broker.records.produce("t", [NewRecord(b"k", b"v", partition=0)], transaction=txn)
        leases = keys.sub("s").leases
        (field,) = [each for each in await broker.store.command("HKEYS", leases, key=keys.state) if each[:1] == b"s"]
        whole = await broker.store.command("HGET", leases, field, key=keys.state)
        await broker.store.command("HSET", leases, field, b"\xff", key=keys.state)

        # When all are committed at once, their ends share a call
        async def commit(txn: TxnId) -> str:
            try:
                return (await broker.transactions.commit(txn)).status
            except errors.StoredDamaged as error:
                return error.code

        found = await asyncio.gather(*(commit(each) for each in (stuck, *others)))
        assert found == ["stored_damaged", "committed", "committed", "committed"]
        assert (await broker.transactions.get(stuck)).status == "committing"
        # Then the sweep ends the first one when the queue was put right
        await broker.store.command("HSET", leases, field, whole, key=keys.state)

        async def status() -> str:
            return (await broker.transactions.get(stuck)).status

        assert await eventually(status, "committed")
