"""Delayed records by the SDK and the commands, against real brokers."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from typer.testing import CliRunner

from redis_ledger import AsyncClient, Client, Message, Record, errors
from redis_ledger.app.cli import main
from tests.support.threaded_broker import LosesFirstAnswers

FAR = datetime(2999, 1, 1, tzinfo=UTC)
FAR_MS = 32_472_144_000_000


@pytest.fixture
async def client(brokers):
    async with AsyncClient(brokers.urls) as client:
        yield client


async def read(client: AsyncClient, topic: str, count: int, partition: int = 0) -> list[Message]:
    """The messages, as soon as there are so many of them."""
    until = time.monotonic() + 30
    found: list[Message] = []
    while len(found) < count and time.monotonic() < until:
        found = [message async for message in client.read(topic, partition)]
    return found


async def waiting(client: AsyncClient, topic: str) -> list[bytes | None]:
    return [record.value async for record in client.scheduled.list(topic)]


async def test_scheduled_records_arrive_unchanged_and_not_early(client):
    due = datetime.now(UTC) + timedelta(seconds=2)
    async with client.producer("t") as producer:
        sending = await producer.send(b"\xff", key=b"\xfe", headers={"h": b"\xff", "n": None}, deliver_at=due)
        await producer.send("now")
    position = await sending
    assert (position.offset, position.deliver_at_ms) == (-1, -(-due.timestamp() * 1000 // 1))
    early = [message.text() for message in await read(client, "t", 1)]
    assert early == ["now"] or datetime.now(UTC) >= due
    [_, late] = await read(client, "t", 2)
    assert datetime.now(UTC) >= due
    assert (late.key, late.value, late.headers) == (b"\xfe", b"\xff", {"h": b"\xff", "n": None})


async def test_every_position_leads_to_the_record_it_was_given_for(client):
    # Given records of the past and the future, by time and by delay, in one request
    times: list[dict[str, Any]] = [
        {"deliver_at": 5},
        {"deliver_after": 0},
        {"deliver_at": FAR},
        {"deliver_after": timedelta(days=2)},
    ]
    async with client.producer("t", linger_ms=20) as producer:
        sendings = [await producer.send(n, partition=0, **times[n % 4]) for n in range(40)]
    # When each is looked for where its position says
    written = {message.offset: message.json() for message in await read(client, "t", 20)}
    for n, sending in enumerate(sendings):
        position = await sending
        # Then it is there
        if n % 4 < 2:
            assert written[position.offset] == n
        else:
            assert (await client.scheduled.get("t", position.scheduled)).json() == n


async def test_a_transaction_schedules_what_it_commits_and_forgets_what_it_aborts(client):
    async with client.transaction() as txn:
        await txn.send("t", "later", deliver_at=FAR)
        await txn.send("t", "now")
        await txn.send("t", "soon", deliver_after=1)
    txn = client.transaction()
    await (await txn.send("t", "never", deliver_at=FAR)).result()
    await txn.abort()
    assert [message.text() for message in await read(client, "t", 2)] == ["now", "soon"]
    assert await waiting(client, "t") == [b"later"]
    done = await client.execute(records={"t": [Record("step", deliver_at=FAR_MS + 1)]})
    assert done.results[0].scheduled[0].deliver_at_ms == FAR_MS + 1
    assert await waiting(client, "t") == [b"later", b"step"]


async def test_records_rescheduled_after_lost_responses_are_stored_once(brokers):
    losing = LosesFirstAnswers()
    async with AsyncClient(brokers.urls, http=losing) as client:
        async with client.producer("t") as producer:
            for n in range(20):
                await producer.send(n, deliver_at=FAR_MS + n)
        one = await client.scheduled.schedule("t", 20, deliver_at=FAR_MS + 20)
        async with client.transaction() as txn:
            await txn.send("t", 21, deliver_at=FAR_MS + 21)
        assert one.scheduled is not None
        moved = await client.scheduled.reschedule("t", one.scheduled, deliver_at=FAR_MS + 22)
        assert moved.scheduled == one.scheduled
        assert [int(value or b"") for value in await waiting(client, "t")] == [*range(20), 21, 20]
        await client.scheduled.cancel("t", one.scheduled)
        assert len(await waiting(client, "t")) == 21
    assert {"POST /v1/topics/t/records", "POST /v1/topics/t/scheduled"} <= set(losing.lost)


async def test_cancelling_and_delivering_exclude_each_other(client):
    # Given 200 records that fall due while they are cancelled, through both brokers
    begin = int(time.time() * 1000) + 3_000
    async with client.producer("t") as producer:
        sendings = [await producer.send(n, deliver_at=begin + n) for n in range(200)]
    ids = [(await sending).scheduled for sending in sendings]
    await asyncio.sleep(max(0, begin / 1000 - time.time()))
    outcomes = {}
    for start in range(180, -1, -20):
        for each in await client.scheduled.cancel_many("t", ids[start : start + 20]):
            outcomes[each.id] = each.outcome
    # Then each was either cancelled or delivered, as its outcome says
    delivered = [n for n, id in enumerate(ids) if outcomes[str(id)] == "already_delivered"]
    assert [message.json() for message in await read(client, "t", len(delivered))] == delivered
    assert set(outcomes.values()) <= {"cancelled", "already_delivered"}
    assert await waiting(client, "t") == []


async def test_scheduled_records_are_listed_counted_and_cleared_by_any_broker(brokers):
    async with AsyncClient(brokers.urls[0]) as one, AsyncClient(brokers.urls[1]) as other:
        await one.topics.create("t", partitions=3)
        async with one.producer("t") as producer:
            for n in range(100):
                await producer.send(n, key=f"k{n % 10}", deliver_at=FAR_MS + n)
        listed = [record.json() async for record in other.scheduled.list("t", page_records=9)]
        assert listed == list(range(100))
        mine = [record async for record in other.scheduled.list("t", key="k3", from_=FAR, to=FAR_MS + 50)]
        assert [record.json() for record in mine] == [3, 13, 23, 33, 43]
        stats = await other.scheduled.stats("t")
        assert (stats.total.records, stats.total.first_due_ms, stats.total.last_due_ms) == (100, FAR_MS, FAR_MS + 99)
        assert sum(each.records for each in stats.partitions) == 100
        bins = await other.scheduled.histogram("t", from_=FAR, to=FAR_MS + 100, bins=4)
        assert [each.records for each in bins] == [25] * 4
        assert await other.scheduled.rebuild("t") == 100
        assert await one.scheduled.clear("t") == 100
        assert [record async for record in other.scheduled.list("t")] == []


async def test_a_repetition_ends_when_it_is_cancelled(client):
    position = await client.scheduled.schedule("t", "tick", repeat="PT1S", deliver_after=1)
    assert len(await read(client, "t", 2)) == 2
    found = await client.scheduled.get("t", position.scheduled)
    assert (found.repeat, found.deliver_at > datetime.now(UTC) - timedelta(seconds=1)) == ("PT1S", True)
    await client.scheduled.cancel("t", position.scheduled)
    with pytest.raises(errors.AlreadyCancelled):
        await client.scheduled.get("t", position.scheduled)
    assert await waiting(client, "t") == []


def test_the_twin_for_threads_delivers_later(brokers):
    with Client(brokers.urls) as client:
        with client.producer("t") as producer:
            late = producer.send("late", deliver_after=timedelta(milliseconds=300))
            never = producer.send("never", deliver_at=FAR)
        assert late.result().offset == -1
        id = never.result().scheduled
        assert id is not None
        client.scheduled.cancel("t", id)
        with client.consumer("t", "s") as consumer:
            [message] = consumer.receive(wait_ms=30_000)
        assert message.text() == "late"
        assert list(client.scheduled.list("t")) == []


def test_the_commands_schedule_look_and_cancel(brokers):
    def run(*words: str, given: str = "", code: int = 0) -> str:
        result = CliRunner().invoke(main.app, [*words, "--url", ",".join(brokers.urls)], input=given)
        assert result.exit_code == code, result.stderr
        return result.stdout

    run("produce", "t", "--key-separator", "=", "--deliver-at", "2999-01-01T00:00:00Z", given="a=1\nb=2\nc=3\n")
    run("produce", "t", "--deliver-after", "PT0S", given="now\n")
    assert run("consume", "t") == "now\n"
    listed = [json.loads(line) for line in run("scheduled", "list", "t", "--json").splitlines()]
    assert [(line["key"], line["value"], line["deliver_at_ms"]) for line in listed] == [
        ("a", 1, FAR_MS), ("b", 2, FAR_MS), ("c", 3, FAR_MS),
    ]  # fmt: skip
    first, second, _ = (line["id"] for line in listed)
    assert run("scheduled", "cancel", "t", first) == f"{first}: cancelled\n"
    assert run("scheduled", "reschedule", "t", second, "--deliver-after", "PT0S").startswith(f"{second}: due ")
    assert run("consume", "t", "--subscription", "s", "--max", "2").splitlines() == ["now", "2"]
    assert "already delivered" in run("scheduled", "cancel", "t", second, code=1)
    assert "2999-01-01" in run("scheduled", "stats", "t")
    assert run("scheduled", "histogram", "t", "--bins", "1").count("█") == 40
    assert run("scheduled", "clear", "t", "--yes") == "Cancelled 1 record.\n"
    created = run("scheduled", "create", "t", "report", "--repeat", "0 7 1 1 *", "--timezone", "Europe/Berlin")
    assert "0 7 1 1 *" in run("scheduled", "get", "t", created.split(": ")[0])
