"""Samples of records that differ: position, time and contents.

They are found by identity in the sides themselves, so a side is read again only if something differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from redis_ledger.spark.pipelines.reconcile_counts import KINDS, Identity, Kind, to_show
from redis_ledger.spark.pipelines.reconcile_facts import Matched
from redis_ledger.spark.pipelines.reconcile_rows import NOWHERE, RowsQuery, hashes, places, texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TEXT_MAX = 400  # characters of a record to show
EACH_MAX = 4  # records of one identity
TITLES = {
    "missing": "Missing in B",
    "extra": "Only in B",
    "more": "Once too often in B",
    "fewer": "More often in A than in B",
    "differing": "Other contents in B",
}
LOOKED_FOR_IN = {"missing": "A", "extra": "B", "more": "B", "fewer": "A", "differing": "AB"}


class Sample(NamedTuple):
    """letter: the side.  partition, offset, ms: None if the side has none.  key: "" if there is none."""

    letter: str
    partition: int | None
    offset: int | None
    ms: int | None
    key: str
    contents: str


class Samples(NamedTuple):
    """kind: as in Matched.  number: of records with this difference; shown: the first of them."""

    kind: str
    title: str
    number: int
    shown: list[Sample]


def samples(
    identities: DataFrame, found: Matched, frames: tuple[DataFrame, DataFrame], wanted: RowsQuery, number: int
) -> list[Samples]:
    made = []
    for kind in KINDS:
        total = getattr(found, kind.name)
        if total:
            shown = _shown(kind, to_show(identities, kind, number), dict(zip("AB", frames, strict=True)), wanted)
            made.append(Samples(kind.name, TITLES[kind.name], total, shown))
    return made


def _shown(kind: Kind, chosen: Sequence[Identity], frames: dict[str, DataFrame], wanted: RowsQuery) -> list[Sample]:
    """In the order of `chosen`, A before B."""
    at = {identity: number for number, identity in enumerate(chosen)}
    held: list[tuple[int, Sample]] = []
    for letter in LOOKED_FOR_IN[kind.name] if chosen else "":
        held += _found(letter, frames[letter], at, wanted)
    return [sample for _, sample in sorted(held, key=lambda each: (each[0], each[1].letter))]


def _found(letter: str, frame: DataFrame, at: dict[Identity, int], wanted: RowsQuery) -> list[tuple[int, Sample]]:
    from pyspark.sql import functions as F

    one, other = hashes(frame, wanted)
    has_key = bool(wanted.key) and not wanted.is_by_offset
    picked = frame.select(
        *places(frame, wanted.time),
        one.alias("i1"), other.alias("i2"),
        F.left(texts(frame, wanted.key, wanted.is_json) if has_key else F.lit(""), F.lit(TEXT_MAX)).alias("shown_key"),
        F.left(texts(frame, wanted.contents, wanted.is_json), F.lit(TEXT_MAX)).alias("shown"),
    ).where(F.col("i1").isin([first for first, _ in at]))  # fmt: skip
    held = []
    for row in picked.limit(len(at) * EACH_MAX).collect():
        if (row.i1, row.i2) in at:
            partition = None if row.partition == NOWHERE else row.partition
            sample = Sample(letter, partition, row.offset, row.ms, row.shown_key, row.shown)
            held.append((at[row.i1, row.i2], sample))
    return sorted(held, key=lambda each: (each[0], each[1].partition or 0, each[1].offset or 0))
