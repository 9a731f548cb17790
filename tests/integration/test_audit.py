"""The audit: its entries, its retention, and that a failing audit never fails an action."""

from __future__ import annotations

import pytest

from redis_ledger.auth.acl import Caller
from redis_ledger.broker.security import audit
from redis_ledger.broker.security.audit import FAILED, REFUSED, Audit
from redis_ledger.errors import InvalidRequest, StoreTimeout, TopicForbidden, UnknownTopic
from redis_ledger.kafka.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.support.broker import one
from tests.support.rest import client_of
from tests.support.secured_kafka import secured

ADA = Caller("User:ada", "10.0.0.7")


async def test_acts_are_listed_newest_first_and_by_pages(redis_url, prefix):
    async with one(redis_url, prefix, auth_required=True) as broker:
        for number in range(5):
            await broker.audit.note(ADA, "topic.create", f"t{number}", partitions=number)
        newest = await broker.audit.entries(2)
        assert [(e.act, e.target, e.facts) for e in newest] == [
            ("topic.create", "t4", {"partitions": 4}),
            ("topic.create", "t3", {"partitions": 3}),
        ]
        assert (newest[0].principal, newest[0].host, newest[0].outcome) == ("User:ada", "10.0.0.7", "done")
        assert abs(newest[0].at_ms - broker.clock.now_ms()) < 60_000
        assert [e.target for e in await broker.audit.entries(10, newest[1].id)] == ["t2", "t1", "t0"]
        with pytest.raises(InvalidRequest):
            await broker.audit.entries(10, "yesterday")


async def test_without_authentication_acts_are_in_the_log_only(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        await broker.audit.note(ADA, "topic.create", "t")
        assert await broker.audit.entries(10) == []


async def test_refusals_are_bounded_and_omissions_are_reported(redis_url, prefix, monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(audit, "monotonic", lambda: now[0])
    async with one(redis_url, prefix) as broker:
        noted = Audit(broker.store, is_kept=True)
        for _ in range(audit.REFUSALS_AT_ONCE + 30):
            await noted.note(ADA, "topic.delete", "t", REFUSED)
        await noted.note(ADA, "topic.delete", "t", FAILED)
        assert len(await noted.entries(1_000)) == audit.REFUSALS_AT_ONCE + 1
        now[0] += 1
        await noted.note(ADA, "topic.delete", "t", REFUSED, code="topic_forbidden")
        assert (await noted.entries(1))[0].facts == {"code": "topic_forbidden", "refusals_left_out": 30}


async def test_an_act_does_not_fail_because_it_cannot_be_noted(redis_url, prefix):
    async with one(redis_url, prefix) as broker:
        noted = Audit(broker.store, is_kept=True)
        key = noted._key
        await broker.store.command("SET", key, "not a stream", key=key)
        await noted.note(ADA, "topic.delete", "t")
        assert await broker.store.command("GET", key, key=key) == b"not a stream"


async def test_an_act_that_may_have_been_done_is_noted_and_one_that_was_not_is_not(redis_url, prefix):
    async with one(redis_url, prefix, auth_required=True) as broker:
        for error in (UnknownTopic("There is none."), StoreTimeout("Redis did not answer."), TopicForbidden("No.")):
            await broker.audit.failed(ADA, "topic.delete", "orders", error, partitions=1)
        entries = [
            (each.outcome, each.facts["code"], each.facts["partitions"]) for each in await broker.audit.entries(9)
        ]
        assert entries == [("refused", "topic_forbidden", 1), ("failed", "store_timeout", 1)]


async def test_deletions_are_audited_at_both_ports(redis_url, prefix):
    async with secured(redis_url, prefix) as world, client_of(world.broker) as http:
        await world.broker.topics.create("orders")
        await world.broker.external_offsets.note("g", "orders", {0: 1})
        for user in ("ada", "root"):
            client = await world.client(user)
            asked = OffsetDeleteRequest("g", [OffsetDeleteRequestTopic("orders", [OffsetDeleteRequestPartition(0)])])
            assert ((await client.ask(asked, 0)).error_code == 0) is (user == "root")
            headers = {"authorization": f"Bearer {await world.token(user)}"}
            answer = await http.delete("/v1/topics/orders/scheduled", headers=headers)
            assert (answer.status_code == 200) is (user == "root")
        entries = [(e.principal, e.act, e.target, e.outcome) for e in await world.broker.audit.entries(9)]
        assert entries[::-1] == [
            ("User:ada", "subscription.delete", "g", "refused"),
            ("User:ada", "scheduled.clear", "orders", "refused"),
            ("User:root", "subscription.delete", "orders g", "done"),
            ("User:root", "scheduled.clear", "orders", "done"),
        ]
