"""Counts on Spark: each side by itself, and two sides joined by identity.

    rows of a side ─→ partitions, holes      in the order of offsets
    rows of both   ─→ laid_over ─→ matched   how many differ, and how
                               ─→ to_show    which of them

All of it reads the cached rows of reconcile_rows, so a side is read once.  Cost: a sort of each side by offset, and one
shuffle of both by identity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from redis_ledger.spark.offset_options import PartitionEnds
from redis_ledger.spark.pipelines.reconcile_facts import WORD, Hole, Matched, PartitionFacts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

HOLES_SHOWN = 20
HALF = 32  # bits: sums of halves fit into 64 bits for two billion records
Identity = tuple[int, int]


def partitions(rows: DataFrame, within: str, partition_ends: Mapping[int, PartitionEnds]) -> list[PartitionFacts]:
    """within: the scope in which `ordered` must ascend, partition or key; needs offsets."""
    from pyspark.sql import functions as F

    facts = []
    counted = _in_order(rows, within).groupBy("partition").agg(
        F.count("*").alias("records"), F.sum("bytes").alias("bytes"),
        *_halves("c1"),
        F.min("ms").alias("min_ms"), F.max("ms").alias("max_ms"),
        F.min("offset").alias("first"), (F.max("offset") + 1).alias("end"),
        F.sum(F.when(F.col("step") > 1, F.col("step") - 1).otherwise(0)).alias("holes"),
        F.count_if(F.col("step") > 1).alias("hole_runs"),
        F.count_if(F.col("step") == 0).alias("repeated"),
        F.count_if(F.col("falls")).alias("unordered"),
    )  # fmt: skip
    for row in counted.collect():
        found = row.asDict()
        ends = _end_offsets(partition_ends.get(found["partition"]))
        facts.append(PartitionFacts(**_kept(found), checksum=_sum(found, "c1"), **ends))
    seen = {each.partition for each in facts}
    facts += [
        PartitionFacts(number, 0, 0, 0, **_end_offsets(ends))
        for number, ends in partition_ends.items()
        if number not in seen
    ]
    return sorted(facts)


def _kept(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name in PartitionFacts._fields}


def _end_offsets(ends: PartitionEnds | None) -> dict[str, int]:
    if ends is None:
        return {}
    return {"start": ends.start, "stable": ends.end, "log_end": ends.log_end}


def _halves(name: str) -> list[Column]:
    from pyspark.sql import functions as F

    return [
        F.sum(F.shiftrightunsigned(name, HALF)).alias(f"{name}_high"),
        F.sum(F.col(name).bitwiseAND(F.lit((1 << HALF) - 1))).alias(f"{name}_low"),
    ]


def _sum(found: Mapping[str, Any], name: str) -> int:
    """Sum of the hashes as unsigned numbers, modulo 2^64; independent of their order."""
    total: int = (found[f"{name}_high"] << HALF) + found[f"{name}_low"]
    return total % WORD


def _in_order(rows: DataFrame, within: str) -> DataFrame:
    """step: from the previous offset.  falls: the ordered expression does not ascend."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    along = Window.partitionBy("partition").orderBy("offset")
    ordered = along if within == "partition" else Window.partitionBy("i1", "i2").orderBy("partition", "offset")
    return rows.withColumns({
        "step": F.col("offset") - F.lag("offset").over(along),
        "falls": F.coalesce(F.col("ordered") < F.lag("ordered").over(ordered), F.lit(False)),
    })  # fmt: skip


def holes(rows: DataFrame) -> list[Hole]:
    """Returns the longest ranges of offsets without a record."""
    from pyspark.sql import functions as F

    gaps = _in_order(rows, "partition").where("step > 1").orderBy(F.desc("step"), "partition", "offset")
    return [
        Hole(row.partition, row.offset - row.step + 1, row.offset)
        for row in gaps.select("partition", "offset", "step").limit(HOLES_SHOWN).collect()
    ]


def overlap(a: Sequence[PartitionFacts], b: Sequence[PartitionFacts]) -> dict[int, tuple[int, int]]:
    """Returns the offsets that both sides have, by partition; for a topic from its start to the stable offset."""
    bounds: dict[int, tuple[int, int]] = {}
    others = {each.partition: _bounds(each) for each in b}
    for each in a:
        ours, theirs = _bounds(each), others.get(each.partition)
        if ours is not None and theirs is not None:
            bounds[each.partition] = max(ours[0], theirs[0]), min(ours[1], theirs[1])
    return bounds


def _bounds(facts: PartitionFacts) -> tuple[int, int] | None:
    if facts.start is not None and facts.stable is not None:
        return facts.start, facts.stable
    return None if facts.first is None or facts.end is None else (facts.first, facts.end)


def within(rows: DataFrame, bounds: Mapping[int, tuple[int, int]]) -> DataFrame:
    from pyspark.sql import functions as F

    parts = [
        (F.col("partition") == number) & (F.col("offset") >= first) & (F.col("offset") < end)
        for number, (first, end) in bounds.items()
    ]
    return rows.where(reduce(lambda one, other: one | other, parts, F.lit(False)))


class Kind(NamedTuple):
    """Identities in which the sides differ in one way.  name: as in Matched."""

    name: str
    condition: str


KINDS = (
    Kind("missing", "b = 0"),
    Kind("extra", "a = 0"),
    Kind("more", "a > 0 and b > a"),
    Kind("fewer", "b > 0 and a > b"),
    Kind("differing", "a > 0 and a = b and (a_high != b_high or a_low != b_low)"),
)


def laid_over(a: DataFrame, b: DataFrame) -> DataFrame:
    """Returns each identity with its count on each side, sums of its contents, and its first position."""
    from pyspark.sql import functions as F

    def one(rows: DataFrame, mine: str, other: str) -> DataFrame:
        zero = F.lit(0).cast("bigint")
        return rows.select(
            "i1", "i2", "partition", "offset",
            F.lit(1).cast("bigint").alias(mine), zero.alias(other),
            F.shiftrightunsigned("c1", HALF).alias(f"{mine}_high"), zero.alias(f"{other}_high"),
            F.col("c2").bitwiseAND(F.lit((1 << HALF) - 1)).alias(f"{mine}_low"), zero.alias(f"{other}_low"),
        )  # fmt: skip

    sums = [F.sum(name).alias(name) for name in ("a", "b", "a_high", "b_high", "a_low", "b_low")]
    place = F.min(F.struct("partition", "offset")).alias("place")
    return one(a, "a", "b").unionByName(one(b, "b", "a")).groupBy("i1", "i2").agg(*sums, place)


def matched(identities: DataFrame) -> Matched:
    from pyspark.sql import functions as F

    totals = {
        "missing": "if(b = 0, a, 0)", "extra": "if(a = 0, b, 0)",
        "more": "if(a > 0 and b > a, b - a, 0)", "fewer": "if(b > 0 and a > b, a - b, 0)",
        "differing": f"if({KINDS[-1].condition}, 1, 0)",
        "distinct_a": "if(a > 0, 1, 0)", "distinct_b": "if(b > 0, 1, 0)",
        "duplicates_a": "if(a > 1, a - 1, 0)", "duplicates_b": "if(b > 1, b - 1, 0)",
    }  # fmt: skip
    sums = [F.coalesce(F.sum(F.expr(text)), F.lit(0)).alias(name) for name, text in totals.items()]
    row = identities.agg(*sums).first()
    assert row is not None, "an aggregate over nothing is a row"
    return Matched(**row.asDict())


def to_show(identities: DataFrame, kind: Kind, number: int) -> list[Identity]:
    """Returns the first of them, by position."""
    chosen = identities.where(kind.condition).orderBy("place", "i1").limit(number)
    return [(row.i1, row.i2) for row in chosen.select("i1", "i2").collect()]
