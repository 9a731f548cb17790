"""Owners of transactions: calls of other principals are refused, those of the owner work at any broker."""

from __future__ import annotations

import pytest

from redis_ledger.auth.acl import CLUSTER_NAME, Op, Resource
from redis_ledger.errors import InvalidRequest
from redis_ledger.txn.coordinator import Participant
from tests.support.principals import ROOT
from tests.support.secured_rest import secured

RECORDS = [{"value": 1}]
ONE = "/v1/topics/orders"
SUB = f"{ONE}/subscriptions/billing"


async def begun(world, name="ada", **more):
    answer = await world.post(name, "/v1/transactions", more)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def prepared(world):
    await world.post(ROOT, "/v1/topics", {"name": "orders"})
    await world.post(ROOT, f"{ONE}/records", {"records": RECORDS})
    await world.post(ROOT, f"{ONE}/subscriptions", {"name": "billing"})
    for name in ("ada", "eve"):
        await world.allow(name, Op.ALL, Resource.TOPIC, "orders")
        await world.allow(name, Op.ALL, Resource.GROUP, "billing")


def steps(txn):
    """Everything that names a transaction, its end last."""
    return [
        ("GET", f"/v1/transactions/{txn}", None),
        ("POST", f"/v1/transactions/{txn}/partitions", {"partitions": [{"topic": "orders", "partition": 0}]}),
        ("POST", f"/v1/transactions/{txn}/subscriptions",
         {"subscriptions": [{"topic": "orders", "subscription": "billing"}]}),
        ("POST", f"{ONE}/records", {"records": RECORDS, "transaction": txn}),
        ("POST", f"{ONE}/largeMessages?transaction={txn}", {"any": "body"}),
        ("POST", f"{SUB}:ack", {"consumer": "c", "ids": ["0:0"], "transaction": txn}),
        ("POST", f"{ONE}/subscriptions/noted:noteOffsets", {"offsets": {"0": 1}, "transaction": txn}),
        ("POST", "/v1/transactions:commitAll", {"transactions": [txn]}),
        ("POST", f"/v1/transactions/{txn}:abort", {}),
        ("POST", f"/v1/transactions/{txn}:commit", {}),
    ]  # fmt: skip


@pytest.mark.parametrize("step", range(len(steps(""))))
async def test_step_is_allowed_for_the_owner_only_on_any_broker(redis_url, prefix, step):
    """TC-13"""
    async with secured(redis_url, prefix) as here, secured(redis_url, prefix) as elsewhere:
        await prepared(here)
        for name in ("ada", "eve"):
            await here.allow(name, Op.ALL, Resource.GROUP, "noted")
            await here.token(name)
        await elsewhere.broker.security.refresh()
        elsewhere.tokens = here.tokens
        txn = await begun(here)
        await here.post("ada", f"{SUB}:receive", {"consumer": "c"})
        method, path, body = steps(txn)[step]
        for world in (elsewhere, here):
            refused = await world.ask("eve", method, path, body)
            assert (refused.status_code, refused.json()["code"]) == (403, "transaction_forbidden"), refused.text
        assert (await here.get("ada", f"/v1/transactions/{txn}")).json()["status"] == "open"
        done = await elsewhere.ask("ada", method, path, body)
        assert done.status_code == 200, done.text


async def test_administrator_aborts_what_another_principal_may_not_end(redis_url, prefix):
    """TC-13: eve's commit is refused and the transaction stays open; root's abort succeeds."""
    async with secured(redis_url, prefix) as world:
        await prepared(world)
        txn = await begun(world)
        await world.post("ada", f"{ONE}/records", {"records": RECORDS, "transaction": txn})
        for end in ("commit", "abort"):
            refused = await world.post("eve", f"/v1/transactions/{txn}:{end}")
            assert (refused.status_code, refused.json()["code"]) == (403, "transaction_forbidden")
            shown = (await world.get("ada", f"/v1/transactions/{txn}")).json()
            assert (shown["status"], shown["principal"]) == ("open", "User:ada")
        assert (await world.post(ROOT, f"/v1/transactions/{txn}:abort")).json()["status"] == "aborted"
        assert (await world.post("ada", f"/v1/transactions/{txn}:commit")).json()["code"] == "already_aborted"


@pytest.mark.parametrize("name", ["", " ", "\t"])
async def test_no_principal_has_a_blank_name_so_no_owner_has(redis_url, prefix, name):
    """TC-13"""
    async with secured(redis_url, prefix) as world:
        with pytest.raises(InvalidRequest):
            await world.broker.security.create_token(f"User:{name}")


async def test_without_authentication_a_transaction_belongs_to_everyone(redis_url, prefix):
    """TC-13: others may read, extend and end it, whatever label it has."""
    async with secured(redis_url, prefix, auth_required=False) as world:
        await world.http.post("/v1/topics", json={"name": "orders"})
        txn = (await world.http.post("/v1/transactions", json={"owner": "ada"})).json()["id"]
        assert (await world.http.get(f"/v1/transactions/{txn}")).json().get("principal", "") == ""
        body = {"records": RECORDS, "transaction": txn}
        assert (await world.http.post(f"{ONE}/records", json=body)).status_code == 200
        assert (await world.http.post(f"/v1/transactions/{txn}:commit")).json()["status"] == "committed"


async def test_record_batches_are_not_appended_to_a_foreign_transaction(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await prepared(world)
        txn = await begun(world)
        headers = {**await world.headers("eve"), "content-type": "application/vnd.redis-ledger.batch"}
        path = f"{ONE}/records?partition=0&transaction={txn}"
        answer = await world.http.post(path, content=b"whatever", headers=headers)
        assert answer.json()["code"] == "transaction_forbidden"


async def test_only_own_transactions_are_listed_without_describe_on_the_cluster(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await prepared(world)
        adas, eves = await begun(world, owner="job 1"), await begun(world, "eve", owner="job 2")

        async def listed(name, query=""):
            return {t["id"] for t in (await world.get(name, f"/v1/transactions{query}")).json()["transactions"]}

        assert [await listed("ada"), await listed("eve")] == [{adas}, {eves}]
        assert await listed("ada", "?owner=job") == {adas}
        assert await listed("ada", "?owner=job 2") == set()
        shown = (await world.get("ada", f"/v1/transactions/{adas}")).json()
        assert (shown["owner"], shown["principal"]) == ("job 1", "User:ada")
        await world.allow("ada", Op.DESCRIBE, Resource.CLUSTER)
        assert await listed("ada", "?owner=job") == {adas, eves}
        assert (await world.get("ada", f"/v1/transactions/{eves}")).status_code == 200


async def test_alter_cluster_permits_aborting_hanging_transactions_and_is_audited(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await prepared(world)
        txn, own = await begun(world), await begun(world, ROOT)
        await world.allow("eve", Op.ALTER, Resource.CLUSTER)
        answer = await world.post("eve", f"{ONE}/records", {"records": RECORDS, "transaction": txn})
        assert answer.status_code == 403
        assert (await world.post("eve", f"/v1/transactions/{txn}:abort")).status_code == 200
        assert (await world.post(ROOT, f"/v1/transactions/{own}:abort")).status_code == 200
        committed, own = await begun(world), await begun(world, "eve")
        for id in (committed, own):
            assert (await world.post("eve", f"/v1/transactions/{id}:commit")).status_code == 200
        assert (await world.post("ada", f"/v1/transactions/{own}:commit")).status_code == 403
        entries = [(e.act, e.principal, e.target, e.outcome) for e in await world.broker.audit.entries(10)]
        assert entries[2::-1] == [
            ("transaction.abort", "User:eve", txn, "done"),
            ("transaction.commit", "User:eve", committed, "done"),
            ("transaction.commit", "User:ada", own, "refused"),
        ]


async def test_transaction_shows_only_describable_topics_and_groups(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await prepared(world)
        await world.broker.topics.create("secret")
        txn = await begun(world, ROOT)
        both = [{"topic": topic, "partition": 0} for topic in ("orders", "secret")]
        shown = await world.post(ROOT, f"/v1/transactions/{txn}/partitions", {"partitions": both})
        assert sorted(each["topic"] for each in shown.json()["partitions"]) == ["orders", "secret"]
        await world.broker.subscriptions.create("orders", "audit")
        both = [{"topic": "orders", "subscription": name} for name in ("billing", "audit")]
        await world.post(ROOT, f"/v1/transactions/{txn}/subscriptions", {"subscriptions": both})
        for resource, name in ((Resource.CLUSTER, CLUSTER_NAME), (Resource.TOPIC, "orders"), (Resource.GROUP, "audit")):
            await world.allow("fay", Op.DESCRIBE, resource, name)
        listed = (await world.get("fay", "/v1/transactions")).json()["transactions"]
        for seen in (listed[0], (await world.get("fay", f"/v1/transactions/{txn}")).json()):
            assert {each["topic"] for each in seen["partitions"]} == {"orders"}
            assert {each["subscription"] for each in seen["subscriptions"]} == {"audit"}


async def test_subscription_delete_does_not_reveal_topics(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await prepared(world)
        await world.allow("eve", Op.DELETE, Resource.GROUP, "mine")
        await world.broker.topics.create("secret")
        for topic in ("secret", "nowhere"):
            answer = await world.ask("eve", "DELETE", f"/v1/topics/{topic}/subscriptions/mine")
            assert (answer.status_code, answer.json()["code"]) == (403, "topic_forbidden")


async def test_transaction_without_an_owner_has_none_after_rules_are_enabled(redis_url, prefix):
    async with secured(redis_url, prefix, auth_required=False) as before:
        txn = (await before.http.post("/v1/transactions", json={"owner": "\x01User:ada\x01"})).json()["id"]
    async with secured(redis_url, prefix) as world:
        assert (await world.post("ada", f"/v1/transactions/{txn}:commit")).status_code == 403
        assert (await world.post(ROOT, f"/v1/transactions/{txn}:commit")).status_code == 200


async def test_kafka_transaction_belongs_to_writers_of_its_transactional_id(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await prepared(world)
        producers, partition = world.broker.producers, await world.broker.catalog.partition("orders", 0)
        producer_id, epoch = await producers.init("payments", 60_000)
        participant = Participant("orders", partition.topic_id, 0)
        txn = str(await producers.add("payments", producer_id, epoch, [participant]))
        assert (await world.post("ada", f"/v1/transactions/{txn}:abort")).status_code == 403
        await world.allow("eve", Op.DESCRIBE, Resource.TRANSACTIONAL_ID, "payments")
        assert (await world.get("eve", f"/v1/transactions/{txn}")).status_code == 200
        assert (await world.post("eve", f"/v1/transactions/{txn}:abort")).status_code == 403
        await world.allow("ada", Op.WRITE, Resource.TRANSACTIONAL_ID, "payments")
        assert (await world.post("ada", f"/v1/transactions/{txn}:abort")).status_code == 200


async def test_owners_are_remembered_so_a_step_here_asks_redis_nothing_about_them(redis_url, prefix, monkeypatch):
    async with secured(redis_url, prefix) as world:
        await prepared(world)
        txn = await begun(world)
        monkeypatch.setattr(world.broker.coordinators, "get", None)  # any call fails
        body = {"records": RECORDS, "transaction": txn}
        assert (await world.post("ada", f"{ONE}/records", body)).status_code == 200
        assert (await world.post("ada", f"/v1/transactions/{txn}:commit")).status_code == 200


async def test_steps_on_topics_that_the_caller_may_not_see_are_left_out(redis_url, prefix):
    """OB-25: an auditor with DESCRIBE on the cluster sees the transaction, and of its steps those on its own topics."""
    async with secured(redis_url, prefix) as world:
        await prepared(world)
        txn = await begun(world)
        await world.post("ada", f"{ONE}/records", {"records": RECORDS, "transaction": txn})
        await world.allow("auditor", Op.DESCRIBE, Resource.CLUSTER, CLUSTER_NAME)
        hidden = (await world.get("auditor", f"/v1/transactions/{txn}")).json()
        assert ([each["name"] for each in hidden["steps"]], hidden["steps_cut"]) == (["begin"], True)
        await world.allow("auditor", Op.DESCRIBE, Resource.TOPIC, "orders")
        shown = (await world.get("auditor", f"/v1/transactions/{txn}")).json()
        assert [each["name"] for each in shown["steps"]] == ["begin", "add_partition", "append"]
        assert not shown["steps_cut"]
