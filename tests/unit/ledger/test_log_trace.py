from __future__ import annotations

from redis_ledger.ledger.entries import COMMIT, MARKER, TRANSACTIONAL, LogEntry
from redis_ledger.ledger.log_trace import Batch, Gap, LogTrace, Marker, Window, window_text


def batch(
    base: int, records: int = 1, *, pid: int = -1, epoch: int = -1, sequence: int = -1, flags: int = 0
) -> LogEntry:
    return LogEntry(1, base + 1, base, records, 100, pid, epoch, sequence, flags, 5_000, 4_000)


def marker(base: int, pid: int, *, commit: bool) -> LogEntry:
    flags = TRANSACTIONAL | MARKER | (COMMIT if commit else 0)
    return LogEntry(0, 0, base, 1, 0, pid, 0, -1, flags, 5_000, 4_000)


def test_a_transaction_is_open_from_its_first_batch_to_its_marker():
    trace = LogTrace()
    trace.add([batch(0), batch(1, pid=7, epoch=0, flags=TRANSACTIONAL), batch(2, pid=7, epoch=0, flags=TRANSACTIONAL)])
    assert trace.open[7].first_offset == 1
    assert trace.stable() == 1
    assert trace.add([marker(3, 7, commit=True)]) == [Marker(3, 7, 0, 1, 4, is_commit=True)]
    assert trace.open == {}
    assert trace.stable() == 4


def test_an_abort_has_the_stable_offset_of_the_oldest_open_transaction():
    trace = LogTrace()
    trace.add([batch(0, pid=7, epoch=0, flags=TRANSACTIONAL), batch(1, pid=8, epoch=0, flags=TRANSACTIONAL)])
    assert trace.add([marker(2, 8, commit=False)]) == [Marker(2, 8, 0, 1, 0, is_commit=False)]


def test_gaps_and_overlaps_are_found():
    trace = LogTrace()
    trace.add([batch(4, 2), batch(8), batch(8)])
    assert trace.gaps == [Gap(6, 7)]
    assert trace.overlaps == [8]
    assert (trace.first, trace.end) == (4, 9)


def test_a_window_has_the_last_five_batches_of_the_newest_epoch():
    trace = LogTrace()
    trace.add([batch(i, pid=9, epoch=0, sequence=i) for i in range(7)])
    assert [each.offset for each in trace.windows[9]] == [2, 3, 4, 5, 6]
    trace.add([batch(7, 3, pid=9, epoch=1, sequence=0)])
    assert trace.windows[9] == [Batch(1, 0, 2, 7, 5_000)]
    assert window_text(trace.windows[9], "@abc") == "1 5000 @abc 0:2:7"


def test_a_window_row_is_parsed_with_and_without_owner():
    assert Window.parse(b"1 5000 @abc 0:2:7 3:3:-8") == Window(1, 5000, "@abc", ((0, 2, 7), (3, 3, -8)))
    assert Window.parse(b"0 5000 0:0:7") == Window(0, 5000, "", ((0, 0, 7),))
    assert Window.parse(b"nonsense") is None
