"""Test hooks: faults at named writes and a clock that moves, for an administrator, and only while the setting is on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from redis_ledger.app.http.application import create_app
from redis_ledger.app.http.routers.test_hooks import Hooks
from redis_ledger.app.process.broker_process import HOOKS_ARE_ON
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import NewRecord
from redis_ledger.clock import RedisClock, ShiftedClock
from redis_ledger.config import Config
from redis_ledger.errors import OutcomeUnknown, StoreTimeout, StoreUnavailable
from redis_ledger.store.faults import CRASHED, POINTS, Fault, Faults, FaultyStore
from tests.support.broker import SHORT, eventually, one, receive_values, records, status, visible
from tests.support.principals import SECURED
from tests.support.processes import Serve
from tests.support.rest import client_of
from tests.support.scheduled import BUCKETS, HOUR_MS, ScheduledTopic
from tests.support.secured_rest import World

FAULTS, CLOCK = "/v1/test/faults", "/v1/test/clock"
DELAYED = ("schedule", "delay_rotate", "delay_seal", "delay_load", "delay_merge", "delay_fire")


@contextlib.asynccontextmanager
async def hooked(url: str, prefix: str, **settings: Any) -> AsyncIterator[tuple[Broker, Hooks]]:
    """A broker with hooks, as `serve` opens it."""
    config, redis_clock = Config(prefix=prefix, test_hooks=True, **{**SHORT, **settings}), RedisClock()
    clock = ShiftedClock(redis_clock)
    store = await FaultyStore.open(url, prefix=prefix)
    assert isinstance(store, FaultyStore)
    try:
        broker = await Broker.open(store, config, clock=clock, redis_clock=redis_clock)
        try:
            yield broker, Hooks(store.faults, clock)
        finally:
            store.faults.clear()
            await broker.close()
    finally:
        await store.close()


@contextlib.asynccontextmanager
async def asked(url: str, prefix: str, **settings: Any) -> AsyncIterator[tuple[Broker, httpx.AsyncClient]]:
    async with hooked(url, prefix, **settings) as (broker, hooks):
        async with client_of(broker, create_app(broker, hooks)) as http:
            yield broker, http


# -- who may use them --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), [(m, p) for m in ("GET", "POST", "DELETE") for p in (FAULTS, CLOCK)])
async def test_hooks_do_not_exist_while_the_setting_is_off(redis_url, prefix, method, path):
    """OB-30"""
    async with one(redis_url, prefix) as broker, client_of(broker) as http:
        answer = await http.request(method, path, json={"point": "begin", "act": "crash"})
        assert (answer.status_code, answer.json()["code"]) == (404, "route_not_found")
        document = (await http.get("/openapi.json")).json()
        assert [each for each in document["paths"] if each.startswith("/v1/test")] == []
        assert not isinstance(broker.store, FaultyStore)


async def test_only_an_administrator_may_use_them(redis_url, prefix):
    """OB-30"""
    async with hooked(redis_url, prefix, **SECURED) as (broker, hooks):
        async with client_of(broker, create_app(broker, hooks)) as http:
            world = World(broker, http)
            await world.allow("admin", Op.ALTER, Resource.CLUSTER)
            await world.allow("eve", Op.DESCRIBE, Resource.CLUSTER)
            fault = {"point": "begin", "act": "fail"}
            for method, path, body in (
                ("GET", FAULTS, None), ("POST", FAULTS, fault), ("DELETE", FAULTS, None), ("GET", CLOCK, None),
                ("POST", CLOCK, {"advance_ms": 1}),
            ):  # fmt: skip
                assert (await world.ask("eve", method, path, body)).status_code == 403
                assert (await http.request(method, path, json=body)).status_code == 401
            assert hooks.faults.armed == []
            assert hooks.clock.shift_ms == 0
            assert (await world.post("admin", FAULTS, fault)).status_code == 200
            assert [each.point for each in hooks.faults.armed] == ["begin"]


# -- faults ------------------------------------------------------------------------------------------------------------


async def test_a_fault_happens_as_often_as_it_was_armed_and_after_the_passes_that_it_skips(redis_url, prefix):
    """OB-30"""
    async with asked(redis_url, prefix) as (broker, http):
        answer = await http.post(FAULTS, json={"point": "begin", "act": "fail", "skip": 1, "times": 2})
        assert answer.json()["points"] == POINTS
        outcomes = [(await http.post("/v1/transactions", json={})).status_code for _ in range(4)]
        assert outcomes == [201, 503, 503, 201]
        assert (await http.get(FAULTS)).json()["armed"] == []
        assert len(await broker.transactions.list()) == 2


async def test_a_fault_after_the_write_leaves_what_was_written(redis_url, prefix):
    """OB-30: the caller is not answered, and Redis has it."""
    async with hooked(redis_url, prefix) as (broker, hooks):
        await broker.topics.create("t")
        hooks.faults.arm(Fault("append", "before", "fail"))
        with pytest.raises(StoreUnavailable, match="append was not sent"):
            await broker.records.produce("t", records("never"))
        hooks.faults.arm(Fault("append", "after", "fail"))
        with pytest.raises(OutcomeUnknown, match="append was dropped"):
            await broker.records.produce("t", records("written"))
        assert await visible(broker, "t") == {0: ["written"]}
        hooks.faults.arm(Fault("begin", "after", "fail"))
        with pytest.raises(StoreTimeout):
            await broker.transactions.begin()
        assert len(await broker.transactions.list()) == 1


async def test_a_fault_after_a_write_waits_for_one_that_redis_has_made(redis_url, prefix):
    """OB-30: the ledger was sealed since, so the first call is refused, and only the second one stores the records."""
    async with hooked(redis_url, prefix) as (broker, hooks):
        topic = ScheduledTopic(broker, "t")
        await broker.topics.create("t")
        await topic.fill(1, topic.in_ms(HOUR_MS))
        partition = await broker.catalog.partition("t", 0)
        later = [NewRecord(None, b"later", deliver_after_ms=HOUR_MS)]
        for point, new in (("append", records("now")), ("schedule", later)):
            partition._calls.use_ledger(99)
            partition._calls.delay_ledger = -99
            hooks.faults.arm(Fault(point, "after", "fail"))
            with pytest.raises(OutcomeUnknown, match=f"{point} was dropped"):
                await broker.records.produce("t", new)
        assert await visible(broker, "t") == {0: ["now"]}
        assert await broker.delayed.pending("t") == 2


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_delayed_write_is_answered_later(redis_url, prefix, when):
    """OB-30"""
    async with hooked(redis_url, prefix) as (broker, hooks):
        hooks.faults.arm(Fault("begin", when, "delay", delay_ms=300))
        loop = asyncio.get_running_loop()
        started = loop.time()
        await broker.transactions.begin()
        assert 0.3 <= loop.time() - started < 5


async def test_a_wrong_fault_is_refused_by_name(redis_url, prefix):
    async with asked(redis_url, prefix) as (_, http):
        answer = await http.post(FAULTS, json={"point": "nowhere", "act": "fail"})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
        assert "add_subscription" in answer.json()["detail"]
        assert (await http.post(FAULTS, json={"point": "begin", "act": "melt"})).status_code == 400
        await http.post(FAULTS, json={"point": "begin", "act": "fail"})
        assert (await http.delete(FAULTS)).status_code == 204
        assert (await http.get(FAULTS)).json()["armed"] == []


class Passed(Faults):
    """Records the points that are passed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.points = list[str]()
        self.armed = [Fault("begin", "before", "fail", skip=1 << 30)]  # so that calls are looked at

    def take(self, points: Any, when: Any) -> None:
        self.points += sorted(points) if when == "before" else []


@pytest.mark.parametrize("in_one_call", [True, False])
async def test_a_transaction_passes_the_points_of_its_steps_in_their_order(redis_url, prefix, in_one_call):
    """CL-15, OB-30: consume, transform, produce; on one Redis the end is one write that is four points."""
    async with hooked(redis_url, prefix, coordinators=1, one_call_transactions=in_one_call) as (broker, _):
        for name in ("in", "out"):
            await broker.topics.create(name)
        await broker.subscriptions.create("in", "s")
        await broker.records.produce("in", records("a"))
        (id_,) = await receive_values(broker, "in", "s")
        await broker.maintenance.close()
        assert isinstance(broker.store, FaultyStore)
        broker.store.faults = passed = Passed()
        txn = (await broker.transactions.begin()).id
        await broker.records.produce("out", records("A"), transaction=txn)
        await broker.subscriptions.ack("in", "s", "c1", [id_], transaction=txn)
        await broker.transactions.commit(txn)
        assert await eventually(lambda: status(broker, txn), "committed") == "committed"
        (coordinator,) = broker.coordinators
        while not coordinator.is_idle:
            await asyncio.sleep(0.01)  # its lazy completion is on the way
        before, at_end = passed.points[:5], passed.points[5:]
        assert before == ["begin", "add_partition", "append", "add_subscription", "pending_ack"]
        if in_one_call:
            assert at_end == ["complete", "decide", "end_partition", "end_subscription"]
        else:
            assert (at_end[0], sorted(at_end[1:3]), at_end[3:]) == (
                "decide", ["end_partition", "end_subscription"], ["complete"],
            )  # fmt: skip


async def test_every_delayed_point_is_passed_in_the_life_of_buckets(redis_url, prefix):
    """OB-30"""
    settings = {**BUCKETS, "delayed_delivery_max_num_buckets": 2}
    async with hooked(redis_url, prefix, **settings) as (broker, _):
        await broker.topics.create("t")
        assert isinstance(broker.store, FaultyStore)
        broker.store.faults = passed = Passed()
        topic = ScheduledTopic(broker, "t")
        await topic.fill_buckets(2, topic.in_ms(HOUR_MS))
        await topic.fill(20, topic.in_ms(3_000))  # one bucket more than there may be
        await broker.records.produce("t", [NewRecord(None, b"soon", deliver_after_ms=50)])

        async def unseen():
            return set(DELAYED) - set(passed.points)

        assert await eventually(unseen, set(), 20) == set()


# -- the clock ---------------------------------------------------------------------------------------------------------


async def test_the_clock_is_moved_and_deadlines_follow_it(redis_url, prefix):
    """OB-30: no real time passes until a transaction of a minute expires."""
    async with asked(redis_url, prefix) as (broker, http):
        txn = (await broker.transactions.begin(60_000)).id
        shown = (await http.get(CLOCK)).json()
        assert shown["shift_ms"] == 0
        moved = (await http.post(CLOCK, json={"advance_ms": 61_000})).json()
        assert moved["shift_ms"] == 61_000
        assert 61_000 <= moved["now_ms"] - shown["now_ms"] < 71_000
        assert await eventually(lambda: status(broker, txn), "aborted", 5) == "aborted"
        assert (await broker.transactions.get(txn)).timed_out
        at = (await http.post(CLOCK, json={"now_ms": 2_000_000_000_000})).json()["now_ms"]
        assert 0 <= at - 2_000_000_000_000 < 10_000
        for wrong in ({}, {"now_ms": 1, "advance_ms": 1}):
            assert (await http.post(CLOCK, json=wrong)).status_code == 400


# -- a process ---------------------------------------------------------------------------------------------------------


def test_serve_warns_and_a_crash_at_a_point_ends_the_process(redis_url: str, prefix: str, tmp_path: Path):
    """OB-30, CL-15: it ends right after the decision, and the next process has carried it out."""
    words = ("--redis", redis_url, "--durability", "lossy", "--set", f"prefix={prefix}")
    broker = Serve(*words, "--set", "test_hooks=true", "--log-level", "warning")
    try:
        assert broker.call("GET", "/readyz")["test_hooks"] is True
        broker.call("POST", "/v1/topics", {"name": "t"})
        txn = broker.call("POST", "/v1/transactions", {})["id"]
        body = {"records": [{"value": "a"}], "transaction": txn}
        broker.call("POST", "/v1/topics/t/records", body)
        broker.call("POST", FAULTS, {"point": "decide", "when": "after", "act": "crash"})
        with pytest.raises(httpx.TransportError):
            broker.call("POST", f"/v1/transactions/{txn}:commit", {})
        code, errors = broker.end()
        assert code == CRASHED
        assert HOOKS_ARE_ON in errors
    finally:
        broker.clean_up()
    after = Serve(*words)
    try:
        assert "test_hooks" not in after.call("GET", "/readyz")
        shown = after.call("GET", "/v1/topics/t/partitions/0/records")
        assert [each["value"] for each in shown["records"]] == ["a"]
    finally:
        after.clean_up()
