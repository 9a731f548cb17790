"""lua/ledger/create, roll, trim, drop, delete, catalog, forget_producers: every reply, and the state left unchanged."""

from __future__ import annotations

import pytest

from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import Ledger, Node

# -- create ------------------------------------------------------------------------------------------------------------


def test_a_new_partition_has_every_key_from_the_start(ledger):
    k = ledger.keys
    keys = [*k.log_keys, k.offload, k.sidecar, *k.delay.all(), k.data(1), k.data(-1)]
    names = {key.decode().removeprefix(f"{ledger.tag}:") for key in keys}
    assert set(ledger.dump()) == names
    assert (ledger.next, ledger.stable, ledger.row()) == (0, 0, [0, 0, 0, -1, 0, 0, ledger.now])


def test_creating_again_changes_nothing(ledger):
    ledger.append(3, txn=(0, 1))
    before = ledger.dump()
    ledger.now += 1
    assert ledger.create() == [Status.OK]
    assert ledger.dump() == before


def test_a_partition_of_another_topic_is_in_the_way(ledger):
    before = ledger.dump()
    assert ledger.create("t-2") == [Status.EXISTS, "t-1"]
    assert ledger.dump() == before


# -- roll --------------------------------------------------------------------------------------------------------------


def test_a_roll_seals_the_active_ledger_and_opens_the_next(ledger):
    ledger.append(2)
    ledger.now += 5
    assert ledger.roll() == [Status.OK, "2"]
    assert ledger.row(1)[2] == 1
    assert ledger.row(2) == [0, 0, 0, -1, 0, 0, ledger.now]
    assert ledger.append()[1:4] == ["2", "0", "7"]
    assert [(e.ledger, e.entry) for e in ledger.log()] == [(1, 1), (2, 1)]


def test_a_repeated_roll_finds_the_work_done(ledger):
    ledger.roll()
    before = ledger.dump()
    assert ledger.roll(1) == [Status.OK, "2"]
    assert ledger.dump() == before


def test_a_roll_of_another_topic_is_refused(ledger):
    before = ledger.dump()
    assert ledger.roll(topic_id="t-2") == [Status.UNKNOWN_TOPIC]
    assert ledger.dump() == before


# -- trim and drop -----------------------------------------------------------------------------------------------------


def filled(ledger: Ledger, batches: int = 10, records: int = 2) -> Ledger:
    """Batches of ten bytes, one a second."""
    for _ in range(batches):
        ledger.append(records, payload=b"0123456789")
        ledger.now += 1000
    return ledger


def test_only_records_above_the_age_limit_are_trimmed(ledger):
    start = ledger.now
    filled(ledger)
    assert ledger.trim(before=start + 3001) == [Status.OK, "8", 4]
    assert (ledger.log()[0].base_offset, ledger.state()["start"], ledger.state()["bytes"]) == (8, "8", "60")


def test_records_above_the_byte_limit_are_trimmed_from_the_front(ledger):
    assert filled(ledger).trim(bytes_max=35) == [Status.OK, "14", 7]
    assert ledger.state()["bytes"] == "30"
    assert ledger.trim(bytes_max=35) == [Status.OK, "14", 0]


def test_deleting_records_below_an_offset_keeps_the_batch_that_holds_it(ledger):
    assert filled(ledger).trim(below=7) == [Status.OK, "7", 3]
    assert (ledger.log()[0].base_offset, ledger.state()["bytes"]) == (6, "70")


def test_a_trim_in_steps_ends_where_one_step_would(ledger):
    # Given a trim that looks at three entries only
    assert filled(ledger).trim(below=17, most=3) == [Status.OK, "6", 3]
    assert ledger.state()["bytes"] == "70"
    # When it is repeated until there is nothing left
    assert [ledger.trim(below=17, most=3)[1:] for _ in range(3)] == [["12", 3], ["17", 2], ["17", 0]]
    # Then the bytes are those of what is left
    assert (ledger.state()["bytes"], ledger.log()[0].base_offset) == ("20", 16)


def test_undecided_records_are_never_trimmed(ledger):
    filled(ledger, 3)
    ledger.append(2, txn=(0, 1), payload=b"0123456789")
    filled(ledger, 3)
    for limits in ({"before": ledger.now}, {"bytes_max": 0}, {"below": 13}):
        ledger.trim(**limits)
        assert (ledger.state()["start"], ledger.stable) == ("6", 6)
    assert ledger.trim(below=99)[1] == "6"
    assert [e.base_offset for e in ledger.log()] == [6, 8, 10, 12]


def test_everything_decided_may_be_trimmed(ledger):
    assert filled(ledger).trim(below=20) == [Status.OK, "20", 10]
    assert (ledger.log(), ledger.next, ledger.state()["bytes"]) == ([], 20, "0")
    assert ledger.append()[1] == "20"


def test_aborted_transactions_go_with_their_marker(ledger):
    """TB-21."""
    # Given two aborted transactions, with markers at 1 and 4
    for serial in (1, 2):
        ledger.append(serial, txn=(0, serial))
        ledger.abort(0, serial)
    assert [a.last_offset for a in ledger.aborted()] == [1, 4]
    # When the log is trimmed behind the first
    ledger.trim(below=2)
    # Then only the second is remembered; and as long as one of its records could be read
    assert [a.last_offset for a in ledger.aborted()] == [4]
    ledger.trim(below=4)
    assert [a.last_offset for a in ledger.aborted()] == [4]
    ledger.trim(below=5)
    assert ledger.aborted() == []


def test_a_ledger_goes_when_it_is_sealed_and_nothing_refers_to_it(ledger):
    # Given two sealed ledgers and an active one
    filled(ledger, 2).roll()
    filled(ledger, 2).roll()
    filled(ledger, 1)
    # When the log begins within the second
    assert ledger.trim(below=5) == [Status.OK, "5", 2, "1"]
    # Then the first may go, and nothing else
    assert [ledger.drop(n)[1:] for n in (3, 2, 1, 1)] == [[0, 0], [0, 0], [1, 20], [0, 0]]
    assert not ledger.client.exists(ledger.keys.data(1))
    assert ledger.client.exists(ledger.keys.data(2), ledger.keys.data(3)) == 2
    assert ledger.trim(below=8) == [Status.OK, "8", 2, "2"]


def test_a_sealed_ledger_that_never_held_anything_may_go_at_once(ledger):
    ledger.roll()
    assert ledger.trim() == [Status.OK, "0", 0, "1"]
    assert ledger.drop(1) == [Status.OK, 1, 0]


def test_a_ledger_with_unlogged_entries_stays(ledger):
    ledger.roll()
    ledger.client.hset(ledger.keys.ledgers, "1", f"1 0 1 -1 1 10 {ledger.now}")
    assert ledger.trim() == [Status.OK, "0", 0]
    assert ledger.drop(1) == [Status.OK, 0, 0]


def test_trims_and_drops_of_another_topic_are_refused(ledger):
    filled(ledger).roll()
    before = ledger.dump()
    assert ledger.trim(below=20, topic_id="t-2") == [Status.UNKNOWN_TOPIC]
    assert ledger.drop(1, topic_id="t-2") == [Status.UNKNOWN_TOPIC]
    assert ledger.dump() == before


# -- delete ------------------------------------------------------------------------------------------------------------


def test_a_partition_is_closed_first_and_removed_then(ledger):
    # Given a partition with two ledgers
    ledger.append()
    ledger.roll()
    # When it is closed
    assert ledger.delete() == [Status.OK, 1]
    # Then nothing enters any more, also no partition of the same name
    assert ledger.append() == [Status.UNKNOWN_TOPIC]
    assert ledger.roll() == [Status.UNKNOWN_TOPIC]
    assert ledger.create("t-2")[0] == Status.EXISTS
    assert ledger.end({"txn": (0, 1), "commit": True}) == [Status.UNKNOWN_TOPIC]
    # and when it is removed, also twice, nothing is left
    k = ledger.keys
    keys = [*k.log_keys[1:], k.data(1), k.data(2), k.data(-1), *k.delay.all(), k.offload, k.sidecar]
    assert ledger.delete() == [Status.OK, 1]
    assert ledger.delete(*keys) == [Status.OK, 1]
    assert ledger.dump() == {}
    assert ledger.delete(*keys) == [Status.OK, 0]
    assert ledger.create("t-2") == [Status.OK]


def test_a_partition_of_another_topic_is_not_deleted(ledger):
    before = ledger.dump()
    assert ledger.delete(topic_id="t-2") == [Status.OK, 0]
    assert ledger.delete(*ledger.keys.log_keys[1:], topic_id="t-2") == [Status.OK, 0]
    assert ledger.dump() == before


def test_a_partition_with_thousands_of_keys_can_be_deleted(ledger):
    subs = [key for n in range(1400) for key in ledger.keys.sub(f"s{n}").all()]
    pipe = ledger.client.pipeline(transaction=False)
    for key in subs:
        pipe.hset(key, "", "")
    pipe.execute()
    ledger.delete()
    k = ledger.keys
    fixed = (*k.log_keys[1:], *k.delay.all(), k.data(1), k.data(-1), k.offload, k.sidecar)
    assert ledger.delete(*fixed, *subs) == [Status.OK, 1]
    assert ledger.dump() == {}


# -- catalog -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def swap(connect, prefix):
    keys = CatalogKeys(prefix)
    node = Node(connect(f"{prefix}:{{catalog}}:"), f"{prefix}:{{catalog}}")
    return node, lambda expected, wanted: node.run(
        "ledger/catalog", (keys.topics, keys.state), "orders", expected, wanted, node.now, ""
    )


def test_a_catalog_entry_changes_only_from_what_the_caller_saw(swap):
    node, call = swap
    node.now = 0
    assert call("", "one") == [Status.OK, 1]
    assert call("one", "two") == [Status.OK, 2]
    before = node.dump()
    assert call("", "three") == [Status.STALE, "two"]
    assert call("one", "three") == [Status.STALE, "two"]
    assert node.dump() == before
    assert call("two", "") == [Status.OK, 3]
    assert call("two", "three") == [Status.STALE, ""]


def test_a_repeated_change_of_the_catalog_counts_once(swap):
    node, call = swap
    node.now = 0
    call("", "one")
    before = node.dump()
    assert call("", "one") == [Status.OK, 1]
    assert node.dump() == before
    call("one", "")
    assert call("one", "") == [Status.OK, 2]


def test_a_version_of_the_catalog_that_a_failover_lost_is_not_used_again(swap):
    node, call = swap
    call("", "one")
    replica = node.client.hgetall(f"{node.tag}:state")
    node.now += 1
    (_, lost) = call("one", "two")
    node.client.hset(f"{node.tag}:topics", "orders", "one")
    node.client.hset(f"{node.tag}:state", mapping=replica)
    node.now += 1
    (_, version) = call("one", "other")
    assert version > lost
    node.now -= 1_000_000  # a clock that steps back
    assert call("other", "more") == [Status.OK, version + 1]


# -- forget producers --------------------------------------------------------------------------------------------------


def test_only_silent_producers_without_an_open_transaction_are_forgotten(ledger):
    # Given a silent producer, one with something open, one that has written since it was looked at, and a stranger
    ledger.append(pid=1, epoch=0, sequence=0)
    ledger.append(pid=2, epoch=0, sequence=0, txn=(0, 2))
    ledger.append(pid=3, epoch=0, sequence=0)
    seen = {n: ledger.client.hget(ledger.keys.producers, str(n)) for n in (1, 2, 3)}
    ledger.append(pid=3, epoch=0, sequence=1)
    # When all are asked to be forgotten
    args = [part for n, row in seen.items() for part in (n, row)]
    reply = ledger.run("ledger/forget_producers", (ledger.keys.producers, ledger.keys.open), *args, 4, "0 1 0:0:0")
    # Then only the first is
    assert reply == [Status.OK, 1]
    assert ledger.append(pid=1, epoch=0, sequence=1) == [Status.UNKNOWN_PRODUCER, "0"]
    assert ledger.append(pid=1, epoch=1, sequence=0)[0] == Status.OK
    assert ledger.append(pid=3, epoch=0, sequence=1)[0] == Status.DUPLICATE
    assert ledger.append(pid=2, epoch=0, sequence=0, txn=(0, 2))[0] == Status.DUPLICATE
