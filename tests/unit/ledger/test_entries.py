"""Selection of log entries that fit, grouping of payload reads, and records of aborted transactions."""

from __future__ import annotations

import pytest

from redis_ledger.ledger.entries import (
    COMMIT,
    MARKER,
    TRANSACTIONAL,
    Aborted,
    LogEntry,
    ReclaimedEntry,
    covers,
    is_aborted,
    parse_aborted,
    parse_log,
    runs,
    that_fit,
    without_reclaimed,
)


def entry(
    base: int, records: int = 1, *, at: tuple[int, int] = (1, 1), size: int = 10, pid: int = -1, flags: int = 0
) -> LogEntry:
    return LogEntry(*at, base, records, size, pid, 0, -1, flags, 0, 0)


def bases(entries: list[LogEntry]) -> list[int]:
    return [e.base_offset for e in entries]


LOG = [entry(0, 2), entry(2, 3), entry(5, 1, size=100), entry(6, 4)]


def test_an_entry_reads_as_it_was_written():
    fields = [
        b"l",
        b"3",
        b"e",
        b"7",
        b"b",
        b"40",
        b"n",
        b"2",
        b"s",
        b"99",
        b"p",
        b"-1",
        b"v",
        b"0",
        b"q",
        b"-1",
        b"f",
        b"7",
    ]
    (read,) = parse_log([[b"41-1", [*fields, b"t", b"1000", b"m", b"900"]]])
    assert read == LogEntry(3, 7, 40, 2, 99, -1, 0, -1, 7, 1000, 900)
    assert (read.last_offset, read.is_marker, read.is_transactional) == (41, True, True)


@pytest.mark.parametrize(
    ("end", "bytes_max", "taken"),
    [
        (10, 1000, [0, 2, 5, 6]),
        (10, 20, [0, 2]),
        (10, 119, [0, 2]),
        (10, 120, [0, 2, 5]),
        (10, 0, [0]),  # the first one, however large
        (9, 1000, [0, 2, 5]),  # not a part of a batch
        (6, 1000, [0, 2, 5]),
        (1, 1000, []),
        (0, 1000, []),
    ],
)
def test_whole_batches_are_taken_up_to_the_end_and_the_size(end, bytes_max, taken):
    assert bases(that_fit(LOG, end, bytes_max)) == taken


def test_markers_take_no_room():
    log = [entry(0, size=10), entry(1, size=0, flags=MARKER), entry(2, size=10), entry(3, size=0, flags=MARKER)]
    assert bases(that_fit(log, 9, 20)) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("places", "fetched"),
    [
        ([], []),
        ([(1, 1), (1, 2), (1, 3)], [(1, 1, 3)]),
        ([(1, 1), (1, 6)], [(1, 1, 6)]),  # four in between: cheaper to fetch than to ask twice
        ([(1, 1), (1, 7)], [(1, 1, 1), (1, 7, 7)]),
        ([(1, 9), (2, 1)], [(1, 9, 9), (2, 1, 1)]),
        ([(1, 5), (1, 4)], [(1, 5, 5), (1, 4, 4)]),  # payload order may differ from log order
        ([(1, 5), (1, 5)], [(1, 5, 5)]),  # records of one block, each with its own log entry
    ],
)
def test_payload_is_fetched_in_runs_of_neighbours(places, fetched):
    assert runs([entry(n, at=place) for n, place in enumerate(places)]) == fetched


def test_markers_have_no_payload_to_fetch():
    log = [entry(0, at=(1, 1)), entry(1, at=(0, 0), flags=MARKER | TRANSACTIONAL), entry(2, at=(1, 2))]
    assert runs(log) == [(1, 1, 2)]
    assert runs(log[1:2]) == []


ABORT = Aborted(producer_id=7, first_offset=4, last_offset=9, stable_offset=2)


@pytest.mark.parametrize(
    ("base", "pid", "flags", "verdict"),
    [
        (4, 7, TRANSACTIONAL, True),
        (8, 7, TRANSACTIONAL, True),
        (9, 7, TRANSACTIONAL | MARKER, True),
        (3, 7, TRANSACTIONAL, False),  # the producer's transaction before
        (10, 7, TRANSACTIONAL, False),  # and after
        (5, 8, TRANSACTIONAL, False),
        (5, 7, 0, False),  # the same producer, without a transaction
        (12, 7, TRANSACTIONAL | MARKER | COMMIT, False),
    ],
)
def test_a_record_is_aborted_by_its_producer_and_place(base, pid, flags, verdict):
    assert is_aborted(entry(base, pid=pid, flags=flags), [Aborted(1, 0, 99, 0), ABORT]) is verdict


def test_the_aborted_set_reads_with_large_numbers():
    member, score = b"281474976710656 4503599627370496 4503599627370495", b"4.5035996273704970e+15"
    assert parse_aborted([member, score]) == [Aborted(2**48, 2**52, 2**52 + 1, 2**52 - 1)]


@pytest.mark.parametrize(
    ("known", "end", "limit", "verdict"),
    [
        ([], 100, 2, True),
        ([ABORT], 100, 2, True),  # there are no more
        ([ABORT, ABORT._replace(stable_offset=50)], 50, 2, True),  # later ones began at or above 50
        ([ABORT, ABORT._replace(stable_offset=50)], 51, 2, False),
        ([], 100, 0, False),
    ],
)
def test_a_part_of_the_aborted_set_is_enough_when_later_ones_began_behind_the_range(known, end, limit, verdict):
    assert covers(known, end, limit) is verdict


@pytest.mark.parametrize(("below", "reclaimed"), [(0, []), (3, []), (4, [2]), (6, [2, 4]), (7, [2, 4]), (100, [2, 4])])
def test_aborted_batches_below_the_reclaimed_offset_have_no_payload(below, reclaimed):
    # Given a committed transaction of producer 7, an aborted one, its marker, and a committed one again
    log = [
        entry(0, 2, pid=7, flags=TRANSACTIONAL),
        entry(2, 2, pid=7, flags=TRANSACTIONAL),
        entry(4, 2, pid=7, flags=TRANSACTIONAL),
        entry(6, pid=7, flags=TRANSACTIONAL | MARKER, size=0),
        entry(7, pid=7, flags=TRANSACTIONAL),
        entry(8, pid=8, flags=TRANSACTIONAL),
        entry(9, pid=7),
    ]
    # When the aborted one is from 2 to 6
    found = without_reclaimed(log, [Aborted(7, 2, 6, 7)], below)
    # Then its batches are the only ones, up to there
    assert [e.base_offset for e in found if isinstance(e, ReclaimedEntry)] == reclaimed
    assert [e.base_offset for e in found if not e.has_payload] == sorted([*reclaimed, 6])
    assert [(e.base_offset, e.last_offset) for e in found] == [(e.base_offset, e.last_offset) for e in log]
    assert {e.size for e in found if isinstance(e, ReclaimedEntry)} <= {0}
    assert sum(last - first + 1 for _, first, last in runs(found)) <= len(log) - 1 - len(reclaimed)
