"""lua/ledger/append: every reply, and that a refusal changes nothing."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from redis.exceptions import NoScriptError

from redis_ledger.ids import TxnId
from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import Ledger

TOP = 2**31 - 1


def unchanged(ledger: Ledger, before: dict[str, Any], *, undone: int = 1) -> None:
    """Everything is as it was, but for entries that came and went: they are counted, and their ids are used up."""
    after = ledger.dump()
    key = f"data:{ledger.ledger}"
    assert after.pop(key)[0] == before.pop(key)[0]
    rows = [dump["ledgers"].pop(str(ledger.ledger).encode()).split() for dump in (before, after)]
    assert [int(n) for n in rows[1][:2]] == [int(n) + undone for n in rows[0][:2]]
    assert rows[1][2:] == rows[0][2:]
    assert after == before


# -- accept ------------------------------------------------------------------------------------------------------------


def test_offsets_follow_each_other_whatever_the_batches_hold(ledger):
    replies = [ledger.append(n) for n in (1, 3, 2)]
    assert [int(r[1]) for r in replies] == [0, 1, 4]
    assert [(e.base_offset, e.last_offset, e.ledger, e.entry) for e in ledger.log()] == [
        (0, 0, 1, 1),
        (1, 3, 1, 2),
        (4, 5, 1, 3),
    ]
    assert (ledger.next, ledger.stable, ledger.row()[:4]) == (6, 6, [3, 0, 0, 5])


def test_the_answer_names_the_leader_epoch_and_how_full_and_old_the_ledger_is(ledger):
    ledger.client.hset(ledger.keys.state, "epoch", 7)
    ledger.append(payload=b"x" * 100)
    assert ledger.append(payload=b"y" * 50) == [Status.OK, "1", "7", "150", str(ledger.now)]
    assert ledger.state()["bytes"] == "150"


def test_log_entry_has_all_fields_of_its_batch(ledger):
    ledger.has_written(9, 3, 0, 3)
    ledger.append(payload=b"12345", records=2, pid=9, epoch=3, sequence=4)
    (entry,) = ledger.log()
    assert (entry.size, entry.records, entry.producer_id, entry.epoch, entry.sequence) == (5, 2, 9, 3, 4)
    assert (entry.appended_ms, entry.newest_ms, entry.flags) == (ledger.now, ledger.now, 0)


def test_offsets_beyond_14_digits_are_written_in_full(ledger):
    # Given a partition near the end of what a double holds
    far = 2**52
    ledger.client.hset(ledger.keys.state, mapping={"next": far, "stable": far})
    # When a batch and a transaction are appended
    first, second = ledger.append(3), ledger.append(1, txn=(32_767, 2**48 - 1))
    # Then no digit is lost anywhere
    assert [int(first[1]), int(second[1])] == [far, far + 3]
    assert [e.last_offset for e in ledger.log()] == [far + 2, far + 3]
    assert (ledger.next, ledger.stable) == (far + 4, far + 3)


def test_an_append_and_its_wake_up_are_one_step(ledger):
    pubsub = ledger.client.pubsub(ignore_subscribe_messages=True)
    pubsub.ssubscribe(ledger.keys.wake)
    pubsub.get_sharded_message(timeout=1)  # in force
    ledger.append(2)
    ledger.append(1, txn=(0, 1))
    messages = [pubsub.get_sharded_message(timeout=1)["data"] for _ in range(2)]
    pubsub.close()
    assert messages == [b"0 2 2", b"0 3 2"]


# -- the producer's window ---------------------------------------------------------------------------------------------


def sent(ledger: Ledger, *sequences: int, records: int = 1, epoch: int = 0) -> list[Any]:
    return [ledger.append(records, pid=5, epoch=epoch, sequence=s) for s in sequences]


@pytest.mark.parametrize("which", range(5))
def test_any_of_the_five_newest_batches_is_recognised_and_written_once(ledger, which):
    # Given six batches of two
    offsets = [int(r[1]) for r in sent(ledger, 0, 2, 4, 6, 8, 10, records=2)]
    before = ledger.dump()
    # When one of the newest five comes again
    (reply,) = sent(ledger, 2 + 2 * which, records=2)
    # Then it is answered as the first time
    assert reply == [Status.DUPLICATE, str(offsets[1 + which]), "0"]
    unchanged(ledger, before)


def test_a_batch_older_than_the_five_is_called_a_duplicate_without_a_place(ledger):
    sent(ledger, 0, 1, 2, 3, 4, 5)
    before = ledger.dump()
    assert sent(ledger, 0) == [[Status.DUPLICATE_SEQUENCE]]
    unchanged(ledger, before)


def test_a_known_sequence_with_another_length_is_not_the_same_batch(ledger):
    sent(ledger, 0, 2, records=2)
    assert ledger.append(1, pid=5, epoch=0, sequence=2)[0] == Status.DUPLICATE_SEQUENCE
    assert ledger.append(3, pid=5, epoch=0, sequence=2) == [Status.SEQUENCE_GAP, 4]


def test_sequence_gap_is_refused_with_the_expected_sequence(ledger):
    sent(ledger, 0, 1)
    before = ledger.dump()
    assert sent(ledger, 3) == [[Status.SEQUENCE_GAP, 2]]
    unchanged(ledger, before)
    assert sent(ledger, 2)[0][0] == Status.OK


def test_an_older_epoch_is_refused(ledger):
    sent(ledger, 0, epoch=4)
    before = ledger.dump()
    assert sent(ledger, 1, epoch=3) == [[Status.STALE_EPOCH, 4]]
    unchanged(ledger, before)


@pytest.mark.parametrize(("older", "newer"), [(9, 10), (99, 100)])
def test_epochs_of_any_length_are_compared_as_numbers(ledger, older, newer):
    sent(ledger, 0, epoch=older)
    assert sent(ledger, 0, epoch=newer)[0][0] == Status.OK
    assert sent(ledger, 0, epoch=older) == [[Status.STALE_EPOCH, newer]]


def test_a_newer_epoch_begins_with_sequence_0(ledger):
    sent(ledger, 0, 1, epoch=1)
    before = ledger.dump()
    assert sent(ledger, 2, epoch=2) == [[Status.SEQUENCE_GAP, 0]]
    unchanged(ledger, before)
    # and then knows nothing of the batches before it
    assert sent(ledger, 0, epoch=2)[0][0] == Status.OK
    assert sent(ledger, 2, epoch=2) == [[Status.SEQUENCE_GAP, 1]]


@pytest.mark.parametrize("sequence", [1, 41, TOP])
def test_a_new_producer_begins_with_sequence_0(ledger, sequence):
    # Given a partition whose log no longer starts at 0
    ledger.client.hset(ledger.keys.state, "start", 17)
    before = ledger.dump()
    # Then a later batch, which may be in flight behind a refused first one, is not taken
    assert sent(ledger, sequence) == [[Status.UNKNOWN_PRODUCER, "17"]]
    unchanged(ledger, before)
    # and the first batch, sent again, is no duplicate
    assert [r[0] for r in sent(ledger, 0, 1)] == [Status.OK, Status.OK]


def test_an_unknown_producer_behind_a_refused_batch_of_its_own_is_refused(ledger):
    # Given two batches of an unknown producer in one MULTI, of which the first is refused for another reason
    first = {"pid": 5, "epoch": 0, "sequence": 0, "txn": (0, 1), "verified": False}
    second = {"pid": 5, "epoch": 0, "sequence": 1, "txn": (0, 1)}
    replies = ledger.append_all(first, second)
    # Then the second is not taken either: accepted, it would have made the first look like a duplicate
    assert replies == [[Status.NOT_VERIFIED], [Status.UNKNOWN_PRODUCER, "0"]]
    assert [r[0] for r in ledger.append_all(first | {"verified": True}, second)] == [Status.OK, Status.OK]


def test_a_call_that_heals_accepts_none_of_its_batches(ledger):
    ledger.xadd(ledger.client)
    batches = [{"pid": 5, "epoch": 0, "sequence": 0}, {"pid": 5, "epoch": 0, "sequence": 1}, {}]
    assert ledger.append_all(*batches) == [[Status.HEALED]] * 3
    assert [r[:2] for r in ledger.append_all(*batches)] == [[Status.OK, "0"], [Status.OK, "1"], [Status.OK, "2"]]


def test_batches_of_one_call_see_each_other(ledger):
    # Given a producer's batches, a repeat of one, a gap, and a transaction that opens with its first batch
    replies = ledger.append_all(
        {"pid": 5, "epoch": 0, "sequence": 0, "records": 2},
        {"pid": 5, "epoch": 0, "sequence": 2},
        {"pid": 5, "epoch": 0, "sequence": 2},
        {"pid": 5, "epoch": 0, "sequence": 9},
        {"txn": (3, 17)},
        {"txn": (3, 17), "verified": False},
        {},
    )
    # Then each is judged by what stood before it, and only what is accepted has an offset
    assert [r[:2] for r in replies] == [
        [Status.OK, "0"], [Status.OK, "2"], [Status.DUPLICATE, "2"], [Status.SEQUENCE_GAP, 3],
        [Status.OK, "3"], [Status.OK, "4"], [Status.OK, "5"],
    ]  # fmt: skip
    assert (ledger.next, ledger.stable, ledger.row()[:4]) == (6, 3, [7, 2, 0, 5])
    assert len(ledger.payloads()) == 5


@pytest.mark.parametrize(
    ("first", "records", "following"),
    [(TOP, 1, 0), (TOP - 1, 2, 0), (TOP - 1, 3, 1), (TOP, 5, 4)],
)
def test_sequences_wrap_after_2_to_the_31(ledger, first, records, following):
    ledger.has_written(5, 0, first - 1, first - 1)
    ledger.append(records, pid=5, epoch=0, sequence=first)
    assert ledger.append(records, pid=5, epoch=0, sequence=first)[0] == Status.DUPLICATE
    assert ledger.append(1, pid=5, epoch=0, sequence=following + 1) == [Status.SEQUENCE_GAP, following]
    assert ledger.append(1, pid=5, epoch=0, sequence=following)[0] == Status.OK


def test_producers_whose_ids_are_equal_as_doubles_have_windows_of_their_own(ledger):
    low, high = 32 << 48, (32 << 48) + 1
    assert float(low) == float(high)
    for pid in (low, high):
        assert ledger.append(1, pid=pid, epoch=0, sequence=0)[0] == Status.OK
    assert ledger.append(1, pid=high, epoch=0, sequence=0) == [Status.DUPLICATE, "1", "0"]


# -- another topic, another ledger -------------------------------------------------------------------------------------


def test_a_topic_that_is_not_there_gets_nothing(connect, prefix):
    absent = Ledger(connect(f"{prefix}:{{orders:0}}:"), prefix)
    assert absent.append() == [Status.UNKNOWN_TOPIC]
    assert absent.dump() == {}


def test_recreated_topic_refuses_its_old_id(ledger):
    before = ledger.dump()
    assert ledger.append(topic_id="t-0") == [Status.UNKNOWN_TOPIC]
    unchanged(ledger, before)


def test_a_closed_partition_refuses(ledger):
    ledger.append()
    ledger.delete()
    before = ledger.dump()
    assert ledger.append() == [Status.UNKNOWN_TOPIC]
    unchanged(ledger, before)


def test_a_sealed_ledger_sends_to_the_active_one(ledger):
    ledger.append()
    ledger.roll()
    ledger.ledger = 1
    before = ledger.dump()
    assert ledger.append() == [Status.LEDGER_MOVED, "2"]
    unchanged(ledger, before, undone=0)


def test_dropped_ledger_redirects_to_the_active_one_and_is_not_recreated(ledger):
    ledger.append()
    ledger.roll()
    ledger.trim(below=1)
    ledger.drop(1)
    before = ledger.dump()
    assert ledger.append(ledger=1) == [Status.LEDGER_MOVED, "2"]
    assert ledger.dump() == before


# -- heal --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("orphans", [1, 2, 5])
def test_payload_left_behind_is_removed_and_nothing_is_accepted(ledger, orphans):
    ledger.append(payload=b"kept")
    for _ in range(orphans):
        ledger.xadd(ledger.client, payload=b"orphan")
    before = ledger.dump()
    assert ledger.append(payload=b"new") == [Status.HEALED]
    unchanged(ledger, before | {"data:1": (list(before["data:1"][0][:1]), b"")}, undone=orphans + 1)
    assert ledger.append(payload=b"new")[:2] == [Status.OK, "1"]
    assert list(ledger.payloads().values()) == [b"kept", b"new"]


def test_a_script_that_is_missing_inside_multi_leaves_an_orphan_that_the_next_call_heals(ledger):
    # Given a server that has lost its scripts
    unknown = b"0" * 40
    pipe = ledger.client.pipeline(transaction=True)
    data = ledger.xadd(pipe, payload=b"orphan")
    _, keys, args = ledger.accept_call(data)
    pipe.execute_command("EVALSHA", unknown, len(keys), *keys, *args)
    assert isinstance(pipe.execute(raise_on_error=False)[1], NoScriptError)
    assert list(ledger.payloads().values()) == [b"orphan"]
    # Then the next append heals, and the one after it is accepted
    assert [ledger.append(payload=b"new")[0] for _ in range(2)] == [Status.HEALED, Status.OK]
    assert list(ledger.payloads().values()) == [b"new"]
    assert [e.entry for e in ledger.log()] == [3]


def test_two_payloads_before_one_script_are_both_removed(ledger):
    ledger.xadd(ledger.client)
    data = ledger.xadd(ledger.client)
    script, keys, args = ledger.accept_call(data)
    assert ledger.run(script.name, keys, *args) == [Status.HEALED]
    assert (ledger.payloads(), ledger.row()[:2]) == ({}, [2, 2])


def test_a_script_without_a_payload_accepts_nothing(ledger):
    ledger.append()
    before = ledger.dump()
    script, keys, args = ledger.accept_call(ledger.keys.data(1))
    assert ledger.run(script.name, keys, *args) == [Status.HEALED]
    assert ledger.dump() == before


# -- transactions ------------------------------------------------------------------------------------------------------


def test_a_transaction_opens_with_its_first_batch_and_holds_the_stable_offset(ledger):
    ledger.append(2)
    ledger.append(1, txn=(3, 17))
    ledger.append(4)
    ledger.append(1, txn=(3, 17), verified=False)  # open here: no need to ask again
    pid = TxnId(3, 17).producer_id
    assert (ledger.next, ledger.stable) == (8, 2)
    assert ledger.client.hget(ledger.keys.open, str(pid)) == b"0 3 17 2"
    assert [e.flags for e in ledger.log()] == [0, 1, 0, 1]


def test_chunks_of_a_large_message_have_a_flag_and_nothing_else_has(ledger):
    ledger.append(1, txn=(3, 17))
    ledger.append(1, txn=(3, 17), owner="chunk")
    ledger.append(1, txn=(3, 17), owner="t")
    ledger.append(1, owner="chunk")
    assert [e.flags for e in ledger.log()] == [1, 17, 1, 0]
    assert [e.is_chunk for e in ledger.log()] == [False, True, False, False]


def test_a_transaction_that_is_not_open_here_has_to_be_verified(ledger):
    before = ledger.dump()
    assert ledger.append(txn=(3, 17), verified=False) == [Status.NOT_VERIFIED]
    unchanged(ledger, before)


def test_a_tombstone_refuses_an_append_that_was_verified_just_before_the_end(ledger):
    """TB-10."""
    ledger.commit(3, 17)
    before = ledger.dump()
    assert ledger.append(txn=(3, 17)) == [Status.TXN_ENDED]
    unchanged(ledger, before)


@pytest.mark.parametrize(
    ("watermark", "serial", "answer"),
    [
        (9, 9, Status.TXN_ENDED),
        (10, 9, Status.TXN_ENDED),  # by length before it is by letter
        (9, 10, Status.OK),
        (99, 100, Status.OK),
        (2**48 - 1, 2**48 - 1, Status.TXN_ENDED),
        (2**48 - 2, 2**48 - 1, Status.OK),
    ],
)
def test_a_transaction_at_or_below_the_low_watermark_has_ended(ledger, watermark, serial, answer):
    """TB-09, TB-11."""
    ledger.client.hset(ledger.keys.watermarks, "3", watermark)
    assert ledger.append(txn=(3, serial))[0] == answer
    assert ledger.append(txn=(4, serial), pid=1)[0] == Status.OK  # another coordinator's says nothing


def test_a_producer_with_another_open_transaction_gets_its_id(ledger):
    ledger.append(txn=(3, 17), pid=8)
    before = ledger.dump()
    assert ledger.append(txn=(3, 18), pid=8) == [Status.OTHER_OPEN, "3", "17"]
    unchanged(ledger, before)
    assert ledger.append(txn=(4, 17), pid=8) == [Status.OTHER_OPEN, "3", "17"]
    assert ledger.append(txn=(3, 1), pid=8) == [Status.OTHER_OPEN, "3", "17"]


def test_a_batch_sent_again_in_a_transaction_is_a_duplicate_and_opens_nothing(ledger):
    ledger.append(txn=(0, 1), sequence=0)
    assert ledger.append(txn=(0, 1), sequence=0) == [Status.DUPLICATE, "0", "0"]
    assert ledger.client.zcard(ledger.keys.firsts) == 2  # the sentinel and the transaction


# -- races -------------------------------------------------------------------------------------------------------------


def test_two_brokers_append_at_once_without_a_refusal(ledger, connect, prefix):
    # Given two brokers with connections of their own
    brokers = [ledger, Ledger(connect(f"{ledger.tag}:"), prefix)]
    replies: dict[int, list[Any]] = {}

    def drive(n: int) -> None:
        replies[n] = [
            reply
            for i in range(50)
            for reply in brokers[n].append_all(*({"payload": f"{n} {i} {j}".encode(), "records": 2} for j in range(3)))
        ]

    threads = [threading.Thread(target=drive, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Then all are accepted, offsets are dense, and each batch's entry matches the reply to its sender
    assert {reply[0] for answers in replies.values() for reply in answers} == {Status.OK}
    log, payloads = ledger.log(), ledger.payloads()
    assert [e.base_offset for e in log] == list(range(0, 600, 2))
    by_offset = {e.base_offset: payloads[f"0-{e.entry}"] for e in log}
    for n, answers in replies.items():
        assert [by_offset[int(r[1])] for r in answers] == [f"{n} {i} {j}".encode() for i in range(50) for j in range(3)]
