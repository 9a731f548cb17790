from __future__ import annotations

import pytest

from redis_ledger.errors import CorruptBatch, DelayTooLong, InvalidDelay
from redis_ledger.records.batch import HEADER_BYTES, check, claim, read_header
from redis_ledger.records.build import encode
from redis_ledger.records.read import decode
from redis_ledger.records.split_by_due import COMPARED_MS_MAX, PACKED_FROM_BYTES, STEP, Later
from tests.support.split_by_due import RECEIVED_MS, cut, parted, parted_in_steps

TIME_MS = 1_700_000_000_000
SOON, LATE = RECEIVED_MS + 1_000, RECEIVED_MS + 9_000


def at(ms):
    return [("deliver-at", b"%d" % ms)]


def after(ms):
    return [("deliver-after", b"%d" % ms)]


def rows(*headers):
    """Records "0", "1", ... with these headers, ten milliseconds apart."""
    return [(None, b"%d" % n, each, TIME_MS + 10 * n) for n, each in enumerate(headers)]


def seen(payload):
    check(read_header(payload), payload, batch_bytes_max=1 << 25)
    return [(record.value, record.timestamp_ms, record.headers) for record in decode(payload)]


def values(payload):
    return [value for value, _, _ in seen(payload)]


# -- what is due when --------------------------------------------------------------------------------------------------


def test_a_batch_comes_apart_into_what_is_due_now_and_a_batch_for_each_due_time():
    split = cut(encode(rows([], at(SOON), [("x", b"y")], at(LATE), after(1_000), at(RECEIVED_MS))))
    assert values(split.now.payload) == [b"0", b"2", b"5"]
    assert [(each.due_ms, values(each.payload)) for each in split.later] == [(SOON, [b"1", b"4"]), (LATE, [b"3"])]


def test_due_times_keep_the_order_in_which_they_were_met_first():
    split = cut(encode(rows(at(LATE), at(SOON), at(LATE), at(SOON + 1))))
    assert (split.now, [each.due_ms for each in split.later]) == (None, [LATE, SOON, SOON + 1])


def test_the_last_header_of_a_name_counts():
    split = cut(encode(rows([*at(LATE), *at(SOON)])))
    assert [each.due_ms for each in split.later] == [SOON]


@pytest.mark.parametrize("compression", range(5))
@pytest.mark.parametrize(
    "headers", [[], [("other", b"deliver-at")], at(RECEIVED_MS), at(5), after(0)], ids=["", "other", "now", "past", "0"]
)
def test_a_batch_that_is_due_now_is_not_touched(headers, compression):
    assert parted(encode(rows(headers, []), compression=compression)) is None


def test_a_name_that_only_looks_alike_is_none():
    names = ("deliver-At", "deliver-at ", "deliver-a", "xdeliver-at", "deliver-after-all")
    assert parted(encode(rows([(name, b"bad") for name in names]))) is None
    assert parted(encode([(b"deliver-at", b"deliver-after", [], TIME_MS)])) is None


def test_without_a_trace_of_the_headers_records_are_not_looked_at():
    data = bytearray(encode(rows([("x", b"y")])))
    data[HEADER_BYTES] = 0xFF  # the length of its first record
    assert parted(bytes(data)) is None


# -- what becomes of the bytes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", range(5))
def test_a_batch_of_one_due_time_stays_as_it_is_but_for_its_producer(compression):
    data = encode(
        rows(at(SOON), at(SOON), after(1_000)),
        compression=compression, producer_id=7, epoch=1, sequence=3, transactional=True,
    )  # fmt: skip
    split = cut(data)
    assert split.now is None
    assert split.later == [Later(claim(data, -1, -1, -1, False), 3, TIME_MS + 20, SOON)]


@pytest.mark.parametrize("transactional", [False, True])
def test_only_records_due_now_keep_their_producer_id(transactional):
    data = encode(rows([], at(SOON), []), producer_id=7, epoch=1, sequence=3, transactional=transactional)
    split = cut(data)
    now, later = read_header(split.now.payload), read_header(split.later[0].payload)
    assert (now.producer_id, now.producer_epoch, now.base_sequence, now.is_transactional) == (7, 1, 3, transactional)
    assert (later.producer_id, later.producer_epoch, later.base_sequence) == (-1, -1, -1)
    assert (now.base_offset, now.leader_epoch, later.base_offset, later.leader_epoch) == (0, 0, 0, 0)
    assert not later.is_transactional


@pytest.mark.parametrize("value_bytes", [0, 30, 70, 5_000, 300_000])
def test_cut_out_batches_are_byte_for_byte_what_an_encoder_makes(value_bytes):
    given = [(b"k", b"v" * value_bytes, at(SOON + n // 2), TIME_MS + n * n) for n in range(5)]
    split = cut(encode(given))
    assert [each.payload for each in split.later] == [encode(given[:2]), encode(given[2:4]), encode(given[4:])]


def test_record_counts_and_newest_timestamps_are_returned():
    given = [(None, b"", at(SOON), TIME_MS + 5), (None, b"", at(SOON), TIME_MS), (None, b"", [], TIME_MS + 9)]
    split = cut(encode(given))
    assert split.now[1:] == (1, TIME_MS + 9)
    assert split.later[0][1:4] == (2, TIME_MS + 5, SOON)


def test_a_timestamp_beyond_what_scripts_can_compare_stays_in_the_record_only():
    far = (1 << 63) - 1
    split = cut(encode([(None, b"a", at(SOON), far), (None, b"b", at(LATE), 0), (None, b"c", [], far)]))
    assert [each.newest_ms for each in (split.now, *split.later)] == [COMPARED_MS_MAX, COMPARED_MS_MAX, 0]
    assert [seen(each.payload)[0][1] for each in (split.now, *split.later)] == [far, far, 0]


@pytest.mark.parametrize("compression", range(1, 5))
def test_compressed_records_are_recompressed_if_that_saves_bytes(compression):
    given = rows(*[at(SOON)] * 40, at(LATE))
    split = cut(encode(given, compression=compression))
    many, one = (read_header(each.payload) for each in split.later)
    assert (many.compression, one.compression) == (compression, 0)
    assert many.size < PACKED_FROM_BYTES < len(encode(given[:40]))
    assert values(split.later[0].payload) == [b"%d" % n for n in range(40)]


def test_a_batch_stamped_by_a_broker_keeps_the_time_it_was_stamped_with():
    data = bytearray(encode(rows(at(SOON), at(LATE))))
    data[22] |= 8
    data[35:43] = (TIME_MS + 77).to_bytes(8, "big")
    split = cut(claim(data, -1, -1, -1, False))
    assert [seen(each.payload)[0][1] for each in split.later] == [TIME_MS + 77] * 2


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, b"", b"soon", b"9" * 40])
@pytest.mark.parametrize("name", ["deliver-at", "deliver-after"])
def test_a_bad_header_of_any_record_refuses_the_batch_by_its_name(name, value):
    with pytest.raises(InvalidDelay, match=f"The header {name} "):
        parted(encode(rows(at(SOON), [(name, value)])))


def test_a_record_with_both_headers_is_refused():
    with pytest.raises(InvalidDelay, match="both deliver-at and deliver-after"):
        parted(encode(rows([*after(5), *at(SOON)])))


def test_refusals_of_the_rule_are_raised():
    def rule(at_ms, after_ms):
        raise DelayTooLong("too long")

    with pytest.raises(DelayTooLong):
        parted(encode(rows([], at(SOON))), rule)


@pytest.mark.parametrize("compression", range(5))
def test_damaged_records_are_refused(compression):
    data = bytearray(encode(rows(at(SOON), at(LATE)), compression=compression))
    data[HEADER_BYTES] ^= 0xFF
    with pytest.raises(CorruptBatch):
        parted(bytes(data))


# -- effort ------------------------------------------------------------------------------------------------------------


def test_a_large_batch_pauses_often_and_a_small_one_seldom():
    large = encode(rows(*(at(SOON + n) for n in range(4 * STEP))))
    split, pauses = parted_in_steps(large)
    assert split is not None
    assert (len(split.later), pauses) == (4 * STEP, 12)  # reading, cutting, building
    assert parted_in_steps(encode(rows(at(SOON))))[1] == 1
