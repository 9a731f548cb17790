"""ACL rules over REST, one by one: refused without the rule and without effect, allowed with it."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.app.http.application import OPERATIONS
from redis_ledger.auth.acl import CLUSTER_NAME, Filter, Op, Resource
from redis_ledger.auth.requirement import Scope
from redis_ledger.broker.types import NewRecord
from tests.support.busy_machine import wait_for
from tests.support.principals import ROOT
from tests.support.secured_rest import secured

TOPIC, GROUP, CLUSTER = Resource.TOPIC, Resource.GROUP, Resource.CLUSTER
RECORDS = {"records": [{"value": 1}]}
ONE = "/v1/topics/orders"
SUB = f"{ONE}/subscriptions/billing"
OFFLOAD = f"{ONE}/partitions/0/cold"
LATER = {"value": 1, "partition": 0, "deliver_at": "2999-01-01T00:00:00Z"}
# method, path, body, what is needed, the status with it
CASES = [
    ("POST", "/v1/topics", {"name": "new"}, [(Op.CREATE, TOPIC, "new")], 201),
    ("POST", "/v1/topics", {"name": "new"}, [(Op.CREATE, CLUSTER, CLUSTER_NAME)], 201),
    ("GET", ONE, None, [(Op.DESCRIBE, TOPIC, "orders")], 200),
    ("PATCH", ONE, {"partitions": 2}, [(Op.ALTER, TOPIC, "orders")], 200),
    ("PATCH", ONE, {"settings": {"retention_ms": 5}}, [(Op.ALTER_CONFIGS, TOPIC, "orders")], 200),
    ("PATCH", ONE, {"partitions": 2, "settings": {"retention_ms": 5}},
     [(Op.ALTER, TOPIC, "orders"), (Op.ALTER_CONFIGS, TOPIC, "orders")], 200),
    ("DELETE", ONE, None, [(Op.DELETE, TOPIC, "orders")], 204),
    ("POST", f"{ONE}/records", RECORDS, [(Op.WRITE, TOPIC, "orders")], 200),
    ("POST", "/v1/topics/fresh/records", RECORDS, [(Op.WRITE, TOPIC, "fresh"), (Op.CREATE, TOPIC, "fresh")], 200),
    ("POST", "/v1/topics/fresh/scheduled", {**LATER},
     [(Op.WRITE, TOPIC, "fresh"), (Op.CREATE, CLUSTER, CLUSTER_NAME)], 201),
    ("GET", f"{ONE}/partitions/0/records", None, [(Op.READ, TOPIC, "orders")], 200),
    ("POST", f"{ONE}/largeMessages", RECORDS, [(Op.WRITE, TOPIC, "orders")], 200),
    ("GET", f"{ONE}/partitions/0/largeMessages/0", None, [(Op.READ, TOPIC, "orders")], 404),
    ("GET", f"{ONE}/partitions/0/offsets?timestamp_ms=5", None, [(Op.DESCRIBE, TOPIC, "orders")], 200),
    ("POST", f"{ONE}/scheduled", LATER, [(Op.WRITE, TOPIC, "orders")], 201),
    ("GET", f"{ONE}/scheduled", None, [(Op.READ, TOPIC, "orders")], 200),
    ("GET", f"{ONE}/scheduled/0:1.0", None, [(Op.READ, TOPIC, "orders")], 200),
    ("PATCH", f"{ONE}/scheduled/0:1.0", {"deliver_after": 5_000_000}, [(Op.WRITE, TOPIC, "orders")], 200),
    ("DELETE", f"{ONE}/scheduled/0:1.0", None, [(Op.WRITE, TOPIC, "orders")], 204),
    ("POST", f"{ONE}/scheduled:cancel", {"ids": ["0:1.0"]}, [(Op.WRITE, TOPIC, "orders")], 200),
    ("DELETE", f"{ONE}/scheduled", None, [(Op.WRITE, TOPIC, "orders")], 200),
    ("GET", f"{ONE}/scheduled:stats", None, [(Op.DESCRIBE, TOPIC, "orders")], 200),
    ("GET", f"{ONE}/scheduled:histogram", None, [(Op.DESCRIBE, TOPIC, "orders")], 200),
    ("POST", f"{ONE}/scheduled:rebuild", {}, [(Op.ALTER, TOPIC, "orders")], 200),
    ("GET", f"{ONE}/cold", None, [(Op.DESCRIBE, TOPIC, "orders")], 200),
    ("POST", f"{OFFLOAD}:plan", {}, [(Op.CLUSTER_ACTION, CLUSTER, CLUSTER_NAME)], 200),
    ("POST", f"{OFFLOAD}:publish", {"plan": "x", "segments": []}, [(Op.CLUSTER_ACTION, CLUSTER, CLUSTER_NAME)], 400),
    ("POST", f"{OFFLOAD}:abandon", {"plan": "x"}, [(Op.CLUSTER_ACTION, CLUSTER, CLUSTER_NAME)], 409),
    ("POST", f"{OFFLOAD}:forget", {}, [(Op.CLUSTER_ACTION, CLUSTER, CLUSTER_NAME)], 200),
    ("POST", f"{ONE}/subscriptions", {"name": "new"}, [(Op.READ, TOPIC, "orders"), (Op.READ, GROUP, "new")], 201),
    ("GET", f"{ONE}/subscriptions", None, [(Op.DESCRIBE, TOPIC, "orders")], 200),
    ("GET", SUB, None, [(Op.DESCRIBE, GROUP, "billing"), (Op.DESCRIBE, TOPIC, "orders")], 200),
    ("DELETE", SUB, None, [(Op.DELETE, GROUP, "billing"), (Op.DESCRIBE, TOPIC, "orders")], 204),
    ("POST", f"{SUB}:receive", {"consumer": "c"}, [(Op.READ, GROUP, "billing"), (Op.READ, TOPIC, "orders")], 200),
    ("POST", f"{SUB}:ack", {"consumer": "c", "ids": ["0:0"]},
     [(Op.READ, GROUP, "billing"), (Op.READ, TOPIC, "orders")], 200),
    ("POST", f"{SUB}:nack", {"consumer": "c", "all": True},
     [(Op.READ, GROUP, "billing"), (Op.READ, TOPIC, "orders")], 200),
    ("POST", f"{SUB}:extend", {"consumer": "c", "all": True},
     [(Op.READ, GROUP, "billing"), (Op.READ, TOPIC, "orders")], 200),
    ("POST", f"{SUB}:closeConsumer", {"consumer": "c"},
     [(Op.READ, GROUP, "billing"), (Op.READ, TOPIC, "orders")], 200),
    ("POST", f"{SUB}:seek", {"to": "latest"}, [(Op.READ, GROUP, "billing"), (Op.READ, TOPIC, "orders")], 200),
    ("POST", f"{SUB}:deadLetters", {"max_deliveries": 3, "topic": "fresh"},
     [(Op.READ, GROUP, "billing"), (Op.READ, TOPIC, "orders"), (Op.WRITE, TOPIC, "fresh"),
      (Op.CREATE, TOPIC, "fresh")], 200),
    ("POST", f"{SUB}:deadLetters", {"max_deliveries": 0},
     [(Op.READ, GROUP, "billing"), (Op.READ, TOPIC, "orders")], 200),
    ("POST", f"{SUB}:redelivery", {"min_ms": 5}, [(Op.READ, GROUP, "billing"), (Op.READ, TOPIC, "orders")], 200),
    ("POST", f"{SUB}:reconsumeLater", {"ids": ["0:0"], "delay_ms": 5},
     [(Op.READ, GROUP, "billing"), (Op.READ, TOPIC, "orders")], 400),
    ("POST", f"{SUB}:deadLetter", {"ids": ["0:0"]}, [(Op.READ, GROUP, "billing"), (Op.READ, TOPIC, "orders")], 400),
    ("POST", f"{SUB}:putBack", {}, [(Op.READ, GROUP, "billing"), (Op.READ, TOPIC, "orders")], 200),
    ("POST", f"{ONE}/subscriptions/spark:noteOffsets", {"offsets": {"0": 1}},
     [(Op.READ, GROUP, "spark"), (Op.READ, TOPIC, "orders")], 200),
    ("POST", "/v1/producers", {}, [(Op.IDEMPOTENT_WRITE, CLUSTER, CLUSTER_NAME)], 201),
    ("POST", "/v1/producers", {}, [(Op.WRITE, TOPIC, "whatever")], 201),
    ("POST", "/v1/transactions", {}, [(Op.IDEMPOTENT_WRITE, CLUSTER, CLUSTER_NAME)], 201),
    ("POST", "/v1/transactions", {}, [(Op.WRITE, TOPIC, "whatever")], 201),
    ("POST", "/v1/transactions", {}, [(Op.READ, GROUP, "whatever")], 201),
    ("POST", "/v1/transactions", {"together": "nightly"},
     [(Op.WRITE, TOPIC, "orders"), (Op.WRITE, Resource.TRANSACTIONAL_ID, "nightly")], 201),
    ("POST", "/v1/transactions:commitAll", {"transactions": [], "once": {"name": "nightly", "number": 1}},
     [(Op.WRITE, Resource.TRANSACTIONAL_ID, "nightly")], 200),
    ("GET", "/v1/transactions:once?name=nightly", None, [(Op.DESCRIBE, Resource.TRANSACTIONAL_ID, "nightly")], 200),
    ("POST", "/v1/transactions:execute", {"records": [{"topic": "orders", "records": [{"value": 2}]}]},
     [(Op.WRITE, TOPIC, "orders")], 200),
    ("POST", "/v1/transactions:execute", {"records": [{"topic": "fresh", "records": [{"value": 2}]}]},
     [(Op.WRITE, TOPIC, "fresh"), (Op.CREATE, TOPIC, "fresh")], 200),
    ("POST", "/v1/transactions:execute",
     {"acks": [{"topic": "orders", "subscription": "billing", "ids": ["0:0"], "consumer": "c"}]},
     [(Op.READ, TOPIC, "orders"), (Op.READ, GROUP, "billing")], 200),
    ("GET", f"{ONE}/partitions/0/transactions", None, [(Op.DESCRIBE, TOPIC, "orders")], 200),
    ("GET", f"{ONE}/pending/billing", None, [(Op.DESCRIBE, GROUP, "billing"), (Op.DESCRIBE, TOPIC, "orders")], 200),
    ("GET", f"{ONE}/snapshot/billing", None, [(Op.DESCRIBE, GROUP, "billing"), (Op.DESCRIBE, TOPIC, "orders")], 200),
    ("GET", f"{ONE}/lag/billing", None, [(Op.DESCRIBE, GROUP, "billing"), (Op.DESCRIBE, TOPIC, "orders")], 200),
    ("GET", f"{ONE}/partitions/0/backlog/billing", None,
     [(Op.DESCRIBE, GROUP, "billing"), (Op.DESCRIBE, TOPIC, "orders")], 200),
    ("GET", f"{ONE}/partitions/0/records/0/subscriptions/billing", None,
     [(Op.DESCRIBE, GROUP, "billing"), (Op.DESCRIBE, TOPIC, "orders")], 200),
    ("GET", f"{ONE}/why", None, [(Op.DESCRIBE, TOPIC, "orders")], 200),
    ("GET", "/v1/coordinators", None, [(Op.DESCRIBE, CLUSTER, CLUSTER_NAME)], 200),
    ("GET", "/v1/coordinators/0", None, [(Op.DESCRIBE, CLUSTER, CLUSTER_NAME)], 200),
    ("GET", "/v1/coordinators/0/log", None, [(Op.DESCRIBE, CLUSTER, CLUSTER_NAME)], 200),
    ("PATCH", "/v1/coordinators", {"count": 16}, [(Op.ALTER, CLUSTER, CLUSTER_NAME)], 200),
    ("GET", "/v1/batched-writes", None, [(Op.DESCRIBE, CLUSTER, CLUSTER_NAME)], 200),
    ("PUT", "/v1/batched-writes/transaction_log", {"enabled": True}, [(Op.ALTER, CLUSTER, CLUSTER_NAME)], 200),
    ("GET", "/metrics", None, [(Op.DESCRIBE, CLUSTER, CLUSTER_NAME)], 200),
]  # fmt: skip


async def prepared(world):
    assert (await world.post(ROOT, "/v1/topics", {"name": "orders"})).status_code == 201
    assert (await world.post(ROOT, f"{ONE}/records", RECORDS)).status_code == 200
    assert (await world.post(ROOT, f"{ONE}/subscriptions", {"name": "billing"})).status_code == 201
    assert (await world.post(ROOT, f"{SUB}:receive", {"consumer": "c"})).status_code == 200
    assert (await world.post(ROOT, f"{ONE}/scheduled", LATER)).json()["scheduled"][0]["id"] == "0:1.0"


@pytest.mark.parametrize(("method", "path", "body", "rules", "status"), CASES)
async def test_an_operation_is_refused_until_every_rule_it_needs_is_there(
    redis_url, prefix, tmp_path, method, path, body, rules, status
):
    async with secured(redis_url, prefix, offload_home=str(tmp_path)) as world:
        await prepared(world)
        for lacking in rules:  # each of them has every rule but one
            user = f"without-{rules.index(lacking)}"
            for rule in rules:
                if rule != lacking:
                    await world.allow(user, *rule)
            for _ in range(2):  # the second request finds what the broker remembers of the first
                refused = await world.ask(user, method, path, body)
                assert (refused.status_code, refused.json()["status"]) == (403, 403), (lacking, refused.text)
                assert refused.json()["code"].endswith("_forbidden")
            assert (await world.get(ROOT, "/v1/topics")).json()["topics"][0]["name"] == "orders"
        for rule in rules:
            await world.allow("ada", *rule)
        answer = await world.ask("ada", method, path, body)
        assert answer.status_code == status, answer.text


def test_every_operation_that_needs_something_is_among_the_cases():
    covered = {(method, path.partition("?")[0]) for method, path, *_ in CASES}
    shapes = {
        "topic": "orders",
        "name": "billing",
        "partition": "0",
        "scheduled": "0:1.0",
        "offset": "0",
        "log": "transaction_log",
        "coordinator": "0",
        "transaction": "0-1",
    }
    left = set()
    for each in OPERATIONS:
        if each.is_public or not each.requires or each.tag in ("security", "quotas") or "{id}" in each.path:
            continue
        if (each.method, each.path.format(**shapes)) not in covered:
            left.add(each.id)
    # noteOffsets is tested under another name; the others have the requirements of a tested operation.
    assert left <= {"note_offsets", "ack_cumulative", "swap_segments"}
    needed = {each.id: each.requires for each in OPERATIONS}
    assert needed["ack_cumulative"] == needed["ack"]
    assert needed["swap_segments"] == needed["publish_segments"]


async def test_lists_show_what_the_caller_may_describe(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        for name in ("orders-a", "orders-b", "secret"):
            await world.post(ROOT, "/v1/topics", {"name": name})
            await world.post(ROOT, f"/v1/topics/{name}/subscriptions", {"name": f"s-{name}"})
            await world.post(ROOT, f"/v1/topics/{name}/subscriptions", {"name": "hidden"})
        assert (await world.get("ada", "/v1/topics")).json() == {"topics": []}
        await world.allow("ada", Op.READ, TOPIC, "orders-", prefix=True)
        await world.allow("ada", Op.READ, TOPIC, "orders-b", deny=True)
        await world.allow("ada", Op.DESCRIBE, GROUP, "s-", prefix=True)
        shown = [t["name"] for t in (await world.get("ada", "/v1/topics")).json()["topics"]]
        assert shown == ["orders-a", "orders-b"]  # the DENY is of READ; DESCRIBE is what the other rule implies
        await world.allow("ada", Op.ALL, TOPIC, "orders-b", deny=True)
        assert [t["name"] for t in (await world.get("ada", "/v1/topics")).json()["topics"]] == ["orders-a"]
        found = (await world.get("ada", "/v1/topics/orders-a/subscriptions")).json()["subscriptions"]
        assert [each["name"] for each in found] == ["s-orders-a"]


async def test_an_answer_kept_for_one_principal_is_not_given_to_another(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await world.post(ROOT, "/v1/topics", {"name": "orders"})
        for name in ("ada", "eve"):
            await world.allow(name, Op.WRITE, TOPIC, "orders")
        first = await world.post("ada", f"{ONE}/records", RECORDS, idempotency_key="k")
        again = await world.post("ada", f"{ONE}/records", RECORDS, idempotency_key="k")
        other = await world.post("eve", f"{ONE}/records", RECORDS, idempotency_key="k")
        assert again.headers["idempotent-replayed"] == "true"
        assert "idempotent-replayed" not in other.headers
        assert [a.json()["results"][0]["base_offset"] for a in (first, again, other)] == [0, 0, 1]


async def test_a_replay_is_refused_once_the_right_is_gone(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await world.post(ROOT, "/v1/topics", {"name": "orders"})
        rule = await world.allow("ada", Op.WRITE, TOPIC, "orders")
        assert (await world.post("ada", f"{ONE}/records", RECORDS, idempotency_key="k")).status_code == 200
        await world.allow(rule.principal.removeprefix("User:"), Op.WRITE, TOPIC, "orders", deny=True)
        assert (await world.post("ada", f"{ONE}/records", RECORDS, idempotency_key="k")).status_code == 403


async def test_a_refused_request_writes_nothing_and_reads_no_body(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await world.post(ROOT, "/v1/topics", {"name": "orders"})
        headers = await world.headers("ada")
        answer = await world.http.post(f"{ONE}/records", content=b"{not json", headers=headers)
        assert answer.status_code == 403
        assert (await world.get(ROOT, ONE)).json()["partition_states"][0]["end_offset"] == 0


async def test_cached_topic_is_not_recreated_without_create(redis_url, prefix):
    async with secured(redis_url, prefix) as world:
        await world.post(ROOT, "/v1/topics", {"name": "orders"})
        await world.allow("ada", Op.WRITE, TOPIC, "orders")
        assert (await world.post("ada", f"{ONE}/records", RECORDS)).status_code == 200
        async with secured(redis_url, prefix) as elsewhere:
            await elsewhere.broker.topics.delete("orders")
        assert (await world.post("ada", f"{ONE}/records", RECORDS)).status_code == 403
        assert (await world.get(ROOT, ONE)).status_code == 404


def test_requirements_are_data():
    for each in OPERATIONS:
        for requirement in each.requires:
            assert requirement.scope in Scope
            assert each.is_public or requirement.describe() != "nothing"
            if requirement.scope is Scope.NAMED:
                assert f"{{{requirement.field}}}" in each.path


@pytest.mark.parametrize("how", ["rule", "token"])
@pytest.mark.parametrize("what", ["fetch", "receive"])
async def test_a_waiting_request_fails_at_once_when_its_right_is_revoked(redis_url, prefix, how, what):
    async with secured(redis_url, prefix) as world:
        await world.broker.topics.create("orders")
        await world.broker.subscriptions.create("orders", "billing", "shared", "earliest")
        for resource, name in ((Resource.TOPIC, "orders"), (Resource.GROUP, "billing"), (Resource.GROUP, "other")):
            await world.allow("ada", Op.READ, resource, name)
        asked = {
            "fetch": ("GET", "/v1/topics/orders/partitions/0/records?offset=0&wait_ms=30000", None),
            "receive": (
                "POST",
                "/v1/topics/orders/subscriptions/billing:receive",
                {"consumer": "c", "wait_ms": 30_000},
            ),
        }[what]
        waiting = asyncio.create_task(world.ask("ada", *asked))
        while not world.broker.partition_fetch._waiters._channels:
            await asyncio.sleep(0.01)  # until it waits
        # Given a change that is nothing to the caller
        await world.broker.security.remove_rules([Filter(Resource.GROUP, "other")])
        done, _ = await asyncio.wait((waiting,), timeout=0.2)
        assert not done
        # When it is
        if how == "rule":
            await world.broker.security.remove_rules([Filter(Resource.TOPIC, "orders")])
        else:
            await world.broker.security.revoke_token(world.tokens["ada"].split("_")[1])
        # Then it hears so, and what is written from now on waits for others
        answer = await wait_for(waiting, 5.0)
        assert answer.status_code == (403 if how == "rule" else 401)
        await world.broker.records.produce("orders", [NewRecord(None, b"1")])
        assert len(await world.broker.subscriptions.receive("orders", "billing", "d")) == 1
