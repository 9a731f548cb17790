"""One row for each difference between the keys of a subscription."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.fsck.cursor_check import SubscriptionPlace, check_cursor, check_lease_index, check_pending
from redis_ledger.fsck.cursor_facts import CursorFacts, acked, complement, overlaps
from redis_ledger.fsck.finding import Edit
from redis_ledger.fsck.register_check import check_register
from redis_ledger.ledger.place import Place
from redis_ledger.store.keys import PartitionKeys

KEYS = PartitionKeys("rl", "t", 0)
SUB = SubscriptionPlace(Place("t", "id", 0, KEYS), b"s", "shared", KEYS.sub("s"))
GROUP = SUB._replace(name=b"g", kind="kafka", keys=KEYS.sub("g"))
CURSOR = {
    "kind": "shared", "mark": "0", "read": "10", "leased": "4", "returned": "0", "held": "2", "delivered": "10",
    "redelivered": "0", "consumer_until": "0",
}  # fmt: skip
#                0 to 3 leased, 4 and 5 pending, 6 to 9 acknowledged
LEASES, PENDING, ACKS = {b"0": b"3 c1 0 900"}, {b"0-7": b"I 4-5-0"}, {b"0": bytes([0b0000_0011, 0b1100_0000])}
REGISTER = {
    "kind": "kafka",
    "offset": "5",
    "leader_epoch": "0",
    "time": "1",
    "write": "3",
    "fence": "-1",
    "writes": "3",
}


def facts(cursor: dict[str, str | None] | None = None, **changed: Any) -> CursorFacts:
    fields = {
        name.encode(): value.encode() for name, value in {**CURSOR, **(cursor or {})}.items() if value is not None
    }
    given: dict[str, Any] = {"leases": LEASES, "pending": PENDING, "acks": ACKS, "start": 0, "following": 10}
    return CursorFacts(fields, **{**given, **changed})


def test_a_whole_subscription_has_no_difference():
    assert list(check_cursor(SUB, facts(), 1_000)) == []


@pytest.mark.parametrize(
    ("given", "kind", "item"),
    [
        (facts({"kind": "exclusive"}), "subscription", "kind"),
        (facts({"mark": None}), "cursor_range", "position"),
        (facts(following=8), "cursor_range", "position"),
        (facts({"leased": "5"}), "cursor_count", "leased"),
        (facts({"held": None}), "cursor_count", "held"),
        (facts({"returned": "1"}), "cursor_count", "returned"),
        (facts(leases={b"0": b"x"}), "lease", "0"),
        (facts(leases={b"0": b"3 c1 0 900", b"3": b"3 c1 0 900"}), "lease", "3"),
        (facts(leases={b"0": b"30 c1 0 900"}), "lease", "0"),
        (facts(acks={}), "cursor_acks", "unaccounted"),
        (facts(pending={}), "cursor_acks", "unaccounted"),
        (facts(acks={b"0": bytes([0b1000_0011, 0b1100_0000])}), "cursor_acks", "0"),
        (facts(acks={b"9e90": bytes([0, 1, 5, 4])}), "cursor_acks", "0"),
        (facts(acks={b"8e90": bytes([0, 1])}), "cursor_acks", "0"),
    ],
)
def test_a_difference_is_found_with_its_repair(given: CursorFacts, kind: str, item: str):
    found = list(check_cursor(SUB, given, 1_000))
    assert (kind, item) in [(each.kind, each.item) for each in found]
    assert all(isinstance(each.repair, Edit) for each in found)


@pytest.mark.parametrize(
    "acks", [{b"9e90": bytes([2, 8])}, {b"8e90": bytes([0, 1])}, {b"0": b"\x00\xff", b"9e90": b"\0\x08"}]
)
def test_what_is_leased_as_well_is_cleared_in_every_form(acks: dict[bytes, bytes]):
    stored, held = dict(acks), facts({"held": "0"}, pending={}, acks=acks)
    (found,) = check_cursor(SUB, held, 1_000)
    assert isinstance(found.repair, Edit)
    for write in found.repair.writes:
        name, *value = (str(arg).encode() if isinstance(arg, int) else arg for arg in write.args)
        assert isinstance(name, bytes)
        stored.pop(name, None)
        stored.update((name, each) for each in value if isinstance(each, bytes))
    assert acked(stored, 0, 10) == [(4, 9)]


def test_offsets_in_no_place_become_due():
    (found,) = check_cursor(SUB, facts(acks={}), 1_000)
    assert isinstance(found.repair, Edit)
    assert found.repair.writes[0].args == (6, "9  1 1000")


@pytest.mark.parametrize(
    ("row", "span", "due", "count"),
    [
        (b"3 c1 0 900", 0, 900, 0),
        (b"3 c1 0 900", None, 900, 1),
        (b"3 c1 0 900", 0, 800, 1),
        (None, 0, None, 1),
        (None, None, 900, 1),
        (None, None, None, 0),
    ],
)
def test_the_indexes_have_every_lease_and_no_other(row: bytes | None, span: int | None, due: int | None, count: int):
    assert len(list(check_lease_index(SUB, b"0", row, span, due))) == count


@pytest.mark.parametrize(
    ("pending", "written"),
    [
        ({b"0-7": b"I +a0 1-1-0", b"0-7/a0": b"R 2-2-0"}, None),
        ({b"0-7": b"C 9 - 1-1-0"}, None),
        ({b"0-7": b"I +a0,a1 1-1-0", b"0-7/a0": b"R 2-2-0"}, b"I +a0 1-1-0"),
        ({b"0-7": b"C 9 +a1 1-1-0"}, b"C 9 - 1-1-0"),
        ({b"0-7/a0": b"R 2-2-0"}, "I +a0 "),
    ],
)
def test_regions_of_a_transaction_are_there_and_named(pending: dict[bytes, bytes], written: bytes | str | None):
    found = list(check_pending(SUB, pending))
    repairs = [each.repair.writes[0].args[1] for each in found if isinstance(each.repair, Edit)]
    assert repairs == ([] if written is None else [written])


@pytest.mark.parametrize(
    ("changed", "pending", "count"),
    [
        ({}, {b"0-7": b"3 9 0 1 x y"}, 0),
        ({"kind": None}, {}, 1),
        ({"write": "x"}, {}, 1),
        ({}, {b"0-7": b"4 9 0 1 "}, 1),
        ({}, {b"0-7": b"x"}, 1),
    ],
)
def test_a_register_can_be_read(changed: dict[str, str | None], pending: dict[bytes, bytes], count: int):
    fields = {name.encode(): value.encode() for name, value in {**REGISTER, **changed}.items() if value is not None}
    assert len(list(check_register(GROUP, fields, pending, 1_000))) == count


def test_ranges_of_bits():
    assert acked(ACKS, 0, 10) == [(6, 9)]
    assert acked(ACKS, 7, 9) == [(7, 8)]
    assert acked({b"0": b"\xff" * 1024, b"1": b"\x80"}, 8190, 9000) == [(8190, 8192)]
    assert complement([(0, 3), (2, 5)], 0, 10) == [(6, 9)]
    assert complement([], 0, 0) == []
    assert overlaps([(0, 3), (6, 9)], [(2, 7)]) == [(2, 3), (6, 7)]
