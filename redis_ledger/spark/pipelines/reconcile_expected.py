"""Expectations: facts about a side in a file, to compare with in place of a second side.

    {"count": 20000, "partitions": {"0": 5012, "1": 4988}, "checksum": "9f2c…", "unique": ["$.flight"]}

`--write-expectations` writes the current facts of a side, and `--right expect:FILE` compares a side with them later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from redis_ledger.errors import InvalidRequest
from redis_ledger.spark.pipelines.reconcile_facts import Check, SideFacts, amount
from redis_ledger.spark.pipelines.reconcile_rows import RowsQuery, rows, sql, texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SHOWN = 5


class Expected(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Absent fields are not checked.

    count, count_min, count_max   records
    partitions      records by partition, all of them
    offsets         [first, end] by partition, end exclusive: of the records, not of the log
    checksum        as the report shows it; depends on --contents, --json and --where
    keys            the values of --key in all records, as text; each at least once and no other
    distinct_keys   number of distinct keys
    unique          expressions that must be unique
    not_null        expressions that must not be null
    """

    count: int | None = None
    count_min: int | None = None
    count_max: int | None = None
    partitions: dict[str, int] | None = None
    offsets: dict[str, tuple[int, int]] | None = None
    checksum: str | None = None
    keys: list[str] | None = None
    distinct_keys: int | None = None
    unique: list[str] = []
    not_null: list[str] = []


def read(path: str) -> Expected:
    """Raises InvalidRequest for an invalid file."""
    try:
        found = msgspec.json.decode(Path(path).read_bytes(), type=Expected)
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror}.") from None
    except msgspec.MsgspecError as error:
        known = ", ".join(Expected.__struct_fields__)
        raise InvalidRequest(f"{path} is not a file of expectations: {error}. The fields are {known}.") from None
    if found == Expected():
        raise InvalidRequest(f"{path} has no expectation; name one of {', '.join(Expected.__struct_fields__)}.")
    return found


def of_side(facts: SideFacts) -> Expected:
    """Returns the current facts of the side."""
    named = [each for each in facts.partitions if each.partition >= 0]
    return Expected(
        count=facts.records,
        partitions={str(each.partition): each.records for each in named} or None,
        offsets={
            str(each.partition): (each.first, each.end)
            for each in named
            if each.first is not None and each.end is not None
        }
        or None,
        checksum=facts.checksum,
    )


def write(path: str, expected: Expected) -> None:
    Path(path).write_bytes(msgspec.json.format(msgspec.json.encode(expected), indent=2) + b"\n")


def counted(expected: Expected, facts: SideFacts) -> list[Check]:
    """Checks that need only the facts."""
    checks = []
    count = facts.records
    for name, wanted, holds in (
        ("the number of records", expected.count, count == expected.count),
        ("the least number of records", expected.count_min, count >= (expected.count_min or 0)),
        ("the greatest number of records", expected.count_max, count <= (expected.count_max or 0)),
    ):
        if wanted is not None:
            checks.append(Check(name, f"{wanted:,}", f"{count:,}", holds))
    if expected.partitions is not None:
        found = {str(each.partition): each.records for each in facts.partitions if each.partition >= 0}
        checks += _by_partition("records", expected.partitions, found, 0)
    if expected.offsets is not None:
        ranges = {str(each.partition): (each.first, each.end) for each in facts.partitions if each.first is not None}
        checks += _by_partition("offsets", expected.offsets, ranges, None)
    if expected.checksum is not None:
        wanted_sum = expected.checksum.lower()
        checks.append(Check("the checksum", wanted_sum, facts.checksum, wanted_sum == facts.checksum))
    return checks


def _by_partition(what: str, wanted: dict[str, object] | object, found: object, nothing: object) -> list[Check]:
    assert isinstance(wanted, dict)
    assert isinstance(found, dict)
    checks = []
    for number in sorted(wanted.keys() | found.keys(), key=lambda name: (len(name), name)):
        should, did = wanted.get(number, nothing), found.get(number, nothing)
        checks.append(Check(f"{what} of partition {number}", _shown(should), _shown(did), should == did))
    return checks


def _shown(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "none" if value is None else " to ".join(f"{each:,}" for each in value) if isinstance(value, tuple) else "?"


def looked_up(expected: Expected, frame: DataFrame, wanted: RowsQuery) -> list[Check]:
    """Checks that need Spark: one job for each."""
    checks = []
    if expected.keys is not None or expected.distinct_keys is not None:
        key = wanted.key or "key"
        found = frame.select(texts(frame, key, wanted.is_json).alias("text")).distinct()
        if expected.distinct_keys is not None:
            number = found.count()
            held = number == expected.distinct_keys
            checks.append(Check("the number of keys", f"{expected.distinct_keys:,}", f"{number:,}", held))
        if expected.keys is not None:
            checks += _keys(expected.keys, found)
    for each in expected.unique:
        again = _repeated(frame, each, wanted)
        checks.append(Check(f"unique {each}", "no duplicates", amount(again, "duplicate", "duplicates"), again == 0))
    for each in expected.not_null:
        nulls = frame.where(f"({sql(each)}) is null").count()
        checks.append(Check(f"not null {each}", "no nulls", amount(nulls, "null", "nulls"), nulls == 0))
    return checks


def _keys(expected: Sequence[str], found: DataFrame) -> list[Check]:
    wanted = found.sparkSession.createDataFrame([(each,) for each in set(expected)], "text string")
    return [
        _none_of("missing keys", wanted.join(found, "text", "left_anti"), lambda number: f"{number:,} missing"),
        _none_of("other keys", found.join(wanted, "text", "left_anti"), lambda number: f"{number:,} more"),
    ]


def _none_of(name: str, frame: DataFrame, said: Callable[[int], str]) -> Check:
    number = frame.count()
    if number == 0:
        return Check(name, "none", "none", True)
    some = ", ".join(row.text for row in frame.orderBy("text").limit(SHOWN).collect())
    return Check(name, "none", f"{said(number)}: {some}{', …' if number > SHOWN else ''}", False)


def _repeated(frame: DataFrame, expression: str, wanted: RowsQuery) -> int:
    found = rows(frame, wanted._replace(key=expression))
    return int(found.count()) - int(found.select("i1", "i2").distinct().count())
