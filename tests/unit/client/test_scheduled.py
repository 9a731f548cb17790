from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from redis_ledger import AsyncClient, Client, Record, errors
from redis_ledger.client.bodies import body_of
from redis_ledger.client.models import RecordPosition
from redis_ledger.ids import ScheduledId
from tests.support.stub_broker import StubBroker, lost
from tests.support.stub_scheduled import NOW_MS

LATER_MS = NOW_MS + 60_000


@pytest.fixture
def stub():
    return StubBroker()


@pytest.fixture
async def client(stub):
    async with AsyncClient("http://b", http=stub, timeout_ms=2_000) as client:
        yield client


async def test_a_record_with_a_time_waits_and_one_without_goes_at_once(stub, client):
    producer = client.producer("orders")
    sendings = [
        await producer.send("now", key="k"),
        await producer.send(b"\xff", key=b"\xfe", headers={"h": b"\xff", "n": None}, deliver_at=LATER_MS),
        await producer.send("after", key="k", deliver_after=timedelta(seconds=5), timestamp_ms=17),
        await producer.send("now too", key="k"),
    ]
    positions = [await sending for sending in sendings]
    assert [record.value for _, _, record in stub.records] == [b"now", b"now too"]
    assert [(p.offset, p.deliver_at_ms) for p in positions] == [
        (0, None), (-1, LATER_MS), (-1, NOW_MS + 5_000), (1, None),
    ]  # fmt: skip
    first, second = (stub.scheduled.waiting[str(p.scheduled)] for p in positions[1:3])
    assert (first["base64"], first["key_base64"], first["headers_base64"]) == ("/w==", "/g==", {"h": "/w==", "n": None})
    assert (second["text"], second["key"], second["timestamp_ms"]) == ("after", "k", 17)


async def test_many_records_with_times_share_a_request(stub, client):
    async with client.producer("orders") as producer:
        for n in range(1_000):
            await producer.send(n, deliver_after=n + 1)
    assert len(stub.scheduled.waiting) == 1_000
    assert stub.count("POST", "/records") < 10


async def test_a_time_that_has_passed_is_answered_with_an_offset(stub, client):
    async with client.producer("orders") as producer:
        late = await producer.send("late", deliver_at=5)
        later = await producer.send("later", deliver_at=LATER_MS)
    assert (await late, (await later).deliver_at_ms) == (RecordPosition(0, 0), LATER_MS)


async def test_a_request_whose_answer_was_lost_schedules_nothing_twice(stub, client):
    stub.fail("POST", "/records", lost)
    async with client.producer("orders", linger_ms=0) as producer:
        sending = await producer.send("once", deliver_at=LATER_MS)
        assert (await sending).offset == -1
        await (await producer.send("next", deliver_at=LATER_MS)).result()
    assert [record["text"] for record in stub.scheduled.waiting.values()] == ["once", "next"]


async def test_records_with_and_without_times_count_in_one_sequence(stub, client):
    async with client.producer("orders", linger_ms=0) as producer:
        for n in range(6):
            await (await producer.send(n, deliver_after=None if n % 2 else 1_000)).result()
    assert stub.producers == 1
    assert [body["sequence"] for body in stub.bodies if "sequence" in body] == [0, 2, 4]


async def test_a_transaction_carries_the_times_of_its_records(stub, client):
    async with client.transaction() as txn:
        await txn.send("orders", "now")
        await txn.send("orders", "later", deliver_after=60_000)
    [body] = [body for body in stub.bodies if "records" in body]
    assert (body["transaction"], body["producer_id"], body["sequence"]) == ("1-0", txn.producer[0], 1)
    assert body["records"] == [{"text": "later", "deliver_after": 60_000}]


async def test_a_step_in_one_request_carries_times_too():
    at = datetime(2027, 1, 31, 9, tzinfo=UTC)
    assert body_of(Record("v", deliver_at=at)) == {"text": "v", "deliver_at": 1_801_386_000_000}
    assert body_of(Record("v", deliver_after=timedelta(seconds=1))) == {"text": "v", "deliver_after": 1_000}
    with pytest.raises(errors.InvalidDelay):
        body_of(Record("v", deliver_at=1, deliver_after=1))


@pytest.mark.parametrize(
    "wrong",
    [{"deliver_at": 1, "deliver_after": 1}, {"deliver_after": -1}],
)
async def test_a_record_that_cannot_be_scheduled_is_refused_by_send_and_harms_no_other(stub, client, wrong):
    async with client.producer("orders") as producer:
        await producer.send("before", deliver_at=LATER_MS)
        with pytest.raises(errors.BadRequest):
            await producer.send("wrong", **wrong)
        await producer.send("after", deliver_at=LATER_MS)
    assert [record["text"] for record in stub.scheduled.waiting.values()] == ["before", "after"]


async def test_one_record_is_scheduled_once_though_the_answer_was_lost(stub, client):
    stub.fail("POST", "/scheduled", lost)
    position = await client.scheduled.schedule("orders", {"a": 1}, key="k", deliver_after=5_000)
    assert position == await client.scheduled.reschedule("orders", str(position.scheduled), deliver_after=5_000)
    assert list(stub.scheduled.waiting) == [str(position.scheduled)]
    assert (await client.scheduled.schedule("orders", "late", deliver_at=1)) == (0, 7)


async def test_a_repetition_is_sent_with_its_end(stub, client):
    until = datetime(2027, 1, 31, 9, tzinfo=UTC)
    await client.scheduled.schedule("orders", "r", repeat="0 7 * * *", until=until, times=3, timezone="Europe/Berlin")
    assert stub.bodies[-1] == {
        "text": "r", "repeat": "0 7 * * *", "until": 1_801_386_000_000, "times": 3, "timezone": "Europe/Berlin",
        "deliver_after": 3_600_000,
    }  # fmt: skip
    [record] = stub.scheduled.waiting.values()
    assert (await client.scheduled.get("orders", record["id"])).repeat == "0 7 * * *"


async def test_a_record_that_waits_is_shown_with_the_bytes_it_was_given(stub, client):
    position = await client.scheduled.schedule(
        "orders", b"\xff", key=b"\xfe", headers={"h": b"\xff"}, deliver_at=LATER_MS
    )
    found = await client.scheduled.get("orders", position.scheduled)
    assert (found.topic, found.id, found.key, found.value, found.headers) == (
        "orders", position.scheduled, b"\xfe", b"\xff", {"h": b"\xff"},
    )  # fmt: skip
    assert found.deliver_at == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=LATER_MS)


async def test_scheduled_records_are_listed_in_pages(stub, client):
    for n in range(7):
        await client.scheduled.schedule("orders", n, key="a" if n % 2 else b"\xff", deliver_at=LATER_MS - n)
    listed = [found.json() async for found in client.scheduled.list("orders", page_records=3)]
    assert listed == [6, 5, 4, 3, 2, 1, 0]
    assert stub.count("GET", "/scheduled") == 3
    assert [found.json() async for found in client.scheduled.list("orders", key="a")] == [5, 3, 1]
    assert [found.json() async for found in client.scheduled.list("orders", key=b"\xff")] == [6, 4, 2, 0]
    some = client.scheduled.list("orders", from_=LATER_MS - 3, to=LATER_MS - 1, partition=0)
    assert [found.json() async for found in some] == [3, 2]


async def test_cancel_returns_which_came_first(stub, client):
    ids = [(await client.scheduled.schedule("orders", n, deliver_at=LATER_MS)).scheduled for n in range(3)]
    stub.scheduled.delivered.add(str(ids[1]))
    await client.scheduled.cancel("orders", ids[0])
    with pytest.raises(errors.AlreadyDelivered):
        await client.scheduled.cancel("orders", ids[1])
    with pytest.raises(errors.UnknownScheduled):
        await client.scheduled.cancel("orders", "0:99.0")
    found = await client.scheduled.cancel_many("orders", [ids[2], ids[1], "0:99.0"])
    assert [(each.id, each.outcome) for each in found] == [
        (str(ids[2]), "cancelled"), (str(ids[1]), "already_delivered"), ("0:99.0", "unknown"),
    ]  # fmt: skip


async def test_a_cancellation_whose_answer_was_lost_is_done(stub, client):
    id = (await client.scheduled.schedule("orders", 1, deliver_at=LATER_MS)).scheduled
    stub.fail("DELETE", str(id), lost)
    await client.scheduled.cancel("orders", id)
    assert stub.scheduled.waiting == {}


async def test_a_record_is_moved_counted_and_cleared(stub, client):
    id = (await client.scheduled.schedule("orders", 1, deliver_at=LATER_MS)).scheduled
    moved = await client.scheduled.reschedule("orders", id, deliver_at=LATER_MS + 5)
    assert (moved.scheduled, moved.deliver_at_ms) == (id, LATER_MS + 5)
    with pytest.raises(errors.InvalidDelay):
        await client.scheduled.reschedule("orders", id)
    assert (await client.scheduled.stats("orders")).total.first_due_ms == LATER_MS + 5
    assert [each.records for each in await client.scheduled.histogram("orders", bins=1)] == [1]
    assert await client.scheduled.rebuild("orders") == 1
    assert await client.scheduled.clear("orders", partition=0) == 1
    assert await client.scheduled.clear("orders") == 0


def test_the_twin_for_threads_schedules_and_cancels(stub):
    with Client("http://b", http=stub) as client:
        with client.producer("orders") as producer:
            sending = producer.send("v", deliver_after=5_000)
        id = sending.result().scheduled
        assert isinstance(id, ScheduledId)
        assert [found.text() for found in client.scheduled.list("orders")] == ["v"]
        client.scheduled.cancel("orders", id)
        assert list(client.scheduled.list("orders")) == []
