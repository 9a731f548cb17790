"""What operators see of coordinators and of what transactions do, over REST."""

from __future__ import annotations

import asyncio
import time

import pytest

from redis_ledger.clock import ManualClock
from tests.support.broker import begun, eventually, one, records, two
from tests.support.rest import client_of

CLOCK_MS = 1_800_000_000_000  # serials follow the clock, so it begins later than they do


@pytest.fixture
async def broker(redis_url, prefix):
    async with one(redis_url, prefix, coordinators=1, end_overdue_ms=60_000) as broker:
        yield broker


@pytest.fixture
async def http(broker):
    async with client_of(broker) as http:
        yield http


async def get(http, path, **params):
    answer = await http.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


# -- coordinators ------------------------------------------------------------------------------------------------------


async def test_every_coordinator_is_listed_and_has_no_owner(redis_url, prefix):
    """OB-01: N entries, and the same at every broker."""
    async with two(redis_url, prefix, coordinators=3) as brokers:
        for broker in brokers:
            async with client_of(broker) as http:
                shown = await get(http, "/v1/coordinators")
                assert shown["count"] == 3
                assert [each["number"] for each in shown["coordinators"]] == [0, 1, 2]
                assert all("owner" not in each for each in shown["coordinators"])
                page = await get(http, "/v1/coordinators", first=1, limit=1)
                assert ([each["number"] for each in page["coordinators"]], page["count"]) == ([1], 3)


async def test_a_coordinator_shows_its_serials_its_watermark_and_its_counts(broker, http):
    """OB-02: after three begins; then one is committed, one aborted."""
    before = await get(http, "/v1/coordinators/0")
    assert (before["open"], before["oldest_age_ms"], before["created"]) == (0, None, 0)
    assert before["low_watermark"] == before["last_serial"]
    txns = [(await broker.transactions.begin()).id for _ in range(3)]
    shown = await get(http, "/v1/coordinators/0")
    assert (shown["number"], shown["open"], shown["created"], shown["takeovers"]) == (0, 3, 3, 0)
    assert shown["last_serial"] == txns[2].serial
    assert shown["low_watermark"] == txns[0].serial - 1
    assert 0 <= shown["oldest_age_ms"] < 60_000
    assert abs(shown["since_ms"] - time.time() * 1_000) < 600_000

    await broker.transactions.commit(txns[0])
    await broker.transactions.abort(txns[2])

    async def open_now():
        return (await get(http, "/v1/coordinators/0"))["open"]

    assert await eventually(open_now, 1) == 1
    shown = await get(http, "/v1/coordinators/0")
    assert (shown["committed"], shown["aborted"], shown["timed_out"]) == (1, 1, 0)
    assert shown["low_watermark"] == txns[1].serial - 1  # the second is still open
    answer = await http.get("/v1/coordinators/1")
    assert (answer.status_code, answer.json()["code"]) == (404, "coordinator_not_found")


async def test_a_coordinators_log_shows_its_entries_and_its_size_and_how_far_it_is_deleted(broker, http):
    """OB-03: entries that no open transaction needs are gone, and the numbers say so."""
    empty = (await get(http, "/v1/coordinators/0"))["log"]
    assert (empty["entries"], empty["first_entry"], empty["last_entry"]) == (0, None, None)
    assert empty["key"] == f"{broker.store.prefix}:{{tc:0}}:log"
    first = (await broker.transactions.begin()).id
    second = (await broker.transactions.begin()).id
    log = (await get(http, "/v1/coordinators/0"))["log"]
    assert (log["entries"], log["first_entry"], log["last_entry"]) == (2, 1, 2)
    assert log["bytes"] > 0
    await broker.transactions.commit(first)

    async def first_entry():
        return (await get(http, "/v1/coordinators/0"))["log"]["first_entry"]

    assert await eventually(first_entry, 2) == 2
    log = (await get(http, "/v1/coordinators/0"))["log"]
    assert log["entries"] == 1
    assert log["entries_written"] > log["last_entry"] == 2
    await broker.transactions.abort(second)


async def test_the_number_of_coordinators_is_raised_while_brokers_run(redis_url, prefix):
    """OB-14, TC-01: the other broker has the new ones within its next heartbeat, and fewer are refused."""
    async with two(redis_url, prefix, coordinators=2) as (first, second):
        async with client_of(first) as http:
            answer = await http.patch("/v1/coordinators", json={"count": 5})
            assert (answer.status_code, answer.json()) == (200, {"count": 5})
            assert (await http.patch("/v1/coordinators", json={"count": 5})).json() == {"count": 5}
            refused = await http.patch("/v1/coordinators", json={"count": 4})
            assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")
            assert "never lowered" in refused.json()["detail"]
            listed = (await http.get("/v1/coordinators")).json()["coordinators"]
            assert [each["number"] for each in listed] == [0, 1, 2, 3, 4]

        async def known():
            return len(second.coordinators)

        assert await eventually(known, 5, 10) == 5
        begun_there = [(await second.transactions.begin()).id for _ in range(10)]
        assert {txn.coordinator for txn in begun_there} == {0, 1, 2, 3, 4}
        for txn in begun_there:
            assert (await first.transactions.commit(txn)).status == "committed"
    async with one(redis_url, prefix, coordinators=2) as later:
        assert len(later.coordinators) == 5


async def test_a_transaction_of_a_coordinator_that_a_broker_does_not_have_yet_is_served(redis_url, prefix):
    """OB-14: between the change and the heartbeat of the other broker, whatever is done with it first."""
    async with two(redis_url, prefix, coordinators=1) as (first, second):
        await second.maintenance.close()  # no heartbeat any more
        await first.topics.create("t")
        await first.coordinator_views.raise_count(4)
        assert len(second.coordinators) == 1
        while (txn := (await first.transactions.begin()).id).coordinator != 3:
            pass
        await second.records.produce("t", records("a"), transaction=txn)
        assert len(second.coordinators) == 4
        assert (await second.transactions.commit(txn)).status == "committed"


# -- the log of a coordinator ------------------------------------------------------------------------------------------


async def test_the_log_shows_every_step_of_a_transaction(broker, http):
    await broker.topics.create("t")
    await broker.subscriptions.create("t", "job")
    body = {"timeout_ms": 30_000, "owner": "etl"}
    txn = (await http.post("/v1/transactions", json=body)).json()["id"]
    other = await begun(broker, "x")
    body = {"subscriptions": [{"topic": "t", "subscription": "job"}]}
    assert (await http.post(f"/v1/transactions/{txn}/subscriptions", json=body)).status_code == 200
    await broker.coordinators.decide(other, commit=False)  # decided, and not ended
    shown = await get(http, "/v1/coordinators/0/log")
    steps = [(each["kind"], each["transaction"], each["live"]) for each in shown["records"]]
    assert steps == [
        ("new", txn, True), ("new", str(other), True), ("add_partition", str(other), True),
        ("add_subscription", txn, True), ("update", str(other), True),
    ]  # fmt: skip
    assert shown["next"] is None
    new, added = (each for each in shown["records"] if each["transaction"] == txn)
    assert (new["to_status"], new["timeout_ms"], new["owner"]) == ("open", 30_000, "etl")
    assert new["started_ms"] == new["time_ms"]
    assert added["participants"] == [{"topic": "t", "partition": 0, "subscription": "job"}]
    update = shown["records"][-1]
    assert (update["from_status"], update["to_status"]) == ("open", "aborting")
    mine = await get(http, "/v1/coordinators/0/log", transaction=txn)
    assert mine["records"] == [new, added]
    pages, following = [], 0
    while following is not None:
        page = await get(http, "/v1/coordinators/0/log", first=following, limit=1)
        pages += page["records"]
        following = page["next"]
    assert pages == shown["records"]
    wrong = await http.get("/v1/coordinators/0/log", params={"transaction": "1-5"})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_request")


async def test_dead_records_are_shown_while_their_entry_has_live_ones(broker, http):
    # Given two transactions that were begun in one call, so that they share an entry
    gone, stays = [each.id for each in await asyncio.gather(*(broker.transactions.begin() for _ in range(2)))]
    await broker.transactions.commit(gone)

    async def live():
        shown = await get(http, "/v1/coordinators/0/log")
        return [(each["transaction"], each["live"], each["size"]) for each in shown["records"]]

    expected = [(str(gone), False, 2), (str(stays), True, 2)]
    assert await eventually(live, expected) == expected


# -- slow transactions -------------------------------------------------------------------------------------------------


async def test_slow_transactions_are_listed_by_age_by_timeout_and_by_coordinator(redis_url, prefix):
    """OB-07: two of 40 seconds and two of now, each with a short and a long timeout, over both coordinators."""
    clock = ManualClock(CLOCK_MS)
    async with one(redis_url, prefix, clock=clock, coordinators=2, end_overdue_ms=60_000) as broker:
        old = [(await broker.transactions.begin(timeout)).id for timeout in (60_000, 600_000)]
        clock.advance(40_000)
        new = [(await broker.transactions.begin(timeout)).id for timeout in (60_000, 600_000)]
        async with client_of(broker) as http:

            async def listed(**params):
                found = await get(http, "/v1/transactions", status="open", **params)
                return [each["id"] for each in found["transactions"]]

            assert sorted(await listed(min_age_ms=30_000)) == sorted(map(str, old))
            assert sorted(await listed(min_timeout_ms=60_001)) == sorted(map(str, (old[1], new[1])))
            assert await listed(min_age_ms=30_000, min_timeout_ms=60_001) == [str(old[1])]
            assert await listed(min_timeout_ms=60_001, limit=1) == [str(old[1])]
            for number in (0, 1):
                mine = [str(txn) for txn in (*old, *new) if txn.coordinator == number]
                assert sorted(await listed(coordinator=number)) == sorted(mine)
            unknown = await http.get("/v1/transactions", params={"coordinator": 2})
            assert (unknown.status_code, unknown.json()["code"]) == (404, "coordinator_not_found")


# -- what a transaction has done ---------------------------------------------------------------------------------------


async def test_a_transaction_shows_its_records_and_its_acknowledgements(broker, http):
    """OB-06: one partition with records, one subscription with an acknowledgement; then nothing, as it has ended."""
    await broker.topics.create("in")
    await broker.topics.create("out", 2)
    await broker.subscriptions.create("in", "job")
    await broker.records.produce("in", records("a", "b", "c", "d"))
    await broker.records.produce("out", records("plain", partition=1))
    txn = (await broker.transactions.begin()).id
    for values in (("x", "y"), ("z",)):
        await broker.records.produce("out", records(*values, partition=1), transaction=txn)
        await broker.records.produce("out", records("other", partition=1))
    messages = await broker.subscriptions.receive("in", "job", "c")
    await broker.subscriptions.ack("in", "job", "c", [messages[n].id for n in (0, 1, 3)], transaction=txn)
    shown = await get(http, f"/v1/transactions/{txn}/participants")
    written = shown["partitions"][0]
    assert written.pop("bytes") > 0
    assert written == {
        "topic": "out", "partition": 1, "first_offset": 1, "last_offset": 4, "records": 3, "batches": 2,
        "marker_offset": None, "marker": None, "cut": False, "gone": False,
    }  # fmt: skip
    assert shown["subscriptions"] == [
        {
            "topic": "in", "partition": 0, "subscription": "job", "pending": 3, "cut": False,
            "ranges": [{"first": 0, "last": 1}, {"first": 3, "last": 3}],
        }
    ]  # fmt: skip
    assert (shown["status"], len(shown["partitions"]), shown["next"]) == ("open", 1, None)
    first = await get(http, f"/v1/transactions/{txn}/participants", limit=1)
    second = await get(http, f"/v1/transactions/{txn}/participants", first=first["next"], limit=1)
    assert len(first["partitions"]) == len(second["subscriptions"]) == 1
    await broker.topics.delete("out")
    gone = await get(http, f"/v1/transactions/{txn}/participants")
    assert (gone["partitions"][0]["gone"], gone["partitions"][0]["records"]) == (True, 0)
    await broker.transactions.commit(txn)

    async def participants():
        found = await get(http, f"/v1/transactions/{txn}/participants")
        return found["status"], found["partitions"], found["subscriptions"]

    assert await eventually(participants, ("committed", [], [])) == ("committed", [], [])


# -- why readers wait --------------------------------------------------------------------------------------------------


async def test_why_names_the_transaction_that_holds_the_readers_and_those_who_wait(broker, http):
    await broker.topics.create("t", 2)
    await broker.subscriptions.create("t", "waits")
    await broker.subscriptions.create("t", "behind")
    await broker.records.produce("t", records("a", partition=0))
    assert (await get(http, "/v1/topics/t/why"))["partitions"] == []
    txn = (await broker.transactions.begin(30_000, owner="etl")).id
    later = (await broker.transactions.begin()).id
    for value, id in (("b", txn), ("c", later), ("d", None)):
        await broker.records.produce("t", records(value, partition=0), transaction=id)
    assert len(await broker.subscriptions.receive("t", "waits", "c")) == 1
    (held,) = (await get(http, "/v1/topics/t/why"))["partitions"]
    holding = held.pop("transaction")
    assert held.pop("advice").endswith(f"`redis-ledger txns abort {txn}` ends it now.")
    assert held == {
        "partition": 0, "stable_offset": 1, "end_offset": 4, "held_records": 3,
        "waiting": [{"name": "waits", "kind": "shared"}], "waiting_cut": False,
    }  # fmt: skip
    assert (holding["id"], holding["status"], holding["owner"]) == (str(txn), "open", "etl")
    assert 0 < holding["left_ms"] <= holding["timeout_ms"] == 30_000
    await broker.transactions.abort(txn)
    (held,) = (await get(http, "/v1/topics/t/why"))["partitions"]
    assert held["transaction"]["id"] == str(later)
    await broker.transactions.commit(later)
    assert (await get(http, "/v1/topics/t/why"))["partitions"] == []
    assert (await http.get("/v1/topics/absent/why")).status_code == 404
