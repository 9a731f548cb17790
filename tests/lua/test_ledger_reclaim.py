"""lua/ledger/reclaim: deletes the payload of aborted transactions, and nothing else."""

from __future__ import annotations

import random

import pytest

from redis_ledger.ledger.entries import Aborted, is_aborted
from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import Ledger


def left(ledger: Ledger, number: int = 1) -> list[int]:
    """The numbers of the ledger's entries, whose count its row must give."""
    issued, deleted, *_ = ledger.row(number)
    found = [int(name.partition("-")[2]) for name in ledger.payloads(number)]
    assert issued - deleted == len(found)
    return found


@pytest.fixture
def mixed(ledger: Ledger) -> Ledger:
    """Entries 1 plain, 2 aborted, 3 committed, 4 aborted; 5 by the producer of 2 and 4, committed later; 6 plain."""
    ledger.append(2)
    ledger.append(3, txn=(0, 1), pid=7, sequence=0)
    ledger.append(1, txn=(0, 2))
    ledger.append(2, txn=(0, 1), pid=7, sequence=3)
    ledger.end({"txn": (0, 1), "commit": False, "pid": 7})
    ledger.commit(0, 2)
    ledger.append(1, txn=(0, 3), pid=7, sequence=0, epoch=1)
    ledger.end({"txn": (0, 3), "commit": True, "pid": 7})
    ledger.append(1)
    assert ledger.next == ledger.stable == 13
    return ledger


def test_payload_of_aborted_transactions_is_deleted_and_all_else_stays(mixed):
    before = mixed.dump()
    assert mixed.reclaim_all() == (13, 2, 2)
    assert left(mixed) == [1, 3, 5, 6]
    after = mixed.dump()
    assert after["state"].pop(b"reclaimed") == b"13"
    same = before.keys() - {"data:1", "ledgers"}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    # and appends go on in the same ledger
    assert mixed.append(1)[:2] == [Status.OK, "13"]
    assert left(mixed) == [1, 3, 5, 6, 7]


def test_a_repeated_call_changes_nothing(mixed):
    mixed.reclaim_all()
    before = mixed.dump()
    assert mixed.reclaim_all() == (13, 0, 1)
    assert mixed.dump() == before


def test_the_cursor_may_be_lost(mixed):
    mixed.reclaim_all()
    before = mixed.dump()
    mixed.client.hdel(mixed.keys.state, "reclaimed")
    assert mixed.reclaim_all() == (13, 0, 2)
    assert mixed.dump() == before


def test_a_call_without_a_ledger_names_it_and_deletes_nothing(mixed):
    assert mixed.reclaim(13) == [Status.OK, "2", 0, 0, 0, 1, "1"]
    assert left(mixed) == [1, 2, 3, 4, 5, 6]
    assert mixed.reclaim(13, 1) == [Status.OK, "13", 2, 14, 8, 0, "1"]


@pytest.mark.parametrize(("limit", "deleted"), [(0, []), (4, []), (5, [2]), (7, [2]), (8, [2, 4])])
def test_nothing_at_or_above_the_limit_is_deleted(mixed, limit, deleted):
    mixed.reclaim_all(limit)
    assert left(mixed) == [n for n in range(1, 7) if n not in deleted]


def test_nothing_at_or_above_the_stable_offset_is_deleted(ledger):
    ledger.append(1, txn=(0, 1))
    ledger.abort(0, 1)
    ledger.append(1, txn=(0, 2))
    ledger.append(1, txn=(0, 3))
    ledger.abort(0, 3)
    assert ledger.reclaim_all() == (2, 1, 2)
    assert left(ledger) == [2, 3]
    # When the oldest open transaction is committed
    ledger.commit(0, 2)
    # Then what was aborted behind it goes
    assert ledger.reclaim_all() == (6, 1, 2)
    assert left(ledger) == [2]


def test_open_transactions_lose_nothing(ledger):
    ledger.append(1, txn=(0, 1))
    ledger.append(1, txn=(0, 2))
    ledger.abort(0, 2)
    assert ledger.reclaim_all() == (0, 0, 1)
    assert left(ledger) == [1, 2]


def test_a_member_of_the_aborted_set_without_its_marker_deletes_nothing(mixed):
    """The index may be damaged; the log decides."""
    commit_marker = next(e.base_offset for e in mixed.log() if e.is_marker and e.producer_id != 7)
    producer = next(e.producer_id for e in mixed.log() if e.base_offset == commit_marker)
    mixed.client.zadd(mixed.keys.aborted, {f"{producer} 5 13": commit_marker})
    mixed.client.zadd(mixed.keys.aborted, {"7 10 13": 11})
    assert mixed.reclaim_all()[1] == 2
    assert left(mixed) == [1, 3, 5, 6]


def test_ledgers_are_passed_one_after_the_other_and_missing_ones_are_skipped(ledger):
    for _ in range(4):
        ledger.append(1, txn=(0, 1))
        ledger.append(1)
        ledger.roll()
    ledger.abort(0, 1)
    ledger.client.hdel(ledger.keys.ledgers, "2")
    ledger.client.delete(ledger.keys.data(2))
    assert ledger.reclaim_all() == (9, 3, 4)
    assert [left(ledger, number) for number in (1, 3, 4)] == [[2]] * 3


def test_a_trimmed_log_is_read_from_its_start(mixed):
    mixed.trim(below=6)
    assert mixed.reclaim_all() == (13, 1, 2)
    assert left(mixed) == [1, 2, 3, 5, 6]
    assert mixed.cut(1) == [Status.OK, 3]
    assert left(mixed) == [5, 6]


def test_a_call_reads_a_part_of_the_log(ledger):
    for serial in range(1, 201):
        ledger.append_all(*({"txn": (0, serial)} for _ in range(4)))
        ledger.append(1)
        ledger.abort(0, serial)
    first = ledger.reclaim(1 << 50, 1)
    assert (int(first[1]), first[4], first[5]) == (150, 150, 1)
    assert ledger.reclaim_all()[0] == 1200
    assert left(ledger) == [n for n in range(1, 1001) if n % 5 == 0]


def test_a_call_deletes_a_part_of_large_payload(ledger):
    for _ in range(20):
        ledger.append(1, txn=(0, 1), payload=b"x" * (1 << 20))
    ledger.append(1, payload=b"kept")
    before = ledger.client.memory_usage(ledger.keys.data(1), samples=0)
    ledger.abort(0, 1)
    assert ledger.reclaim(1 << 50, 1)[2] == 16
    assert ledger.reclaim_all()[1] == 4
    assert left(ledger) == [21]
    assert ledger.client.memory_usage(ledger.keys.data(1), samples=0) < before / 1_000


def test_aborts_in_the_shadow_of_an_old_transaction_are_reclaimed(ledger):
    """More of them than a call reads: they are walked over first (include/aborted_checkpoints)."""
    ledger.append(1, txn=(1, 1))
    for serial in range(1, 1001):
        ledger.append(1, txn=(0, serial))
        ledger.abort(0, serial)
    assert ledger.reclaim_all()[:2] == (0, 0)
    ledger.commit(1, 1)
    assert ledger.reclaim_all()[:2] == (2002, 1000)
    assert left(ledger) == [1]


def test_a_gap_of_a_takeover_is_passed(mixed):
    k = mixed.keys
    mixed.run("ledger/takeover", (k.state, k.log), "t-1", 0, 20, 100, mixed.now, k.wake, 8)
    mixed.append(1, txn=(0, 9))
    mixed.abort(0, 9)
    assert mixed.reclaim_all() == (mixed.next, 3, 2)
    assert left(mixed) == [1, 3, 5, 6]


def test_another_topic_of_the_name_is_left_alone(mixed):
    before = mixed.dump()
    assert mixed.reclaim(13, 1, topic_id="another") == [Status.UNKNOWN_TOPIC]
    assert mixed.dump() == before


@pytest.mark.parametrize("seed", range(5))
def test_what_stays_is_what_no_aborted_transaction_contains(ledger, seed):
    chance = random.Random(seed)
    open_: dict[int, int] = {}  # producer → serial
    for serial in range(1, 121):
        pid = chance.randrange(1, 6)
        if pid in open_ and chance.random() < 0.5:
            ledger.end({"txn": (0, open_.pop(pid)), "commit": chance.random() < 0.4, "pid": pid})
        txn = open_.setdefault(pid, serial)
        ledger.append(chance.randrange(1, 4), txn=(0, txn), pid=pid)
        if chance.random() < 0.2:
            ledger.append(1)
        if chance.random() < 0.05:
            ledger.roll()
        if chance.random() < 0.1:
            ledger.reclaim_all(chance.randrange(ledger.next))
    reached, _, _ = ledger.reclaim_all()
    aborted: list[Aborted] = ledger.aborted()
    expected: dict[int, list[int]] = {number: [] for number in range(1, ledger.ledger + 1)}
    for entry in ledger.log():
        is_gone = entry.last_offset < reached and is_aborted(entry, aborted)
        if not entry.is_marker and not is_gone:
            expected[entry.ledger].append(entry.entry)
    assert {number: left(ledger, number) for number in expected} == expected
