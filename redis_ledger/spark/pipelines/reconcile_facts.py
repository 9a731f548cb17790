"""Findings of a reconciliation, and their summary in plain sentences.

    SideFacts A ┐
    SideFacts B ├─→ verdict ─→ "Not the same: 37 records are missing in B."   wrong: differences
    Matched     ┘                                                             notes: no difference

A is the expected side, B the actual one.  A gap in offsets is no loss: markers, aborted and compacted records leave
gaps.  Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

WORD = 1 << 64


class PartitionFacts(NamedTuple):
    """A partition of one side; -1 if the side has no partitions.

    first, end         offsets of the first record, and after the last; None if there are no offsets
    holes, hole_runs   offsets in between without a record, and the number of such ranges
    repeated           records with the offset of another record
    unordered          records that follow a greater one
    start, stable, log_end   of a topic, else None: log start, stable offset, log end offset
    """

    partition: int
    records: int
    bytes: int
    checksum: int
    min_ms: int | None = None
    max_ms: int | None = None
    first: int | None = None
    end: int | None = None
    holes: int = 0
    hole_runs: int = 0
    repeated: int = 0
    unordered: int = 0
    start: int | None = None
    stable: int | None = None
    log_end: int | None = None

    @property
    def without_record(self) -> int:
        """Offsets of the range without a record; for a topic from its start to the stable offset."""
        if self.start is None or self.stable is None:
            return self.holes
        return self.stable - self.start - (self.records - self.repeated)


class Hole(NamedTuple):
    """Offsets from first to end (exclusive) without a record."""

    partition: int
    first: int
    end: int


@dataclass(frozen=True)
class SideFacts:
    """letter: A or B.  name: as in "topic orders".  holes: the longest ones."""

    letter: str
    name: str
    partitions: Sequence[PartitionFacts]
    has_offsets: bool = False
    left_out: int = 0
    holes: Sequence[Hole] = ()

    @property
    def records(self) -> int:
        return sum(each.records for each in self.partitions)

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.partitions)

    @property
    def checksum(self) -> str:
        return f"{sum(each.checksum for each in self.partitions) % WORD:016x}"

    @property
    def unordered(self) -> int:
        return sum(each.unordered for each in self.partitions)

    @property
    def repeated(self) -> int:
        return sum(each.repeated for each in self.partitions)

    @property
    def without_record(self) -> int:
        return sum(each.without_record for each in self.partitions)

    @property
    def undecided(self) -> int:
        return sum((each.log_end or 0) - (each.stable or 0) for each in self.partitions)

    def times(self) -> tuple[int, int] | None:
        """Returns the least and the greatest timestamp in ms."""
        known = [(each.min_ms, each.max_ms) for each in self.partitions if each.records]
        lows, highs = [low for low, _ in known if low is not None], [high for _, high in known if high is not None]
        return (min(lows), max(highs)) if lows and highs else None


class Matched(NamedTuple):
    """Identities of A joined with those of B.

    missing, extra     records whose identity is only on one side: missing in B, only in B
    fewer, more        of identities on both sides: records that A has more often than B; B more often than A
    differing          identities that both have equally often, with different contents
    distinct, duplicates   of each side: identities, and records beyond the first of each
    """

    missing: int = 0
    extra: int = 0
    fewer: int = 0
    more: int = 0
    differing: int = 0
    distinct_a: int = 0
    distinct_b: int = 0
    duplicates_a: int = 0
    duplicates_b: int = 0


class Check(NamedTuple):
    """An expectation and the actual value."""

    name: str
    expected: str
    found: str
    holds: bool


@dataclass(frozen=True)
class Verdict:
    """wrong: one sentence a difference.  notes: remarks that are no difference."""

    headline: str
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_same(self) -> bool:
        return not self.wrong


class Demands(NamedTuple):
    """Checks beyond equal contents.  ordered_by, within: "" and partition or key.
    is_by_offset: records are matched by partition and offset."""

    ordered_by: str = ""
    within: str = "partition"
    is_unique: bool = False
    is_by_offset: bool = False


def of_two(a: SideFacts, b: SideFacts, matched: Matched, demands: Demands) -> Verdict:
    wrong = [
        *_if(matched.missing, "{} missing in B", "record is", "records are"),
        *_if(matched.extra, "{} only in B", "record is", "records are"),
        *_if(matched.more, "{} once too often in B", "record is", "records are"),
        *_if(matched.fewer, "{} in A more often than in B", "record is", "records are"),
        *_if(matched.differing, "{} other contents in B", "record has", "records have"),
    ]
    notes = []
    for side, duplicates in ((a, matched.duplicates_a), (b, matched.duplicates_b)):
        wrong += _disorder(side, demands)
        if demands.is_unique:
            wrong += _if(duplicates, "{} a duplicate in " + side.letter, "record is", "records are")
    if not demands.is_unique and matched.duplicates_a and matched.duplicates_a == matched.duplicates_b:
        notes.append(f"{amount(matched.duplicates_a, 'record is', 'records are')} a duplicate, in A as in B.")
    if not wrong and a.checksum != b.checksum:
        wrong.append(f"the checksums differ, {a.checksum} and {b.checksum}")
    for side in (a, b):
        notes += _notes(side, demands)
    return _verdict(wrong, notes, f"The same: {amount(a.records, 'record', 'records')} on both sides.", "Not the same")


def of_expectations(a: SideFacts, checks: Sequence[Check], demands: Demands) -> Verdict:
    wrong = [f"{each.name} should be {each.expected} and is {each.found}" for each in checks if not each.holds]
    wrong += _disorder(a, demands)
    held = f"The same: A is as expected, {amount(len(checks), 'expectation', 'expectations')} of it."
    return _verdict(wrong, _notes(a, demands), held, "Not as expected")


def alone(a: SideFacts, demands: Demands) -> Verdict:
    """Checks A by itself; there is nothing to compare with."""
    wrong = _disorder(a, demands)
    return _verdict(wrong, _notes(a, demands), f"A holds {amount(a.records, 'record', 'records')}.", "A is not sound")


def _verdict(wrong: list[str], notes: list[str], held: str, broken: str) -> Verdict:
    if not wrong:
        return Verdict(held, wrong, notes)
    shown = ", ".join(wrong[:3])
    more = f", and {amount(len(wrong) - 3, 'more difference', 'more differences')}" if len(wrong) > 3 else ""
    return Verdict(f"{broken}: {shown}{more}.", wrong, notes)


def _disorder(side: SideFacts, demands: Demands) -> list[str]:
    if not demands.ordered_by:
        return []
    text = f"{{}} out of order in {side.letter} (by {demands.ordered_by} within each {demands.within})"
    return _if(side.unordered, text, "record is", "records are")


def _notes(side: SideFacts, demands: Demands) -> list[str]:
    notes = []
    if side.without_record:
        what = "markers, aborted or compacted records" if _is_topic(side) else "markers, aborted or compacted, or lost"
        notes.append(f"{side.letter}: offsets without a record: {side.without_record:,} ({what}).")
    if side.repeated and not demands.is_by_offset:
        had = amount(side.repeated, "record has", "records have")
        notes.append(f"{side.letter}: {had} an offset that another one has too.")
    if side.undecided:
        behind = amount(side.undecided, "offset lies", "offsets lie")
        notes.append(f"{side.letter}: {behind} behind an open transaction and could not be compared yet.")
    if side.left_out:
        out = amount(side.left_out, "record lies", "records lie")
        notes.append(f"{side.letter}: {out} outside the offsets that both sides have, and were left out.")
    return notes


def _is_topic(side: SideFacts) -> bool:
    return any(each.start is not None for each in side.partitions)


def _if(number: int, text: str, one: str, many: str) -> list[str]:
    return [text.format(amount(number, one, many))] if number else []


def amount(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
