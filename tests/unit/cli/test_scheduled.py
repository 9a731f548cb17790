from __future__ import annotations

import json

import pytest

from redis_ledger.app.cli.scheduled import render_histogram
from redis_ledger.client.models import Bin
from tests.support.stub_scheduled import NOW_MS
from tests.unit.cli.test_commands import run

LATER_MS = 1_801_386_000_000
LATER = "2027-01-31T09:00:00Z"


@pytest.fixture
def waits(stub):
    """Three records wait; their ids in the order they are due."""
    for n in range(3):
        run("scheduled", "create", "orders", f"v{n}", "--key", f"k{n}", "--deliver-at", str(LATER_MS + n))
    return list(stub.scheduled.waiting)


def test_lines_are_scheduled_for_a_time_or_after_one(stub):
    assert run("produce", "orders", "--deliver-at", LATER, given=b"a\nb\n").code == 0
    assert run("produce", "orders", "--deliver-after", "PT5S", "--transaction", "1", given=b"c\n").code == 0
    dues = [record["deliver_at_ms"] for record in stub.scheduled.waiting.values()]
    assert dues == [LATER_MS, LATER_MS, NOW_MS + 5_000]
    assert stub.records == []


def test_json_line_may_have_a_delivery_time(stub):
    lines = b'{"text": "a", "deliver_after": "PT1M"}\n{"text": "b"}\n'
    assert run("produce", "orders", "--json-lines", "--deliver-after", "5", given=lines).code == 0
    assert {r["text"]: r["deliver_at_ms"] - NOW_MS for r in stub.scheduled.waiting.values()} == {"a": 60_000, "b": 5}
    wrong = run("produce", "orders", "--json-lines", given=b'{"text": "a"}\n{"text": "b", "deliver_at": "soon"}\n')
    assert wrong.code == 1
    assert "Line 2: $.deliver_at: 'soon'" in wrong.err


@pytest.mark.parametrize(
    "words",
    [
        ("produce", "orders", "--deliver-at", LATER, "--deliver-after", "PT5S"),
        ("produce", "orders", "--deliver-at", "tomorrow"),
        ("produce", "orders", "--deliver-after", "5 sec"),
        ("scheduled", "create", "orders", "v"),
        ("scheduled", "create", "orders", "v", "--repeat", "PT1H", "--until", "then"),
        ("scheduled", "reschedule", "orders", "0:0.0"),
        ("scheduled", "list", "orders", "--from", "2027-01-31"),
        ("scheduled", "clear", "orders"),
    ],
)
def test_invalid_times_are_a_usage_error(stub, words):
    assert run(*words).code == 2
    assert stub.calls == []


def test_a_record_is_created_with_its_repetition(stub):
    result = run("scheduled", "create", "orders", "v", "--repeat", "0 7 * * *", "--times", "3", "--until", LATER)
    assert result.out == "0:0.0: due 1970-01-01 01:16:40Z\n"
    [record] = stub.scheduled.waiting.values()
    assert (record["repeat"], record["times"], record["until"]) == ("0 7 * * *", 3, LATER_MS)


def test_record_that_is_already_due_prints_its_offset(stub):
    assert run("scheduled", "create", "orders", "v", "--deliver-at", "5").out == (
        "Already due, delivered at: partition 0, offset 7.\n"
    )


def test_scheduled_records_are_printed_as_table_and_json_lines(stub, waits):
    table = run("scheduled", "list", "orders").out
    assert [table.count(each) for each in (*waits, "k2", "v2", "2027-01-31")] == [1, 1, 1, 1, 1, 3]
    lines = [json.loads(line) for line in run("scheduled", "list", "orders", "--limit", "2", "--json").out.splitlines()]
    assert [(line["id"], line["key"], line["text"]) for line in lines] == [
        (waits[0], "k0", "v0"), (waits[1], "k1", "v1"),
    ]  # fmt: skip
    some = run("scheduled", "list", "orders", "--from", str(LATER_MS + 1), "--to", str(LATER_MS + 2), "--json").out
    assert json.loads(some)["deliver_at_ms"] == LATER_MS + 1
    assert json.loads(run("scheduled", "list", "orders", "--key", "k2", "--json").out)["id"] == waits[2]


def test_a_record_is_shown(stub, waits):
    assert f"{waits[0]}  due 2027-01-31 09:00:00Z" in run("scheduled", "get", "orders", waits[0]).out
    assert json.loads(run("scheduled", "get", "orders", waits[1], "--json").out)["text"] == "v1"
    assert run("scheduled", "get", "orders", "0:99.0").code == 1


def test_cancel_prints_an_outcome_for_each_id(stub, waits):
    stub.scheduled.delivered.add(waits[1])
    result = run("scheduled", "cancel", "orders", *waits)
    assert result.out.splitlines() == [
        f"{waits[0]}: cancelled", f"{waits[1]}: already delivered", f"{waits[2]}: cancelled",
    ]  # fmt: skip
    assert result.code == 1
    assert run("scheduled", "cancel", "orders", waits[0]).code == 1
    run("scheduled", "create", "orders", "v", "--deliver-at", LATER)
    [id] = set(stub.scheduled.waiting) - set(waits)
    assert run("scheduled", "cancel", "orders", id).code == 0


def test_a_record_is_moved(stub, waits):
    result = run("scheduled", "reschedule", "orders", waits[0], "--deliver-at", str(LATER_MS + 7))
    assert result.out == f"{waits[0]}: due 2027-01-31 09:00:00.007Z\n"
    moved = run("scheduled", "reschedule", "orders", waits[0], "--deliver-after", "PT1S", "--json").out
    assert json.loads(moved) == {"id": waits[0], "deliver_at_ms": NOW_MS + 1_000}


def test_scheduled_records_are_counted_indexed_and_cleared(stub, waits):
    assert json.loads(run("scheduled", "stats", "orders", "--json").out)["total"]["records"] == 3
    assert "2027-01" in run("scheduled", "stats", "orders").out
    bins = run("scheduled", "histogram", "orders", "--bins", "3").out.splitlines()
    assert [line.count("█") for line in bins] == [40, 40, 40]
    assert json.loads(run("scheduled", "histogram", "orders", "--bins", "1", "--json").out)["records"] == 3
    assert run("scheduled", "rebuild", "orders").out == "orders: 3 entries in the index\n"
    assert run("scheduled", "clear", "orders", "--yes").out == "Cancelled 3 records.\n"
    assert run("scheduled", "histogram", "orders").out == "No scheduled records in orders.\n"


def test_bar_length_is_proportional_and_nonempty_bins_have_one():
    lines = render_histogram([Bin(0, 5, 1), Bin(5, 10, 0), Bin(10, 15, 1_000), Bin(15, 20, 500)])
    assert [line.count("█") for line in lines] == [1, 0, 40, 20]
    assert lines[:2] == ["1970-01-01 00:00:00Z      1  █", "1970-01-01 00:00:00.005Z      0"]
