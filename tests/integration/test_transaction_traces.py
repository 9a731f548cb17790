"""The steps of a transaction with their times: REST, the SDK and `redis-ledger txns show`, by another broker."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from redis_ledger import Client
from redis_ledger.app.cli import main
from redis_ledger.broker.types import NewRecord
from redis_ledger.clock import ManualClock, SystemClock
from redis_ledger.ids import TxnId
from tests.support.broker import records
from tests.support.threaded_broker import ThreadedBroker, threaded_broker

IN, OUT = {"topic": "in", "partition": 0, "subscription": "a job"}, {"topic": "out", "partition": 0}
OPEN: list[tuple[str, int, dict[str, Any]]] = [
    ("begin", 0, {}), ("add_partition", 10, OUT), ("append", 10, OUT), ("add_subscription", 20, IN),
    ("pending_ack", 20, IN),
]  # fmt: skip
ENDED = [*OPEN, ("decide", 50, {}), ("end_partition", 50, OUT), ("end_subscription", 50, IN), ("complete", 50, {})]


@pytest.fixture
def clock():
    return ManualClock(SystemClock().now_ms())


@pytest.fixture(params=[True, False], ids=["one call", "steps"])
def brokers(redis_url, prefix, clock, request):
    settings = {"coordinators": 1, "end_overdue_ms": 60_000, "one_call_transactions": request.param}
    with threaded_broker(redis_url, prefix, brokers=2, clock=clock, **settings) as brokers:
        yield brokers


def processed(brokers: ThreadedBroker, clock: ManualClock) -> TxnId:
    """A transaction that has sent records at 10 and 30 ms, and acknowledged messages at 20 and 40 ms."""
    broker = brokers.brokers[0]

    async def work() -> TxnId:
        for topic in ("in", "out"):
            await broker.topics.create(topic, 1)
        await broker.subscriptions.create("in", "a job")
        await broker.records.produce("in", records("a", "b"))
        messages = await broker.subscriptions.receive("in", "a job", "c", max_records=2)
        txn = (await broker.transactions.begin(600_000)).id
        for message in messages:
            clock.advance(10)
            await broker.records.produce("out", records("x"), transaction=txn)
            clock.advance(10)
            await broker.subscriptions.ack("in", "a job", "c", [message.id], transaction=txn)
        clock.advance(10)
        return txn

    return brokers.do(work())


def steps_of(body: dict[str, Any]) -> list[tuple[str, int, dict[str, Any]]]:
    started = body["started_ms"]
    return [(each.pop("name"), each.pop("at_ms") - started, each) for each in body["steps"]]


def completed(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The body when the transaction has ended; a commit does not wait for its last step."""
    until = time.monotonic() + 20
    while (body := read())["status"] not in ("committed", "aborted"):
        assert time.monotonic() < until, body
        time.sleep(0.01)  # between two requests
    return body


def test_one_consume_transform_produce_transaction_has_the_steps_of_pip_31(brokers, clock):
    """OB-25, CL-15: while it is open, and after its end, read from another broker."""
    txn, url = processed(brokers, clock), brokers.urls[1]

    def read() -> dict[str, Any]:
        return dict(httpx.get(f"{url}/v1/transactions/{txn}").raise_for_status().json())

    assert steps_of(read()) == OPEN
    brokers.do(brokers.brokers[0].transactions.commit(txn))
    body = completed(read)
    assert (steps_of(body), body["steps_cut"]) == (ENDED, False)

    with Client([url]) as client:
        found = client.transactions.get(str(txn))
    assert [each.name for each in found.steps] == [name for name, _, _ in ENDED]
    assert found.steps[2].at_ms == found.started_ms + 10
    assert (found.steps[3].topic, found.steps[3].subscription, found.steps_cut) == ("in", "a job", False)

    shown = CliRunner().invoke(main.app, ["txns", "show", str(txn), "--url", url], env={"COLUMNS": "200"}).stdout
    names = [name for name, _, _ in ENDED]
    assert [line.split()[1] for line in shown.splitlines() if line.startswith("│")] == names
    assert "in:0 a job" in shown
    assert "left out" not in shown


def test_an_aborted_transaction_has_its_steps(brokers, clock):
    """OB-25."""
    txn = processed(brokers, clock)
    brokers.do(brokers.brokers[1].transactions.abort(txn))
    body = completed(lambda: httpx.get(f"{brokers.urls[1]}/v1/transactions/{txn}").json())
    assert (body["status"], steps_of(body)) == ("aborted", ENDED)


def test_a_trace_says_that_steps_are_left_out(brokers):
    """OB-25: a trace is bounded."""
    broker = brokers.brokers[0]

    async def work() -> TxnId:
        await broker.topics.create("many", 20)
        txn: TxnId = (await broker.transactions.begin(600_000)).id
        await broker.records.produce("many", [NewRecord(None, b"x", partition=n) for n in range(20)], transaction=txn)
        return txn

    txn, url = brokers.do(work()), brokers.urls[1]
    live = httpx.get(f"{url}/v1/transactions/{txn}").json()
    assert live["steps_cut"]
    assert {each["partition"] for each in live["steps"] if each["name"] == "append"} == set(range(6))
    brokers.do(broker.transactions.commit(txn))
    body = completed(lambda: httpx.get(f"{url}/v1/transactions/{txn}").json())
    names = [each["name"] for each in body["steps"]]
    assert body["steps_cut"]
    assert 3 <= names.count("append") == names.count("end_partition") < 20
    assert (names[0], names[-1]) == ("begin", "complete")
    shown = CliRunner().invoke(main.app, ["txns", "show", str(txn), "--url", url], env={"COLUMNS": "200"}).stdout
    assert "Steps of further participants are left out." in shown
    listed = json.loads(httpx.get(f"{url}/v1/transactions").text)["transactions"]
    assert all("steps" not in each for each in listed)
