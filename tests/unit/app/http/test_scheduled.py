"""REST requests and responses of scheduled records, with a stub broker."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.broker.types import Appended, NewRecord, ScheduledRef
from redis_ledger.delay.recurrence import Recurrence
from redis_ledger.errors import AlreadyCancelled, AlreadyDelivered, StoreUnavailable, UnknownPartition, UnknownScheduled
from redis_ledger.ids import ScheduledId
from tests.support.rest import client_of
from tests.unit.app.fake import FakeBroker
from tests.unit.app.http.test_application import expect_problem

ALL = "/v1/topics/orders/scheduled"
ONE = ALL + "/0:17.0"
SEVERAL = [ScheduledRef(ScheduledId(0, 17, 0), 90_000), ScheduledRef(ScheduledId(0, 18, 2), 95_000)]


async def ask(broker: FakeBroker, method: str, path: str, body: Any = None, status: int = 200, **more: Any) -> Any:
    async with client_of(broker) as client:
        response = await client.request(method, path, json=body, **more)
    assert response.status_code == status, response.text
    return response.json() if response.content else None


def answering(broker: FakeBroker, *appended: Appended) -> FakeBroker:
    broker.records.produce = broker._answering("produce", list(appended))
    return broker


@pytest.mark.parametrize(
    ("members", "at_ms", "after_ms"),
    [
        ({}, None, None),
        ({"deliver_at": 1_795_943_400_000}, 1_795_943_400_000, None),
        ({"deliver_at": "2026-11-29T10:10+01:00"}, 1_795_943_400_000, None),
        ({"deliver_after": 5_000}, None, 5_000),
        ({"deliver_after": "PT5S"}, None, 5_000),
    ],
)
async def test_record_has_its_delivery_time(members, at_ms, after_ms):
    broker = FakeBroker()
    record = {"key": "k", "value": 1, **members}
    await ask(broker, "POST", "/v1/topics/orders/records", {"records": [record]})
    await ask(broker, "POST", "/v1/transactions:execute", {"records": [{"topic": "orders", "records": [record]}]})
    expected = NewRecord(b"k", b"1", deliver_at_ms=at_ms, deliver_after_ms=after_ms)
    (_, (_, produced), _), (_, (_, [executed]), _) = broker.calls
    assert (produced, executed.records) == ([expected], [expected])


async def test_produce_response_lists_scheduled_records_only():
    broker = answering(FakeBroker(), Appended(0, 7, 1), Appended(1, -1, 2, scheduled=SEVERAL))
    answer = await ask(broker, "POST", "/v1/topics/orders/records", {"records": [{}]})
    assert answer["results"] == [
        {"partition": 0, "base_offset": 7, "records": 1, "duplicate": False},
        {
            "partition": 1,
            "base_offset": -1,
            "records": 2,
            "duplicate": False,
            "scheduled": [{"id": "0:17.0", "deliver_at_ms": 90_000}, {"id": "0:18.2", "deliver_at_ms": 95_000}],
        },
    ]


async def test_single_record_is_scheduled_directly():
    broker = answering(FakeBroker(), Appended(0, -1, 1, scheduled=SEVERAL[:1]))
    body = {"key": "k", "value": 1, "partition": 2, "deliver_after": "PT1M"}
    answer = await ask(broker, "POST", ALL, body, 201)
    assert answer == {"scheduled": [{"id": "0:17.0", "deliver_at_ms": 90_000}]}
    [(_, (topic, records), kwargs)] = broker.calls
    assert (topic, records) == ("orders", [NewRecord(b"k", b"1", partition=2, deliver_after_ms=60_000)])
    assert kwargs.pop("may_create")() is True
    assert kwargs == {"partition": 2, "producer": None, "agree": None}


async def test_members_beside_records_are_defaults():
    broker = answering(FakeBroker(), Appended(0, 7, 1), Appended(0, -1, 1, scheduled=SEVERAL[:1]))
    body = {"partition": 1, "deliver_at": 100, "records": [{"text": "a"}, {"text": "b", "deliver_after": 5}]}
    answer = await ask(broker, "POST", ALL, body, 201)
    assert answer["delivered"] == [{"partition": 0, "base_offset": 7, "records": 1, "duplicate": False}]
    [(_, (_, records), _)] = broker.calls
    assert records == [
        NewRecord(None, b"a", partition=1, deliver_at_ms=100),
        NewRecord(None, b"b", partition=1, deliver_after_ms=5),
    ]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code", "detail"),
    [
        ("POST", "/v1/topics/a/records", {"records": [{"deliver_at": 1, "deliver_after": 1}]}, 400, "invalid_delay",
         "$.records[0] has both"),
        ("POST", "/v1/topics/a/records", {"records": [{}, {"deliver_at": "soon"}]}, 400, "invalid_delay",
         "$.records[1].deliver_at: 'soon'"),
        ("POST", "/v1/topics/a/records", {"records": [{"deliver_after": -1}]}, 400, "invalid_request",
         "$.records[0].deliver_after"),
        ("POST", "/v1/topics/a/records", {"records": [{"deliver_at": 1.5}]}, 400, "invalid_request", "deliver_at"),
        ("POST", ALL, {"value": 1}, 400, "invalid_delay", "$ has no delivery time"),
        ("POST", ALL, {"value": 1, "text": "a", "deliver_at": 1}, 400, "invalid_request", "$ has more than one of"),
        ("POST", ALL, {"records": [{"deliver_at": 1}, {}]}, 400, "invalid_delay", "$.records[1] has no delivery time"),
        ("POST", ALL, {"records": [{"deliver_at": 1}], "value": 1}, 400, "invalid_request", "$.value belongs to a "
                                                                                            "single record"),
        ("POST", ALL, {"records": [], "deliver_at": 1}, 400, "invalid_request", "$.records"),
        ("POST", ALL, {"value": 1, "deliver_at": 1, "until": 5}, 400, "invalid_repeat", "$.until requires repeat"),
        ("POST", ALL, {"value": 1, "deliver_at": 1, "timezone": "UTC"}, 400, "invalid_repeat", "$.timezone"),
        ("POST", ALL, {"records": [{}], "repeat": "PT1H"}, 400, "invalid_repeat", "a single record"),
        ("POST", ALL, {"value": 1, "repeat": "PT1H", "until": "then"}, 400, "invalid_repeat", "$.until: 'then'"),
        ("POST", ALL, {"value": 1, "repeat": "hourly"}, 400, "invalid_repeat", ""),
        ("GET", ALL + "?from=soon", None, 400, "invalid_request", "from: 'soon'"),
        ("GET", ALL + "?limit=0", None, 400, "invalid_request", "$.limit"),
        ("GET", ALL + "?key=a&key_base64=YQ==", None, 400, "invalid_request", "both key and key_base64"),
        ("GET", ALL + "/0:17", None, 404, "unknown_scheduled", "like 0:17.2"),
        ("DELETE", ALL + "/nonsense", None, 404, "unknown_scheduled", ""),
        ("PATCH", ONE, {}, 400, "invalid_delay", "has no delivery time"),
        ("PATCH", ONE, {"deliver_at": 1, "deliver_after": 1}, 400, "invalid_delay", "$ has both"),
        ("POST", ALL + ":cancel", {"ids": []}, 400, "invalid_request", "$.ids"),
        ("GET", ALL + ":histogram?from=5&to=5", None, 400, "invalid_request", "later"),
        ("GET", ALL + ":cancel", None, 405, "method_not_allowed", "it supports POST"),
        ("GET", ALL + ":nonsense", None, 404, "route_not_found", ""),
    ],
)  # fmt: skip
async def test_invalid_scheduled_request_does_not_reach_the_broker(method, path, body, status, code, detail):
    broker = FakeBroker()
    async with client_of(broker) as client:
        response = await client.request(method, path, json=body)
    expect_problem(response, status, code, detail)
    assert broker.calls == []


async def test_repetition_is_passed_to_the_broker():
    broker = FakeBroker()
    body = {"key": "k", "value": 1, "repeat": "30 7 * * 1", "timezone": "Europe/Berlin", "times": 4, "until": 5_000}
    answer = await ask(broker, "POST", ALL, body, 201)
    assert answer == {"scheduled": [{"id": "0:17.0", "deliver_at_ms": 90_000}]}
    [(name, (topic, record, repeat), _)] = broker.calls
    assert (name, topic, record) == ("schedule_repeat", "orders", NewRecord(b"k", b"1"))
    assert repeat == Recurrence.parse("30 7 * * 1", until_ms=5_000, times=4, timezone="Europe/Berlin")


async def test_idempotency_key_finds_the_scheduled_records():
    broker = answering(FakeBroker(), Appended(0, -1, 1, scheduled=SEVERAL[:1]))
    body, key = {"value": 1, "deliver_after": 5}, {"idempotency-key": "k"}
    first = await ask(broker, "POST", ALL, body, 201, headers=key)
    second = await ask(broker, "POST", ALL, body, 201, headers=key)
    assert first == second
    [kwargs] = broker.asked("produce")
    assert kwargs["producer"][:3] == (101, 0, 0)


async def test_repetition_with_a_lost_response_is_not_scheduled_twice():
    broker = FakeBroker()
    broker.fails = StoreUnavailable()
    body, key = {"value": 1, "repeat": "PT1H"}, {"idempotency-key": "k"}
    await ask(broker, "POST", ALL, body, 503, headers=key)
    broker.fails = None
    answer = await ask(broker, "POST", ALL, body, 504, headers=key)
    assert answer["code"] == "outcome_unknown"
    assert len(broker.asked("schedule_repeat")) == 1


async def test_scheduled_records_are_listed_in_pages_with_filters():
    broker = FakeBroker()
    query = "?from=1970-01-01T00:00:05Z&to=9000&key=k%20%26&partition=1&limit=5&after=x"
    answer = await ask(broker, "GET", ALL + query)
    assert answer == {
        "scheduled": [
            {
                "id": "0:17.0", "deliver_at_ms": 90_000, "timestamp_ms": 5, "key": "k", "value": {"a": 1},
                "headers": {"h": "v"},
            }
        ],
        "after": "next",
    }  # fmt: skip
    [asked] = broker.asked("list")
    assert asked.pop("charge").__name__ == "charge_decoded"
    assert asked == {"partition": 1, "from_ms": 5_000, "to_ms": 9_000, "key": b"k &", "limit": 5, "after": "x"}


async def test_last_page_has_no_after_and_key_may_be_bytes():
    broker = FakeBroker()
    broker.delayed.list = broker._answering("list", ([], None))
    assert await ask(broker, "GET", ALL + "?key_base64=/w==") == {"scheduled": []}
    [kwargs] = broker.asked("list")
    assert (kwargs["key"], kwargs["from_ms"], kwargs["to_ms"]) == (b"\xff", 0, None)


async def test_a_record_is_shown_with_its_repetition():
    answer = await ask(FakeBroker(), "GET", ONE)
    assert (answer["repeat"], answer["until_ms"], answer["times_left"]) == ("PT1H", 99_000, 3)


async def test_cancel_reports_an_already_delivered_record():
    broker = FakeBroker()
    assert await ask(broker, "DELETE", ONE, status=204) is None
    assert broker.calls == [("cancel", ("orders", [ScheduledId(0, 17, 0)]), {})]
    broker.delayed.cancel = broker._answering("cancel", [AlreadyDelivered()])
    assert (await ask(broker, "DELETE", ONE, status=409))["code"] == "already_delivered"


async def test_cancelling_several_records_returns_outcomes_in_order():
    broker = FakeBroker()
    broker.delayed.cancel = broker._answering("cancel", [None, AlreadyDelivered(), UnknownScheduled()])
    ids = ["0:01.0", "nonsense", "0:2.0", "0:3.0", "0:2.0"]
    answer = await ask(broker, "POST", ALL + ":cancel", {"ids": ids})
    outcomes = ["cancelled", "unknown", "already_delivered", "unknown", "already_delivered"]
    assert [(each["id"], each["outcome"]) for each in answer["results"]] == list(zip(ids, outcomes, strict=True))


async def test_unknown_partition_does_not_affect_other_cancellations():
    broker = FakeBroker()
    whole = broker.delayed.cancel

    async def cancel(topic: str, ids: list[ScheduledId]) -> Any:
        if ids[0].partition == 9:
            raise UnknownPartition("Topic 'orders' has partitions 0 to 1, not 9.")
        return await whole(topic, ids)

    broker.delayed.cancel = cancel
    answer = await ask(broker, "POST", ALL + ":cancel", {"ids": ["9:1.0", "0:1.0"]})
    assert [each["outcome"] for each in answer["results"]] == ["unknown", "cancelled"]


async def test_outage_is_not_an_outcome_of_a_cancellation():
    broker = FakeBroker()
    broker.delayed.cancel = broker._answering("cancel", [None, StoreUnavailable()])
    assert (await ask(broker, "POST", ALL + ":cancel", {"ids": ["0:1.0", "0:2.0"]}, 503))["code"] == "store_unavailable"


async def test_too_many_ids_are_rejected():
    broker = FakeBroker(records_per_request_max=1)
    await ask(broker, "POST", ALL + ":cancel", {"ids": ["0:1.0", "0:2.0"]}, 413)
    assert broker.calls == []


async def test_rescheduled_record_keeps_its_id():
    broker = FakeBroker()
    assert await ask(broker, "PATCH", ONE, {"deliver_after": "PT5S"}) == {"id": "0:17.0", "deliver_at_ms": 95_000}
    id = ScheduledId(0, 17, 0)
    assert broker.calls == [("reschedule", ("orders", id), {"deliver_at_ms": None, "deliver_after_ms": 5_000})]


async def test_a_record_that_was_cancelled_is_gone():
    broker = FakeBroker()
    broker.fails = AlreadyCancelled()
    assert (await ask(broker, "GET", ONE, status=410))["code"] == "already_cancelled"
    assert (await ask(broker, "PATCH", ONE, {"deliver_at": 5}, 410))["code"] == "already_cancelled"


async def test_a_topic_or_a_partition_is_cleared():
    broker = FakeBroker()
    assert await ask(broker, "DELETE", ALL) == {"cancelled": 4}
    assert await ask(broker, "DELETE", ALL + "?partition=1") == {"cancelled": 4}
    assert [args for _, args, _ in broker.calls] == [("orders", None), ("orders", 1)]


async def test_counts_are_by_partition_and_in_total():
    answer = await ask(FakeBroker(), "GET", ALL + ":stats")
    assert [each["partition"] for each in answer["partitions"]] == [0, 1]
    total = answer["total"]
    assert (total["records"], total["held"], total["payload_bytes"]) == (2, 1, 230)
    # A partition in which nothing waits does not make the first one due before all time.
    assert (total["first_due_ms"], total["last_due_ms"]) == (90_000, 95_000)


async def test_histogram_has_the_requested_number_of_bins():
    broker = FakeBroker()
    answer = await ask(broker, "GET", ALL + ":histogram?from=90000&to=96000&bins=2")
    assert answer["bins"][1] == {"from_ms": 93_000, "to_ms": 96_000, "records": 1}
    assert broker.asked("histogram") == [{"from_ms": 90_000, "to_ms": 96_000, "bins": 2}]


async def test_index_is_rebuilt_for_a_topic_or_a_partition():
    broker = FakeBroker()
    assert await ask(broker, "POST", ALL + ":rebuild") == {"entries": 2}
    await ask(broker, "POST", ALL + ":rebuild", {"partition": 3})
    assert [args for _, args, _ in broker.calls] == [("orders", None), ("orders", 3)]


async def test_settings_of_delayed_delivery_are_switches_and_numbers():
    broker = FakeBroker()
    settings = {"delayed_delivery": False, "delayed_delivery_max_delay_ms": 5, "delayed_delivery_tick_time_ms": 1}
    answer = await ask(broker, "POST", "/v1/topics", {"name": "orders", "settings": settings}, 201)
    [(_, (_, _, given), _)] = broker.calls
    assert given == {"delayed_delivery": 0, "delayed_delivery_max_delay_ms": 5, "delayed_delivery_tick_time_ms": 1}
    assert answer["settings"] == settings
    assert given["delayed_delivery"] is not False  # the catalog keeps numbers
    untold = await ask(FakeBroker(), "POST", "/v1/topics", {"name": "orders"}, 201)
    assert untold["settings"] == {}
