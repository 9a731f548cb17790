"""`redis-ledger txns` and `redis-ledger coordinators`, and the SDK below them, against a broker."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from redis_ledger import AsyncClient, Client, errors
from redis_ledger.app.cli import main
from tests.support.broker import records
from tests.support.threaded_broker import threaded_broker


@pytest.fixture
def brokers(redis_url, prefix):
    with threaded_broker(redis_url, prefix, coordinators=2, end_overdue_ms=60_000) as brokers:
        yield brokers


@pytest.fixture
def client(brokers):
    with Client(brokers.urls) as client:
        yield client


@pytest.fixture
def run(brokers):
    def run(*words: str) -> SimpleNamespace:
        result = CliRunner().invoke(main.app, [*words, "--url", brokers.urls[0]], env={"COLUMNS": "200"})
        return SimpleNamespace(code=result.exit_code, out=result.stdout, err=result.stderr)

    return run


@pytest.fixture
def txn(brokers) -> str:
    """An open transaction with two records of `t` and one acknowledgement of `in`; behind them a record of others."""
    broker = brokers.brokers[0]

    async def begin() -> str:
        for topic in ("in", "t"):
            await broker.topics.create(topic, 1)
        await broker.subscriptions.create("in", "job")
        await broker.records.produce("in", records("a"))
        id = (await broker.transactions.begin(30_000, owner="etl")).id
        await broker.records.produce("t", records("x", "y"), transaction=id)
        await broker.records.produce("t", records("z"))
        (message,) = await broker.subscriptions.receive("in", "job", "c")
        await broker.subscriptions.ack("in", "job", "c", [message.id], transaction=id)
        return str(id)

    return str(brokers.do(begin()))


def test_show_has_the_records_and_the_acknowledgements_of_the_transaction(run, client, txn):
    shown = run("txns", "show", txn).out
    assert f"{txn}  open  timeout 30000 ms" in shown
    assert all(word in shown for word in ("first offset", "marker", "job", "pending"))
    found = json.loads(run("txns", "show", txn, "--json").out)
    (partition,) = found["participants"]["partitions"]
    assert (partition["first_offset"], partition["last_offset"], partition["records"]) == (0, 1, 2)
    (subscription,) = found["participants"]["subscriptions"]
    assert (subscription["pending"], subscription["ranges"]) == (1, [{"first": 0, "last": 0}])
    assert found["status"] == client.transactions.get(txn).status == "open"


def test_why_has_the_transaction_and_what_to_do(run, client, txn):
    shown = run("txns", "why", "t").out
    assert f"t:0  3 records from offset 0 on held by transaction {txn} of etl (open, begun" in shown
    assert f"`redis-ledger txns abort {txn}` ends it now." in shown
    assert json.loads(run("txns", "why", "t", "--json").out)["partitions"][0]["held_records"] == 3
    client.transactions.abort(txn)
    assert run("txns", "why", "t").out == "No transaction holds up the readers of t: they can read to its end.\n"


def test_log_has_the_steps_of_one_transaction(run, client, txn):
    number, _, _ = txn.partition("-")
    client.transactions.begin()
    shown = [json.loads(line) for line in run("txns", "log", number, "--transaction", txn, "--json").out.splitlines()]
    assert [each["kind"] for each in shown] == ["new", "add_partition", "add_subscription"]
    assert {each["transaction"] for each in shown} == {txn}
    table = run("txns", "log", number, "--transaction", txn).out
    assert "add_subscription" in table
    assert "in:0 job" in table
    page = client.coordinators.log(int(number), transaction=txn, limit=1)
    assert (len(page.records), page.records[0].owner, page.next is None) == (1, "etl", False)


def test_list_takes_the_timeout_and_the_coordinator(run, client):
    short, long = (client.transactions.begin(timeout).id for timeout in (300_000, 900_000))

    def listed(*words: str) -> list[str]:
        return [json.loads(line)["id"] for line in run("txns", "list", "--json", *words).out.splitlines()]

    assert listed("--min-timeout", "10m") == [long]
    assert sorted(listed("--min-timeout", "300s")) == sorted([short, long])
    for number in "01":
        there = [id for id in (short, long) if id.startswith(f"{number}-")]
        assert sorted(listed("--coordinator", number)) == sorted(there)
    assert run("txns", "list", "--min-timeout", "long").code == 2


def test_coordinators_are_listed_shown_and_raised(run, client, txn):
    number = txn.partition("-")[0]
    listed = [json.loads(line) for line in run("coordinators", "list", "--json").out.splitlines()]
    assert [(each["number"], each["open"]) for each in listed] == [(n, int(str(n) == number)) for n in range(2)]
    assert "takeovers" in run("coordinators", "list").out
    assert "none: every broker serves it" in run("coordinators", "show", number).out
    assert json.loads(run("coordinators", "show", number, "--json").out)["created"] == 1
    assert run("coordinators", "raise", "3").out == "There are 3 coordinators.\n"
    assert json.loads(run("coordinators", "raise", "3", "--json").out) == {"count": 3}
    fewer = run("coordinators", "raise", "2")
    assert (fewer.code, "never lowered" in fewer.err) == (1, True)
    assert run("coordinators", "show", "3").code == 1
    assert [each.number for each in client.coordinators.list()] == [0, 1, 2]


async def test_the_async_client_has_the_same(brokers, txn):
    async with AsyncClient(brokers.urls) as client:
        number = int(txn.partition("-")[0])
        assert (await client.coordinators.get(number)).open == 1
        assert (await client.transactions.participants(txn)).partitions[0].records == 2
        assert (await client.transactions.why("t")).partitions[0].transaction.id == txn
        with pytest.raises(errors.CoordinatorNotFound):
            await client.coordinators.get(7)
