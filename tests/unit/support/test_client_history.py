"""The checker of histories finds every flaw that it is for, and none in a good history."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.client_history import History, made_once

GOOD = {0: [(0, "a-0"), (2, "a-1"), (3, "b-0")], 1: [(0, "later-0")]}


def history_of(*more: dict[str, Any]) -> History:
    """Writer a, a committed, an aborted and an unanswered transaction of b, and a delayed record; then `more`."""
    events: list[dict[str, Any]] = [
        {"kind": "asked", "topic": "t", "values": [(0, "a-0"), (0, "a-1")]},
        {"kind": "answered", "values": ["a-0", "a-1"], "outcome": "committed"},
        {"kind": "asked", "topic": "t", "values": [(0, "b-0")], "step": 1},
        {"kind": "answered", "values": ["b-0"], "outcome": "committed"},
        {"kind": "asked", "topic": "t", "values": [(0, "b-1"), (1, "b-2")], "step": 2},
        {"kind": "answered", "values": ["b-1", "b-2"], "outcome": "aborted"},
        {"kind": "asked", "topic": "t", "values": [(0, "b-3"), (1, "b-4")], "step": 3},
        {"kind": "asked", "topic": "t", "values": [(1, "later-0")], "due_ms": 50_000},
        {"kind": "answered", "values": ["later-0"], "outcome": "committed"},
        *more,
    ]
    return History([{"at": float(at), "worker": "w", **event} for at, event in enumerate(events)])


def got(*records: tuple[int, int, str], at: float = 60.0) -> dict[str, Any]:
    return {"kind": "got", "topic": "t", "by": "g", "records": records, "at": at}


def test_a_good_history_has_no_flaw_whatever_became_of_what_was_not_answered():
    assert history_of().flaws("t", GOOD) == []
    assert history_of().flaws("t", {0: [*GOOD[0], (4, "b-3")], 1: [*GOOD[1], (1, "b-4")]}) == []


@pytest.mark.parametrize(
    ("log", "flaw"),
    [
        ({0: [(0, "a-0"), (3, "b-0")], 1: GOOD[1]}, "1 answered and lost: a-1"),
        ({0: [*GOOD[0], (4, "a-1")], 1: GOOD[1]}, "1 doubled: a-1"),
        ({0: [*GOOD[0], (4, "b-1")], 1: [*GOOD[1], (1, "b-2")]}, "2 aborted and visible: b-1, b-2"),
        ({0: [*GOOD[0], (4, "b-3")], 1: GOOD[1]}, "1 half of a step: b-4"),
        ({0: [(0, "a-1"), (1, "a-0"), (3, "b-0")], 1: GOOD[1]}, "1 out of order: a-0 at 0 behind 1"),
        ({0: GOOD[0][:2], 1: [*GOOD[1], (1, "b-0")]}, "1 in another partition: b-0"),
        ({0: [*GOOD[0], (4, "c-0")], 1: GOOD[1]}, "1 from nowhere: c-0"),
    ],
)
def test_flaws_of_a_log_are_reported(log, flaw):
    assert any(flaw in each for each in history_of().flaws("t", log))


def test_a_record_that_was_got_before_it_was_due_is_early():
    assert history_of(got((1, 0, "later-0"), at=50.1)).flaws("t", GOOD) == []
    ((value, wait_ms),) = history_of(got((1, 0, "later-0"), at=50.1)).waits_ms("t")
    assert (value, round(wait_ms)) == ("later-0", 100)
    early = history_of(got((1, 0, "later-0"), at=49.9))
    assert early.flaws("t", GOOD) == ["t: 1 got before it was due: later-0 by 100 ms"]


ALL = got(*[(partition, offset, value) for partition, rows in GOOD.items() for offset, value in rows])


@pytest.mark.parametrize(
    ("more", "flaw"),
    [
        ([ALL], ""),
        ([ALL, ALL], ""),  # nothing was committed in between
        ([ALL | {"records": ALL["records"][1:]}], "1 never got: a-0 at (0, 0)"),
        ([ALL, got((0, 2, "x"), at=61)], "1 got and not in the log: x at (0, 2)"),
        (
            [ALL, {"kind": "position", "topic": "t", "by": "g", "positions": {"0": 3}, "at": 61},
             got((0, 2, "a-1"), (0, 3, "b-0"), at=62)],
            "1 got after it was acknowledged: a-1",
        ),
        (
            [ALL, {"kind": "done", "topic": "t", "by": "g", "records": [(0, 3)], "at": 61},
             got((0, 2, "a-1"), (0, 3, "b-0"), at=62)],
            "1 got after it was acknowledged: b-0",
        ),
    ],
)  # fmt: skip
def test_flaws_of_a_reader_history_are_reported(more, flaw):
    flaws = history_of(*more).reader_flaws("t", "g", GOOD)
    assert len(flaws) == (1 if flaw else 0)
    assert all(flaw in each for each in flaws)


@pytest.mark.parametrize(
    ("results", "flaw"),
    [
        (["out of x", "out of y"], ""),
        (["out of x"], "1 never made: out of y"),
        (["out of x", "out of y", "out of y"], "1 made twice: out of y"),
        (["out of x", "out of y", "out of z"], "1 made of nothing: out of z"),
    ],
)
def test_a_result_is_made_once_of_each_source(results, flaw):
    flaws = made_once({0: [(0, "x")], 1: [(0, "y")]}, {0: list(enumerate(results))})
    assert len(flaws) == (1 if flaw else 0)
    assert all(flaw in each for each in flaws)
