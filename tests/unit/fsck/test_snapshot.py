from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.fsck.finding import Finding, edit
from redis_ledger.fsck.snapshot_check import (
    SnapshotComparison,
    compare_aborts,
    end_of_stretch,
    needs_whole_log,
)
from redis_ledger.ledger.buffer_snapshot import (
    FANOUT,
    LEDGERS_MAX,
    LastEntry,
    ProducerWindow,
    Segment,
    SnapshotIndex,
    UnusableSnapshot,
    decode_aborted,
    decode_index,
    decode_windows,
    encode_aborted,
    encode_index,
    encode_windows,
    join_windows,
    mergeable,
)
from redis_ledger.ledger.buffer_snapshot_store import (
    PartitionNow,
    Snapshot,
    StoredHead,
    refuse_by_log,
    refuse_foreign,
)
from redis_ledger.ledger.entries import TRANSACTIONAL, Aborted, LogEntry
from redis_ledger.ledger.log_trace import Batch, LedgerTrace, LogTrace, OpenTransaction, TraceCounts, aborts_of
from tests.unit.ledger.test_log_trace import batch, marker

ENTRY = LastEntry(8, 9, 7, 3, 5_000)
INDEX = SnapshotIndex(
    "id", 2, 4, 6_000, ENTRY, TraceCounts(4, 10, 5, 500, 3, 2, 4_000), {7: OpenTransaction(1, 8)},
    {1: LedgerTrace(4, 400, 7), -3: LedgerTrace(1, 100, 9)}, (Segment(1, 2, 80, 5, 6),), (Segment(2, 3, 90),),
)  # fmt: skip


# -- bytes -------------------------------------------------------------------------------------------------------------


def test_an_index_is_read_back_as_it_was():
    assert decode_index(encode_index(INDEX))._replace(aborted=(), windows=()) == INDEX._replace(aborted=(), windows=())
    assert decode_index(encode_index(INDEX)).aborted == list(INDEX.aborted)
    assert (INDEX.position, INDEX.next_number, INDEX.trace().stable()) == (10, 3, 8)


def test_an_index_keeps_the_newest_ledgers():
    many = {number: LedgerTrace(1, 1, number) for number in range(LEDGERS_MAX + 2)}
    read = decode_index(encode_index(INDEX._replace(ledgers=many)))
    assert min(read.ledgers) == 2
    assert read.counts.has_left_out_ledgers


def test_segments_are_read_back_as_they_were():
    aborted = [Aborted(7, -1, 12, 13), Aborted(3 << 48, 13, 20, 21)]
    assert decode_aborted(encode_aborted(aborted)) == aborted
    windows = [ProducerWindow(3 << 48, True, [Batch(0, 0, 4, 5, 9_000), Batch(0, 5, 5, 11, 9_001)]),
               ProducerWindow(9, False, [Batch(2, 2**31 - 1, 3, 12, 9_002)])]  # fmt: skip
    assert decode_windows(encode_windows(windows)) == windows


@given(st.data())
def test_a_changed_byte_is_noticed(data):
    stored = bytearray(encode_index(INDEX))
    at = data.draw(st.integers(0, len(stored) - 1))
    stored[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(UnusableSnapshot, match="checksum"):
        decode_index(bytes(stored))


# -- merging -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "merged"),
    [
        ([1] * 15, 0),
        ([1] * 16, 16),
        ([16] * 15 + [1] * 16, 31),
        ([16] + [1] * 16, 16),
        ([1_000] * 15 + [3] * 10, 0),
        ([1, 1_000] * 8, 16),
        ([20_000] * 20, 0),
        ([20_000] * 3 + [1_000] * 16, 16),
    ],
)
def test_the_last_segments_of_a_size_are_merged(rows, merged):
    assert mergeable(rows, 16_384) == merged


@given(st.lists(st.integers(1, 3_000), min_size=1, max_size=600))
def test_segments_stay_few_and_rows_are_written_a_few_times(new):
    rows, written = list[int](), 0
    for count in new:
        taken = mergeable([*rows, count], 16_384)
        merged = sum([*rows, count][-taken:]) if taken else count
        rows = [*rows[: len(rows) + 1 - taken], merged] if taken else [*rows, count]
        written += merged
        assert len([each for each in rows if each < 16_384]) <= 4 * FANOUT
    assert written <= 5 * sum(new)
    assert sum(rows) == sum(new)


def test_windows_of_one_epoch_are_joined_and_a_later_epoch_replaces_them():
    first = [
        ProducerWindow(1, False, [Batch(0, n, n, n, 1_000 + n) for n in range(4)]),
        ProducerWindow(2, False, [Batch(0, 0, 0, 9, 1_000)]),
        ProducerWindow(3, False, [Batch(0, 0, 0, 8, 5)]),
    ]
    second = [
        ProducerWindow(1, True, [Batch(0, 4, 4, 20, 2_000), Batch(0, 5, 5, 21, 2_000)]),
        ProducerWindow(2, False, [Batch(1, 0, 0, 22, 2_000)]),
    ]
    rows, has_left_out = join_windows([first, second], since_ms=10)
    assert has_left_out
    assert [(row.producer_id, [each.offset for each in row.batches]) for row in rows] == [
        (1, [1, 2, 3, 20, 21]),
        (2, [22]),
    ]
    assert join_windows([first])[1] is False
    assert [row.producer_id for row in join_windows([first], rows_max=2)[0]] == [3, 2]
    assert join_windows([first], rows_max=2)[1]


@pytest.mark.parametrize(
    ("finding", "left_out", "is_needed"),
    [
        (Finding("log_gap", "", "", "", ""), {}, True),
        (Finding("partition_state", "", "", "bytes", ""), {}, True),
        (Finding("partition_state", "", "", "stable", "", edit([])), {}, False),
        (Finding("producer_window", "", "", "", ""), {}, False),
        (Finding("producer_window", "", "", "", ""), {"has_left_out": True}, True),
        (Finding("ledger_row", "", "", "", ""), {}, False),
        (Finding("ledger_row", "", "", "", ""), {"has_left_out_ledgers": True}, True),
    ],
)
def test_the_whole_log_is_read_where_the_snapshot_does_not_tell_what_is_right(finding, left_out, is_needed):
    assert needs_whole_log([finding], TraceCounts()._replace(**left_out)) is is_needed


# -- snapshot and log --------------------------------------------------------------------------------------------------


@st.composite
def logs(draw) -> list[LogEntry]:
    """Plain batches, those of three idempotent producers, and transactions of four more.  The epoch of a producer does
    not fall: ledger/append refuses that."""
    entries, at, open_ = list[LogEntry](), 0, set[int]()
    sequences, epochs = dict[int, int](), dict[int, int]()
    for choice in draw(st.lists(st.sampled_from("pitcaI"), max_size=40)):
        count = draw(st.integers(1, 3))
        if choice == "p":
            entries.append(batch(at, count))
        elif choice in "iI":
            pid = draw(st.integers(1, 3))
            epochs[pid] = max(epochs.get(pid, 0), int(choice == "I"))
            entries.append(batch(at, count, pid=pid, epoch=epochs[pid], sequence=sequences.get(pid, 0)))
            sequences[pid] = sequences.get(pid, 0) + count
        elif choice == "t":
            pid = draw(st.integers(11, 14))
            open_.add(pid)
            entries.append(batch(at, count, pid=pid, epoch=0, flags=TRANSACTIONAL))
        elif open_:
            pid = draw(st.sampled_from(sorted(open_)))
            open_.discard(pid)
            entries.append(marker(at, pid, commit=choice == "c"))
        else:
            continue
        at = entries[-1].last_offset + 1
    return entries


def snapshot_of(trace: LogTrace, aborted: list[Aborted], before: Snapshot | None) -> Snapshot:
    """As it is stored and read: the windows behind the last one are joined to it."""
    new = [ProducerWindow(pid, pid in trace.transactional, rows) for pid, rows in trace.windows.items()]
    windows, _ = join_windows([before.windows if before else [], decode_windows(encode_windows(new)) if new else []])
    index = INDEX._replace(counts=trace.counts, open=trace.open, ledgers=trace.ledgers)
    return Snapshot(b"", decode_index(encode_index(index)), aborted, windows)


@given(logs(), st.lists(st.integers(0, 40), max_size=3))
def test_a_trace_that_goes_on_from_snapshots_is_that_of_the_whole_log(entries, cuts):
    whole = LogTrace()
    aborts = aborts_of(whole.add(entries))
    snapshot, trace, mine, at = None, LogTrace(), list[Aborted](), 0
    for cut in [*sorted(each for each in cuts if each < len(entries)), len(entries)]:
        mine += aborts_of(trace.add(entries[at:cut]))
        if cut > at:
            snapshot = snapshot_of(trace, list(mine), snapshot)
            trace, at = snapshot.index.trace(), cut
    if snapshot is None:
        return
    held = snapshot.trace()
    assert (held.counts, held.open, held.ledgers) == (whole.counts, whole.open, whole.ledgers)
    assert (held.windows, held.transactional) == (whole.windows, whole.transactional)
    assert list(held.open) == list(whole.open)
    assert (mine, held.stable()) == (aborts, whole.stable())
    comparison = SnapshotComparison(snapshot)
    comparison.add(LogTrace(), entries)
    assert comparison.difference(0) == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda s: replace(s, index=s.index._replace(counts=s.index.counts._replace(end=2))),
            "no entry of the log ends",
        ),
        (lambda s: replace(s, index=s.index._replace(open={})), "open transactions of none"),
        (lambda s: replace(s, index=s.index._replace(counts=s.index.counts._replace(aborted=0))), "0 aborts"),
        (lambda s: replace(s, windows=[]), "lacks the window of producer 9"),
        (
            lambda s: replace(s, windows=[ProducerWindow(9, False, [Batch(0, 0, 0, 77, 5_000)])]),
            "the window of producer 9",
        ),
        (lambda s: replace(s, aborted=[]), "the abort at offset 4 is None"),
        (lambda s: replace(s, aborted=[*s.aborted, Aborted(5, 4, 5, 6)]), "no abort at offset 5"),
        (lambda s: replace(s, aborted=[s.aborted[0]._replace(first_offset=2)]), "the abort at offset 4"),
    ],
)
def test_a_snapshot_that_differs_from_the_log_is_found(change, words):
    entries = [batch(0, pid=9, epoch=0, sequence=0), batch(1, 2, pid=7, epoch=0, flags=TRANSACTIONAL),
               batch(3, pid=8, epoch=0, flags=TRANSACTIONAL), marker(4, 7, commit=False), batch(5)]  # fmt: skip
    trace = LogTrace()
    aborted = aborts_of(trace.add(entries))
    snapshot = snapshot_of(trace, aborted, None)
    comparison = SnapshotComparison(change(snapshot))
    comparison.add(LogTrace(), entries)
    assert words in comparison.difference(0)


@pytest.mark.parametrize(
    ("is_ended", "offset", "words"),
    [(True, 0, ""), (True, 1, "the window of producer 7"), (False, 0, "the window of producer 7")],
)
def test_the_window_of_an_ended_transaction_may_be_that_of_an_earlier_snapshot(is_ended, offset, words):
    entries = [batch(n, pid=7, epoch=0, sequence=n, flags=TRANSACTIONAL) for n in range(3)]
    entries += [marker(3, 7, commit=True)] if is_ended else []
    trace = LogTrace()
    trace.add(entries)
    first = trace.windows[7][0]
    snapshot = snapshot_of(trace, [], None)
    stale = ProducerWindow(7, True, [first._replace(offset=offset)])
    comparison = SnapshotComparison(replace(snapshot, windows=[stale]))
    comparison.add(LogTrace(), entries)
    assert comparison.difference(0).startswith(words)
    assert bool(comparison.difference(0)) == bool(words)


@pytest.mark.parametrize(("start", "words"), [(2, ""), (3, ""), (4, "no entry of the log ends")])
def test_a_log_may_begin_where_its_snapshot_ends(start, words):
    entries = [batch(n) for n in range(6)]
    trace = LogTrace()
    trace.add(entries[:3])
    comparison = SnapshotComparison(snapshot_of(trace, [], None))
    comparison.add(LogTrace(), entries[start:])
    assert words in comparison.difference(start)
    assert bool(comparison.difference(start)) == bool(words)


def test_aborts_below_the_log_start_are_not_compared():
    row = Aborted(7, 1, 4, 5)
    assert compare_aborts([row], [], 5) == compare_aborts([], [row], 5) == ""
    assert compare_aborts([row], [row._replace(first_offset=-1)], 0) == ""  # the log begins after its first record


def test_the_aborted_set_is_read_in_stretches():
    rows = [Aborted(1, n, n, n) for n in range(10, 50, 10)]
    assert end_of_stretch(rows, 0, 100, 2) == 29
    assert end_of_stretch(rows, 30, 100, 2) == 99


# -- refusals ----------------------------------------------------------------------------------------------------------

NOW = PartitionNow("id", 2, 4)


@pytest.mark.parametrize(
    ("now", "topic_id", "words", "is_damage"),
    [
        (NOW, "other", "topic id", True),
        (NOW._replace(leader_epoch=3), "id", "leader epoch 2, and the partition of 3", False),
        (NOW._replace(start=11), "id", "the log begins at 11", False),
        (NOW._replace(start=-1), "id", "incomplete", False),
    ],
)
def test_a_snapshot_of_another_partition_or_time_is_refused(now, topic_id, words, is_damage):
    refuse_foreign(INDEX, NOW, "id")
    with pytest.raises(UnusableSnapshot, match=words) as refusal:
        refuse_foreign(INDEX, now, topic_id)
    assert refusal.value.is_damage is is_damage


def test_a_snapshot_is_refused_if_the_log_is_another_one():
    entry = LogEntry(1, 1, 8, 2, 10, 7, 0, 3, 0, 5_000, 1)
    assert LastEntry.of(entry) == ENTRY
    refuse_by_log(INDEX, 4, [entry])
    refuse_by_log(INDEX, 10, [])  # everything before it is trimmed
    with pytest.raises(UnusableSnapshot, match="ends before it"):
        refuse_by_log(INDEX, 4, [])
    with pytest.raises(UnusableSnapshot, match="another one"):
        refuse_by_log(INDEX, 4, [entry._replace(appended_ms=5_001)])


def test_a_head_of_another_form_is_kept_as_it_is():
    head = StoredHead.parse(b"id 4 10 6000")
    assert head == StoredHead(b"id 4 10 6000", 4, 10, 6_000)
    assert head.following(INDEX) == "id 5 10 6000"
    assert StoredHead.parse(b"x").text == b"x"
    assert StoredHead.parse(None).number == 0
