"""The trace of a transaction, from what its coordinator stores."""

from __future__ import annotations

import pytest

from redis_ledger.txn import trace
from redis_ledger.txn.trace import Step, Stored, Traced

OUT, IN = ("out", 0, None), ("in", 1, "a job")
BEGIN, DECIDE, COMPLETE = Step("begin", 1_000), Step("decide", 1_025), Step("complete", 1_030)


def outcome(text: str) -> trace.Trace:
    return trace.of(1_000, trace.of_outcome(1_000, 1_030, text), 1_030)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (",/C@25,||", [DECIDE]),
        (
            ",/p1@15,/C@25,|out/0;|_,1027",
            [Step("add_partition", 1_015, *OUT), DECIDE, Step("end_partition", 1_027, *OUT)],
        ),
        (
            ",/s1@18,/p1@15,/A@25,|in/1/a%20job;out/0;|1019,_;1016,=",
            [
                Step("add_partition", 1_015, *OUT), Step("append", 1_016, *OUT),
                Step("add_subscription", 1_018, *IN), Step("pending_ack", 1_019, *IN), DECIDE,
                Step("end_partition", 1_030, *OUT),
            ],
        ),
        # The clock of the broker that appended is behind the one that registered
        (
            ",/p1@15,/C@25,|out/0;|997,=",
            [
                Step("add_partition", 1_015, *OUT), Step("append", 997, *OUT), DECIDE,
                Step("end_partition", 1_030, *OUT),
            ],
        ),
        # Its time is in the log, or it is not known
        *(
            (
                f",/p1@15,/C@25,|out/0;|{used},_",
                [Step("add_partition", 1_015, *OUT), Step("append", None, *OUT), DECIDE],
            )
            for used in ("o7", "?")
        ),
    ],
)  # fmt: skip
def test_the_steps_of_an_ended_transaction_are_in_the_order_of_pip_31(text, steps):
    assert outcome(text) == ([BEGIN, *steps, COMPLETE], False)


def test_an_outcome_has_the_offset_of_the_first_batch():
    (found,) = trace.of_outcome(1_000, 1_030, ",/p1@15,/C@25,|out/0;|o7,=").participants
    assert found == Traced(*OUT, 1_015, is_used=True, first_offset=7, ended_ms=1_030)


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [
        (",/C@25,||", False),
        ("", True),
        (",/p9@15,/C@25,|out/0;+|o7,=", True),
        # Only the first ones have their ends
        (",/p2@15,/C@25,|out/0;out/1;|o7,=", True),
        # One participant has no time
        (",/p1@15,,/C@25,|out/0;out/1;|o7,=;o9,=", True),
        (",,/p1@15,/C@25,|out/0;out/1;|o7,=;o9,=", True),
        # There were too many registrations to keep them all
        (",/p1@15,/C@25,|out/0;out/1;|o7,=;o9,=", True),
        (",,,||", True),
    ],
)
def test_a_trace_says_whether_steps_are_left_out(text, is_cut):
    assert outcome(text).is_cut == is_cut


def test_participants_behind_one_without_a_time_are_left_out():
    """Else they would get the times of others."""
    found = trace.of_outcome(1_000, 1_030, ",/p1@15,,/p1@17,/C@25,|out/0;out/1;out/2;|o7,=;o9,=;o11,=")
    assert [each.partition for each in found.participants] == [0]
    assert found.decided_ms == 1_025


def test_the_row_of_a_live_transaction_has_its_registrations_and_its_decision():
    assert trace.of_row(1_000, "7:1,", [], has_more=False) == Stored([], None, is_cut=False)
    two = ("out", 1, None)
    assert trace.of_row(1_000, "7:1,8:2/p2@15,9:1/s1@18,9:2/T@25,", [OUT, IN, two], has_more=True) == (
        [Traced(*OUT, 1_015), Traced(*IN, 1_018), Traced(*two, 1_015)], 1_025, True,
    )  # fmt: skip
