"""lua/offload/*: every reply, unchanged state, and repeated calls."""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import TOPIC_ID

PLAN, OTHER = '{"id":"a","stretches":[]}', '{"id":"b","stretches":[]}'
FIRST, SECOND = '{"first":0,"end":4}', '{"first":4,"end":6}'
LARGE = 3_000_000_000_000_000  # tostring of it in Lua is 3e+15


@pytest.fixture
def filled(ledger):
    """Appends three batches of two records; the ledger of the first two is sealed."""
    ledger.append(2)
    ledger.append(2)
    ledger.ledger = int(ledger.roll()[1])
    ledger.append(2)
    return ledger


def run(ledger, name, *args, topic_id=TOPIC_ID):
    return ledger.run(f"offload/{name}", (ledger.keys.state, ledger.keys.offload), topic_id, *args)


def publish(ledger, plan=PLAN, offloaded=0, segments=(0, FIRST), end=4):
    assert run(ledger, "plan", plan, offloaded, end) == [Status.OK, plan]
    return run(ledger, "publish", plan, end, *segments)


def manifest(ledger) -> dict[str, str]:
    return {name.decode(): text.decode() for name, text in ledger.client.hgetall(ledger.keys.offload).items() if name}


def state(ledger, name: str) -> str | None:
    found = ledger.client.hget(ledger.keys.state, name)
    return None if found is None else found.decode()


# -- plan --------------------------------------------------------------------------------------------------------------


def test_the_first_plan_is_stored_and_later_requests_get_it(filled):
    assert run(filled, "plan", PLAN, 0, 4) == [Status.OK, PLAN]
    assert run(filled, "plan", OTHER, 0, 6) == [Status.OK, PLAN]
    assert manifest(filled) == {"plan": PLAN}


def test_planning_again_changes_nothing(filled):
    run(filled, "plan", PLAN, 0, 4)
    before = filled.dump()
    assert run(filled, "plan", PLAN, 0, 4) == [Status.OK, PLAN]
    assert filled.dump() == before


@pytest.mark.parametrize(("seen", "end"), [(2, 4), (0, 7)])
def test_a_stale_plan_or_one_beyond_the_stable_offset_is_refused(filled, seen, end):
    before = filled.dump()
    assert run(filled, "plan", PLAN, seen, end) == [Status.STALE, "0", "6"]
    assert filled.dump() == before


def test_a_plan_stops_below_an_open_transaction(filled):
    filled.append(2, txn=(0, 1))
    assert run(filled, "plan", PLAN, 0, 7) == [Status.STALE, "0", "6"]
    assert run(filled, "plan", PLAN, 0, 6) == [Status.OK, PLAN]


@pytest.mark.parametrize(
    ("stable", "end", "is_planned"), [(99, 100, False), (100, 99, True), (9, 10, False), (10, 9, True)]
)
def test_offsets_of_any_length_are_compared_as_numbers(filled, stable, end, is_planned):
    filled.client.hset(filled.keys.state, mapping={"next": 100, "stable": stable})
    expected = [Status.OK, PLAN] if is_planned else [Status.STALE, "0", str(stable)]
    assert run(filled, "plan", PLAN, 0, end) == expected
    assert ("plan" in manifest(filled)) is is_planned


# -- publish -----------------------------------------------------------------------------------------------------------


def test_publishing_moves_the_offloaded_offset_and_leaves_log_and_start_alone(filled):
    log, start = filled.dump()["log"], state(filled, "start")
    assert publish(filled) == [Status.OK, "4", 1]
    assert manifest(filled) == {"0": FIRST, "version": "1"}
    assert (state(filled, "cold"), state(filled, "start"), filled.dump()["log"]) == ("4", start, log)


def test_publishing_again_returns_the_same_and_changes_nothing(filled):
    first = publish(filled)
    before = filled.dump()
    assert run(filled, "publish", PLAN, 4, 0, FIRST) == [*first[:2], str(first[2])]
    assert filled.dump() == before


def test_publishing_again_after_another_plan_is_recognized_by_its_segments(filled):
    publish(filled)
    run(filled, "plan", OTHER, 4, 6)
    assert run(filled, "publish", PLAN, 4, 0, FIRST) == [Status.OK, "4", "1"]
    assert manifest(filled)["plan"] == OTHER


@pytest.mark.parametrize("stored", [None, OTHER])
def test_publishing_by_a_plan_that_is_not_stored_is_refused(filled, stored):
    if stored:
        run(filled, "plan", stored, 0, 4)
    before = filled.dump()
    assert run(filled, "publish", PLAN, 4, 0, FIRST) == [Status.STALE, "0"]
    assert filled.dump() == before


def test_offsets_of_any_size_keep_their_digits(filled):
    filled.client.hset(filled.keys.state, mapping={"next": LARGE, "stable": LARGE})
    assert publish(filled, segments=(0, FIRST), end=LARGE) == [Status.OK, str(LARGE), 1]
    assert state(filled, "cold") == str(LARGE)


def test_published_payload_is_dropped_and_its_log_entries_stay(filled):
    # Given a sealed ledger that ends below the offloaded offset
    assert filled.trim()[3:] == []
    publish(filled)
    # When retention runs, with nothing to trim
    status, start, trimmed, *ledgers = filled.trim()
    # Then the sealed ledger is dropped, and all its entries are in the log
    assert (status, start, trimmed, ledgers) == (Status.OK, "0", 0, ["1"])
    assert filled.drop(1)[1] == 1
    assert [entry.ledger for entry in filled.log()] == [1, 1, 2]


def test_a_ledger_beyond_the_offloaded_offset_keeps_its_payload(filled):
    publish(filled, end=3)
    assert filled.trim()[3:] == []
    assert filled.drop(1)[1] == 0


# -- abandon -----------------------------------------------------------------------------------------------------------


def test_after_an_abandoned_plan_another_is_stored(filled):
    run(filled, "plan", PLAN, 0, 4)
    assert run(filled, "abandon", PLAN) == [Status.OK]
    assert run(filled, "abandon", PLAN) == [Status.OK]
    assert run(filled, "plan", OTHER, 0, 4) == [Status.OK, OTHER]


def test_another_plan_is_not_abandoned(filled):
    run(filled, "plan", OTHER, 0, 4)
    before = filled.dump()
    assert run(filled, "abandon", PLAN) == [Status.STALE]
    assert filled.dump() == before


# -- swap --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def two(filled):
    """Two segments, version 1."""
    publish(filled, segments=(0, FIRST, 4, SECOND), end=6)
    return filled


def test_segments_are_swapped(two):
    both = '{"first":0,"end":6}'
    assert run(two, "swap", 1, 2, 0, 4, 0, both) == [Status.OK, 2]
    assert manifest(two) == {"0": both, "version": "2"}
    assert state(two, "cold") == "6"


def test_swapping_again_returns_the_same(two):
    run(two, "swap", 1, 1, 4, 4, FIRST)
    before = two.dump()
    assert run(two, "swap", 1, 1, 4, 4, FIRST) == [Status.OK, "2"]
    assert two.dump() == before


def test_a_manifest_that_has_changed_since_is_not_swapped(two):
    run(two, "swap", 1, 1, 4, 4, FIRST)
    before = two.dump()
    assert run(two, "swap", 1, 1, 0, 0, SECOND) == [Status.STALE, "2"]
    assert run(two, "swap", 0, 1, 0, 0, SECOND) == [Status.STALE, "2"]
    assert two.dump() == before


# -- forget ------------------------------------------------------------------------------------------------------------


def test_forgotten_segments_leave_and_forgetting_again_changes_nothing(two):
    assert run(two, "forget", 0, FIRST) == [Status.OK]
    assert manifest(two) == {"4": SECOND, "version": "2"}
    before = two.dump()
    assert run(two, "forget", 0, FIRST) == [Status.OK]
    assert two.dump() == before


def test_a_swapped_segment_is_not_forgotten(two):
    before = two.dump()
    assert run(two, "forget", 0, SECOND) == [Status.OK]
    assert two.dump() == before


# -- all ---------------------------------------------------------------------------------------------------------------

CALLS = [
    ("plan", OTHER, 6, 6), ("publish", OTHER, 6, 0, FIRST), ("abandon", OTHER), ("swap", 1, 1, 0, 0, SECOND),
    ("forget", 0, FIRST),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=[call[0] for call in CALLS])
def test_another_incarnation_of_the_topic_is_left_alone(two, call):
    before = two.dump()
    assert run(two, *call, topic_id="t-2") == [Status.UNKNOWN_TOPIC]
    assert two.dump() == before
