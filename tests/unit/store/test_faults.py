"""Which points a call passes, and which of the armed faults is due."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hiredis import ReplyError

from redis_ledger.store.faults import _END_KEYS, POINTS, Fault, Faults, points_of, written_points
from redis_ledger.store.script_status import Status

HEAD = [0] * 10  # the arguments of txn/apply before its operations
P, S = "t/id/0", "t/id/0/s"
AT_ONCE = {"end_partition", "end_subscription", "complete"}


def at_once(*operations: Any) -> list[Any]:
    return [*HEAD, 0, 0, len(operations) // 3, 1, 1, *operations, 5, 6, "begin"]


@pytest.mark.parametrize(
    ("script", "keys", "args", "points"),
    [
        ("txn/apply", 13, [*HEAD, "begin", 1, "- -"], {"begin"}),
        ("txn/apply", 13, [*HEAD, "begin", 1, f"- - {P} {S}"], {"begin", "add_partition", "add_subscription"}),
        ("txn/apply", 13, [*HEAD, "add", 1, P], {"add_partition"}),
        ("txn/apply", 13, [*HEAD, "add_by_id", "pay", f"1 0 {S}"], {"add_subscription"}),
        ("txn/apply", 13, [*HEAD, "end", 1, "C", "complete", 0, ""], {"decide", "complete"}),
        ("txn/apply", 13, [*HEAD, "end_by_id", "pay", "1 0 C 1"], {"decide"}),
        ("txn/apply", 13, [*HEAD, "allocate", "", ""], set()),
        ("txn/apply_and_end", 20, at_once("end", 1, "C"), {"decide", *AT_ONCE}),
        ("txn/apply_and_end", 20, at_once("end", 1, "C", "begin", 1, "- -"), {"decide", "begin", *AT_ONCE}),
        ("txn/end", _END_KEYS, [], {"end_partition"}),
        ("txn/end", _END_KEYS + 2, [], {"end_subscription"}),
        ("ledger/append", 5, [], {"append"}),
        ("delay/replace", 5, [], {"delay_merge"}),
        ("cursor/receive", 5, [], set()),
    ],
)  # fmt: skip
def test_a_call_passes_the_points_of_what_it_writes(script, keys, args, points):
    assert points_of(script, [b"k"] * keys, args) == points
    assert points <= POINTS.keys()


def packed(*replies: Any) -> bytes:
    return msgspec.msgpack.encode(replies)


OK, MOVED, ENDED = int(Status.OK), int(Status.LEDGER_MOVED), int(Status.TXN_STATUS)
BEGIN_AND_END = ["begin", 1, "- -", "end", 1, "C"]


@pytest.mark.parametrize(
    ("script", "args", "reply", "points"),
    [
        ("ledger/append", [], [OK, 1, 2, 3, [OK, 7]], {"append"}),
        ("ledger/append", [], [OK, 1, 2, 3, [int(Status.SEQUENCE_GAP), 7], [OK, 7]], {"append"}),
        ("ledger/append", [], [OK, 1, 2, 3, [int(Status.SEQUENCE_GAP), 7]], set()),
        ("ledger/append", [], [int(Status.HEALED)], set()),
        ("ledger/append", [], ReplyError("OOM"), set()),
        ("ledger/schedule", [], [MOVED, 4, -2], set()),
        ("ledger/schedule", [], [OK, 1, 2, 3, 4, 5, 6, [OK, -1, 0]], {"schedule"}),
        ("cursor/pending_ack", [], [int(Status.TXN_CONFLICT), 1, ""], set()),
        ("cursor/pending_ack", [], [OK, 1, 0], {"pending_ack"}),
        ("txn/apply", [*HEAD, *BEGIN_AND_END], [OK, "", 1, packed([OK, 1], [ENDED, "A"])], {"begin"}),
        ("txn/apply", [*HEAD, *BEGIN_AND_END], [OK, "", 1, packed([OK, 1], [OK, "C"])], {"begin", "decide"}),
        ("txn/apply", [*HEAD, "expire", 1, ""], [OK, "", 1, packed([OK, "-"])], set()),
        ("txn/apply_and_end", at_once("end", 1, "C"), [OK, "", 1, packed([OK, "C"]), 1, packed("")], {"decide"}),
        (
            "txn/apply_and_end", at_once("end", 1, "C"), [OK, "", 1, packed([OK, "C"]), 1, packed("C")],
            {"decide", *AT_ONCE},
        ),
        ("delay/fire", [], [OK, 1_000], set()),
        ("delay/fire", [], [OK, 1_000, 0, 0, -1], set()),
        ("delay/fire", [], [OK, 1_000, 1, 1, -1], {"delay_fire"}),
        ("delay/rotate", ["id", b"-2"], [OK, b"-2", b""], set()),
        ("delay/rotate", ["id", b"-2"], [OK, b"-3", b""], {"delay_rotate"}),
        ("delay/seal", [], [int(Status.STALE)], set()),
    ],
)  # fmt: skip
def test_a_point_counts_as_written_if_the_reply_says_so(script, args, reply, points):
    assert written_points(script, [b"k"] * 5, args, reply) == points


def test_the_first_armed_fault_of_a_point_is_due_after_its_passes_and_as_often_as_it_says():
    faults = Faults()
    faults.arm(Fault("decide", "before", "crash", skip=1, times=2))
    faults.arm(Fault("decide", "after", "fail"))
    taken = [faults.take({"decide", "complete"}, "before") is not None for _ in range(4)]
    assert taken == [False, True, True, False]
    assert faults.take({"begin"}, "after") is None
    due = faults.take({"decide"}, "after")
    assert due is not None
    assert due.act == "fail"
    assert faults.armed == []


def test_a_fault_at_a_point_that_does_not_exist_cannot_be_armed():
    with pytest.raises(AssertionError, match="nowhere"):
        Faults().arm(Fault("nowhere", "before", "fail"))
