"""Any batch split by due time: every record comes out once and unchanged; damage raises the expected errors only."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from redis_ledger.errors import CorruptBatch, InvalidDelay, TooLargeToDecode
from redis_ledger.records.batch import HEADER_BYTES, check, read_header
from redis_ledger.records.build import encode
from redis_ledger.records.read import decode
from tests.property.test_records import blobs, codecs, edits, headers, mutated, times
from tests.support.examples import examples
from tests.support.split_by_due import RECEIVED_MS, parted

waits: st.SearchStrategy[list[tuple[str, bytes]]] = st.one_of(
    st.just([]),
    st.integers(0, 5).map(lambda n: [("deliver-at", b"%d" % (RECEIVED_MS + n))]),
    st.integers(0, 5).map(lambda n: [("deliver-after", b"%d" % n)]),
    st.integers(1, 1 << 46).map(lambda n: [("deliver-after", b"%d" % n)]),
)
NAMES = ("deliver-at", "deliver-after")  # which Hypothesis finds in our code and puts into headers
others = headers.map(lambda found: [each for each in found if each[0] not in NAMES])
among = st.tuples(others, waits, others).map(lambda three: [*three[0], *three[1], *three[2]])
keys = st.none() | st.binary(max_size=40)
records = st.lists(st.tuples(keys, blobs, among, times), min_size=1, max_size=12)
producers = st.sampled_from([(-1, -1, -1, False), (7, 2, 30, False), (1 << 50, 0, 0, True)])


def wait_of(record: Any) -> int | None:
    """The model: the due time of a record, None for now."""
    for name, value in record[2]:
        if name in NAMES:
            due = int(value) + (RECEIVED_MS if name == "deliver-after" else 0)
            return due if due > RECEIVED_MS else None
    return None


def plain(payload: bytes) -> list[Any]:
    header = read_header(payload)
    check(header, payload, batch_bytes_max=1 << 30)
    found = decode(payload)
    assert [record.offset for record in found] == list(range(header.count))
    assert header.max_timestamp == max(record.timestamp_ms for record in found)
    return [(r.key, r.value, r.headers, r.timestamp_ms) for r in found]


@settings(max_examples=examples(300))
@given(records, codecs, producers)
def test_every_record_comes_out_once_with_its_due_time_and_as_it_was(given_: Any, codec: int, producer: Any) -> None:
    pid, epoch, sequence, transactional = producer
    data = encode(
        given_, compression=codec, producer_id=pid, epoch=epoch, sequence=sequence, transactional=transactional
    )
    expected: dict[int | None, list[Any]] = {}
    for record in given_:
        expected.setdefault(wait_of(record), []).append(record)
    # When the batch is cut apart
    split = parted(data)
    # Then records lie with those of their due time, in their order
    if split is None:
        assert list(expected) == [None]
        return
    found: dict[int | None, list[Any]] = {} if split.now is None else {None: plain(bytes(split.now.payload))}
    found |= {each.due_ms: plain(bytes(each.payload)) for each in split.later}
    assert found == expected
    assert [each.due_ms for each in split.later] == [due for due in expected if due is not None]
    assert all(each.records == len(expected[each.due_ms]) for each in split.later)
    # And only records that are due now have an owner
    for each in split.later:
        header = read_header(each.payload)
        assert (header.producer_id, header.base_sequence, header.is_transactional) == (-1, -1, False)
    if split.now is not None:
        header = read_header(split.now.payload)
        assert (header.producer_id, header.producer_epoch, header.is_transactional) == (pid, epoch, transactional)


@settings(max_examples=examples(400))
@given(records, codecs, edits)
def test_a_damaged_batch_is_refused_or_cut_apart_and_never_anything_else(given_: Any, codec: int, changes: Any) -> None:
    batch = mutated(encode(given_, compression=codec), changes, from_byte=HEADER_BYTES, mend=True)
    try:
        split = parted(batch)
    except (CorruptBatch, InvalidDelay, TooLargeToDecode):
        return
    if split is not None:
        parts = [each.payload for each in split.later] + ([] if split.now is None else [split.now.payload])
        assert sum(len(plain(bytes(each))) for each in parts) == read_header(batch).count
