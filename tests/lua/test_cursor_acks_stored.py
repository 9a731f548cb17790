"""lua/include/acks, include/ack_chunk: how acknowledged offsets are stored, and how few bytes and calls they take.

redis_ledger/cursor/ack_chunks.py reads the same fields; `Subscription.content` uses it.
"""

from __future__ import annotations

import random

import pytest

from redis_ledger.cursor import ack_chunks
from redis_ledger.cursor.ranges import Range
from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import CHUNK, Subscription
from tests.support.fake_log import TOPIC_ID, FakeLog

MILLION = 1_000_000


def leased(client, prefix: str, records: int, *, start: int = 0) -> Subscription:
    """A subscription of which so many records are leased to c1."""
    log = FakeLog(client, prefix, next_offset=start)
    log.append(records)
    sub = Subscription(log)
    sub.receive_raw("c1", records)
    return sub


def ack(sub: Subscription, *ranges: tuple[int, int]) -> None:
    flat = [offset for each in ranges for offset in each]
    reply = sub.run("cursor/ack", (sub.log.keys.state, *sub.keys.all()), TOPIC_ID, "c1", "all", 300, *flat)
    assert reply[0] == Status.OK
    assert len(reply) == 3, "it was not done in one call"


def stored(sub: Subscription) -> dict[bytes, bytes]:
    return {name: value for name, value in sub.log.client.hgetall(sub.keys.acks).items() if name}


def acked(sub: Subscription) -> list[Range]:
    mark, read = (int(each) for each in sub.log.client.hmget(sub.keys.cursor, "mark", "read"))
    return ack_chunks.ranges(stored(sub), mark, read)


def test_a_hole_in_a_million_acknowledged_records_takes_a_few_bytes(client, prefix):
    sub = leased(client, prefix, 4 * MILLION)
    ack(sub, *((at + 1, at + MILLION - 1) for at in range(0, 4 * MILLION, MILLION)))
    assert acked(sub) == [Range(at + 1, at + MILLION - 1) for at in range(0, 4 * MILLION, MILLION)]
    fields = stored(sub)
    assert len(fields) <= 6  # the chunks of four holes and of the last record, and which chunks are full
    assert sum(len(name) + len(value) for name, value in fields.items()) < 4 * 20


def test_offsets_at_random_take_a_bit_each(client, prefix):
    sub = leased(client, prefix, 4 * CHUNK)
    offsets = sorted(random.Random(5).sample(range(1, 4 * CHUNK), 2 * CHUNK))
    for at in range(0, len(offsets), 100):
        ack(sub, *((offset, offset) for offset in offsets[at : at + 100]))
    assert sub.content().bits == set(offsets)
    assert set(stored(sub)) == {b"0", b"1", b"2", b"3"}
    assert sum(map(len, stored(sub).values())) == 4 * CHUNK // 8


def test_a_chunk_is_a_list_then_a_bitmap_then_a_list_and_in_the_end_one_of_the_full_chunks(client, prefix):
    sub = leased(client, prefix, 3 * CHUNK)
    odd, even = range(CHUNK + 1, 2 * CHUNK, 2), range(CHUNK, 2 * CHUNK, 2)
    ack(sub, *((offset, offset) for offset in odd[:32]))
    assert set(stored(sub)) == {b"9e91"}
    assert len(stored(sub)[b"9e91"]) <= ack_chunks.LIST_BYTES_MAX
    ack(sub, (odd[32], odd[32]))
    assert set(stored(sub)) == {b"1"}
    assert sub.content().bits == set(odd[:33])
    for at in range(33, len(odd), 300):
        ack(sub, *((offset, offset) for offset in odd[at : at + 300]))
    for at in range(0, len(even) - 10, 250):
        ack(sub, *((offset, offset) for offset in even[at : min(at + 250, len(even) - 10)]))
    assert sub.content().bits == {*odd, *even[:-10]}
    assert set(stored(sub)) == {b"9e91"}
    ack(sub, *((offset, offset) for offset in even[-10:]))
    assert set(stored(sub)) == {b"8e90"}
    assert acked(sub) == [Range(CHUNK, 2 * CHUNK - 1)]


def test_a_bitmap_ends_at_the_last_offset_that_was_acknowledged(client, prefix):
    sub = leased(client, prefix, CHUNK)
    for shift in range(8):
        some = [(at + shift, at + shift + 2) for at in range(64 + shift * 840, 64 + (shift + 1) * 840, 21)]
        ack(sub, *some)
    expected = {
        o for s in range(8) for a in range(64 + s * 840, 64 + (s + 1) * 840, 21) for o in range(a + s, a + s + 3)
    }
    assert set(stored(sub)) == {b"0"}
    assert sub.content().bits == expected


def test_acknowledgements_in_order_are_one_run_of_a_list(client, prefix):
    sub = leased(client, prefix, 1_000)
    for first in range(10, 300, 10):
        ack(sub, (first, first + 9))
    assert stored(sub) == {b"9e90": b"\x0a\xa2\x02"}  # ten that are not, and 2 * 128 + 34 that are


def test_the_mark_stops_at_the_first_gap_of_a_bitmap(client, prefix):
    sub = leased(client, prefix, CHUNK)
    ack(sub, *((at, at + 7) for at in range(1, 900, 9)))  # the first of each nine is left
    assert set(stored(sub)) == {b"0"}
    for gap in range(0, 900, 9):
        assert sub.content().mark == gap
        ack(sub, (gap, gap))
    assert sub.content().mark == 900


def test_bitmaps_become_lists_when_they_are_touched(client, prefix):
    # Given four chunks as bitmaps, the last one cut off behind its last bit
    sub = leased(client, prefix, 4 * CHUNK)
    ack(sub, (1, 3 * CHUNK + 99))
    client.delete(sub.keys.acks)
    bits = {b"0": b"\x7f" + b"\xff" * 1023, b"1": b"\xff" * 1024, b"2": b"\xff" * 1024, b"3": b"\xff" * 12 + b"\xf0"}
    client.hset(sub.keys.acks, mapping={b"": b"", **bits})
    assert acked(sub) == [Range(1, 3 * CHUNK + 99)]
    # When a message in its last chunk is acknowledged
    ack(sub, (3 * CHUNK + 100, 3 * CHUNK + 103))
    assert set(stored(sub)) == {b"0", b"1", b"2", b"9e93"}
    # Then the mark passes all of them
    ack(sub, (0, 0))
    assert sub.content().mark == 3 * CHUNK + 104


def test_a_bitmap_beside_a_list_is_added_to_it(client, prefix):
    sub = leased(client, prefix, 2 * CHUNK)
    ack(sub, (CHUNK, CHUNK + 9))
    before = stored(sub)
    ack(sub, (CHUNK + 20, CHUNK + 23))
    client.hset(sub.keys.acks, mapping={**before, b"1": b"\0\0\x0f"})
    assert acked(sub) == [Range(CHUNK, CHUNK + 9), Range(CHUNK + 20, CHUNK + 23)]
    ack(sub, (CHUNK + 10, CHUNK + 19))
    assert stored(sub) == {b"9e91": b"\0\x18"}
    assert acked(sub) == [Range(CHUNK, CHUNK + 23)]


@pytest.mark.parametrize("start", [0, CHUNK * CHUNK - CHUNK - 5, 7 * CHUNK * CHUNK - 1])
def test_a_mark_leaps_over_a_billion_acknowledged_offsets_in_a_few_calls(client, prefix, start):
    # Given one unacknowledged message before a billion offsets that need no acknowledgement
    log = FakeLog(client, prefix, next_offset=start)
    log.append()
    log.gap(10**9)
    log.append(5)
    sub = Subscription(log)
    sub.receive()
    ack(sub, (log.next - 3, log.next - 3))
    assert len(stored(sub)) <= 10**9 // CHUNK**2 + 5
    assert acked(sub) == [Range(start + 1, log.next - 6), Range(log.next - 3, log.next - 3)]
    # When it is acknowledged
    before = commands(client)
    ack(sub, (start, start))
    # Then the mark passes all of them, reading and deleting few fields
    assert sub.log.client.hget(sub.keys.cursor, "mark") == b"%d" % (log.next - 5)
    assert commands(client) - before < 60
    assert len(stored(sub)) <= 2


def commands(client) -> int:
    """How many commands the server has run."""
    return sum(stat["calls"] for stat in client.info("commandstats").values())
