"""The decoding budget: headers are counted before they are built, and a batch above a limit is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.config import Config
from redis_ledger.decoding import paced
from redis_ledger.decoding.budget import Budget
from redis_ledger.errors import CorruptBatch, TooLargeToDecode
from redis_ledger.records.batch import HEADER_BYTES, read_header
from redis_ledger.records.budget import DEFAULT, Limits
from redis_ledger.records.build import encode
from redis_ledger.records.read import Unread, decode, decode_range
from redis_ledger.records.split_by_due import part
from redis_ledger.records.walk import SLICE_RECORDS, slices
from tests.support.bombs import batch, header_bomb, record, value_bomb
from tests.support.traced_memory import peak_bytes

NOW_MS = 1_700_000_000_000
FEW = Limits(decoded_bytes=1 << 20, record_headers=3, headers=7)


def with_headers(*counts: int) -> bytes:
    return encode([(None, b"v", [("h", b"x")] * count, NOW_MS) for count in counts])


def test_a_bomb_is_refused_before_its_headers_are_made():
    # Given 3 kB that hold 16.7 million headers
    bomb = header_bomb()
    assert len(bomb) < 4_000

    # Then the error names limit and setting, and nothing was made but the bytes
    def act() -> None:
        with pytest.raises(TooLargeToDecode) as refused:
            decode(bomb)
        assert refused.value.facts == {"setting": "record_headers_max", "limit": Config().record_headers_max}

    most = 3 * (34 << 20)
    assert peak_bytes(act, most) < most


def test_the_delay_split_refuses_the_same_bomb():
    bomb = batch(record(None, b"", b"\x00\x01" * 16_000_000 + b"\x14deliver-at\x0213", 16_000_001))
    with pytest.raises(TooLargeToDecode, match="record_headers_max"):
        list(part(read_header(bomb), bomb, lambda at, after: at))


def test_a_value_that_unpacks_to_too_much_is_refused():
    with pytest.raises(TooLargeToDecode, match="batch_decoded_bytes_max"):
        decode(value_bomb(40 << 20))


def test_more_headers_than_bytes_are_damage():
    for said in (5_000_000, (1 << 31) - 1, (1 << 62) - 1):
        with pytest.raises(CorruptBatch):
            decode(batch(record(None, b"x" * 200_000, b"", said)))


@pytest.mark.parametrize(
    ("counts", "setting"),
    [((3, 3), ""), ((3, 3, 1), ""), ((4,), "record_headers_max"), ((3, 3, 2), "headers_max"), ((0, 0), "")],
)
def test_limits_count_headers_of_a_record_and_of_a_batch(counts, setting):
    data = with_headers(*counts)
    if setting:
        with pytest.raises(TooLargeToDecode) as refused:
            decode(data, FEW)
        assert refused.value.facts["setting"] == setting
    else:
        assert [len(each.headers) for each in decode(data, FEW)] == list(counts)


def test_many_small_records_with_headers_end_at_the_limit_of_the_batch():
    rows = [(None, b"v", [("h", b"x")] * 50, NOW_MS)] * 40_000
    data = encode(rows, compression=4)
    batch_read = Unread(data, DEFAULT._replace(headers=100_000))
    with pytest.raises(TooLargeToDecode, match="headers_max"):
        batch_read.all()
    assert batch_read.headers <= 100_000 + 50 * SLICE_RECORDS


@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 3)), min_size=1, max_size=60), st.integers(16, 200))
def test_a_walked_batch_is_read_as_any_other(rows, slice_bytes):
    data = encode([(None, value, [("h", b"x")] * headers, NOW_MS) for value, headers in rows])
    whole = decode(data)
    cuts = slices(memoryview(data)[HEADER_BYTES:], len(rows), DEFAULT, slice_bytes)
    assert sum(cuts) == len(rows)
    assert all(cuts)
    cut = Unread(data)
    cut._cuts = cuts
    assert cut.all() == whole
    assert cut.headers == sum(headers for _, headers in rows)
    assert decode_range(data, 3, 7) == whole[3:8]


@given(st.binary(max_size=200), st.integers(1, 20))
def test_a_walk_over_anything_ends(body, count):
    try:
        assert sum(slices(body, count, DEFAULT, 32)) == count
    except CorruptBatch:
        pass


async def test_decoding_in_turns_reads_the_same_and_spends_the_budget():
    data = encode([(b"k", b"v" * 100, [("h", b"x")], NOW_MS)] * 20_000, compression=4)
    budget = Budget(DEFAULT, 10 << 20)
    assert await paced.decode(data, budget) == decode(data)
    assert budget.headers_left == DEFAULT.headers - 20_000
    assert (10 << 20) - budget.bytes_left == len(encode([(b"k", b"v" * 100, [("h", b"x")], NOW_MS)] * 20_000)) - 61
    assert await paced.decode(data, budget, 5, 9) == decode_range(data, 5, 9)


async def test_refused_batches_are_charged():
    budget = Budget(DEFAULT, 100 << 20)
    for _ in range(3):
        with pytest.raises(TooLargeToDecode):
            await paced.decode(header_bomb(), budget)
    assert budget.bytes_left <= (100 << 20) - 3 * (32 << 20)
    assert not budget.is_spent
    with pytest.raises(TooLargeToDecode):
        await paced.decode(value_bomb(40 << 20), budget)
    assert budget.is_spent
